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
from math import nan
from typing import Protocol

from anmin.backends import Array
from anmin.linsolve import Solution, solve_spd
from anmin.moves import Visit
from anmin.solvers.curvature import CurvatureRows, Effort, ProductCurvature
from anmin.solvers.problem import Point, Problem, gradient
from anmin.stats import CountPass, OutputStats, PatternPass, PatternStats, unpack
from anmin.status import Status

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
        """One pass at A serves its output layer, its loss and its hidden system."""
        stats, U = self.sums_at(A, before)
        point = self.problem.point(A, output_sums(self.problem, stats, U, A))
        return Visit(point, status, stats.counts, facts or {})

    def step(self, point: Point, tau: float, floor: float) -> HiddenStep:
        problem, W = self.problem, point.W
        stats, U = self.sums_at(point.A)
        backend, lam = problem.backend, problem.lam
        M, c = hidden_system(stats, U, W)
        solution = solve_spd(backend, backend.shifted(M, lam), c, tau, floor, lam)
        a, b0 = solution.value, W[-1]
        constant = (stats.YtY - 2 * float(b0 @ stats.Yt1)) / stats.n + float(b0 @ b0)
        frozen = constant + float(a @ (M @ a) - 2 * (c @ a)) + lam * float((W * W).sum() + a @ a)
        A = backend.contiguous(a.reshape(point.A.T.shape).T)
        return HiddenStep(A, solution, frozen)


class ProductLayer:
    """M only multiplied, by conjugate gradients in single precision."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rows = CurvatureRows(problem.source.using(problem.backend.single()))

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
        frozen = point.loss - float((v * g).sum())
        return HiddenStep(point.A + v, Solution(v, logdet=nan, condition=nan), frozen)


def hidden_layer(problem: Problem, h: int) -> HiddenLayer:
    return (FormedLayer if problem.forms_matrix(h, FORMED) else ProductLayer)(problem)


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


def hidden_system(stats: PatternStats, U: Array, W: Array) -> tuple[Array, Array]:
    """M = (BBᵀ ⊗ 11ᵀ) ∘ ZᵀZ / n and c, for the pattern of the sums and the output layer W."""
    B, b0 = W[:-1], W[-1]
    h, p, _ = stats.shape
    M = (U * (B @ B.T)[:, None, :, None]).reshape(h * p, h * p) / stats.n
    v = (stats.ZtY * B[:, None, :]).sum(-1) - stats.Zt1 * (B @ b0)[:, None]  # (h, p)
    return M, v.reshape(-1) / stats.n
