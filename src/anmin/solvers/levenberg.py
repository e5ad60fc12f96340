"""Damped descent: Levenberg–Marquardt steps on the loss with the output layer eliminated."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from anmin.backends import Array
from anmin.checkpoint import Entry, Ledger
from anmin.history import Budget
from anmin.solvers.curvature import DENSE, CurvatureRows, DenseCurvature, ProductCurvature
from anmin.solvers.problem import Point, Problem, gradient, restored_point, stored_point
from anmin.sources.draws import draw
from anmin.status import Status
from anmin.sums.patterns import Counts

ROWS_PER_UNKNOWN, FEWEST = 5, 2000  # enough for curvature
SMALL = 400  # rows up to which curvature is in full precision: it costs little there
FACTOR = 3.0  # between neighbouring dampings
TRIES = 6  # dampings that may improve on each other in a step: cheap where H is formed
LEAST, MOST = 1e-9, 1e12  # damping


@dataclass(frozen=True, slots=True)
class Damped:
    """A step that was tried: where it led, its damping, the gradient norm before it."""

    point: Point
    damping: float
    gradient: float


class Descent:
    """Damped descent on one problem, for up to h neurons; the curvature's rows are drawn once."""

    def __init__(
        self, problem: Problem, h: int, rng: np.random.RandomState, ledger: Ledger,
        rough: bool = False,
    ) -> None:  # fmt: skip
        n, p, _ = problem.source.shape
        enough = max(ROWS_PER_UNKNOWN * h * p, FEWEST)
        fast = problem.backend.single()
        if n > 1.5 * enough:
            source = problem.source.take(draw(n, enough, rng), fast)
        else:
            source = problem.source.using(problem.backend if n <= SMALL else fast)
        self.problem, self.rows = problem, CurvatureRows(source)
        self.ledger = ledger
        self.rough = rough
        self.before: Array | None = None

    def on(self, problem: Problem) -> Descent:
        """The same rows at another penalty."""
        other = copy(self)
        other.problem = problem
        return other

    def step(self, point: Point, mu: float) -> tuple[Damped, Counts]:
        """A damped step from `point`, from the ledger where it is written there."""
        if not self.ledger.keeps:
            return self.search(point, mu)
        here, backend = self.problem.backend.to_numpy(point.A), self.rows.backend
        nothing = Counts(backend.zeros(here.shape[1]), 0.0, 0.0, 0.0)
        entry = self.ledger.recall(here, self.stored(point, Damped(point, mu, 0.0), nothing))
        if entry is not None:
            self.before = backend.asarray(point.A)
            return self.restored(point, *entry)
        step, counts = self.search(point, mu)
        self.ledger.write(here, self.stored(point, step, counts))
        return step, counts

    def stored(self, point: Point, step: Damped, counts: Counts) -> Entry:
        """A step from `point` as the ledger keeps it."""
        scalars, arrays = stored_point(self.problem, step.point)
        scalars |= {"stuck": step.point is point, "damping": step.damping}
        scalars |= {"gradient": step.gradient, **counts.scalars()}
        return scalars, arrays | {"fired": self.rows.backend.to_numpy(counts.fired)}

    def restored(self, point: Point, scalars: dict, arrays: dict) -> tuple[Damped, Counts]:
        """A step as the ledger has it."""
        new = point if scalars["stuck"] else restored_point(self.problem, scalars, arrays)
        counts = Counts(arrays["fired"], *(scalars[name] for name in ("flips", "rows", "cells")))
        return Damped(new, scalars["damping"], scalars["gradient"]), counts

    def search(self, point: Point, mu: float) -> tuple[Damped, Counts]:
        """The best of a geometric search over the damping, from mu.

        One that helps will do where each damping costs a solve of its own, and on the penalty
        path, where depth is not what decides.

        While the loss falls further the damping is lowered; while it does not fall at all it is
        raised, faster and faster. `point` itself comes back where no damping helps.
        """
        problem = self.problem
        g = gradient(problem, point)
        dense = problem.forms_matrix(point.A.shape[1], DENSE)
        tries = TRIES if dense and not self.rough else 1
        same = self.before is not None and self.before.shape == point.A.shape
        curvature = (DenseCurvature if dense else ProductCurvature)(
            self.rows, point, problem, self.before if same else None
        )
        self.before = curvature.A
        best, best_mu, grow, better = point, mu, FACTOR, 0
        while mu < MOST:
            v = curvature.solve(g, mu)
            new = None if v is None else problem.at(point.A + problem.backend.asarray(v))
            if new is not None and new.loss < best.loss:
                best, best_mu, better = new, mu, better + 1
                if grow > FACTOR or better == tries or mu < LEAST:
                    break
                mu /= FACTOR
            elif best is not point:
                break
            else:
                mu, grow = mu * grow, grow * 1.5
        if best is not point:
            best = problem.balance(best)
        norm = float((g * g).sum()) ** 0.5
        if tries == 1 and grow == FACTOR:  # it worked at once: try less next time
            best_mu /= FACTOR
        return Damped(best, max(best_mu, LEAST), norm), curvature.counts


Note = Callable[[Point, Damped, Any], bool]  # hears of each step; True asks to end


@dataclass(frozen=True, slots=True)
class Stop:
    """When a descent ends: a share of the budget, a number of steps, too little gain, no hope."""

    until: float = 1.0
    steps: float = np.inf
    tol: float = 1e-4
    beat: float = np.inf  # give up when this loss is out of reach at the present pace


def descend(
    descent: Descent, point: Point, budget: Budget, stop: Stop, note: Note, mu: float = 1e-2
) -> tuple[Point, Status]:
    """Damped steps from `point` until `stop`; `note` hears of each and may ask to end."""
    losses = [point.loss]
    while len(losses) <= stop.steps:
        if budget.used >= stop.until:
            return point, Status.OUT_OF_TIME
        step, counts = descent.step(point, mu)
        budget.iterations += 1
        stuck, point, mu = step.point is point, step.point, step.damping
        if note(point, step, counts):
            return point, Status.INTERRUPTED
        losses.append(point.loss)
        if stuck or (len(losses) > 5 and losses[-6] - point.loss <= stop.tol * point.loss):
            return point, Status.CONVERGED
        if len(losses) > 5:
            pace = (losses[-3] - point.loss) / 2
            if point.loss - pace * (stop.steps - len(losses) + 1) > stop.beat:
                break
    return point, Status.SOLVED
