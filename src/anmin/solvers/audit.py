"""What a network is like where a fit has left it: gradient, units, hidden system, curvature.

With R = Y − SW the residual, L the loss of Eq. (1), and (j, a) the weight from input a to unit j:

    E_jac = Σ_i z_ija r_ic / n                    the residual of output c, seen through the weight
    g_ja  = Σ_c b_jc E_jac − lam A_aj             half the downhill gradient

The loss along one weight alone is a parabola that can fall by g_ja² / (M + lam I)_ja,ja. That is
cos² L, with the cosine between the residual and what the weight can change, penalty included: a
gradient without units. Moving all of A, the output layer and the pattern held, can gain
gᵀ(M + lam I)⁻¹g, exactly (Theorem 1). With the output layer eliminated, half the second derivative
for the frozen pattern is, also exactly,

    H = M + lam I − C (K⁻¹ ⊗ I) Cᵀ,     K = SᵀS/n + lam I
    C_ja,lc = (ZᵀS)_ja,l b_jc / n − [j=l] E_jac

It is counted in units of the diagonal of M + lam I, so that the scale of a unit does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh, lapack

from anmin.backends import Array, Backend, NumpyBackend
from anmin.linsolve import solve_spd
from anmin.network import Network
from anmin.solvers.problem import Problem
from anmin.solvers.tidy import OFF
from anmin.sources import Batch
from anmin.sums.gram import PatternPass, output_blocks, unpack
from anmin.sums.output import NetworkPass, hidden_outputs, residual
from anmin.sums.patterns import Sums

UNKNOWNS = 1500  # up to which the hidden system is formed
WIDTH = 2**15  # (d+1) times outputs up to which it is
ROWS_PER_UNKNOWN, FEWEST = 5, 2000  # that the hidden system is formed on
NEARLY = 0.01  # relative difference below which two units are nearly the same
NEGATIVE = 0.01  # of a weight's own curvature: below minus this, a direction leads down
OUTPUTS = 2048  # up to which the floor is looked for
TINY = 1e-300
ANY_TAU = -np.finfo(float).max  # no determinant is too small, but the condition is wanted


@dataclass(frozen=True, slots=True)
class HiddenSystem:
    """The hidden system M + lam I of the frozen pattern, and the curvature there."""

    rows: int  # that it was formed on
    rank: int  # of M
    condition: float  # of M + lam I
    gain: float  # gᵀ(M + lam I)⁻¹g / L
    descents: int  # directions of negative curvature, the output layer eliminated


@dataclass(frozen=True, slots=True)
class Audit:
    """Facts about a network on the rows of a problem, in the problem's units."""

    loss: float
    mse: float
    total: float  # mean square of y about its mean
    gradient: float  # norm of the gradient of Eq. (1) in all weights
    cosine: float  # the largest of a weight
    dead: int
    off: int
    always_on: int
    duplicates: int
    mirrored: int
    spread: float  # the largest input over the least deviation of one
    floor: float | None  # that no network of so many units can go below
    system: HiddenSystem | None
    unformed: str  # why there is no system


@dataclass(frozen=True, slots=True)
class Look(Sums):
    """The sums of a thin pass at (A, W)."""

    n: float  # Σw
    rows: float
    RtR: float
    YtY: float
    Yt1: Array  # (q,)
    ZtRB: Array  # Σ_i z_ija (r_i · b_j): (p, h)
    ZZ: Array  # Σ_i z_ija²: (p, h)
    SS: Array  # Σ_i S_ij²: (h + 1,)
    StR: Array  # (h + 1, q)
    PtP: Array  # P = XA: (h, h)
    fired: Array  # rows that each unit fires on: (h,)
    Xt1: Array  # (p,)
    XX: Array  # Σ_i x̃_ia²: (p,)


@dataclass(frozen=True, slots=True)
class LookPass(NetworkPass):
    """All of `Look` in one pass, in double precision."""

    def __call__(self, backend: Backend, batch: Batch) -> Look:
        at = self.cast(backend.double)

        def part(rows: slice) -> Look:
            X, Y = backend.double(batch.X[rows]), backend.double(batch.Y[rows])
            P = X @ at.A  # (k, h)
            F = P > 0
            G = backend.double(backend.gain(F, at.slope))
            S = hidden_outputs(backend, X, P, at.slope)
            R = at.objective.residual(Y, S @ at.W)  # (k, q)
            return Look(
                n=float(X[:, 0] @ X[:, 0]), rows=float(len(X)),
                RtR=float((R * R).sum()), YtY=float((Y * Y).sum()), Yt1=Y.T @ X[:, 0],
                ZtRB=X.T @ (G * (R @ at.W[:-1].T)), ZZ=(X * X).T @ (G * G),
                SS=(S * S).sum(0), StR=S.T @ R, PtP=P.T @ P, fired=F.sum(0),
                Xt1=X.T @ X[:, 0], XX=(X * X).sum(0),
            )  # fmt: skip

        return backend.sum_over_blocks(part, len(batch))


@dataclass(frozen=True, slots=True)
class CorrelationPass(NetworkPass):
    """n E of the head of this file, output by output: (q, p, h)."""

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        at = self.cast(backend.asarray)

        def part(rows: slice) -> Array:
            X = batch.X[rows]
            G = backend.gain(X @ at.A > 0, at.slope)
            R = residual(backend, X, batch.Y[rows], at)
            E = backend.zeros(R.shape[1], *at.A.shape)
            for c in range(len(E)):
                E[c] = X.T @ (G * R[:, c : c + 1])
            return E

        return backend.sum_over_blocks(part, len(batch))


class TargetPass:
    """YᵀY: (q, q)."""

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        return backend.sum_over_blocks(lambda rows: batch.Y[rows].T @ batch.Y[rows], len(batch))


def audit(problem: Problem, net: Network, asked: int) -> Audit:
    """The facts about a network in the units of the problem; `asked` units at first."""
    be, lam = problem.backend, problem.lam
    W = np.vstack([net.B, net.b0])
    at = LookPass(be.double(net.A), be.double(W), problem.slope, problem.objective)
    look = problem.source.reduce(at)
    ZtRB, ZZ, SS, StR = (be.to_numpy(V) for V in (look.ZtRB, look.ZZ, look.SS, look.StR))
    n, b2 = look.n, (net.B**2).sum(1)
    g, gW = ZtRB / n - lam * net.A, StR / n - lam * W
    D, DW = ZZ * b2 / n + lam, SS[:, None] / n + lam  # curvature along one weight
    mean = be.to_numpy(look.Yt1) / n
    total = max(look.YtY / n - float(mean @ mean), 0.0)
    loss = look.RtR / n + lam * float((net.A**2).sum() + (W**2).sum())
    height = max(loss, 1e-14 * look.YtY / n)  # a loss of rounding errors has no slope
    cosines = [largest_cosine(g, D, height), largest_cosine(gW, DW, height)]
    system, unformed = formed_system(problem, net, Slope(g, D, n, loss))
    fired, PtP = be.to_numpy(look.fired), be.to_numpy(look.PtP)
    dead = SS[:-1] == 0
    return Audit(
        loss=loss, mse=look.RtR / n, total=total,
        gradient=2 * float((g**2).sum() + (gW**2).sum()) ** 0.5, cosine=max(cosines),
        dead=int(dead.sum()), off=int((~dead & (SS[:-1] * b2 <= OFF**2 * look.YtY)).sum()),
        always_on=int((fired == look.rows).sum()),
        duplicates=repeats(PtP), mirrored=repeats(PtP, -1),
        spread=spread(be.to_numpy(look.Xt1) / n, be.to_numpy(look.XX) / n),
        floor=rank_floor(problem, mean, n, asked), system=system, unformed=unformed,
    )  # fmt: skip


def largest_cosine(g: np.ndarray, D: np.ndarray, loss: float) -> float:
    """max |g| / √(D · loss), weights that change nothing left out."""
    g, D = np.broadcast_arrays(g, D)
    live = D > 0
    if loss == 0 or not live.any():
        return 0.0
    return min(float((np.abs(g[live]) / np.sqrt(D[live] * loss)).max()), 1.0)


def repeats(PtP: np.ndarray, sign: int = 1) -> int:
    """Units whose x̃a is, but for scale, that of an earlier unit on the rows (times `sign`)."""
    size = np.sqrt(PtP.diagonal())
    with np.errstate(all="ignore"):
        cosine = sign * PtP / np.outer(size, size)  # NaN for a = 0, which is like no other
    near = np.tril(2 - 2 * cosine <= NEARLY**2, k=-1)
    return int(near.any(axis=1).sum())


def spread(mean: np.ndarray, mean_square: np.ndarray) -> float:
    """The largest input in root mean square over the least deviation; 1 when standardised."""
    variance = mean_square - mean**2
    varies = variance > 1e-12 * mean_square
    if not varies.any():
        return 1.0
    return float((mean_square[varies].max() / variance[varies].min()) ** 0.5)


def rank_floor(problem: Problem, mean: np.ndarray, n: float, units: int) -> float | None:
    """The least mean square of any network of so many units, where its outputs' rank binds.

    σ(XA)B + b0 has rank `units` about b0, so principal components of Y do no worse.
    """
    q = len(mean)
    if not units < q <= OUTPUTS:
        return None
    YtY = problem.backend.to_numpy(problem.source.reduce(TargetPass()))
    values = eigvalsh(YtY / n - np.outer(mean, mean))  # ascending
    return float(np.maximum(values[: q - units], 0).sum())


@dataclass(frozen=True, slots=True)
class Slope:
    """What a thin pass knows of the way down: g and the diagonal of M + lam I, both (p, h)."""

    g: np.ndarray
    D: np.ndarray
    n: float
    loss: float


def formed_system(problem: Problem, net: Network, at: Slope) -> tuple[HiddenSystem | None, str]:
    """The hidden system at the network, or why it was not formed."""
    n, p, q = problem.source.shape
    h = net.A.shape[1]
    m, lam = h * p, problem.lam
    if h == 0:
        return None, "there are no hidden units"
    if m > UNKNOWNS:
        return None, f"it has {m:,} unknowns, more than {UNKNOWNS:,}"
    if p * q > WIDTH:
        return None, f"there are {q:,} outputs, too many"
    enough = max(ROWS_PER_UNKNOWN * m, FEWEST)
    part = problem.sample(enough, np.random.RandomState(0)) if n > 2 * enough else problem
    M, H = curvature(problem, part, net, at.n)
    if not np.isfinite(M.sum() + H.sum()):
        return None, "its sums overflow"
    eps = problem.backend.eps(problem.backend.zeros(1))
    rounding = m * eps * float(M.diagonal().max())
    g, d = at.g.T.reshape(m, 1), np.sqrt(at.D.T.ravel() + rounding + TINY)
    rank = int(lapack.dpstrf(M, tol=rounding)[2])
    solution = solve_spd(NumpyBackend(), M + (lam + rounding) * np.eye(m), g, tau=ANY_TAU)
    return HiddenSystem(
        rows=len(part.source),
        rank=rank,
        condition=np.inf if rank < m and lam <= rounding else solution.condition,
        gain=min(float((g * solution.value).sum()) / at.loss, 1.0) if at.loss > 0 else 0.0,
        descents=negative_eigenvalues(H / np.outer(d, d) + NEGATIVE * np.eye(m)),
    ), ""


def negative_eigenvalues(M: np.ndarray) -> int:
    """How many there are, from the signs of LDLᵀ (Sylvester): a 2×2 block of D has one of each."""
    D, pivots, _ = lapack.dsytrf(M, lower=1, lwork=64 * len(M))
    alone = pivots > 0
    return int((D.diagonal()[alone] < 0).sum() + (~alone).sum() // 2)


def curvature(
    problem: Problem, part: Problem, net: Network, n: float
) -> tuple[np.ndarray, np.ndarray]:
    """M and H of the head of this file: sums on the rows of `part`, the residual on all rows."""
    be, B, A = problem.backend, net.B, net.A
    p, h = A.shape
    at, W = be.double(A), be.double(np.vstack([B, net.b0]))
    stats = part.source.reduce(PatternPass(at, problem.slope))
    blocks = unpack(be, stats)
    U, ZtS, K = (
        be.to_numpy(V) / stats.n for V in (blocks, *output_blocks(be, stats, blocks, at))
    )  # (h, p, h, p), (h, p, h + 1), (h + 1, h + 1)
    correlations = CorrelationPass(at, W, problem.slope, problem.objective)
    E = be.to_numpy(problem.source.reduce(correlations))
    E = E.transpose(2, 1, 0).reshape(h * p, -1) / n  # (hp, q)
    K_inv = np.linalg.pinv(K + problem.lam * np.eye(h + 1), hermitian=True)
    m, BBt = h * p, (B @ B.T)[:, None, :, None]
    M = (U * BBt).reshape(m, m)
    Q = ZtS.reshape(m, h + 1) @ K_inv
    SS = (Q @ ZtS.reshape(m, h + 1).T).reshape(h, p, h, p) * BBt
    EE = (E @ E.T).reshape(h, p, h, p) * K_inv[:h, None, :h, None]
    BE = (B @ E.T).reshape(h, 1, h, p)  # b_j · E_lb
    SE = (Q.reshape(h, p, h + 1)[:, :, :h, None] * BE).reshape(m, m)
    H = M + problem.lam * np.eye(m) - (SS + EE).reshape(m, m) + SE + SE.T
    return M, H
