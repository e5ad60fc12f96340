"""Test error with defaults, against MLPRegressor and boosted trees, over folds.

For every set: the mean RMSE over folds, the ranks of the four, and the ratio of our RMSE to that
of the better MLP with its paired standard error.
"""

from __future__ import annotations

import numpy as np

from benchmarks.cases import load, tabular_names
from benchmarks.record import Budget, Record
from benchmarks.runner import run, warm_up
from benchmarks.suites import Settings
from benchmarks.table import mean, select, show

METHODS = ("default", "mlp-adam", "mlp-lbfgs", "hgb")
MLPS = ("mlp-adam", "mlp-lbfgs")
PAPER_SETS = ("abalone", "bike", "sdf")
FOLDS, FOLDS_LARGE, LARGE = 10, 3, 10_000
MARGIN = 0.05  # of RMSE behind the better MLP, beyond two standard errors, that counts as worse


def defaults(settings: Settings) -> None:
    methods = list(settings.methods or METHODS)
    warm_up(methods)
    for case in settings.cases or (*tabular_names(), *PAPER_SETS):
        for fold in range(folds(settings, case)):
            split = load(case, fold)
            for name in methods:
                run(settings.results, name, split, Budget())
    records = settings.results.records
    sets = list(dict.fromkeys(record["case"] for record in records))
    errors = {case: rmse_by_method(records, case, methods) for case in sets}
    per_set(errors, records, methods)
    summary(errors, records, methods)


def folds(settings: Settings, case: str) -> int:
    split = load(case, 0)
    rows = len(split.X) + len(split.X_test)
    most = FOLDS_LARGE if rows > LARGE or settings.quick else FOLDS
    return min(most, settings.seeds or most)


def rmse_by_method(records: list[Record], case: str, methods: list[str]) -> dict[str, np.ndarray]:
    """Test RMSE by method, a number a fold."""
    return {
        name: np.sqrt([r["test_mse"] for r in select(records, case=case, method=name)])
        for name in methods
    }


def behind(rmse: dict[str, np.ndarray]) -> tuple[float, float]:
    """Our RMSE over that of the better MLP, fold by fold: the mean and its standard error."""
    better = min((name for name in MLPS if name in rmse), key=lambda name: rmse[name].mean())
    ratios = rmse["default"] / rmse[better]
    error = ratios.std(ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else 0.0
    return float(ratios.mean()), float(error)


def is_worse(ratio: float, error: float) -> bool:
    """By more than the margin, beyond two standard errors."""
    return ratio - 2 * error > 1 + MARGIN


def ranks(errors: dict[str, dict[str, np.ndarray]], methods: list[str]) -> dict[str, float]:
    """The mean over the sets of each method's place, by mean RMSE."""
    means = np.array([[rmse[name].mean() for name in methods] for rmse in errors.values()])
    places = 1 + (means[:, :, None] > means[:, None, :]).sum(2)
    return dict(zip(methods, places.mean(0).tolist(), strict=True))


def per_set(errors: dict, records: list[Record], methods: list[str]) -> None:
    rows = []
    for case, rmse in errors.items():
        ratio, error = behind(rmse)
        worse = "WORSE" if is_worse(ratio, error) else ""
        seconds = [mean(select(records, case=case, method=name), "seconds") for name in methods]
        rows.append([case, len(rmse["default"]), *(rmse[name].mean() for name in methods),
                     f"{ratio:.3f} ± {error:.3f}", worse, *seconds])  # fmt: skip
    header = ["set", "folds", *methods, "ours / better MLP", "", *(f"{name} s" for name in methods)]
    show("Test RMSE, mean over folds", header, rows)


def summary(errors: dict, records: list[Record], methods: list[str]) -> None:
    places = ranks(errors, methods)
    rows = []
    for name in methods:
        beaten = sum(rmse["default"].mean() < rmse[name].mean() for rmse in errors.values())
        ratio = np.exp(np.mean([np.log(r["default"] / r[name]).mean() for r in errors.values()]))
        total = sum(record["seconds"] for record in select(records, method=name))
        ahead = f"{beaten}/{len(errors)}" if name != "default" else None
        rows.append([name, places[name], ratio, ahead, total])
    header = ["method", "mean rank", "our RMSE / its", "we are ahead on", "total seconds"]
    worse = [case for case, rmse in errors.items() if is_worse(*behind(rmse))]
    show(f"Defaults: worse than the better MLP on {', '.join(worse) or 'no set'}", header, rows)
