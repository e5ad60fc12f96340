"""Ridge regression, its penalty by leave-one-out."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import RidgeCV

from benchmarks.cases import Split
from benchmarks.record import Budget, Fit, Stopwatch


def ridge(split: Split, _: Budget) -> Fit:
    watch = Stopwatch()
    model = RidgeCV(np.logspace(-8, 5, 14)).fit(split.standardize(split.X), split.y)
    return Fit(watch.seconds(), lambda rows: model.predict(split.standardize(rows)))
