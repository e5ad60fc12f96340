"""scikit-learn's MLPRegressor on standardised X and y: its defaults, Adam, and L-BFGS."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.cases import Split
from benchmarks.record import Budget, Fit, Stopwatch


def lbfgs(split: Split, _: Budget, max_iter: int = 1000) -> Fit:
    """L-BFGS with a line search, 1,000 iterations."""
    return fit(split, hidden_layer_sizes=(split.h,), solver="lbfgs", max_iter=max_iter)


def mlp_lbfgs(split: Split, _: Budget) -> Fit:
    return fit(split, hidden_layer_sizes=(64,), solver="lbfgs", max_iter=500)


def mlp_adam(split: Split, _: Budget) -> Fit:
    return fit(split, hidden_layer_sizes=(64,), max_iter=500)


def mlp_default(split: Split, _: Budget) -> Fit:
    return fit(split)


def fit(split: Split, **options: Any) -> Fit:
    """Fit scalers and network together; all of it is on the clock."""
    mlp = MLPRegressor(random_state=split.seed, **options)
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), mlp), transformer=StandardScaler()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        watch = Stopwatch()
        model.fit(split.X, split.y)
        seconds = watch.seconds()
    iterations = model.regressor_[-1].n_iter_
    return Fit(seconds, lambda X: np.asarray(model.predict(X)), info={"iterations": iterations})
