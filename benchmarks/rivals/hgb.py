"""scikit-learn's histogram gradient boosting at its defaults."""

from __future__ import annotations

from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.cases import Split
from benchmarks.record import Budget, Fit, SkippedError, fit_plain


def hgb(split: Split, _: Budget) -> Fit:
    if split.y.ndim > 1:
        raise SkippedError("HistGradientBoostingRegressor takes one output")
    return fit_plain(HistGradientBoostingRegressor(random_state=split.seed), split)
