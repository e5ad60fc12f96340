"""early_stopping: train on most rows, and stop when the others say that it no longer helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from anmin.history import Fit, Listener, Step
from anmin.network import Network
from anmin.solvers.problem import Point, Problem
from anmin.solvers.task import Search, Task
from anmin.solvers.tidy import tidy
from anmin.sources.draws import Part, random_folds
from anmin.status import Status
from anmin.sums.output import OutputPass, ResidualPass

PATIENCE = 10  # iterations without a better error on the rows held out


class Judge:
    """Hears of each step: keeps the network with the least error on the rows held out.

    Steps that bring no new network (of a sample of the rows, or of a relocation that does not pay)
    say nothing for or against going on, and do not count.
    """

    def __init__(self, held_out: Problem, listener: Listener) -> None:
        self.held_out, self.listener = held_out, listener
        self.errors: list[float] = []
        self.loss, self.waited = nan, 0
        self.best: tuple[Step, Network] | None = None

    def __call__(self, step: Step, network: Network) -> bool:
        new = step.loss != self.loss
        error = self.error(network) if new else self.errors[-1]
        if self.best is None or error < min(self.errors):
            self.best, self.waited = (step, network), 0
        elif new:
            self.waited += 1
        self.loss = step.loss
        self.errors.append(error)
        return self.listener(step, network) or self.waited >= PATIENCE

    def error(self, network: Network) -> float:
        """Mean square over the rows held out."""
        source, asarray = self.held_out.source, self.held_out.backend.asarray
        W = asarray(np.vstack([network.B, network.b0]))
        return source.reduce(ResidualPass(asarray(network.A), W, network.slope)) / source.weight

    def verdict(self, fit: Fit, problem: Problem) -> Fit:
        """`fit` with the best network for the rows held out, without units that do nothing."""
        if self.best is None:
            return fit
        problem = replace(problem, lam=problem.lam if fit.lam is None else fit.lam)
        step, net = self.best
        A, W = (problem.backend.asarray(V) for V in (net.A, np.vstack([net.B, net.b0])))
        sums = problem.source.reduce(OutputPass(A, net.slope))
        found = tidy(problem, Point(A, W, step.loss, step.mse, sums))
        history = [
            replace(known, held_out_mse=error)
            for known, error in zip(fit.history, self.errors, strict=False)  # cut by an interrupt
        ]
        status = Status.STOPPED_EARLY if self.waited >= PATIENCE else fit.status
        return replace(
            fit, network=problem.network(found.point), loss=found.point.loss, history=history,
            status=status,
            removed_dead=found.dead, removed_off=found.off, removed_duplicates=found.duplicates,
        )  # fmt: skip


def solve_early(solve: Callable[[Task], Fit], task: Task, share: float) -> Fit:
    """`solve`, with a share of the rows held out to say when to stop and which network to keep."""
    problem = task.problem
    n = len(problem.source)
    folds = random_folds(n, share, 1, task.rng)
    if not folds:
        raise ValueError("early_stopping holds rows out and needs two or more; got one row.")
    train, out = folds[0]
    judge = Judge(replace(problem, source=problem.source.part(out)), task.listener)
    part = replace(problem, source=problem.source.part(train))
    search = None if task.search is None else within(task.search, train, n)
    try:
        fit = solve(replace(task, problem=part, listener=judge, search=search))
    except KeyboardInterrupt:
        if task.ledger.best is not None:
            task.ledger.best = judge.verdict(task.ledger.best, part)
        raise
    return judge.verdict(fit, part)


def within(search: Search, train: Part, n: int) -> Search:
    """A search whose splits, where they were given, are among the rows `train` of n."""
    if search.splits is None:
        return search
    rows = train if isinstance(train, np.ndarray) else train(0, n)
    place = np.full(n, -1)
    place[rows] = np.arange(len(rows))

    def inside(part: Any) -> np.ndarray:
        return place[part][place[part] >= 0]

    splits = [(inside(fit), inside(judge)) for fit, judge in search.splits]
    return replace(search, splits=[split for split in splits if all(map(len, split))])
