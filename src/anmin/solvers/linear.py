"""A linear model as a network, so that no fit need be worse than ridge regression.

One always-on neuron carries one linear function of the inputs. With h ≥ min(d, q) neurons all of
ridge regression fits in, and with fewer the best rank-h part of it: reduced-rank regression.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, solve

from anmin.backends import Array
from anmin.linsolve import OVERFLOW
from anmin.solvers.problem import Problem
from anmin.sums.output import InputPass

INSIDE = 1e-3  # share of the rows beyond a hinge that stands just inside them


def linear_start(problem: Problem, h: int) -> Array:
    """A hidden layer of always-on neurons that spans ridge or reduced-rank regression."""
    A = np.zeros((problem.source.shape[1], h))
    D, largest = linear_directions(problem, h)
    A[:, : D.shape[1]] = D
    A[0, : D.shape[1]] = 1.01 * largest  # on for every row
    return problem.backend.asarray(A)


def with_linear(problem: Problem, A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """A with its first neurons replaced by those of the linear model, for a start.

    Where they are all neurons there are, none of them could ever move: with every neuron always on
    the gradient is zero. Their hinges then stand just inside the rows X.
    """
    h = A.shape[1]
    D, largest = linear_directions(problem, h)
    k = D.shape[1]
    A = A.copy()
    A[:, :k] = D
    A[0, :k] = 1.01 * largest if k < h else -np.quantile(X @ D / X[:, :1], INSIDE, axis=0)
    return A


def linear_directions(problem: Problem, h: int) -> tuple[np.ndarray, float]:
    """Unit directions, at most h, that span the linear model, and the largest norm of a row."""
    sums = problem.source.reduce(InputPass())
    n = float(sums.XtX[0, 0])
    K, c = (problem.backend.to_numpy(V) / n for V in (sums.XtX, sums.XtY))
    if not np.isfinite(K.sum() + (c * c).sum()):
        raise ValueError(OVERFLOW)
    p, q = c.shape
    ridge = (problem.lam + 1e-10 * np.trace(K) / p) * np.eye(p)
    C = solve(K + ridge, c, assume_a="pos")  # (p, q)
    k = min(h, p - 1, q)
    _, V = eigh(C.T @ K @ C, subset_by_index=[q - k, q - 1])  # directions of the fitted values
    D = C @ V  # (p, k)
    D[0] = 0
    norms = np.linalg.norm(D, axis=0)
    D = D[:, norms > 0] / norms[norms > 0]
    largest = D[np.abs(D).argmax(axis=0), np.arange(D.shape[1])]
    return D * np.sign(largest), sums.largest  # so that rounding does not choose the sign
