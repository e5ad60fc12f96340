"""A linear model as a network, so that no fit need be worse than ridge regression.

One always-on neuron carries one linear function of the inputs. With h ≥ min(d, q) neurons all of
ridge regression fits in, and with fewer the best rank-h part of it: reduced-rank regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, solve

from anmin.backends import Array, Backend
from anmin.solvers.problem import Problem
from anmin.sources import Batch
from anmin.stats import Sums


@dataclass(frozen=True, slots=True)
class LinearSums(Sums):
    XtX: Array
    XtY: Array
    largest: float  # added up over batches: a bound on every ‖x‖


class LinearPass:
    def __call__(self, backend: Backend, batch: Batch) -> LinearSums:
        X, Y = batch.X, batch.Y
        norms = ((X * X).sum(1) / X[:, 0] ** 2).max()
        return LinearSums(
            backend.sum_over_blocks(lambda rows: X[rows].T @ X[rows], len(X)),
            backend.sum_over_blocks(lambda rows: X[rows].T @ Y[rows], len(X)),
            float(norms) ** 0.5,
        )


def linear_start(problem: Problem, h: int) -> Array:
    """A hidden layer of always-on neurons that spans ridge or reduced-rank regression."""
    sums = problem.source.reduce(LinearPass())
    XtX, XtY = (problem.backend.to_numpy(W) for W in (sums.XtX, sums.XtY))
    p, q = XtY.shape
    ridge = (problem.lam * XtX[0, 0] + 1e-10 * np.trace(XtX) / p) * np.eye(p)
    C = solve(XtX + ridge, XtY, assume_a="pos")  # (p, q)
    k = min(h, p - 1, q)
    _, V = eigh(C.T @ XtX @ C, subset_by_index=[q - k, q - 1])  # directions of the fitted values
    D = C @ V  # (p, k)
    D[0] = 0
    norms = np.linalg.norm(D, axis=0)
    D = D[:, norms > 0] / norms[norms > 0]
    A = np.zeros((p, h))
    A[:, : D.shape[1]] = D
    A[0, : D.shape[1]] = 1.01 * sums.largest  # on for every row
    return problem.backend.asarray(A)
