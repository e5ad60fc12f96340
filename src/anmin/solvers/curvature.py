"""Curvature of the loss with the output layer eliminated, for the frozen pattern.

Since W = [B; b0] is the least-squares solution for every A, only A is free. Kaufman's form of the
Gauss–Newton matrix of what is left is

    H = [ZᵀZ − ZᵀS (SᵀS + n lam I)⁻¹ SᵀZ] ∘ (BBᵀ ⊗ 11ᵀ) / n

and a damped step solves (H + lam I + μD) v = g, D the mean of the diagonal of each neuron's block.
Of a loss that is not quadratic every entry (i, k) has a weight v_ik = ½ℓ″: Z and S are then those
of rows times √v, and with several outputs each has an SᵀVS of its own.
H is a model, not the truth: it is formed in single precision, and from a sample of the rows where
there are many more than unknowns. Gradient, loss and output layer are never approximated.

    DenseCurvature      forms H; one Cholesky a μ. For (d+1)h up to `DENSE`.
    ProductCurvature    multiplies by H, two thin products over the rows a time, and solves by
                        conjugate gradients with the Kronecker preconditioner (BBᵀ∘GᵀG/n) ⊗ XᵀX/n.
                        With BBᵀ = LLᵀ only the r ≤ q columns of (G∘XV)L are projected, not h.

Where units see inputs of their own (`sources/support.py`), X is read as X_j for unit j; unknowns
are then the weights that there are, and the preconditioner is a block a unit.

Where the limit lies was measured on two cores (docs/experiments.md): with 500 to 900 unknowns the
second is sooner far down and the first comes further, with 1,344 the second has the lower loss. The
dense form gives every further μ for the price of a factorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anmin.backends import Array, Backend, inner
from anmin.linsolve import inverse_root
from anmin.solvers.problem import Point, Problem
from anmin.solvers.spectrum import InputProducts
from anmin.sources import Source
from anmin.sums.frame import ExplainedPass, FiringPass, Frame, ProductPass
from anmin.sums.gathered import GatheredPass, OwnInputsPass
from anmin.sums.gram import PatternPass, output_blocks, unpack
from anmin.sums.output import NetworkPass, OutputPass, WorkingPass, WorkingStats
from anmin.sums.patterns import Counts

DENSE = 1000
MANY = 256  # outputs above which no sums are formed that the curvature does not need
JITTER = 1e-6  # of the mean diagonal of SᵀS/n + lam I, which units that are alike make singular
UNSHIFTED = 1e-6  # of D: the least shift in a preconditioner


@dataclass(frozen=True, slots=True)
class Effort:
    """How far conjugate gradients go: products, and the relative residual that is enough."""

    products: int
    tolerance: float


INEXACT = Effort(8, 0.2)  # for a damped step: H is a model, and more of it buys no lower loss


class CurvatureRows:
    """The rows that curvature is measured on, mostly in single precision; all rows, or some."""

    def __init__(
        self, source: Source, whole: bool = False, products: InputProducts | None = None
    ) -> None:  # fmt: skip
        self.source, self.whole = source, whole
        self.backend: Backend = source.backend
        self.products = products or InputProducts(source)

    @cached_property
    def moments(self) -> tuple[Array, Array, float]:
        """Eigenvalues and eigenvectors of XᵀX/n, and what stands for those that are not known."""
        return self.products.moments(self.source)

    def blocks(
        self, A: Array, slope: float, before: Array | None, at: NetworkPass | None
    ) -> tuple[float, Array, Array, Array, Counts]:
        """n, ZᵀZ as (h, p, h, p), ZᵀS, SᵀS of a pattern, and its counts."""
        few = self.source.shape[2] <= MANY
        stats = self.source.reduce(PatternPass(A, slope, before, at, few))
        U = unpack(self.backend, stats)
        return stats.n, U, *output_blocks(self.backend, stats, U, A), stats.counts

    def diagonal(self, K: Array) -> Array:
        """Of K ⊗ XᵀX/n, in the mean over the inputs: (h, 1)."""
        (values, _, rest), p = self.moments, self.source.shape[1]
        trace = float(values.sum()) + rest * (p - len(values))
        return K.diagonal()[:, None] * trace / p

    def inverse(self, K: Array, root: Array) -> Callable[[Array], Array]:
        """(K ⊗ XᵀX/n + root²)⁻¹ by two small eigendecompositions, as a function of R (p, h)."""
        values, Q, rest = self.moments
        kappa, P = self.backend.eigh(K / (root * root.T))
        kappa, P = kappa * (kappa > 0), P / root.T
        weight = 1 / (values[:, None] * kappa + 1)  # (p, h)
        if len(values) == len(Q):
            return lambda R: Q @ (weight * (Q.T @ R @ P)) @ P.T
        outside = 1 / (rest * kappa + 1)  # (h,)

        def inverse(R: Array) -> Array:
            T = R @ P
            return (outside * T + Q @ ((weight - outside) * (Q.T @ T))) @ P.T

        return inverse


class OwnInputs(CurvatureRows):
    """The same where each unit sees inputs of its own: X_jᵀX_j/n is then a block a unit."""

    @cached_property
    def own(self) -> Array:
        return self.source.reduce(OwnInputsPass()) / self.source.weight  # (h, m, m)

    def blocks(
        self, A: Array, slope: float, before: Array | None, at: NetworkPass | None
    ) -> tuple[float, Array, Array, Array, Counts]:
        found, (m, h) = self.source.reduce(GatheredPass(A, slope, before, at)), A.shape
        assert isinstance(found.counts, Counts)
        U, ZtS = found.ZtZ.reshape(h, m, h, m), found.ZtS.reshape(h, m, h + 1)
        return found.n, U, ZtS, found.StS, found.counts

    def diagonal(self, K: Array) -> Array:
        return K.diagonal()[:, None] * np.diagonal(self.own, axis1=1, axis2=2)  # (h, m)

    def inverse(self, K: Array, root: Array) -> Callable[[Array], Array]:
        """By units: (K_jj X_jᵀX_j/n + root_j²)⁻¹."""
        kappa = K.diagonal()[:, None, None]
        shift = (root.T**2)[:, :, None] * np.eye(self.own.shape[1], dtype=self.own.dtype)
        M = np.linalg.inv(kappa * self.own + shift)  # (h, m, m)
        return lambda R: (M @ R.T[:, :, None])[:, :, 0].T


def output_root(backend: Backend, StS: Array, n: float, lam: float) -> Array:
    """R with RᵀR = (SᵀS + n lam I)⁻¹, found in double precision."""
    K = backend.shifted(backend.double(StS) / n, lam)
    return backend.asarray(inverse_root(backend, K, JITTER) / n**0.5)


def output_factor(
    backend: Backend, W: Array, lam: float, apart: bool = False
) -> tuple[Array, float]:
    """L with LLᵀ = BBᵀ / unit, and the unit that keeps all within the range of single precision.

    L is B itself, or (h, h) where the outputs outnumber the units and need not be told apart.
    """
    B = backend.double(W[:-1])
    unit = max(float((B * B).sum(1).max()), lam) or 1.0
    B = B / unit**0.5
    if B.shape[1] > len(B) and not apart:
        values, V = backend.eigh(B @ B.T)
        B = V * (values * (values > 0)) ** 0.5
    return backend.asarray(B), unit


def output_roots(backend: Backend, found: WorkingStats, lam: float) -> Array:
    """The same for the SᵀVS of each output: (q, h + 1, h + 1)."""
    roots = backend.zeros(*found.StVS.shape)
    for k in range(len(roots)):
        roots[k] = output_root(backend, found.StVS[k], found.n, lam)
    return roots


def damping(diagonal: Array, backend: Backend) -> Array:
    """D as (h, 1): the mean over each neuron's block, kept away from zero."""
    D = diagonal.sum(1, keepdims=True) / diagonal.shape[1]
    floor = 1e-6 * float(D.max()) + 1e-30
    return backend.where(floor < D, D, floor + 0 * D)


def weighing(rows: CurvatureRows, point: Point, problem: Problem) -> NetworkPass | None:
    """Where the loss weighs the rows; None for a quadratic one, which does not."""
    if problem.objective.least_squares:
        return None
    A, W = (rows.backend.asarray(V) for V in (point.A, point.W))
    return NetworkPass(A, W, problem.slope, problem.objective)


class DenseCurvature:
    """H as a matrix; with weights, of one output."""

    shorter: tuple[Array, ...] = ()  # steps that come with a solution: none

    def __init__(
        self, rows: CurvatureRows, point: Point, problem: Problem, before: Array | None
    ) -> None:
        self.backend = be = rows.backend
        self.A = be.asarray(point.A)
        at = weighing(rows, point, problem)
        n, U, ZtS, StS, self.counts = rows.blocks(self.A, problem.slope, before, at)
        n = n if at is None else rows.source.weight
        self.shape = h, p = U.shape[:2]
        T = output_root(be, StS, n, problem.lam) @ ZtS.reshape(h * p, h + 1).T
        L, self.unit = output_factor(be, point.W, problem.lam)
        BBt = (L @ L.T)[:, None, :, None] / n
        H = (U.reshape(h * p, h * p) - T.T @ T).reshape(h, p, h, p) * BBt
        self.H, self.lam = H.reshape(h * p, h * p), problem.lam / self.unit
        self.D = damping(self.H.diagonal().reshape(h, p), be)

    def hold(self, free: Array) -> None:
        """Keep the weights that are not free where they are."""
        f = self.backend.asarray(free).T.reshape(-1)
        self.H = f[:, None] * self.H * f

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
        self.backend = be = rows.backend
        self.rows, self.A = rows, be.asarray(point.A)
        at = weighing(rows, point, problem)
        if at is None:
            sums = point.sums
            if not rows.whole:
                sums = rows.source.reduce(OutputPass(self.A, problem.slope, problem.rough))
            n, root = sums.n, output_root(be, sums.StS, sums.n, problem.lam) if project else None
        else:
            work = rows.source.reduce(WorkingPass(self.A, at.W, problem.slope, at.objective))
            n, root = work.n, output_roots(be, work, problem.lam)
        L, self.unit = output_factor(be, point.W, problem.lam, apart=at is not None)
        self.frame = Frame(self.A, problem.slope, root, L / n**0.5, at)
        found = rows.source.reduce(FiringPass(self.frame, before))
        self.counts = found.counts
        self.K = (self.frame.L @ self.frame.L.T) * found.GtG  # (h, h)
        self.D = damping(rows.diagonal(self.K), be)
        self.lam = problem.lam / self.unit
        self.shorter: list[Array] = []  # steps that conjugate gradients came by
        self.free: Array | None = None  # all weights

    def hold(self, free: Array) -> None:
        """Keep the weights that are not free where they are."""
        self.free = self.backend.asarray(free)

    def product(self, V: Array) -> Array:
        """H V, in two sweeps: the part of (G∘XV)L that S explains, then Zᵀ of the rest."""
        HV = self.whole_product(V)
        return HV if self.free is None else self.free * HV

    def whole_product(self, V: Array) -> Array:
        explained = None
        if self.frame.root is not None:
            explained = self.rows.source.reduce(ExplainedPass(self.frame, V))  # (h + 1, r)
            if self.frame.at is not None:  # (SᵀVS + n lam I)⁻¹ of each output
                T = self.frame.root
                explained = (T.swapaxes(1, 2) @ (T @ explained.T[:, :, None]))[:, :, 0].T
        return self.rows.source.reduce(ProductPass(self.frame, V, explained))

    def solve(self, g: Array, mu: float, effort: Effort = INEXACT) -> Array:
        """v with (H + lam I + mu D) v = g to a relative residual.

        What was there after 1, 2, 4, … products is kept, the last first: conjugate gradients that
        end early damp. The residual is looked at one step late, while a GPU is at work on the next
        product.
        """
        shift = (self.lam + mu * self.D).T  # (1, h)
        precondition = self.preconditioner(shift)
        g = self.backend.asarray(g / self.unit)
        V, r, goal = 0 * g, g, effort.tolerance**2 * float(inner(g, g))
        z = precondition(r)
        d, rz, rr = z, inner(r, z), inner(r, r)
        step: Array | float = 1.0
        self.shorter = []
        for k in range(effort.products):
            if k and k & (k - 1) == 0:
                self.shorter.insert(0, V)
            Hd = self.product(d) + shift * d
            done = float(rr) <= goal or not float(step) > 0
            curve = inner(d, Hd)
            step = self.backend.where(curve > 0, rz / curve, 0 * rz)
            V, r = V + step * d, r - step * Hd
            if done:
                break
            z = precondition(r)
            rz, old, rr = inner(r, z), rz, inner(r, r)
            d = z + (rz / old) * d
        return V

    def preconditioner(self, shift: Array) -> Callable[[Array], Array]:
        """About (H + shift)⁻¹, as a function of R (p, h).

        Without penalty and damping a small part of D stands in for the shift.
        """
        least = UNSHIFTED * self.D.T
        root = self.backend.where(shift > least, shift, least) ** 0.5  # (1, h)
        inverse, free = self.rows.inverse(self.K, root), self.free
        return inverse if free is None else lambda R: free * inverse(R)
