"""scikit-learn's histogram gradient boosting at its defaults."""

from __future__ import annotations

from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.cases import Split
from benchmarks.record import Budget, Fit, SkippedError, Stopwatch


def hgb(split: Split, _: Budget) -> Fit:
    if split.y.ndim > 1:
        raise SkippedError("HistGradientBoostingRegressor takes one output")
    model = HistGradientBoostingRegressor(random_state=split.seed)
    watch = Stopwatch()
    model.fit(split.X, split.y)
    return Fit(watch.seconds(), model.predict)
