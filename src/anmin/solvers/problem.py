"""The problem, and its two linear halves.

    L(A, B, b0) = 1/n Σ_i ‖σ(x̃_i A)B + b0 − y_i‖² + lam (‖b0‖² + ‖B‖² + ‖A‖²)          Eq. (1)

For a given A the best (B, b0) solves one small system; for given (B, b0) and a frozen firing
pattern the best A solves one large system. Both come from the sums of one pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anmin.backends import Array, Backend
from anmin.linsolve import solve_spd
from anmin.network import Network
from anmin.sources import ArraySource
from anmin.stats import PatternPass, PatternStats, ResidualPass, unpack

CANCELLED = 1e-8  # of YᵀY: below this a loss formed as a difference of sums has lost its digits


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows, penalty and activation: all that Eq. (1) holds fixed."""

    source: ArraySource
    lam: float
    slope: float = 0.0

    @property
    def backend(self) -> Backend:
        return self.source.backend

    def at(self, A: np.ndarray, before: Point | None = None) -> Point:
        """One pass at A: the best output layer there, the loss, and the next hidden system."""
        on_device = self.backend.asarray(A)
        stats = self.source.reduce(
            PatternPass(on_device, self.slope, None if before is None else before.A)
        )
        return Point.of(self, A, on_device, stats)


@dataclass(frozen=True, slots=True)
class Point:
    """A network whose output layer is optimal for its A, with the sums that prove it."""

    network: Network
    loss: float
    mse: float
    stats: PatternStats
    U: Array  # (h, p, h, p)
    A: Array  # network.A, on the device

    @classmethod
    def of(cls, problem: Problem, A: np.ndarray, on_device: Array, stats: PatternStats) -> Point:
        U = unpack(problem.backend, stats)
        weights, mse = fit_output(problem.backend, stats, U, on_device, problem.lam)  # (h + 1, q)
        network = Network(A, weights[:-1], weights[-1], problem.slope)
        if mse * stats.n <= CANCELLED * stats.YtY:
            mse = problem.source.reduce(ResidualPass(network)) / stats.n
        return cls(network, mse + problem.lam * network.penalty(), mse, stats, U, on_device)

    @property
    def dead(self) -> int:
        return int((self.stats.fired == 0).sum())


def fit_output(
    backend: Backend, stats: PatternStats, U: Array, A: Array, lam: float
) -> tuple[np.ndarray, float]:
    """Solve (SᵀS/n + lam I)[B; b0] = SᵀY/n for S = [σ(XA), 1]; return [B; b0] and the data term.

    On the frozen pattern σ(x̃ a_j) = z_jᵀ a_j, so (SᵀS)_jl = a_jᵀ U_jl a_l.
    """
    h, p, q = stats.shape
    a = A.T  # (h, p)
    StS, StY = backend.zeros(h + 1, h + 1), backend.zeros(h + 1, q)
    half = (U.reshape(h * p, h, p) * a).sum(-1).reshape(h, p, h)  # U_jl a_l
    StS[:h, :h] = (a[:, :, None] * half).sum(1)
    StS[:h, h] = StS[h, :h] = (a * stats.Zt1).sum(1)
    StS[h, h] = stats.n
    StY[:h] = (a[:, :, None] * stats.ZtY).sum(1)
    StY[h] = stats.Yt1
    K = StS / stats.n + lam * backend.eye(h + 1)
    weights = solve_spd(backend, K, StY / stats.n).value  # (h + 1, q)
    explained = (weights * (2 * StY - StS @ weights)).sum()
    return backend.to_numpy(weights), max(float(stats.YtY - explained), 0.0) / stats.n


def hidden_system(backend: Backend, point: Point) -> tuple[Array, Array]:
    """M = (BBᵀ ⊗ 11ᵀ) ∘ ZᵀZ / n and c, with a = A.T.ravel() the solution of M a = c."""
    stats, U = point.stats, point.U
    h, p, _ = stats.shape
    B, b0 = backend.asarray(point.network.B), backend.asarray(point.network.b0)
    BBt = B @ B.T  # (h, h)
    M = (U * BBt[:, None, :, None]).reshape(h * p, h * p) / stats.n
    v = (stats.ZtY * B[:, None, :]).sum(-1) - stats.Zt1 * (B @ b0)[:, None]  # (h, p)
    return M, v.reshape(-1) / stats.n
