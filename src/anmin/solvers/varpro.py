"""The default solver: variable projection with damped steps, then relocation of neurons.

    1  on a sample of the rows, where there are many more rows than unknowns: stages 2 to 4
    2  descend: damped steps until they gain too little
    3  a linear model competes
    4  explore: move about a tenth of the neurons, descend a little, keep if better

The loss on all rows never rises, and the network returned is the best one seen.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from anmin import checks
from anmin.backends import Array
from anmin.history import Budget, Fit, Journal
from anmin.solvers.levenberg import Damped, Descent, Note, Stop, descend
from anmin.solvers.linear import linear_start, with_linear
from anmin.solvers.penalty import choose_penalty, refit
from anmin.solvers.problem import Point, Problem
from anmin.solvers.relocate import choose, random_start, relocate, sample_rows
from anmin.solvers.task import Search, Task
from anmin.solvers.tidy import tidy
from anmin.status import Status

SAMPLE_SHARE = 0.7  # of the budget, for the sample
SAMPLE_ROWS = 12  # an unknown
EXPLORE_STEPS = 15
ROUND_STEPS = 8  # between eliminations of random starts
DEEPEN = 2  # relocations in a row without a gain that end the refit of lam="auto"


class VarPro(BaseEstimator):
    """Variable projection with Levenberg–Marquardt damping and relocation.

    Parameters
    ----------
    patience : relocations in a row without a gain of `tol` after which the fit has converged

    Examples
    --------
    >>> from anmin import ANMINRegressor
    >>> from anmin.solvers import VarPro
    >>> ANMINRegressor(solver=VarPro(patience=20)).get_params()["solver__patience"]
    20
    """

    def __init__(self, patience: int = 10) -> None:
        self.patience = patience

    def check(self) -> None:
        checks.whole_number("patience", self.patience, least=0)

    def default_max_iter(self, max_time: float | None) -> float:
        return 1000 if max_time is None else inf

    def solve(self, task: Task) -> Fit:
        """Minimise Eq. (1), with lam given or chosen on held-out rows."""
        self.check()
        return self.solve_given(task) if task.search is None else self.solve_auto(task, task.search)

    def solve_given(self, task: Task) -> Fit:
        problem = task.problem
        run = Run(problem, task.budget, task.rng, Journal(task.budget, task.listener, task.ledger))
        init = task.init
        if init is None:
            init = or_linear(problem, best_start(task), task.rng)
        status = run.all(problem.backend.asarray(init), self.patience)
        return run.result(status)

    def solve_auto(self, task: Task, search: Search) -> Fit:
        choice = choose_penalty(task, search)
        problem = replace(task.problem, lam=choice.lam)
        run = Run(problem, task.budget, task.rng, Journal(task.budget, task.listener, task.ledger))
        starts = list(choice.starts)
        if task.init is not None:
            starts.append(problem.backend.asarray(task.init))
        start = refit(problem, starts, task)
        status = run.refine(start, DEEPEN)
        return replace(run.result(status), lam=choice.lam, path=choice.path, path_cut=choice.cut)


def best_start(task: Task) -> np.ndarray:
    """The random start that leads furthest: all of them descend, and the worse half drops out."""
    problem, rng = task.problem, task.rng
    starts = [random_start(problem, task.h, rng) for _ in range(task.n_init)]
    if task.n_init == 1:
        return starts[0]
    n, p, _ = problem.source.shape
    few = SAMPLE_ROWS * task.h * p
    sample = problem.sample(few, rng) if n > 3 * few else problem
    descent = Descent(sample, task.h, rng, task.ledger)
    points = [sample.balance(sample.at(sample.backend.asarray(A))) for A in starts]
    while len(points) > 1:
        stop = Stop(steps=ROUND_STEPS, tol=task.budget.tol)
        points = [descend(descent, z, task.budget, stop, lambda *_: False)[0] for z in points]
        points = sorted(points, key=lambda point: point.loss)[: (len(points) + 1) // 2]
    return problem.backend.to_numpy(points[0].A)


def or_linear(problem: Problem, A: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """A, or A with the linear model in the place of its first neurons where that is the better."""
    other = with_linear(problem, A, sample_rows(problem, rng)[0])
    return min(A, other, key=lambda start: problem.at(problem.backend.asarray(start)).loss)


class Run:
    """One call of `solve`: the best point on all rows, and the journal."""

    def __init__(
        self, problem: Problem, budget: Budget, rng: np.random.RandomState, journal: Journal
    ) -> None:
        self.problem, self.budget, self.rng, self.journal = problem, budget, rng, journal
        self.best: Point
        self.rough: Point  # the best on a sample
        self.phase = "descend"

    def refine(self, point: Point, relocations: int) -> Status:
        """Descend from a good point, and try a few relocations."""
        self.best = point
        if self.journal.note(point, self.problem, Blank(), Status.START):
            return Status.INTERRUPTED
        if point.A.shape[1] == 0:
            return Status.CONVERGED
        return self.improve(self.problem, point, 1.0, relocations, rough=True)[1]

    def all(self, A: Array, patience: int) -> Status:
        """The four stages, in order."""
        problem = self.problem
        n, p, _ = problem.source.shape
        h = A.shape[1]
        self.best = problem.balance(problem.at(A))
        if self.journal.note(self.best, problem, Blank(), Status.START):
            return Status.INTERRUPTED
        few = SAMPLE_ROWS * h * p
        if n > 3 * few:
            sample = problem.sample(few, self.rng)
            self.rough = sample.at(A)
            try:
                rough, status = self.improve(sample, self.rough, SAMPLE_SHARE, patience)
            except KeyboardInterrupt:  # the best on the sample is the best so far
                self.keep(problem.balance(problem.at(self.rough.A)))
                self.journal.note(self.best, problem, Blank(), Status.INTERRUPTED)
                raise
            self.keep(problem.balance(problem.at(rough.A)))
            if status is Status.INTERRUPTED:
                return status
        return self.improve(problem, self.best, 1.0, patience)[1]

    def result(self, status: Status) -> Fit:
        """The best point, without units that do nothing."""
        found = tidy(self.problem, self.best)
        self.journal.settle(found.point)
        return Fit(
            self.problem.network(found.point), found.point.loss, self.journal.steps, status,
            removed_dead=found.dead, removed_off=found.off, removed_duplicates=found.duplicates,
        )  # fmt: skip

    def keep(self, point: Point) -> None:
        """Remember the best point on all rows."""
        self.best = min(self.best, point, key=lambda known: known.loss)

    def improve(
        self, problem: Problem, point: Point, until: float, patience: int, rough: bool = False
    ) -> tuple[Point, Status]:
        """Descend, let the linear model compete, then explore, on these rows."""
        h = point.A.shape[1]
        descent = Descent(problem, h, self.rng, self.journal.ledger, rough)
        note = self.noting(problem)
        self.phase = "descend"
        point, status = descend(descent, point, self.budget, Stop(until, tol=self.budget.tol), note)
        point = min(point, problem.at(linear_start(problem, h)), key=lambda known: known.loss)
        if problem is self.problem:
            self.keep(point)
        failures, moving = 0, max(1, round(h / 10))
        self.phase = "explore"
        while status not in (Status.INTERRUPTED, Status.OUT_OF_TIME):
            if failures >= patience:
                return point, Status.CONVERGED
            drop = choose(problem, point, moving, self.rng)
            moved = problem.backend.asarray(relocate(problem, point, drop, self.rng))
            stop = Stop(until, EXPLORE_STEPS, self.budget.tol, beat=point.loss)
            trial = problem.balance(problem.at(moved))
            trial, status = descend(descent, trial, self.budget, stop, note, mu=3e-3)
            gained = point.loss - trial.loss > self.budget.tol * point.loss
            failures = 0 if gained else failures + 1
            point = min(point, trial, key=lambda known: known.loss)
        return point, status

    def noting(self, problem: Problem) -> Note:
        """A listener of damped steps: keeps the best on all rows and writes the journal."""

        def note(point: Point, step: Damped, counts: Any) -> bool:
            if problem is self.problem:
                self.keep(point)
            elif point.loss < self.rough.loss:
                self.rough = point
            return self.journal.note(
                self.best, self.problem, counts, Status.SOLVED, phase=self.phase,
                damping=step.damping, gradient=step.gradient, tried_loss=point.loss,
            )  # fmt: skip

        return note


class Blank:
    """Counts before anything was counted."""

    flip_share, dead, cells = float("nan"), 0, 0
