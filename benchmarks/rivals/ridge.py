"""Ridge regression, its penalty by leave-one-out; of very wide rows nearly without one."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV

from benchmarks.cases import Split
from benchmarks.record import Budget, Fit, Stopwatch

WIDE = 2048  # inputs from which leave-one-out takes longer than all else


def ridge(split: Split, _: Budget) -> Fit:
    watch = Stopwatch()
    wide = split.X.shape[1] > WIDE
    model = Ridge(1.0, solver="lsqr", max_iter=50) if wide else RidgeCV(np.logspace(-8, 5, 14))
    model.fit(split.standardize(split.X), split.y)
    return Fit(watch.seconds(), lambda rows: model.predict(split.standardize(rows)))
