"""Damped descent: Levenberg–Marquardt steps on the loss with the output layer eliminated."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from anmin.backends import Array, inner
from anmin.moves import Move, Moves, Spent, Stage, Visit
from anmin.solvers.curvature import (
    DENSE,
    CurvatureRows,
    DenseCurvature,
    OwnInputs,
    ProductCurvature,
)
from anmin.solvers.problem import Point, Problem, gradient
from anmin.solvers.spectrum import InputProducts
from anmin.sources.draws import draw
from anmin.sources.support import Support

ROWS_PER_UNKNOWN, FEWEST = 5, 2000  # enough for curvature
ROUGH = 4000  # on the penalty path, and from its end
LOOK = 3  # times the rows of the curvature, from which these have a first look at a step
SOON = 500  # unknowns from which products are sooner far down, though a matrix comes further
SMALL = 400  # rows up to which curvature is in full precision, but for a rough look
FORMED = 20  # rows an unknown from which the matrix of curvature is formed there
FACTOR = 3.0  # between neighbouring dampings
TRIES = 6  # dampings that may improve on each other in a step: cheap where H is formed
LEAST, MOST = 1e-9, 1e12  # damping


class Descent:
    """Damped descent on one problem, for up to h neurons; the curvature's rows are drawn once.

    `products` are those of rows like these with columns of another scale.
    """

    def __init__(
        self, problem: Problem, h: int, rng: np.random.RandomState, rough: bool = False,
        products: InputProducts | None = None,
    ) -> None:  # fmt: skip
        n, p = problem.source.shape[0], problem.fan_in
        enough = max(ROWS_PER_UNKNOWN * h * p, FEWEST)
        if rough:
            enough = min(enough, ROUGH)
        fast, whole = problem.backend.single(), n <= 1.5 * enough
        if whole:
            exact = n <= SMALL
            source = problem.source.using(problem.backend if exact else fast)
        else:
            source = problem.source.take(draw(n, enough, rng), fast)
        self.problem, self.rows = problem, CurvatureRows(source, whole, products)
        self.rough, self.formed = rough, DENSE
        self.known: tuple[Array, Array] | None = None
        self.narrow: tuple[Support, Descent] | None = None

    @classmethod
    def in_turn(cls, problem: Problem, h: int, rng: np.random.RandomState) -> list[Descent]:
        """One by products first, where there is a choice, and then one that goes to the end."""
        descent = cls(problem, h, rng)
        if problem.linear_solver != "auto" or not SOON < h * problem.fan_in <= DENSE:
            return [descent]
        first = copy(descent)
        first.formed = 0
        return [first, descent]

    def on(self, problem: Problem) -> Descent:
        """The same rows at another penalty."""
        other = copy(self)
        other.problem = problem
        return other

    def step(self, point: Point, mu: float, before: Array | None) -> Visit:
        """A damped step from `point`, in the weights that there are."""
        if self.kind(point) is not None:
            from anmin.solvers.stacked import Stacks

            return Stacks().visits([DampedStep(self, point, mu, before)])[0]
        connected = self.problem.connections is not None
        return (self.connected_step if connected else self.damped_step)(point, mu, before)

    def kind(self, point: Point) -> Hashable:
        """What steps have in common that can be made as one (`stacked.py`); None: it cannot be.

        Least squares in all weights, the first damping that helps, rows that there is room for.
        """
        problem, rows, dense = self.problem, self.rows, self.forms_matrix(point)
        plain = problem.objective.least_squares and problem.input_signs is None
        if not (problem.backend.stacks and plain and point.A.shape[1]):
            return None
        if dense and not self.rough:
            return None
        if not (problem.source.keeps_all and rows.source.is_one_batch):
            return None
        types = problem.backend.dtype, rows.backend.dtype, problem.rough, dense
        return (*problem.source.shape[1:], problem.slope, *types)

    def forms_matrix(self, point: Point) -> bool:
        """Whether the curvature at a point is a matrix; with weights a row must have one."""
        one = self.problem.objective.least_squares or point.W.shape[1] == 1
        return one and self.problem.forms_matrix(point.A.shape[1], self.formed, self.rough * FORMED)

    def damped_step(self, point: Point, mu: float, before: Array | None) -> Visit:
        """The best of a geometric search over the damping, from mu, and a damping for the next.

        `point` itself comes back where no damping helps. Entries of the firing pattern that changed
        are counted from the A `before`.
        """
        problem = self.problem.near(point)
        g, free = problem.downhill(point.A, point.W, gradient(problem, point))
        dense = self.forms_matrix(point)
        curvature = (DenseCurvature if dense else ProductCurvature)(
            self.rows, point, problem, self.as_counted(before)
        )
        if free is not None:
            curvature.hold(free)
        self.known = point.A, curvature.A
        tries = TRIES if dense and not self.rough else 1
        best, mu = search(self.trials(problem, point), point, curvature, g, mu, tries)
        stuck = best is point
        if not stuck:
            best = problem.balance(best)
        norm = float(inner(g, g)) ** 0.5
        facts = {"damping": max(mu, LEAST), "gradient": norm, "stuck": float(stuck)}
        return Visit(best, counts=curvature.counts, facts=facts)

    def trials(self, problem: Problem, point: Point) -> Callable[[Array], Point]:
        """What a step v from a point comes to; the point itself, where it is soon seen to be worse.

        Of many rows those of the curvature have a first look at it.
        """
        at = problem.backend.asarray
        if self.rows.whole or LOOK * len(self.rows.source) > len(problem.source):
            return lambda v: problem.at(point.A + at(v), point.W)
        some = replace(problem, source=self.rows.source, rough=problem.objective.least_squares)
        here = some.at(self.rows.backend.asarray(point.A), point.W).loss

        def after(v: Array) -> Point:
            A = point.A + at(v)
            if not some.at(self.rows.backend.asarray(A), point.W).loss < here:
                return point
            return problem.at(A, point.W)

        return after

    def connected_step(self, point: Point, mu: float, before: Array | None) -> Visit:
        """The same in the weights that there are: where A is zero it stays zero."""
        be = self.problem.backend
        A = be.to_numpy(point.A)
        support = Support.of(A)
        inner = self.gathered(support)
        old = None if before is None else be.to_numpy(before)
        if old is not None and not (old.shape == A.shape and Support.of(old).same(support)):
            old = None
        here = replace(point, A=be.asarray(support.gather(A)))
        visit = inner.step(here, mu, None if old is None else be.asarray(support.gather(old)))
        wide = be.asarray(support.scatter(be.to_numpy(visit.point.A)))
        return replace(visit, point=replace(visit.point, A=wide))

    def gathered(self, support: Support) -> Descent:
        """This descent on the columns that the units see, kept until they see others."""
        if self.narrow is None or not self.narrow[0].same(support):
            other = copy(self)
            other.rows = OwnInputs(support.source(self.rows.source), self.rows.whole)
            other.problem = self.problem.gathered(support)
            self.narrow = support, other
        source = self.narrow[1].problem.source
        return self.narrow[1].on(replace(self.problem, source=source, connections=None))

    def as_counted(self, before: Array | None) -> Array | None:
        """`before` as the array that its pattern is remembered for, where that is known."""
        if before is None or self.known is None or self.known[0] is not before:
            return None if before is None else self.rows.backend.asarray(before)
        return self.known[1]


def search(
    after: Callable[[Array], Point], point: Point, curvature: DenseCurvature | ProductCurvature,
    g: Array, mu: float, tries: int,
) -> tuple[Point, float]:  # fmt: skip
    """The best point of a geometric search over the damping, and where the next one begins.

    One that helps will do where each costs a solve of its own, and on the penalty path. While the
    loss falls further the damping is lowered; while it does not fall at all, nor for a shorter step
    that conjugate gradients came by, it is raised, faster and faster.
    """
    best, best_mu, grow, better = point, mu, FACTOR, 0
    while mu < MOST:
        v = curvature.solve(g, mu)
        new = None if v is None else after(v)
        if new is not None and new.loss < best.loss:
            best, best_mu, better = new, mu, better + 1
            if grow > FACTOR or better == tries or mu < LEAST:
                break
            mu /= FACTOR
        elif best is not point:
            break
        else:
            shorter = map(after, curvature.shorter)
            if (short := next((new for new in shorter if new.loss < point.loss), None)) is not None:
                return short, FACTOR**2 * mu
            mu, grow = mu * grow, grow * 1.5
    at_once = tries == 1 and grow == FACTOR  # try less next time
    return best, best_mu / FACTOR if at_once else best_mu


@dataclass(frozen=True, slots=True, eq=False)
class DampedStep:
    """How a damped step is made: by itself, or with others of its kind."""

    descent: Descent
    point: Point
    mu: float
    before: Array | None

    def __call__(self) -> Visit:
        return self.descent.step(self.point, self.mu, self.before)

    def alone(self) -> Visit:
        """The same, with the care that an odd one needs."""
        return self.descent.damped_step(self.point, self.mu, self.before)

    @property
    def kind(self) -> Hashable:
        return self.descent.kind(self.point)


@dataclass(frozen=True, slots=True)
class Stop:
    """When a descent ends: a number of steps, too little gain, no hope."""

    steps: float = inf
    tol: float = 1e-4
    beat: float = inf  # give up when this loss is out of reach at the present pace


def descend(
    descent: Descent, point: Point, stop: Stop, stage: Stage, mu: float = 1e-2
) -> Moves[Point]:
    """Damped steps from `point` until `stop`."""
    losses, before = [point.loss], None
    while len(losses) <= stop.steps:
        step = DampedStep(descent, point, mu, before)
        try:
            visit = yield Move(step, descent.problem, point.A, stage)
        except Spent as ended:
            ended.visit = Visit(point)  # as far as it came
            raise
        before, point, mu = point.A, visit.point, visit.facts["damping"]
        losses.append(point.loss)
        if visit.facts["stuck"]:
            break
        if len(losses) > 5:
            if losses[-6] - point.loss <= stop.tol * point.loss:
                break
            pace = (losses[-3] - point.loss) / 2
            if point.loss - pace * (stop.steps - len(losses) + 1) > stop.beat:
                break
    return point
