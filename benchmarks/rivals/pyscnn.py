"""Convex gated-ReLU networks with the package `pyscnn` (import name `scnn`).

The gates are h random hyperplanes that never move, and every gate carries a free linear model:
a convex problem with as many numbers as our hidden layer, but another family of functions than
the ReLU network. The package's convex ReLU form (augmented Lagrangian) is not run: on abalone
it was still behind linear regression after ten times the time of the gated form.
"""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Split
from benchmarks.record import Budget, Fit, SkippedError, Stopwatch

PENALTY = 1e-6  # on the group norms, with y standardised: next to none
MAX_ITER, TOLERANCE = 5000, 1e-8
MAX_SIZE = 40_000_000  # h (d+1) n


def pyscnn(split: Split, _: Budget) -> Fit:
    if split.y.ndim > 1:
        raise SkippedError("the gated form has one model for each unit and output: too large here")
    if split.h * (split.X.shape[1] + 1) * len(split.X) > MAX_SIZE:
        raise SkippedError("takes many minutes at this size")
    try:
        from scnn.activations import sample_gate_vectors
        from scnn.metrics import Metrics
        from scnn.models import ConvexGatedReLU
        from scnn.optimize import optimize_model
        from scnn.regularizers import NeuronGL1
        from scnn.solvers import RFISTA
    except ImportError as error:
        raise SkippedError(f"pyscnn does not import: {error}") from error
    X, scale = with_ones(split, split.X), split.y.std()
    gates = sample_gate_vectors(split.seed, X.shape[1], split.h)
    convex = ConvexGatedReLU(gates, c=1)
    metrics = Metrics(train_mse=True)
    watch = Stopwatch()
    model, metrics = optimize_model(
        convex,
        RFISTA(convex, MAX_ITER, TOLERANCE),
        metrics,
        X,
        (split.Y / scale).astype(np.float32),
        regularizer=NeuronGL1(PENALTY),
        seed=split.seed,
    )
    seconds = watch.seconds()
    losses = [float(value) * scale**2 for value in metrics.train_mse]
    curve = list(zip(map(float, metrics.time), losses, strict=True))
    return Fit(seconds, lambda rows: model(with_ones(split, rows)) * scale, curve)


def with_ones(split: Split, rows: np.ndarray) -> np.ndarray:
    """Standardised rows with a leading 1, in the package's float32."""
    return np.insert(split.standardize(rows), 0, 1.0, axis=1).astype(np.float32)
