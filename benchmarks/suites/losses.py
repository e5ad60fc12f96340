"""Quantiles, outliers and counts, against boosted trees.

quantile   abalone bike kin40k: pinball loss and coverage at 0.1, 0.5, 0.9
huber      airfoil kin40k sml: 5 % of y moved far away; RMSE on clean rows, over that of a fit
           without outliers
poisson    bike counts: mean deviance
time       seconds of a fit of the log-loss over those of least squares of the same size
conformal  every set above 1,000 rows in ANMIN_TABULAR, at most 4,000 of them: how many rows of the
           test fold lie in intervals of 90 %
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance
from sklearn.model_selection import train_test_split

from anmin import ANMINClassifier, ANMINRegressor
from anmin.solvers import VarPro
from benchmarks.cases import Split, load, tabular_names
from benchmarks.record import Record, SkippedError
from benchmarks.runner import say, stamp
from benchmarks.suites import Settings
from benchmarks.table import mean, select, show
from paper.data import load_rows

LEVELS = (0.1, 0.5, 0.9)
QUANTILE_SETS, HUBER_SETS = ("abalone", "bike", "kin40k"), ("airfoil", "kin40k", "sml")
KIN40K = 8000  # rows of it to train on, drawn at random: the same for all
LEAST, MOST, NOMINAL = 1000, 4000, 0.9  # rows of a set with intervals, and their coverage
OUTLIERS, FAR = 0.05, 10.0  # share of the rows, and deviations that they are moved by
ONE: dict[str, Any] = {"n_networks": 1, "encoding": None, "random_state": 0}
Predict = Callable[[np.ndarray], np.ndarray]


def ours(split: Split) -> Predict:
    model = ANMINRegressor(loss="quantile", quantile=LEVELS, random_state=0)
    return model.fit(split.X, split.y).predict


def one_network(split: Split) -> Predict:
    model = ANMINRegressor(loss="quantile", quantile=LEVELS, **ONE)
    return model.fit(split.X, split.y).predict


def hgb(split: Split) -> Predict:
    models = [
        HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=0)
        for level in LEVELS
    ]
    return side_by_side(models, split)


def lightgbm(split: Split) -> Predict:
    try:
        from lightgbm import LGBMRegressor
    except ModuleNotFoundError as error:
        raise SkippedError("lightgbm is not installed") from error
    models = [LGBMRegressor(objective="quantile", alpha=level, verbose=-1) for level in LEVELS]
    return side_by_side(models, split)


def side_by_side(models: list[Any], split: Split) -> Predict:
    for model in models:
        model.fit(split.X, split.y)
    return lambda X: np.column_stack([model.predict(X) for model in models])


RIVALS = ("hgb", "lightgbm")
QUANTILES = {"anmin": ours, "one-network": one_network, "hgb": hgb, "lightgbm": lightgbm}
PARTS = ("quantile", "huber", "poisson", "time", "conformal")


def losses(settings: Settings) -> None:
    runs = {"quantile": quantiles, "huber": huber, "poisson": poisson, "time": seconds_of_log_loss,
            "conformal": conformal}  # fmt: skip
    for case in settings.cases or PARTS:
        part, _, name = case.partition(":")  # quantile:bike is one set of them
        runs[part](*(settings, (name,)) if name else (settings,))


def sampled(case: str, seed: int) -> Split:
    """The split of a case, on some of its rows where they are many."""
    split = load(case, seed)
    return some_rows(split, KIN40K) if case == "kin40k" else split


def some_rows(split: Split, most: int) -> Split:
    rows = np.random.RandomState(0).permutation(len(split.X))[:most]
    return replace(split, X=split.X[rows], y=split.y[rows])


def known(settings: Settings, case: str, method: str, seed: int) -> Record | None:
    """The record of a run that need not be made again: of a rival, or of ours as the code is."""
    own = stamp(method not in RIVALS)
    return settings.results.known(case=case, method=method, seed=seed, **own)


def note(settings: Settings, case: str, method: str, seed: int, facts: Record) -> Record:
    record = {"case": case, "method": method, "seed": seed, "train_mse": None, "test_mse": None}
    record |= stamp(method not in RIVALS)
    shown = ", ".join(f"{key} {value:.4g}" for key, value in facts.items())
    say(f"{case} seed {seed} {method}: {shown}")
    return settings.results.add(record | facts)


def quantiles(settings: Settings, sets: Sequence[str] = QUANTILE_SETS) -> None:
    for case in sets:
        for seed in range(settings.seeds or 3):
            split = sampled(case, seed)
            for name in settings.methods or QUANTILES:
                if known(settings, f"quantile-{case}", name, seed):
                    continue
                begin = time.perf_counter()
                predict = QUANTILES[name](split)
                facts: Record = {"seconds": time.perf_counter() - begin}
                Q, y = predict(split.X_test), split.y_test
                for k, level in enumerate(LEVELS):
                    facts[f"pinball {level}"] = mean_pinball_loss(y, Q[:, k], alpha=level)
                    facts[f"coverage {level}"] = float((y <= Q[:, k]).mean())
                facts["crossing"] = float((np.diff(Q, axis=1) < 0).any(1).mean())
                note(settings, f"quantile-{case}", name, seed, facts)
    names = [f"{what} {level}" for level in LEVELS for what in ("pinball", "coverage")]
    rows = [
        [case, name, *(mean(select(settings.results.records, case=f"quantile-{case}", method=name),
                            key) for key in (*names, "crossing", "seconds"))]
        for case in sets for name in settings.methods or QUANTILES
    ]  # fmt: skip
    show("Quantiles", ["set", "method", *names, "crossing", "seconds"], rows)


def huber(settings: Settings, sets: Sequence[str] = HUBER_SETS) -> None:
    """One network, or with `--methods anmin` the default."""
    rows = []
    whole = "anmin" in (settings.methods or ())
    arguments: dict[str, Any] = {"random_state": 0} if whole else ONE
    for case in sets:
        label = f"huber-default-{case}" if whole else f"huber-{case}"
        for seed in range(settings.seeds or 3):
            split = sampled(case, seed)
            rng = np.random.RandomState(seed)
            bad = rng.uniform(size=len(split.y)) < OUTLIERS
            sign = rng.choice([-1.0, 1.0], len(split.y))
            y = split.y + bad * sign * FAR * split.y.std()
            for name, loss, target in (
                ("clean", "squared_error", split.y), ("squared_error", "squared_error", y),
                ("huber", "huber", y), ("absolute_error", "absolute_error", y),
            ):  # fmt: skip
                if known(settings, label, name, seed):
                    continue
                begin = time.perf_counter()
                model = ANMINRegressor(loss=loss, **arguments).fit(split.X, target)
                facts = {"seconds": time.perf_counter() - begin}
                facts["rmse"] = float(np.sqrt(np.mean((model.predict(split.X_test)
                                                       - split.y_test) ** 2)))  # fmt: skip
                note(settings, label, name, seed, facts)
        kept = settings.results.records
        errors = [mean(select(kept, case=label, method=name), "rmse")
                  for name in ("clean", "squared_error", "huber", "absolute_error")]  # fmt: skip
        rows.append([case, *errors, errors[2] / errors[0]])
    header = ["set", "no outliers", "squared_error", "huber", "absolute_error", "huber / clean"]
    show("RMSE on clean test rows with 5 % outliers among the others", header, rows)


def poisson(settings: Settings) -> None:
    X, y = load_rows("bike", download_if_missing=False)
    y = y.ravel()
    for seed in range(settings.seeds or 3):
        fit, test, y_fit, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
        methods = {
            "anmin": ANMINRegressor(loss="poisson", random_state=0),
            "one-network": ANMINRegressor(loss="poisson", **ONE),
            "hgb": HistGradientBoostingRegressor(loss="poisson", random_state=0),
        }
        for name in settings.methods or methods:
            begin = time.perf_counter()
            model = methods[name].fit(fit, y_fit)
            facts = {"seconds": time.perf_counter() - begin}
            facts["deviance"] = mean_poisson_deviance(y_test, model.predict(test))
            note(settings, "poisson-bike", name, seed, facts)
    kept = select(settings.results.records, case="poisson-bike")
    rows = [[name, mean(select(kept, method=name), "deviance"),
             mean(select(kept, method=name), "seconds")]
            for name in dict.fromkeys(r["method"] for r in kept)]  # fmt: skip
    show("Poisson deviance on bike counts", ["method", "deviance", "seconds"], rows)


def seconds_of_log_loss(settings: Settings) -> None:
    """Steps of the same number from the same start, so that only their price differs."""
    rows = []
    for n, d, q, h in ((2000, 10, 2, 32), (20_000, 10, 2, 64), (5000, 20, 5, 64)):
        rng = np.random.RandomState(0)
        X = rng.standard_normal((n, d))
        F = np.maximum(X @ rng.standard_normal((d, 16)), 0) @ rng.standard_normal((16, q))
        y = (F + rng.gumbel(size=F.shape)).argmax(1)
        taken = []
        for loss in ("squared_error", "log_loss"):
            begin = time.process_time()
            ANMINClassifier(
                h, loss=loss, lam=1e-3, max_iter=30, solver=VarPro(tol=0.0), random_state=0
            ).fit(X, y)
            taken.append(time.process_time() - begin)
        case = f"time-n{n}-d{d}-q{q}-h{h}"
        facts = dict(zip(("seconds", "log-loss seconds"), taken, strict=True))
        note(settings, case, "anmin", 0, facts)
        rows.append([n, d, q, h, *taken, taken[1] / taken[0]])
    header = ["rows", "inputs", "classes", "units", "least squares s", "log-loss s", "ratio"]
    show("Processor time of 30 steps", header, rows)


def conformal(settings: Settings, sets: Sequence[str] | None = None) -> None:
    rows, keys = [], ("coverage", "width", "seconds")
    for case in sets or tabular_names():
        for seed in range(settings.seeds or 3):
            split = some_rows(load(case, seed), MOST)
            if len(split.y) + len(split.y_test) <= LEAST:
                continue
            for name in settings.methods or ("one-network",):
                if known(settings, f"conformal-{case}", name, seed):
                    continue
                given = ONE if name == "one-network" else {"random_state": 0}
                begin = time.perf_counter()
                model = ANMINRegressor(intervals="conformal", **given).fit(split.X, split.y)
                facts: Record = {"seconds": time.perf_counter() - begin}
                low, high = model.predict_interval(split.X_test, NOMINAL)
                facts["coverage"] = float(((low <= split.y_test) & (split.y_test <= high)).mean())
                facts["width"] = float((high - low).mean() / split.y.std())
                note(settings, f"conformal-{case}", name, seed, facts)
        kept = select(settings.results.records, case=f"conformal-{case}")
        for name in dict.fromkeys(r["method"] for r in kept):
            mine = select(kept, method=name)
            rows.append([case, name, *(mean(mine, key) for key in keys)])
    show("Conformal intervals of 90 %", ["set", "method", *keys], rows)
