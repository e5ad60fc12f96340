"""The paper's hidden step: the best A while the firing pattern and the output layer are held.

    minimise over a:  aᵀ M a − 2 cᵀ a + lam ‖a‖²,      a = A.T.ravel()           Theorem 1

`FormedLayer` forms M from the sums of one full pass, which also give the output layer and the loss.
`ProductLayer` only multiplies by M: a thin pass gives the output layer and the gradient
g = c − (M + lam I)a, and conjugate gradients, started at the present A, the correction to it. With
N rows the first costs N((d+1)h)²/2 multiplications and a factorisation, the second 4N(d+1)h an
inner step in single precision, some tens of them. `FORMED` is where the first becomes the dearer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from anmin.backends import Array, inner
from anmin.linsolve import Solution, solve_spd
from anmin.moves import Visit
from anmin.solvers.curvature import CurvatureRows, Effort, ProductCurvature
from anmin.solvers.problem import Point, Problem, gradient
from anmin.status import Status
from anmin.sums.gram import PatternPass, PatternStats, output_sums, unpack
from anmin.sums.patterns import CountPass

EFFORT = Effort(200, 5e-3)  # the pattern will have changed anyway

FORMED = 3000  # unknowns up to which M is formed


@dataclass(frozen=True, slots=True)
class HiddenStep:
    """The new A, the solution's status, and the loss promised for the frozen pattern."""

    A: Array
    solution: Solution
    frozen_loss: float


class HiddenLayer(Protocol):
    """Points, and hidden steps from them."""

    problem: Problem

    def visit(
        self, A: Array, before: Array | None, status: Status, facts: dict[str, float] | None = None
    ) -> Visit:
        """The point at A; changes of the firing pattern are counted from the A `before`."""

    def step(self, point: Point, tau: float, floor: float) -> HiddenStep:
        """The hidden step from a point."""


class FormedLayer:
    """M formed and factorised."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.known: tuple[Array, PatternStats, Array] | None = None  # A, and the sums of its pass

    def sums_at(self, A: Array, before: Array | None = None) -> tuple[PatternStats, Array]:
        """The sums of a full pass at A, and U (h, p, h, p); those of the last A are remembered."""
        if self.known is None or self.known[0] is not A:
            stats = self.problem.source.reduce(PatternPass(A, self.problem.slope, before))
            self.known = A, stats, unpack(self.problem.backend, stats)
        return self.known[1:]

    def visit(
        self, A: Array, before: Array | None, status: Status, facts: dict[str, float] | None = None
    ) -> Visit:
        """One pass at A serves its output layer, its loss and its hidden system.

        In single precision the loss would drown in the rounding of the sums; it gets its own pass.
        """
        problem, backend = self.problem, self.problem.backend
        stats, U = self.sums_at(A, before)
        if backend.dtype.itemsize < 8:
            point = problem.at(A)
        else:
            point = problem.point(A, output_sums(backend, stats, U, A))
        return Visit(point, status, stats.counts, facts or {})

    def step(self, point: Point, tau: float, floor: float) -> HiddenStep:
        stats, U = self.sums_at(point.A)
        backend, lam, A = self.problem.backend, self.problem.lam, point.A
        M, c = hidden_system(stats, U, backend.asarray(point.W))
        M = backend.shifted(M, lam)
        solution = solve_spd(backend, M, c, tau, floor, lam)
        a = backend.asarray(A.T).reshape(-1)
        v = solution.value - a
        # The quadratic falls by vᵀ(2g − (M + lam I)v), g = c − (M + lam I)a.
        frozen = point.loss - float(v @ (2 * c - M @ (2 * a + v)))
        return HiddenStep(backend.contiguous(solution.value.reshape(A.T.shape).T), solution, frozen)


class ProductLayer:
    """M only multiplied, by conjugate gradients in single precision."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rows = CurvatureRows(problem.source.using(problem.backend.single()), whole=True)

    def visit(
        self, A: Array, before: Array | None, status: Status, facts: dict[str, float] | None = None
    ) -> Visit:
        counts = self.problem.source.reduce(CountPass(A, before))
        return Visit(self.problem.at(A), status, counts, facts or {})

    def step(self, point: Point, tau: float, floor: float) -> HiddenStep:  # noqa: ARG002
        """M + lam I is never formed, so there is no determinant to compare with tau."""
        problem = self.problem
        g = gradient(problem, point)
        curvature = ProductCurvature(self.rows, point, problem, None, project=False)
        v = problem.backend.asarray(curvature.solve(g, 0.0, EFFORT))
        # The quadratic falls by vᵀ(2g − (M + lam I)v), and (M + lam I)v = g up to the tolerance.
        frozen = point.loss - float(inner(v, g))
        return HiddenStep(point.A + v, Solution(v), frozen)


def hidden_layer(problem: Problem, h: int) -> HiddenLayer:
    return (FormedLayer if problem.forms_matrix(h, FORMED) else ProductLayer)(problem)


def hidden_system(stats: PatternStats, U: Array, W: Array) -> tuple[Array, Array]:
    """M = (BBᵀ ⊗ 11ᵀ) ∘ ZᵀZ / n and c, for the pattern of the sums and the output layer W."""
    B, b0 = W[:-1], W[-1]
    h, p, _ = stats.shape
    M = (U * (B @ B.T)[:, None, :, None]).reshape(h * p, h * p) / stats.n
    v = (stats.ZtY * B[:, None, :]).sum(-1) - stats.Zt1 * (B @ b0)[:, None]  # (h, p)
    return M, v.reshape(-1) / stats.n
