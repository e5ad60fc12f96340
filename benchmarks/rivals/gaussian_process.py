"""A Gaussian process, its kernel by marginal likelihood; cubic in the rows, so up to 2,500."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.cases import Split
from benchmarks.record import Budget, Fit, SkippedError, fit_plain

MOST_ROWS = 2500
MOST_LENGTHS = 20  # inputs up to which each has a length of its own


def gaussian_process(split: Split, _: Budget) -> Fit:
    n, d = split.X.shape
    if n > MOST_ROWS:
        raise SkippedError(f"a Gaussian process on {n:,} rows is too slow; up to {MOST_ROWS:,}")
    lengths = np.ones(d) if d <= MOST_LENGTHS else 1.0
    kernel = ConstantKernel() * RBF(lengths) + WhiteKernel()
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=split.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit_plain(make_pipeline(StandardScaler(), process), split)
