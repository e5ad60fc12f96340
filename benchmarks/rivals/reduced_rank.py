"""Reduced-rank regression: the best linear map of rank h, which a network of h units contains.

minimise |Y - X W - b|^2 over W of rank h:   W = W_ols V V'
V = the h leading right singular vectors of the fitted values X W_ols
"""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Split
from benchmarks.record import Budget, Fit, Stopwatch


def reduced_rank(split: Split, _: Budget) -> Fit:
    watch = Stopwatch()
    X, Y = split.standardize(split.X), split.Y
    x0, y0 = X.mean(0), Y.mean(0)
    X, Y = X - x0, Y - y0
    W = np.linalg.lstsq(X, Y)[0]  # (d, q)
    XW = X @ W
    _, V = np.linalg.eigh(XW.T @ XW)
    V = V[:, -split.h :]  # (q, h)
    W = W @ V @ V.T
    seconds = watch.seconds()
    return Fit(seconds, lambda rows: (split.standardize(rows) - x0) @ W + y0)
