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
from math import nan
from typing import Any

from anmin.backends import Array
from anmin.linsolve import Solution, Status, solve_spd
from anmin.solvers.curvature import CurvatureRows, Effort, ProductCurvature
from anmin.solvers.problem import Point, Problem, gradient
from anmin.stats import CountPass, Counts, OutputStats, PatternPass, PatternStats, unpack

EFFORT = Effort(200, 5e-3)  # the pattern will have changed anyway

FORMED = 3000  # unknowns up to which M is formed


@dataclass(frozen=True, slots=True)
class Iterate:
    """A point, with what its pass found out."""

    point: Point
    counts: Counts
    stats: Any = None  # PatternStats of a full pass
    U: Any = None  # (h, p, h, p)


@dataclass(frozen=True, slots=True)
class HiddenStep:
    """The new A, the solution's status, and the loss promised for the frozen pattern."""

    A: Array
    solution: Solution
    frozen_loss: float


class DirectStep:
    """M formed and factorised."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def visit(self, A: Array, before: Array | None = None) -> Iterate:
        """One pass at A serves its output layer, its loss and its hidden system."""
        problem = self.problem
        stats = problem.source.reduce(PatternPass(A, problem.slope, before))
        U = unpack(problem.backend, stats)
        return Iterate(problem.point(A, output_sums(problem, stats, U, A)), stats.counts, stats, U)

    def step(self, here: Iterate, tau: float, floor: float) -> HiddenStep:
        if here.stats is None:  # it comes from a log
            here = self.visit(here.point.A)
        problem, stats, W = self.problem, here.stats, here.point.W
        backend, lam = problem.backend, problem.lam
        M, c = hidden_system(here)
        solution = solve_spd(backend, backend.shifted(M, lam), c, tau, floor, lam)
        a, b0 = solution.value, W[-1]
        constant = (stats.YtY - 2 * float(b0 @ stats.Yt1)) / stats.n + float(b0 @ b0)
        frozen = constant + float(a @ (M @ a) - 2 * (c @ a)) + lam * float((W * W).sum() + a @ a)
        A = backend.contiguous(a.reshape(here.point.A.T.shape).T)
        return HiddenStep(A, solution, frozen)


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
        return HiddenStep(point.A + v, Solution(v, Status.SOLVED, nan, nan), frozen)


def hidden_steps(problem: Problem, h: int) -> DirectStep | ProductStep:
    return (DirectStep if problem.forms_matrix(h, FORMED) else ProductStep)(problem)


def output_sums(problem: Problem, stats: PatternStats, U: Array, A: Array) -> OutputStats:
    """SᵀS and SᵀY from the sums: σ(x̃ a_j) = z_jᵀ a_j here, so (SᵀS)_jl = a_jᵀ U_jl a_l."""
    h, _, q = stats.shape
    a = A.T  # (h, p)
    StS, StY = problem.backend.zeros(h + 1, h + 1), problem.backend.zeros(h + 1, q)
    StS[:h, :h] = (a[:, :, None] * (U * a).sum(-1)).sum(1)
    StS[:h, h] = StS[h, :h] = (a * stats.Zt1).sum(1)
    StS[h, h] = stats.n
    StY[:h] = (a[:, :, None] * stats.ZtY).sum(1)
    StY[h] = stats.Yt1
    return OutputStats(stats.n, StS, StY, stats.YtY)


def hidden_system(here: Iterate) -> tuple[Array, Array]:
    """M = (BBᵀ ⊗ 11ᵀ) ∘ ZᵀZ / n and c, for the pattern and output layer of `here`."""
    stats, B, b0 = here.stats, here.point.W[:-1], here.point.W[-1]
    h, p, _ = stats.shape
    M = (here.U * (B @ B.T)[:, None, :, None]).reshape(h * p, h * p) / stats.n
    v = (stats.ZtY * B[:, None, :]).sum(-1) - stats.Zt1 * (B @ b0)[:, None]  # (h, p)
    return M, v.reshape(-1) / stats.n
