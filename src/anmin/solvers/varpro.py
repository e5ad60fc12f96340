"""The default solver: variable projection with damped steps, then relocation of neurons.

    1  on a sample of the rows, where there are many more rows than unknowns: stages 2 to 4
    2  descend: damped steps until they gain too little
    3  a linear model competes
    4  explore: move about a tenth of the neurons, descend a little, keep if better

The loss on all rows never rises, and the network returned is the best one seen.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from anmin import checks
from anmin.backends import Array
from anmin.moves import Conclusion, Move, Moves, Spent, Stage, Visit
from anmin.solvers.levenberg import Descent, Stop, descend
from anmin.solvers.linear import linear_start, with_linear
from anmin.solvers.problem import Point, Problem
from anmin.solvers.relocate import choose, random_start, relocate, sample_rows
from anmin.solvers.solver import Solver, Start
from anmin.status import Status

SAMPLE_SHARE = 0.7  # of the budget, for the sample
SAMPLE_ROWS = 12  # an unknown
EXPLORE_STEPS = 15
PATIENCE = 10
SAME = 1e-9  # of a loss: two that differ by less are of one minimum, and chance tells them apart
ROUND_STEPS = 8  # between eliminations of random starts

ALL = Stage("descend", monotone=True)


class VarPro(Solver):
    """Variable projection with Levenberg–Marquardt damping and relocation.

    Parameters
    ----------
    patience : relocations in a row without a gain of `tol` after which the fit has converged; None
        for ten, and for the few that pay at the end of a penalty path
    tol : relative gain that counts as progress
    n_init : random starts, of which the worse ones are dropped early
    linear_solver : form the curvature and factorise it, "cholesky", or only multiply by it, "cg";
        "auto" forms it up to 1,000 unknowns, from 500 on once products come no further
    dtype : "float64" or "float32" arithmetic; "auto" is float64, also for float32 input
    batch_size : rows worked on at a time, rounded up to a multiple of 4096

    Examples
    --------
    >>> from anmin import ANMINRegressor
    >>> from anmin.solvers import VarPro
    >>> ANMINRegressor(solver=VarPro(patience=20)).get_params()["solver__patience"]
    20
    """

    any_loss = any_connections = obeys_signs = True

    def __init__(
        self,
        patience: int | None = None,
        *,
        tol: float = 1e-4,
        n_init: int = 1,
        linear_solver: str = "auto",
        dtype: str = "auto",
        batch_size: int | str = "auto",
    ) -> None:
        self.patience = patience
        self.tol = tol
        self.n_init = n_init
        self.linear_solver = linear_solver
        self.dtype = dtype
        self.batch_size = batch_size

    def check(self) -> None:
        super().check()
        if self.patience is not None:
            checks.whole_number("patience", self.patience, least=0)
        checks.real_number("tol", self.tol, least=0.0)

    @property
    def relocations(self) -> int:
        """In a row without a gain, which end the fit."""
        return PATIENCE if self.patience is None else self.patience

    def moves(self, problem: Problem, start: Start) -> Moves[Conclusion]:
        """Minimise Eq. (1), from a start of its own or from the end of the penalty path."""
        if start.point is not None:
            yield from self.from_path(problem, start.point, start)
            return Conclusion(Status.CONVERGED)
        A = start.A
        if A is None:
            A = better_with_linear(problem, (yield from self.best_start(problem, start)), start.rng)
        A = problem.backend.asarray(A)
        point = (yield first(problem, problem.balance(problem.at(A)))).point
        few = SAMPLE_ROWS * problem.fan_in * A.shape[1]
        if problem.source.shape[0] > 3 * few:
            sample = problem.sample(few, start.rng)
            A = (yield from self.on_sample(sample, A, start.rng)).A
            found = yield Move(partial(looked_at, problem, A), problem, A, ALL, "look")
            point = min(point, found.point, key=by_loss)
        for descent in Descent.in_turn(problem, A.shape[1], start.rng):
            point = yield from self.improve(descent, point, ALL, self.relocations, start.rng)
        return Conclusion(Status.CONVERGED)

    def from_path(self, problem: Problem, point: Point, start: Start) -> Moves[None]:
        """From the end of the penalty path, as far as its view goes or as patience was given."""
        yield first(problem, point)
        if point.A.shape[1]:
            descent = Descent(problem, point.A.shape[1], start.rng, rough=True)
            relocations, stop = self.relocations, Stop(tol=self.tol)
            if self.patience is None and (view := start.view) is not None:
                relocations, stop = view.relocations, Stop(view.last, max(view.tol, self.tol))
                if not relocations:  # one of several, beside which ridge regression stands
                    yield from descend(descent, point, stop, ALL)
                    return
            yield from self.improve(descent, point, ALL, relocations, start.rng, stop)

    def on_sample(self, sample: Problem, A: Array, rng: np.random.RandomState) -> Moves[Point]:
        """The best point on a sample of the rows, in its share of the budget."""
        stage = replace(ALL, rows="sample", until=SAMPLE_SHARE)
        begin, descent = sample.at(A), Descent(sample, A.shape[1], rng)
        try:
            return (yield from self.improve(descent, begin, stage, self.relocations, rng))
        except Spent as ended:
            return begin if ended.best is None else ended.best

    def improve(
        self, descent: Descent, point: Point, stage: Stage, patience: int,
        rng: np.random.RandomState, stop: Stop | None = None,
    ) -> Moves[Point]:  # fmt: skip
        """Descend, let the linear model compete, also where the budget is spent, then explore."""
        problem, h, spent = descent.problem, point.A.shape[1], None
        try:
            point = yield from descend(descent, point, stop or Stop(tol=self.tol), stage)
        except Spent as ended:
            point, spent = ended.best or point, ended.status
        if problem.connections is None:
            A = linear_start(problem, h)
            linear = yield Move(lambda: Visit(problem.at(A)), problem, A, stage, "look")
            point = min(point, linear.point, key=by_loss)
        if spent is not None:
            raise Spent(spent, point)
        explore, failures = replace(stage, phase="explore"), 0
        while failures < patience:
            drop = choose(problem, point, max(1, round(h / 10)), rng)
            moved = problem.backend.asarray(relocate(problem, point, drop, rng))
            stop = Stop(EXPLORE_STEPS, self.tol, beat=point.loss)
            trial = problem.balance(problem.at(moved))
            trial = yield from descend(descent, trial, stop, explore, mu=3e-3)
            gained = point.loss - trial.loss > self.tol * point.loss
            failures = 0 if gained else failures + 1
            if trial.loss < (1 - SAME) * point.loss:
                point = trial
        return point

    def best_start(self, problem: Problem, start: Start) -> Moves[np.ndarray]:
        """The random start that leads furthest: all descend, and the worse half drops out."""
        h, rng = start.h, start.rng
        starts = [random_start(problem, h, rng) for _ in range(self.n_init)]
        if self.n_init == 1:
            return starts[0]
        few = SAMPLE_ROWS * problem.fan_in * h
        sample = problem.sample(few, rng) if problem.source.shape[0] > 3 * few else problem
        descent, stage = Descent(sample, h, rng), Stage("starts", rows="part")
        points = [sample.balance(sample.at(sample.backend.asarray(A))) for A in starts]
        try:
            while len(points) > 1:
                stop = Stop(ROUND_STEPS, self.tol)
                for k, point in enumerate(points):
                    points[k] = yield from descend(descent, point, stop, stage)
                points = sorted(points, key=by_loss)[: (len(points) + 1) // 2]
        except Spent as ended:
            points[k] = points[k] if ended.visit is None else ended.visit.point
            points.sort(key=by_loss)
        return problem.backend.to_numpy(points[0].A)


def by_loss(point: Point) -> float:
    return point.loss


def first(problem: Problem, point: Point) -> Move:
    """The move to a start that is known."""
    return Move(lambda: Visit(point, Status.START), problem, point.A, ALL, "start")


def looked_at(problem: Problem, A: Array) -> Visit:
    return Visit(problem.balance(problem.at(A)))


def better_with_linear(problem: Problem, A: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """A, or A with the linear model in the place of its first neurons where that is the better.

    Not where units may see few inputs only.
    """
    if problem.connections is not None:
        return A
    other = with_linear(problem, A, sample_rows(problem, rng)[0])
    return min(A, other, key=lambda start: problem.at(problem.backend.asarray(start)).loss)
