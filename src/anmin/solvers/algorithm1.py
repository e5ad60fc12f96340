"""The paper's Algorithm 1: both layers in turn, each solved exactly under a frozen pattern."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from anmin import checks
from anmin.checkpoint import CheckpointError, Entry
from anmin.history import Fit, Journal
from anmin.solvers.frozen import DirectStep, Iterate, ProductStep, hidden_steps
from anmin.solvers.problem import Problem, restored_point, stored_point
from anmin.solvers.task import Task
from anmin.status import Status
from anmin.sums.patterns import Counts

LAM, TAU, FLOOR = 1e-3, -10_000.0, 1e-4  # of the paper's experiments, on sums over the rows

Turn = tuple[Iterate, Status, dict]


class Algorithm1(BaseEstimator):
    """Analytic minimisation (ANMIN), 30 iterations by default.

    Parameters
    ----------
    tau : the hidden system is degenerate when ln|M + lam I| ≤ tau; None for the paper's
        experiments, −10,000 on sums over the N rows: −10,000 − (d+1)h ln N on means
    floor : eigenvalues of a degenerate system are raised to this; None for 0.0001/N likewise
    keep : report the "best" network by training loss, or the "last"
    degenerate : "floor" the eigenvalues, "reinit" A at random, or "stop"

    Where the hidden system is solved by conjugate gradients (above 3,000 unknowns, or by
    `linear_solver="cg"`) it has no determinant, and `tau`, `floor` and `degenerate` have no part.

    Examples
    --------
    >>> from anmin import ANMINRegressor
    >>> from anmin.solvers import Algorithm1
    >>> model = ANMINRegressor(4, solver=Algorithm1(keep="last"), max_iter=5, random_state=0)
    >>> model.fit([[0], [1], [2], [3]], [0, 1, 0, 1]).n_iter_
    5
    """

    def __init__(
        self,
        tau: float | None = None,
        floor: float | None = None,
        keep: Literal["best", "last"] = "best",
        degenerate: Literal["floor", "reinit", "stop"] = "floor",
    ) -> None:
        self.tau = tau
        self.floor = floor
        self.keep = keep
        self.degenerate = degenerate

    def check(self) -> None:
        if self.tau is not None:
            checks.real_number("tau", self.tau, least=-np.inf)
        if self.floor is not None:
            checks.real_number("floor", self.floor, least=np.finfo(float).tiny)
        checks.one_of("keep", self.keep, ("best", "last"))
        checks.one_of("degenerate", self.degenerate, ("floor", "reinit", "stop"))

    def default_max_iter(self, max_time: float | None) -> float:  # noqa: ARG002
        return 30

    def solve(self, task: Task) -> Fit:
        """Minimise Eq. (1) from a random start. Line numbers are those of Algorithm 1.

        lam="auto" is the value of the paper's experiments, on sums over the rows like the others.
        """
        self.check()
        if task.n_init > 1:
            raise ValueError(
                f'n_init={task.n_init} needs solver="varpro"; solver="anmin" has one start.'
            )
        problem, budget, rng = task.problem, task.budget, task.rng
        if task.search is not None:
            problem = replace(problem, lam=LAM / problem.source.weight)
        shape = (problem.source.shape[1], task.h)
        A = rng.standard_normal(shape) if task.init is None else task.init
        journal = Journal(budget, task.listener, task.ledger)
        layer = hidden_steps(problem, task.h)
        here = layer.visit(problem.backend.asarray(A))  # lines 1–3
        best = here.point
        stop = journal.note(here.point, problem, here.counts, Status.START)
        status = Status.SOLVED
        for _ in range(int(budget.max_iter)):
            if stop or budget.spent:
                status = Status.INTERRUPTED if stop else Status.OUT_OF_TIME
                break
            turn = self.turn(task, problem, layer, here)
            if turn is None:
                status = Status.STOPPED
                break
            here, status, facts = turn
            stop = journal.note(here.point, problem, here.counts, status, **facts)
            best = min(best, here.point, key=lambda point: point.loss)  # lines 17–20
        kept = best if self.keep == "best" else here.point
        return Fit(problem.network(kept), kept.loss, journal.steps, status, problem.lam)

    def limits(self, problem: Problem, h: int) -> tuple[float, float]:
        """tau and floor for Eq. (1), whose data term is a mean over the rows."""
        n, p, _ = problem.source.shape
        tau = TAU - p * h * log(n) if self.tau is None else self.tau
        return tau, FLOOR / n if self.floor is None else self.floor

    def turn(
        self, task: Task, problem: Problem, layer: DirectStep | ProductStep, here: Iterate
    ) -> Turn | None:
        """One iteration, from the ledger where it is written there; None to stop."""
        ledger, A = task.ledger, problem.backend.to_numpy(here.point.A)
        if not ledger.keeps:
            return self.iterate(task, problem, layer, here)
        nothing = dict.fromkeys(("frozen_loss", "logdet", "condition"), np.nan)
        entry = ledger.recall(A, stored_turn(problem, (here, Status.START, nothing)))
        if entry is None:
            turn = self.iterate(task, problem, layer, here)
            if turn is not None:
                ledger.write(A, stored_turn(problem, turn))
            return turn
        there, status, facts = restored_turn(problem, *entry)
        if status is Status.REINITIALISED:
            task.rng.standard_normal(A.shape)  # drawn then, drawn again
        return there, status, facts

    def iterate(
        self, task: Task, problem: Problem, layer: DirectStep | ProductStep, here: Iterate
    ) -> Turn | None:
        """One iteration: where it leads, how it was made, and facts for the record."""
        tau, floor = self.limits(problem, task.h)
        step = layer.step(here, tau, floor)  # lines 5–14
        new, frozen = step.A, step.frozen_loss
        status = Status.FLOORED if step.solution.floored else Status.SOLVED
        if self.degenerate != "floor" and step.solution.logdet <= tau:
            if self.degenerate == "stop":
                return None
            status, frozen = Status.REINITIALISED, np.nan
            new = problem.backend.asarray(task.rng.standard_normal(here.point.A.shape))
        logdet, condition = step.solution.logdet, step.solution.condition
        facts = {"frozen_loss": frozen, "logdet": logdet, "condition": condition}
        return layer.visit(new, before=here.point.A), status, facts  # lines 15–16


def stored_turn(problem: Problem, turn: Turn) -> Entry:
    """A turn as the ledger keeps it."""
    there, status, facts = turn
    scalars, arrays = stored_point(problem, there.point)
    scalars |= {name: float(value) for name, value in facts.items()}
    scalars |= {"status": status.name, **there.counts.scalars()}
    return scalars, arrays | {"fired": problem.backend.to_numpy(there.counts.fired)}


def restored_turn(problem: Problem, scalars: dict, arrays: dict) -> Turn:
    """The turn that `stored_turn` took apart, without the sums of its pass."""
    if scalars["status"] not in Status.__members__:
        raise CheckpointError(f"a checkpoint cannot have the status {scalars['status']!r}.")
    counts = Counts(arrays["fired"], *(scalars[name] for name in ("flips", "rows", "cells")))
    facts = {name: scalars[name] for name in ("frozen_loss", "logdet", "condition")}
    there = Iterate(restored_point(problem, scalars, arrays), counts)
    return there, Status[scalars["status"]], facts
