"""The paper's hidden step: the best A while the firing pattern and the output layer are held.

    minimise over a:  aᵀ M a − 2 cᵀ a + lam ‖a‖²,      a = A.T.ravel()           Theorem 1

`DirectStep` forms M from the sums of one full pass, which also give the output layer and the loss.
`ProductStep` only multiplies by M: a thin pass gives the output layer and the gradient
g = c − (M + lam I)a, and conjugate gradients, started at the present A, the correction to it. With
N rows the first costs N((d+1)h)²/2 multiplications and a factorisation, the second 4N(d+1)h an
inner step in single precision, some tens of them. `FORMED` is where the first becomes the dearer.
"""

from __future__ import annotations

from dataclasses import dataclass

from anmin.backends import Array
from anmin.linsolve import Solution, solve_spd
from anmin.solvers.curvature import CurvatureRows, Effort, ProductCurvature
from anmin.solvers.problem import Point, Problem, gradient
from anmin.sums.gram import PatternPass, PatternStats, output_sums, unpack
from anmin.sums.patterns import CountPass, Counts

EFFORT = Effort(200, 5e-3)  # the pattern will have changed anyway

FORMED = 3000  # unknowns up to which M is formed


@dataclass(frozen=True, slots=True)
class Pattern:
    """The sums of a full pass, and ZᵀZ unpacked."""

    stats: PatternStats
    U: Array  # (h, p, h, p)


@dataclass(frozen=True, slots=True)
class Iterate:
    """A point, with what its pass found out."""

    point: Point
    counts: Counts
    pattern: Pattern | None = None


@dataclass(frozen=True, slots=True)
class HiddenStep:
    """The new A, the solution that gave it, and the loss promised for the frozen pattern."""

    A: Array
    solution: Solution
    frozen_loss: float


class DirectStep:
    """M formed and factorised."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def visit(self, A: Array, before: Array | None = None) -> Iterate:
        """One pass at A serves its output layer, its loss and its hidden system.

        In single precision the loss would drown in the rounding of the sums; it gets its own pass.
        """
        problem, backend = self.problem, self.problem.backend
        stats = problem.source.reduce(PatternPass(A, problem.slope, before))
        U = unpack(backend, stats)
        if backend.dtype.itemsize < 8:
            point = problem.at(A)
        else:
            point = problem.point(A, output_sums(backend, stats, U, A))
        return Iterate(point, stats.counts, Pattern(stats, U))

    def step(self, here: Iterate, tau: float, floor: float) -> HiddenStep:
        pattern = here.pattern or self.visit(here.point.A).pattern  # a log keeps no sums
        assert pattern is not None
        backend, lam, A = self.problem.backend, self.problem.lam, here.point.A
        M, c = hidden_system(pattern, backend.asarray(here.point.W))
        M = backend.shifted(M, lam)
        solution = solve_spd(backend, M, c, tau, floor, lam)
        a = backend.asarray(A.T).reshape(-1)
        v = solution.value - a
        # The quadratic falls by vᵀ(2g − (M + lam I)v), g = c − (M + lam I)a.
        frozen = here.point.loss - float(v @ (2 * c - M @ (2 * a + v)))
        return HiddenStep(backend.contiguous(solution.value.reshape(A.T.shape).T), solution, frozen)


class ProductStep:
    """M only multiplied, by conjugate gradients in single precision."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rows = CurvatureRows(problem.source.using(problem.backend.single()))

    def visit(self, A: Array, before: Array | None = None) -> Iterate:
        counts = self.problem.source.reduce(CountPass(A, before))
        return Iterate(self.problem.at(A), counts)

    def step(self, here: Iterate, tau: float, floor: float) -> HiddenStep:  # noqa: ARG002
        """M + lam I is never formed, so there is no determinant to compare with tau."""
        problem, point = self.problem, here.point
        g = gradient(problem, point)
        curvature = ProductCurvature(self.rows, point, problem, None, project=False)
        v = problem.backend.asarray(curvature.solve(g, 0.0, EFFORT))
        # The quadratic falls by vᵀ(2g − (M + lam I)v), and (M + lam I)v = g up to the tolerance.
        frozen = point.loss - float((v * g).sum())
        return HiddenStep(point.A + v, Solution(v), frozen)


def hidden_steps(problem: Problem, h: int) -> DirectStep | ProductStep:
    return (DirectStep if problem.forms_matrix(h, FORMED) else ProductStep)(problem)


def hidden_system(pattern: Pattern, W: Array) -> tuple[Array, Array]:
    """M = (BBᵀ ⊗ 11ᵀ) ∘ ZᵀZ / n and c, for a pattern and an output layer."""
    stats, B, b0 = pattern.stats, W[:-1], W[-1]
    h, p, _ = stats.shape
    M = (pattern.U * (B @ B.T)[:, None, :, None]).reshape(h * p, h * p) / stats.n
    v = (stats.ZtY * B[:, None, :]).sum(-1) - stats.Zt1 * (B @ b0)[:, None]  # (h, p)
    return M, v.reshape(-1) / stats.n
