"""early_stopping: train on most rows, and stop when the others say that it no longer helps.

Steps that bring no new network (of a sample of the rows, or of a relocation that does not pay) say
nothing for or against going on, and do not count.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np

from anmin.history import Step
from anmin.network import Network
from anmin.solvers.problem import Point, Problem
from anmin.solvers.solver import Search
from anmin.sources.draws import Beside, Part
from anmin.status import Status
from anmin.sums.output import ResidualPass

PATIENCE = 10  # iterations without a better error on the rows held out


class EarlyStopping:
    """The error on rows held out, and a listener that ends the fit when it gets no better."""

    def __init__(self, held_out: Problem) -> None:
        self.held_out, self.source = held_out, held_out.source
        self.loss, self.least, self.waited = nan, inf, 0

    def error(self, problem: Problem, point: Point) -> float:
        """Mean square over the rows held out, of a point of some problem."""
        if self.source.scaling is not problem.source.scaling:
            self.source = self.held_out.source.scaled(problem.source.scaling)
        at = ResidualPass(point.A, point.W, problem.slope, problem.objective)
        return self.source.reduce(at) / self.source.weight

    def __call__(self, step: Step, _: Network) -> Status | None:
        if step.phase in ("path", "refit", "starts"):
            return None
        if step.held_out_mse < self.least:
            self.least, self.waited = step.held_out_mse, 0
        elif step.loss != self.loss:
            self.waited += 1
        self.loss = step.loss
        return Status.STOPPED_EARLY if self.waited >= PATIENCE else None


def hold_out(
    problem: Problem, search: Search, rng: np.random.RandomState
) -> tuple[Problem, Search, EarlyStopping]:  # fmt: skip
    """The problem without some rows, the search among the others, and the judge on those.

    They are those of the first split, where splits were given.
    """
    n = len(problem.source)
    folds = search.splits or problem.source.raw.groups().folds(search.fraction, 1, rng)
    if not folds:
        raise ValueError("early_stopping holds rows out and needs two different ones; got one row.")
    train, out = folds[0]
    judge = EarlyStopping(replace(problem, source=problem.source.part(out)))
    if isinstance(out, Beside):
        return problem, search, judge
    part = replace(problem, source=problem.source.part(train))
    search = within(search, train, n)
    if search.splits == []:  # lam is chosen on the same rows
        part.source.raw.judge = judge.source.raw
        search = replace(search, splits=[(np.arange(len(part.source)), Beside())])
    return part, search, judge


def within(search: Search, train: Part, n: int) -> Search:
    """A search whose splits, where they were given, are among the rows `train` of n."""
    if search.splits is None:
        return search
    assert isinstance(train, np.ndarray)  # as the splits are
    place = np.full(n, -1)
    place[train] = np.arange(len(train))

    def inside(part: Part) -> np.ndarray:
        assert isinstance(part, np.ndarray)
        found = place[part]
        return found[found >= 0]

    splits = [(inside(fit), inside(judge)) for fit, judge in search.splits]
    return replace(search, splits=[split for split in splits if all(map(len, split))])
