"""Shares of models in a mean, by their predictions for rows held out.

With F the predictions of m models, one column each, the squared error of their weighted mean Fw is
yᵀy − 2 wᵀFᵀy + wᵀFᵀFw: small sums, which add over rows and parts, are all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from anmin.backends import Array, Backend
from anmin.network import Network
from anmin.solvers.problem import Problem
from anmin.sources import Batch
from anmin.sums.output import hidden_outputs
from anmin.sums.patterns import Sums

SLIGHT = 0.05  # share below which a model is left out


@dataclass(frozen=True, slots=True)
class Products(Sums):
    """Products of predictions with each other and with the targets, over rows and outputs."""

    FtF: Array  # (m, m)
    FtY: Array  # (m,)
    YtY: float
    n: float


@dataclass(frozen=True, slots=True)
class PredictionPass:
    """The products of the predictions of m networks that stand side by side."""

    A: Array  # (p, H)
    W: Array  # (H + 1, m q): output weights of each network, zero for the units of others
    slope: float

    def __call__(self, backend: Backend, batch: Batch) -> Products:
        def part(rows: slice) -> Products:
            X, Y = backend.double(batch.X[rows]), backend.double(batch.Y[rows])
            F = hidden_outputs(backend, X, X @ self.A, self.slope) @ self.W
            q = Y.shape[1]
            F = F.reshape(len(X), -1, q).swapaxes(1, 2).reshape(len(X) * q, -1)
            y = Y.reshape(-1)
            n = float(X[:, 0] @ X[:, 0])
            return Products(F.T @ F, F.T @ y, float(y @ y), n)

        return backend.sum_over_blocks(part, len(batch))


def side_by_side(problem: Problem, networks: list[Network]) -> PredictionPass:
    A, q, at = np.hstack([net.A for net in networks]), len(networks[0].b0), 0
    W = np.zeros((A.shape[1] + 1, len(networks) * q))
    for k, net in enumerate(networks):
        own, units = slice(k * q, k * q + q), slice(at, at + len(net.B))
        W[units, own], W[-1, own], at = net.B, net.b0, units.stop
    return PredictionPass(problem.backend.double(A), problem.backend.double(W), problem.slope)


def best_alone(FtF: np.ndarray, FtY: np.ndarray) -> np.ndarray:
    """All for the model of the least error, or nothing for any where the mean is better."""
    error = FtF.diagonal() - 2 * FtY
    best = int(error.argmin())
    return np.eye(len(FtY))[best] * (error[best] < 0)


def simplex(FtF: np.ndarray, FtY: np.ndarray) -> np.ndarray:
    """w ≥ 0 with sum at most 1 that minimises wᵀFᵀFw − 2wᵀFᵀy; slight shares go to the others.

    What is missing to 1 is the share of the mean, which predicts 0.
    """
    size = np.trace(FtF) / len(FtF) or 1.0
    L = np.linalg.cholesky(FtF / size + 1e-10 * np.eye(len(FtF)))
    c = np.linalg.solve(L, FtY / size)
    active = np.ones(len(FtY), dtype=bool)
    for _ in range(2):
        M = np.vstack([L.T[:, active], np.zeros((1, active.sum()))])
        w = np.zeros(len(FtY))
        w[active] = nnls(M, np.append(c, 0.0))[0]
        if w.sum() > 1:  # on the boundary: a heavy row holds the sum
            M[-1] = 1e4
            w[active] = nnls(M, np.append(c, 1e4))[0]
            w /= w.sum()
        active = w >= SLIGHT
        if not active.any():
            return np.zeros(len(FtY))
    return w
