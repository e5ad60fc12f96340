"""What a network is like where a fit has left it: loss, gradient, hidden system.

With R = Y − SW the residual, L the loss of Eq. (1), and (j, a) the weight from input a to unit j,

    g_ja = Σ_i z_ija (r_i · b_j) / n − lam A_aj             half the downhill gradient

The loss along one weight alone is a parabola that can fall by g_ja² / (M + lam I)_ja,ja. That is
cos² L, with the cosine between the residual and what the weight can change, penalty included: a
gradient without units. Moving all of A, the output layer and the pattern held, can gain
gᵀ(M + lam I)⁻¹g, exactly (Theorem 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh, lapack

from anmin.backends import Array, Backend, NumpyBackend
from anmin.inspect.importance import on_used_inputs
from anmin.linsolve import solve_spd
from anmin.network import Network
from anmin.solvers.problem import Problem
from anmin.sources import Batch
from anmin.sums.gram import PatternPass, unpack
from anmin.sums.output import NetworkPass, hidden_outputs
from anmin.sums.patterns import Sums

UNKNOWNS, COLUMNS = 1500, 128  # up to which the hidden system is formed
ROWS_PER_UNKNOWN, FEWEST = 5, 2000  # that the hidden system is formed on
OUTPUTS = 2048  # up to which the floor is looked for
ANY_TAU = -np.finfo(float).max  # no determinant is too small, but the condition is wanted


@dataclass(frozen=True, slots=True)
class HiddenSystem:
    """The hidden system M + lam I of the frozen pattern, or why it was not formed."""

    note: str = ""
    rows: int = 0  # that it was formed on
    rank: int | None = None  # of M
    condition: float | None = None  # of M + lam I; None also where it is singular
    gain: float | None = None  # gᵀ(M + lam I)⁻¹g / L


@dataclass(frozen=True, slots=True)
class Audit:
    """Facts about a network on the rows of a problem, in the problem's units."""

    loss: float
    mse: float
    total: float  # of a constant: mean square of y about its mean
    gradient: float  # norm of the gradient of Eq. (1) in all weights
    cosine: float  # the largest of a weight
    floor: float | None  # that no network of so many units can go below
    system: HiddenSystem


@dataclass(frozen=True, slots=True)
class Look(Sums):
    """The sums of a thin pass at (A, W)."""

    n: float  # Σw
    value: float  # of the objective
    null: float  # of the objective without a network
    Yt1: Array  # (q,)
    ZtRB: Array  # Σ_i z_ija (r_i · b_j): (p, h)
    ZVZ: Array  # Σ_i z_ija² (v_i · b_j²): (p, h)
    SVS: Array  # Σ_i S_ij² v_i: (h + 1, q)
    StR: Array  # (h + 1, q)


@dataclass(frozen=True, slots=True)
class LookPass(NetworkPass):
    """All of `Look` in one pass, in double precision."""

    def __call__(self, backend: Backend, batch: Batch) -> Look:
        at = self.cast(backend.double)

        def part(rows: slice) -> Look:
            X, Y = backend.double(batch.X[rows]), backend.double(batch.Y[rows])
            P = X @ at.A  # (k, h)
            G = backend.double(backend.gain(P > 0, at.slope))
            S = hidden_outputs(backend, X, P, at.slope)
            F, root, of = S @ at.W, X[:, :1], at.objective
            value, R, V = of.terms(Y, F, root)
            Bt = at.W[:-1].T
            return Look(
                n=float(X[:, 0] @ X[:, 0]), value=value,
                null=of.value(Y, 0 * F, root), Yt1=Y.T @ X[:, 0], ZtRB=X.T @ (G * (R @ Bt)),
                ZVZ=(X * X).T @ (G * G * (V @ (Bt * Bt))), SVS=(S * S).T @ V, StR=S.T @ R,
            )  # fmt: skip

        return backend.sum_over_blocks(part, len(batch))


class TargetPass:
    """YᵀY: (q, q)."""

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        return backend.sum_over_blocks(lambda rows: batch.Y[rows].T @ batch.Y[rows], len(batch))


def audit(problem: Problem, net: Network, asked: int) -> Audit:
    """The facts about a network in the units of the problem; `asked` units at first."""
    problem, net, _ = on_used_inputs(problem, net, [])
    be, lam = problem.backend, problem.lam
    W = np.vstack([net.B, net.b0])
    at = LookPass(be.double(net.A), be.double(W), problem.slope, problem.objective)
    look = problem.source.reduce(at)
    ZtRB, ZVZ, SVS, StR = (be.to_numpy(V) for V in (look.ZtRB, look.ZVZ, look.SVS, look.StR))
    n = look.n
    g, gW = ZtRB / n - lam * net.A, StR / n - lam * W
    g, _ = problem.downhill(net.A, W, g)
    if problem.connections is not None:  # what is not connected cannot move
        g[1:] *= net.A[1:] != 0
    D, DW = ZVZ / n + lam, SVS / n + lam  # curvature along one weight
    mean, total = be.to_numpy(look.Yt1) / n, look.null / n
    if problem.objective.least_squares:
        total = max(total - float(mean @ mean), 0.0)
    loss = look.value / n + lam * float((net.A**2).sum() + (W**2).sum())
    height = max(loss, 1e-14 * look.null / n)  # a loss of rounding errors has no slope
    cosines = [largest_cosine(g, D, height), largest_cosine(gW, DW, height)]
    return Audit(
        loss=loss, mse=look.value / n, total=total,
        gradient=2 * float((g**2).sum() + (gW**2).sum()) ** 0.5, cosine=max(cosines),
        floor=rank_floor(problem, mean, n, asked), system=hidden_system(problem, net, g, loss),
    )  # fmt: skip


def largest_cosine(g: np.ndarray, D: np.ndarray, loss: float) -> float:
    """max |g| / √(D · loss), weights that change nothing left out."""
    g, D = np.broadcast_arrays(g, D)
    live = D > 0
    if loss == 0 or not live.any():
        return 0.0
    return min(float((np.abs(g[live]) / np.sqrt(D[live] * loss)).max()), 1.0)


def rank_floor(problem: Problem, mean: np.ndarray, n: float, units: int) -> float | None:
    """The least mean square of any network of so many units, where its outputs' rank binds.

    σ(XA)B + b0 has rank `units` about b0, so principal components of Y do no worse.
    """
    q = len(mean)
    if not (problem.objective.least_squares and units < q <= OUTPUTS):
        return None
    YtY = problem.backend.to_numpy(problem.source.reduce(TargetPass()))
    values = eigvalsh(YtY / n - np.outer(mean, mean))  # ascending
    return float(np.maximum(values[: q - units], 0).sum())


def hidden_system(problem: Problem, net: Network, g: np.ndarray, loss: float) -> HiddenSystem:
    """The hidden system at a network with the half gradient g: (p, h)."""
    be, lam = problem.backend, problem.lam
    p, h = net.A.shape
    m = h * p
    if h == 0:
        return HiddenSystem("there are no hidden units")
    if problem.connections is not None:
        return HiddenSystem("its units see few of the inputs")
    if m > UNKNOWNS:
        return HiddenSystem(f"it has {m:,} unknowns, more than {UNKNOWNS:,}")
    if p > COLUMNS:
        return HiddenSystem(f"its units see {p:,} columns, more than {COLUMNS:,}")
    if problem.input_signs is not None:
        return HiddenSystem("some of its weights have to be of a sign")
    quadratic = problem.objective.least_squares
    if not quadratic and len(net.b0) > 1:
        return HiddenSystem("the loss weighs each output of a row by itself")
    enough = max(ROWS_PER_UNKNOWN * m, FEWEST)
    many = len(problem.source) > 2 * enough
    part = problem.sample(enough, np.random.RandomState(0)) if many else problem
    A, W = be.double(net.A), be.double(np.vstack([net.B, net.b0]))
    at = None if quadratic else NetworkPass(A, W, problem.slope, problem.objective)
    stats = part.source.reduce(PatternPass(A, problem.slope, weigh=at))
    n = stats.n if quadratic else part.source.weight
    U = be.to_numpy(unpack(be, stats)) / n  # (h, p, h, p)
    M = (U * (net.B @ net.B.T)[:, None, :, None]).reshape(m, m)
    if not np.isfinite(M.sum()):
        return HiddenSystem("its sums overflow")
    rounding = m * be.eps(be.zeros(1)) * float(M.diagonal().max())
    rank = int(lapack.dpstrf(M, tol=rounding)[2])
    c = g.T.reshape(m, 1)
    solution = solve_spd(NumpyBackend(), M + (lam + rounding) * np.eye(m), c, tau=ANY_TAU)
    singular = (rank < m and lam <= rounding) or not np.isfinite(solution.condition)
    return HiddenSystem(
        rows=len(part.source),
        rank=rank,
        condition=None if singular else solution.condition,
        gain=min(float((c * solution.value).sum()) / loss, 1.0) if loss > 0 else 0.0,
    )
