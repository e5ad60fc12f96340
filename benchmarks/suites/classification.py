"""Log-loss, accuracy and calibration of classifiers with defaults, five folds.

digits breast_cancer wine iris      scikit-learn's
attrition cells                     NAME.csv in ANMIN_MIXED, numeric columns
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anmin import ANMINClassifier
from benchmarks.record import Record
from benchmarks.runner import say, stamp
from benchmarks.suites import Settings
from benchmarks.table import mean, select, show

FOLDS = 5
BINS = 15  # of the calibration error
MIXED = {"attrition": ("Attrition", ()), "cells": ("class", ("case",))}  # target, no inputs
SETS = ("digits", "breast_cancer", "wine", "iris", *MIXED)


ONE = {"n_networks": 1, "encoding": None, "random_state": 0}


def catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(verbose=0, random_seed=0, allow_writing_files=False)


def standardised(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


OURS = ("anmin", "one-network", "one-of-squares")
METHODS: dict[str, Callable[[], Any]] = {
    "anmin": partial(ANMINClassifier, random_state=0),
    "one-network": partial(ANMINClassifier, **ONE),
    "one-of-squares": partial(ANMINClassifier, loss="squared_error", **ONE),
    "logistic": lambda: standardised(LogisticRegression(max_iter=1000)),
    "mlp": lambda: standardised(MLPClassifier(max_iter=500, random_state=0)),
    "hgb": partial(HistGradientBoostingClassifier, random_state=0),
    "catboost": catboost,
}


def table_of(case: str) -> tuple[np.ndarray, np.ndarray]:
    """X and labels 0, 1, … of a set."""
    if case not in MIXED:
        return getattr(datasets, f"load_{case}")(return_X_y=True)
    import pandas as pd

    where = os.environ.get("ANMIN_MIXED")
    if not where:
        raise FileNotFoundError("Set ANMIN_MIXED to the folder with attrition.csv and cells.csv.")
    target, others = MIXED[case]
    frame = pd.read_csv(Path(where) / f"{case}.csv")
    y = np.unique(frame[target], return_inverse=True)[1]
    inputs = frame.drop(columns=["rownames", target, *others]).select_dtypes("number")
    return inputs.to_numpy(float), y


def calibration_error(y: np.ndarray, P: np.ndarray) -> float:
    """The mean distance between confidence and accuracy, over bins of equal width."""
    sure, right = P.max(1), P.argmax(1) == y
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [abs((sure - right)[bins == b].sum()) for b in range(BINS)]
    return float(sum(gaps) / len(y))


def classification(settings: Settings) -> None:
    methods = list(settings.methods or METHODS)
    for case in settings.cases or SETS:
        X, y = table_of(case)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
        for seed, (train, test) in enumerate(folds):
            if seed < (1 if settings.quick else settings.seeds or FOLDS):
                for name in methods:
                    one_fold(settings, case, seed, name, (X[train], y[train], X[test], y[test]))
    for key in ("log_loss", "accuracy", "calibration"):
        by_set(settings.results.records, methods, key)


def one_fold(settings: Settings, case: str, seed: int, name: str, rows: tuple) -> None:
    own = stamp(name in OURS)
    if settings.results.known(case=case, seed=seed, method=name, **own):
        return
    X, y, X_test, y_test = rows
    begin = time.perf_counter()
    model = METHODS[name]().fit(X, y)
    seconds = time.perf_counter() - begin
    P = model.predict_proba(X_test)
    record: Record = {"case": case, "method": name, "seed": seed, "seconds": seconds}
    record |= {"log_loss": log_loss(y_test, P, labels=np.arange(P.shape[1]))}
    record |= {"accuracy": float((P.argmax(1) == y_test).mean())}
    record |= {"calibration": calibration_error(y_test, P), "train_mse": None, "test_mse": None}
    settings.results.add(record | own)
    say(f"{case} fold {seed} {name}: {seconds:.2f} s, log-loss {record['log_loss']:.4f}")


def by_set(records: list[Record], methods: list[str], key: str) -> None:
    """Means over folds, and the mean of the places."""
    sets = list(dict.fromkeys(record["case"] for record in records))
    means = np.array(
        [[mean(select(records, case=c, method=m), key) for m in methods] for c in sets], dtype=float
    )
    good = -means if key == "accuracy" else means
    places = 1 + (good[:, :, None] > good[:, None, :]).sum(2)
    rows = [[case, *line] for case, line in zip(sets, means.tolist(), strict=True)]
    seconds = [mean(select(records, method=m), "seconds") for m in methods]
    rows += [["mean rank", *places.mean(0).tolist()], ["mean", *means.mean(0).tolist()]]
    show(f"{key}, mean over folds", ["set", *methods], [*rows, ["seconds a fit", *seconds]])
