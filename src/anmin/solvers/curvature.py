"""Curvature of the loss with the output layer eliminated, for the frozen pattern.

Since W = [B; b0] is the least-squares solution for every A, only A is free. Kaufman's form of the
Gauss–Newton matrix of what is left is

    H = [ZᵀZ − ZᵀS (SᵀS + n lam I)⁻¹ SᵀZ] ∘ (BBᵀ ⊗ 11ᵀ) / n

and a damped step solves (H + lam I + μD) v = g, D the mean of the diagonal of each neuron's block.
H is a model, not the truth: it is formed in single precision, and from a sample of the rows where
there are many more than unknowns. Gradient, loss and output layer are never approximated.

    DenseCurvature      forms H; one Cholesky a μ. For (d+1)h up to `DENSE`.
    ProductCurvature    multiplies by H, two thin products over the rows a time, and solves by
                        conjugate gradients with the Kronecker preconditioner (BBᵀ∘GᵀG/n) ⊗ XᵀX/n.

Where the limit lies was measured on two cores: in equal time both come to the same loss with 500 to
900 unknowns, and the second to the lower one with 1,344 (docs/experiments.md). Below it the dense
form gives every further μ for the price of a factorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anmin.backends import Array, Backend
from anmin.solvers.problem import Point, Problem
from anmin.sources import Batch, Source
from anmin.stats import CountPass, Counts, OutputPass, PatternPass, unpack

DENSE = 1000


@dataclass(frozen=True, slots=True)
class Effort:
    """How far conjugate gradients go: products, and the relative residual that is enough."""

    products: int
    tolerance: float


INEXACT = Effort(12, 0.2)  # for a damped step: H is a model, and more of it buys no lower loss


class CurvatureRows:
    """The rows that curvature is measured on, in single precision."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.backend: Backend = source.backend

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of XᵀX/n."""
        XtX, n = self.source.reduce(MomentPass()).unpack()
        values, vectors = self.backend.eigh(XtX / n)
        return values * (values > 0), vectors


@dataclass(frozen=True, slots=True)
class MomentSums:
    XtX: Array
    n: float

    def __add__(self, other: MomentSums) -> MomentSums:
        return MomentSums(self.XtX + other.XtX, self.n + other.n)

    def unpack(self) -> tuple[Array, float]:
        return self.XtX, self.n


class MomentPass:
    def __call__(self, backend: Backend, batch: Batch) -> MomentSums:
        X = batch.X
        return MomentSums(
            backend.sum_over_blocks(lambda rows: X[rows].T @ X[rows], len(X)),
            float(X[:, 0] @ X[:, 0]),
        )


def output_root(backend: Backend, StS: Array, n: float, lam: float) -> Array:
    """R with RᵀR = (SᵀS + n lam I)⁻¹, up to the least jitter that makes it positive definite."""
    size = float(StS.diagonal().sum()) / len(StS)
    for jitter in 10.0 ** np.arange(-6, 3):
        L = backend.cholesky(backend.shifted(StS, n * lam + jitter * size))
        if L is not None:
            return backend.triangular_inverse(L)
    raise FloatingPointError("the hidden outputs are not finite; X or init is too large in scale.")


def damping(diagonal: Array, backend: Backend) -> Array:
    """D as (h, 1): the mean over each neuron's block, kept away from zero."""
    D = diagonal.sum(1, keepdims=True) / diagonal.shape[1]
    floor = 1e-6 * float(D.max()) + 1e-30
    return backend.where(floor < D, D, floor + 0 * D)


class DenseCurvature:
    """H as a matrix."""

    def __init__(
        self, rows: CurvatureRows, point: Point, problem: Problem, before: Array | None
    ) -> None:
        self.backend = be = rows.backend
        A, B = be.asarray(point.A), be.asarray(point.W[:-1])
        stats = rows.source.reduce(PatternPass(A, problem.slope, before))
        h, p, _ = stats.shape
        self.shape, self.counts, self.A = (h, p), stats.counts, A
        U = unpack(be, stats)  # (h, p, h, p)
        ZtS = be.zeros(h, p, h + 1)
        ZtS[:, :, :h] = (U * A.T).sum(-1)
        ZtS[:, :, h] = stats.Zt1
        StS = be.zeros(h + 1, h + 1)
        StS[:h] = (A.T[:, :, None] * ZtS).sum(1)
        StS[h, :h], StS[h, h] = StS[:h, h], stats.n
        T = output_root(be, StS, stats.n, problem.lam) @ ZtS.reshape(h * p, h + 1).T
        self.unit = float((B * B).sum(1).max()) or 1.0  # keeps single precision within its range
        BBt = B @ B.T / (self.unit * stats.n)
        H = (U.reshape(h * p, h * p) - T.T @ T).reshape(h, p, h, p) * BBt[:, None, :, None]
        self.H, self.lam = H.reshape(h * p, h * p), problem.lam / self.unit
        self.D = damping(self.H.diagonal().reshape(h, p), be)

    def solve(self, g: Array, mu: float) -> Array | None:
        """v with (H + lam I + mu D) v = g, or None where that is not positive definite."""
        h, p = self.shape
        M = self.H * 1
        M.reshape(-1)[:: h * p + 1] += (self.lam + mu * self.D + 0 * self.H[0, :p]).reshape(-1)
        L = self.backend.cholesky(M)
        if L is None:
            return None
        v = self.backend.cho_solve(L, self.backend.asarray(g.T / self.unit).reshape(-1))
        return v.reshape(h, p).T


class ProductCurvature:
    """H as a product with a matrix V of the shape of A, never formed.

    With `project=False` it is M of the paper's hidden step, the output layer held fixed.
    """

    def __init__(
        self, rows: CurvatureRows, point: Point, problem: Problem, before: Array | None,
        project: bool = True,
    ) -> None:  # fmt: skip
        self.rows, self.backend = rows, rows.backend
        be = rows.backend
        A, B = be.asarray(point.A), be.asarray(point.W[:-1])
        sums = rows.source.reduce(OutputPass(A, problem.slope))
        root = output_root(be, sums.StS, sums.n, problem.lam) if project else None
        self.unit = float((B * B).sum(1).max()) or 1.0
        self.frame = Frame(A, problem.slope, root, B @ B.T / (self.unit * sums.n))
        found = rows.source.reduce(FiringPass(self.frame, before))
        self.counts, self.A = found.counts, A
        sigma = rows.moments[0]
        self.K = self.frame.BBt * found.GtG  # (h, h)
        self.D = damping(self.K.diagonal()[:, None] * float(sigma.sum()) / len(sigma), be)
        self.lam = problem.lam / self.unit
        self.last = be.zeros(*A.shape)

    def product(self, V: Array) -> Array:
        """H V, in two sweeps: the part of (G∘XV)BBᵀ that S explains, then Zᵀ of the rest."""
        explained = None
        if self.frame.root is not None:
            explained = self.rows.source.reduce(ExplainedPass(self.frame, V))  # (h + 1, h)
        return self.rows.source.reduce(ProductPass(self.frame, V, explained))

    def solve(self, g: Array, mu: float, effort: Effort = INEXACT) -> Array:
        """v with (H + lam I + mu D) v = g to a relative residual, from the last one found.

        The residual is looked at one step late, while a GPU is at work on the next product.
        """
        shift = (self.lam + mu * self.D).T  # (1, h)
        precondition = self.preconditioner(shift)
        g = self.backend.asarray(g) / self.unit
        V, goal = self.last, effort.tolerance**2 * float((g * g).sum())
        r = g - self.product(V) - shift * V
        z = precondition(r)
        d, rz, rr, step = z, (r * z).sum(), (r * r).sum(), 1.0
        for _ in range(effort.products):
            Hd = self.product(d) + shift * d
            done = float(rr) <= goal or not float(step) > 0
            curve = (d * Hd).sum()
            step = self.backend.where(curve > 0, rz / curve, 0 * rz)
            V, r = V + step * d, r - step * Hd
            if done:
                break
            z = precondition(r)
            rz, old, rr = (r * z).sum(), rz, (r * r).sum()
            d = z + (rz / old) * d
        self.last = V
        return V

    def preconditioner(self, shift: Array) -> Callable[[Array], Array]:
        """(K ⊗ XᵀX/n + shift)⁻¹ by two small eigendecompositions, as a function of R (p, h)."""
        values, Q = self.rows.moments
        root = shift**0.5  # (1, h)
        kappa, P = self.backend.eigh(self.K / (root * root.T))
        P = P / root.T
        weight = 1 / (values[:, None] * (kappa * (kappa > 0)) + 1)  # (p, h)
        return lambda R: Q @ (weight * (Q.T @ R @ P)) @ P.T


@dataclass(frozen=True, eq=False)
class Frame:
    """What stays fixed while H is multiplied: pattern, output layer, root of the projector."""

    A: Array
    slope: float
    root: Array | None  # (h + 1, h + 1)
    BBt: Array  # (h, h)

    def on(self, backend: Backend, batch: Batch) -> tuple[Array, Array]:
        """G (n, h) and Q (n, h + 1), whose columns are an orthonormal frame of S (if projected)."""

        def compute() -> tuple[Array, Array]:
            h = self.A.shape[1]
            G, Q = backend.empty(len(batch), h), backend.empty(len(batch), h + 1)

            def part(rows: slice) -> None:
                X = batch.X[rows]
                P = X @ self.A
                G[rows] = backend.gain(P > 0, self.slope)
                if self.root is not None:
                    S = backend.append_column(backend.activate(P, self.slope), X[:, 0])
                    Q[rows] = S @ self.root.T

            backend.each_block(part, len(batch))
            return G, Q

        return batch.once("frame", self, compute)

    def middle(self, backend: Backend, batch: Batch, V: Array) -> Array:
        """(G ∘ XV) BBᵀ: (n, h)."""

        def compute() -> Array:
            G, _ = self.on(backend, batch)
            T = backend.empty(len(batch), self.A.shape[1])

            def part(rows: slice) -> None:
                T[rows] = (G[rows] * (batch.X[rows] @ V)) @ self.BBt

            backend.each_block(part, len(batch))
            return T

        return batch.once("middle", V, compute)


@dataclass(frozen=True, slots=True)
class Firing:
    GtG: Array  # Σ G_ij G_il / n
    counts: Counts

    def __add__(self, other: Firing) -> Firing:
        return Firing(self.GtG + other.GtG, self.counts + other.counts)


@dataclass(frozen=True, slots=True)
class FiringPass:
    """How often neurons fire together, and the counts for the history."""

    frame: Frame
    before: Array | None

    def __call__(self, backend: Backend, batch: Batch) -> Firing:
        counts = CountPass(self.frame.A, self.before)(backend, batch)
        G, _ = self.frame.on(backend, batch)
        w = batch.X[:, :1]

        def part(rows: slice) -> Array:
            wG = w[rows] * G[rows]
            return wG.T @ wG

        return Firing(backend.sum_over_blocks(part, len(G)), counts)


@dataclass(frozen=True, slots=True)
class ExplainedPass:
    """Qᵀ (G∘XV)BBᵀ: what S explains of it, in its own frame."""

    frame: Frame
    V: Array

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        T = self.frame.middle(backend, batch, self.V)
        _, Q = self.frame.on(backend, batch)
        return backend.sum_over_blocks(lambda rows: Q[rows].T @ T[rows], len(batch))


@dataclass(frozen=True, slots=True)
class ProductPass:
    """Xᵀ(G ∘ (T − Q Qᵀ T)) with T = (G∘XV)BBᵀ."""

    frame: Frame
    V: Array
    explained: Array | None  # QᵀT

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        T = self.frame.middle(backend, batch, self.V)
        G, Q = self.frame.on(backend, batch)

        def part(rows: slice) -> Array:
            left = T[rows] if self.explained is None else T[rows] - Q[rows] @ self.explained
            return batch.X[rows].T @ (G[rows] * left)

        return backend.sum_over_blocks(part, len(batch))
