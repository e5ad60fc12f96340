"""The problem, and the linear half of it.

    L(A, B, b0) = 1/n Σ_i ‖σ(x̃_i A)B + b0 − y_i‖² + lam (‖b0‖² + ‖B‖² + ‖A‖²)          Eq. (1)

For a given A the best W = [B; b0] solves one small system, (SᵀS/n + lam I) W = SᵀY/n with
S = [σ(XA), 1]. A `Point` is an A with that W. Of a loss that is not quadratic W is found by a few
such systems (`newton.py`), from a W that is near.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anmin.backends import Array, Backend, inner
from anmin.history import Units
from anmin.linsolve import solve_signed, solve_spd
from anmin.network import Network
from anmin.objective import SQUARED_ERROR, Objective
from anmin.solvers.connections import Connections
from anmin.solvers.newton import FIRST, NEXT, SumsAt, minimise
from anmin.sources import Source
from anmin.sources.draws import draw
from anmin.sources.support import Support
from anmin.sums.output import (
    GradientPass,
    OutputPass,
    OutputStats,
    ResidualPass,
    WorkingPass,
    WorkingStats,
)

EVENINGS, SETTLED = 8, 1e-5
WORTH_A_THREAD = 1200  # rows of a network
FEW_UNKNOWNS = 300  # of a system that is cheap to factorise
CANCELLED = 1e-8  # of YᵀY: below this a loss formed as a difference of sums has lost its digits


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows, penalty and activation: all that Eq. (1) holds fixed."""

    source: Source
    lam: float
    slope: float = 0.0
    linear_solver: str = "auto"  # "cholesky", "cg", or by the number of unknowns
    objective: Objective = SQUARED_ERROR
    connections: Connections | None = None  # how many inputs a unit may see; None: all
    rough: bool = False  # units in the precision of the rows, where double would be exact

    @property
    def fan_in(self) -> int:
        """Weights that a unit may have, the bias among them."""
        p = self.source.shape[1]
        return p if self.connections is None else min(p, self.connections.most + 1)

    def gathered(self, support: Support) -> Problem:
        """The same problem in the weights of given connections, (m, h)."""
        return replace(self, source=support.source(self.source), connections=None)

    def forms_matrix(self, h: int, limit: int, rows: float = 0) -> bool:
        """Whether a system for (d+1)h unknowns is formed and factorised.

        "auto" does so up to `limit` of them; many only with so many rows an unknown, or more.
        """
        if self.linear_solver == "auto":
            looked_up = self.backend.looks_up and self.source.scaling.hinges is not None
            n, p, _ = self.source.shape
            pays = h * p <= FEW_UNKNOWNS or rows * h * p <= n
            return h * p <= limit and pays and not looked_up
        return self.linear_solver == "cholesky"

    @property
    def side_by_side(self) -> int:
        """Networks that may be worked on at a time: a core each, where the rows are in memory.

        Of few rows a thread would mostly wait for the others to let go of the interpreter.
        """
        raw, few = self.source.raw, len(self.source) < WORTH_A_THREAD
        return 1 if raw.streamed or raw.remote or few else self.backend.side_by_side

    @property
    def backend(self) -> Backend:
        return self.source.backend

    @property
    def units(self) -> Units:
        """What its numbers are worth to the user."""
        return Units(self.source.scaling.y_scale, self.objective.degree)

    # ---- what weights may be: anything here, of some signs alone in `signs.py` ---------------

    @property
    def input_signs(self) -> np.ndarray | None:
        """The sign of what a linear model may make of each column, 0 for any: (p,)."""
        return None

    def output_signs(self, A: Array) -> np.ndarray | None:  # noqa: ARG002
        """The sign of the output weights of each unit, and of b0, 0 for any: (h + 1,)."""
        return None

    def obeying(self, A: Array, lean: np.ndarray | None = None) -> Array:  # noqa: ARG002
        """A without weights that may not be; a unit that leans to a sign takes that."""
        return A

    def of_use(self, A: np.ndarray, c: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Output weights c (h, q) as units A may have them."""
        return c

    def downhill(self, A: Array, W: Array, g: Array) -> tuple[Array, Array | None]:  # noqa: ARG002
        """A direction g of A without weights that it may not go to; which are free, 0 or 1."""
        return g, None

    # ---- points -------------------------------------------------------------------------------

    def at(self, A: Array, W: Array | None = None) -> Point:
        """The best output layer for A, and the loss: one thin pass.

        Of a loss that is not quadratic a few, fewer from a W that is near.
        """
        if self.connections is not None:
            A = self.backend.to_numpy(A)
            support = Support.of(A)
            here = self.gathered(support).at(self.backend.asarray(support.gather(A)), W)
            return replace(here, A=self.backend.asarray(A))
        if not self.objective.least_squares:
            return self.at_best(A, W)
        return self.point(A, self.source.reduce(OutputPass(A, self.slope, self.rough)))

    def point(self, A: Array, sums: OutputStats, W: Array | None = None) -> Point:
        """The best output layer for A from the sums at A; no pass, but where digits cancel.

        A loss that is not quadratic cannot do without; it starts from W.
        """
        if not self.objective.least_squares:
            return self.at_best(A, W)
        n, K = sums.n, self.backend.shifted(sums.StS / sums.n, self.lam)
        signs = self.output_signs(A)
        if signs is None:
            W = solve_spd(self.backend, K, sums.StY / n).value
        else:
            K, c = (self.backend.to_numpy(V) for V in (K, sums.StY / n))
            W = self.backend.double(solve_signed(K, c, signs))
        W = self.backend.contiguous(W)  # laid out as one from a log: same rounding
        mse = max(float(sums.YtY - inner(W, 2 * sums.StY - sums.StS @ W)), 0.0) / n
        if mse * n <= CANCELLED * sums.YtY:
            mse = self.source.reduce(ResidualPass(A, W, self.slope, self.objective)) / n
        A = self.backend.double(A)  # what a log keeps of it
        return Point(A, W, mse + self.penalty(A, W), mse, sums)

    def at_best(self, A: Array, W: Array | None) -> Point:
        """The same for any convex loss, from an output layer W or from none."""
        care = FIRST if W is None else NEXT
        if W is None:
            W = self.backend.double(self.backend.zeros(A.shape[1] + 1, self.source.shape[2]))

        signs = self.output_signs(A)
        found = minimise(self.backend, self.working_sums(A), W, self.lam, care, signs)
        return self.with_output(A, *found)

    def working_sums(self, A: Array | None) -> SumsAt:
        """W ↦ the quadratic that touches the loss of [σ(XA), 1]W, or of XW without an A."""
        objective = self.objective

        def sums_at(W: Array, bend: bool) -> WorkingStats:
            nonlocal objective
            found = self.source.reduce(WorkingPass(A, W, self.slope, objective, bend))
            objective = self.objective.near(found.value / found.n)  # for the next one
            return found

        return sums_at

    def as_is(self, A: Array, W: Array) -> Point:
        """A point whose output layer is not the best one for A, but the one given."""
        if not self.objective.least_squares:
            at = WorkingPass(A, W, self.slope, self.objective)
            return self.with_output(A, W, self.source.reduce(at))
        sums = self.source.reduce(OutputPass(A, self.slope))
        mse = self.source.reduce(ResidualPass(A, W, self.slope, self.objective))
        mse /= self.source.weight
        return Point(A, W, mse + self.penalty(A, W), mse, sums)

    def with_output(self, A: Array, W: Array, found: WorkingStats) -> Point:
        """The point at a network, from the working sums there; StS is the mean over the outputs."""
        StS = found.StVS.sum(0) / len(found.StVS)
        sums, mse = OutputStats(found.n, StS, found.StR, found.value), found.value / found.n
        return Point(A, W, mse + self.penalty(A, W), mse, sums)

    def penalty(self, A: Array, W: Array) -> float:
        return self.lam * float(inner(A, A) + inner(W, W))

    def balance(self, point: Point) -> Point:
        """a_j → s a_j, b_j → b_j / s with equal norms: the same function, the least penalty."""
        if point.A.shape[1] == 0:
            return point
        for _ in range(EVENINGS):  # refitting the output layer tilts the balance again
            norm_a, norm_b = (point.A**2).sum(0) ** 0.5, (point.W[:-1] ** 2).sum(1) ** 0.5  # (h,)
            live = (norm_a > 0) & (norm_b > 1e-6 * norm_b.max())
            one = norm_a * 0 + 1
            ratio = norm_b / self.backend.where(live, norm_a, one)
            s = self.backend.where(live, ratio**0.5, one)
            if not self.objective.least_squares:
                return self.rescaled(point, s)
            balanced = self.point(point.A * s, point.sums.scaled(s))
            gain = point.loss - balanced.loss
            if not gain >= 0:
                break
            point = balanced
            if gain <= SETTLED * point.loss:
                break
        return point

    def rescaled(self, point: Point, s: Array) -> Point:
        """a_j → s_j a_j, b_j → b_j / s_j: the same function, if that is the better for it."""
        A, W = point.A * s, point.W * 1
        W[:-1] /= s[:, None]
        loss = point.mse + self.penalty(A, W)
        return Point(A, W, loss, point.mse, point.sums.scaled(s)) if loss < point.loss else point

    def near(self, point: Point) -> Problem:
        """The same with the slopes and weights of a smoothed loss as they are near a point."""
        if self.objective.least_squares:
            return self
        return replace(self, objective=self.objective.near(point.mse))

    def network(self, point: Point) -> Network:
        A, W = self.backend.to_numpy(point.A), self.backend.to_numpy(point.W)
        return Network(A, W[:-1], W[-1], self.slope)

    def sample(self, k: int, rng: np.random.RandomState) -> Problem:
        """The same problem on k rows drawn at random, in their order."""
        return replace(self, source=self.source.take(draw(len(self.source), k, rng)))


@dataclass(frozen=True, slots=True)
class Point:
    """A hidden layer with the output layer W = [B; b0] that is best for it."""

    A: Array  # (p, h)
    W: Array  # (h + 1, q)
    loss: float
    mse: float
    sums: OutputStats


def judging(objective: Objective, judge: Source) -> Objective:
    """What held-out rows are judged by; copies of a row count once."""
    return objective if objective.least_squares else objective.judged_on(judge.raw.groups().count)


def gradient(problem: Problem, point: Point) -> Array:
    """g = Xᵀ(G ∘ (R Bᵀ))/n − lam A, half the direction of steepest descent in A."""
    sums = problem.source.reduce(GradientPass(point.A, point.W, problem.slope, problem.objective))
    return sums / point.sums.n - problem.lam * point.A
