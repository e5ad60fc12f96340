"""The one loop: it drives whatever runs turn by turn.

    move = moves.send(visit) ─▶ budget left? ─▶ recall or make ─▶ keep ─▶ record ─▶ tell ─┐
              ▲                                                                           │
              └───────────────────────────────── visit ◀─────────────────────────────────┘

The engine alone looks at the clock, counts iterations, keeps the best point, writes the history,
tells the listeners, hears an interrupt, and stores anything. Solvers are generators (`moves.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from math import inf, nan
from time import perf_counter
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning

from anmin.history import Listener, Step, Units
from anmin.moves import Conclusion, Ended, Move, Moves, Spent, Stopped, Visit
from anmin.status import Status

if TYPE_CHECKING:
    from anmin.checkpoint import Checkpoint
    from anmin.solvers.problem import Point, Problem

LATE = 0.05  # of the budget by which a step may be late
FEW = 3  # steps that tell how long the next one takes

# What a solver may tell of a visit, and which of `Units` it is in.
FACTS = {
    "frozen_loss": "loss",
    "logdet": "",
    "condition": "",
    "damping": "",
    "gradient": "gradient",
}


def nothing() -> float:
    return 0.0


@dataclass(slots=True)
class Budget:
    """How long to go on: iterations, and seconds from now."""

    max_iter: float = inf
    max_time: float | None = None
    iterations: int = 0
    started: float = field(default_factory=perf_counter)
    waited: Callable[[], float] = nothing  # seconds that do not count: those of a compiler

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started - self.waited()

    def used(self, seconds: float) -> tuple[float, Status]:
        """The share that is spent, 1 or more at the end, and of what."""
        time = 0.0 if self.max_time is None else share(seconds, self.max_time)
        turns = share(self.iterations, self.max_iter)
        return (turns, Status.OUT_OF_ITERATIONS) if turns >= time else (time, Status.OUT_OF_TIME)


@dataclass(frozen=True, slots=True)
class Pace:
    """The last few steps: the seconds of each, and the rows that it was on."""

    steps: tuple[tuple[float, int], ...] = ()

    def after(self, seconds: float, rows: int) -> Pace:
        return Pace((*self.steps[1 - FEW :], (seconds, rows)))

    def late(self, move: Move, max_time: float | None) -> float:
        """How much longer than a small share of the budget the next step is likely to take.

        That is what the quickest of the last took, as one of them may have waited for a compiler;
        on more rows it takes longer, though not by all of the ratio.
        """
        if max_time is None or len(self.steps) < FEW:
            return 0.0
        n = len(move.problem.source)
        likely = min(seconds * max(1.0, 0.5 * n / rows) for seconds, rows in self.steps)
        return max(0.0, likely - LATE * max_time)


def share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else inf


_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("anmin_listeners", default=())


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within the block `listener(step, network)` hears of every turn of every fit.

    >>> from anmin import ANMINRegressor
    >>> from anmin.engine import listening
    >>> phases = set()
    >>> with listening(lambda step, network: phases.add(step.phase)):
    ...     model = ANMINRegressor(4, random_state=0).fit([[0], [1], [2], [4]], [0, 1, 0, 2])
    >>> "path" in phases
    True
    """
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


@contextmanager
def unheard() -> Iterator[None]:
    """Within the block nobody hears of fits."""
    token = _listeners.set(())
    try:
        yield
    finally:
        _listeners.reset(token)


@dataclass(frozen=True, slots=True)
class Best:
    """The point of least score on some rows, and the problem that it is a point of."""

    problem: Problem
    point: Point
    score: float

    def or_better(self, other: Best) -> Best:
        """The one of the lower score; scores on other rows do not compare."""
        better = self.on_rows_of(other.problem) and other.score < self.score
        return other if better else self

    def on_rows_of(self, problem: Problem) -> bool:
        """Whether it is a point on the rows of a problem, in whatever scale of the inputs."""
        return self.problem.source.raw is problem.source.raw


class Engine:
    """One fit: budget, history, best point, listeners and checkpoint."""

    def __init__(
        self, budget: Budget, units: Units | None = None, log: Checkpoint | None = None
    ) -> None:
        self.budget, self.units, self.log = budget, units or Units(), log
        self.listeners: list[Listener] = list(_listeners.get())
        self.held_out: Callable[[Problem, Point], float] | None = (
            None  # an error that chooses the best
        )
        self.history: list[Step] = []
        self.lowest: Best | None = None  # by the loss, on all rows
        self.best: Best | None = None  # the same, or by the held-out error where there is one
        self.rough: Best | None = None  # on a part or a sample of the rows
        self.pace = Pace()
        self.path_steps = 0
        self.judged: list[Step] = []  # networks of the path, on rows held out
        self.told: Problem | None = None  # what the network that listeners hear of belongs to

    def run(self, moves: Moves[Conclusion]) -> Conclusion:
        """Drive the generator to its end; how it ended, or was ended."""
        try:
            move = next(moves)
            while True:
                visit, ended = self.turn(move)
                move = moves.send(visit) if ended is None else moves.throw(ended)  # type: ignore[arg-type]
        except StopIteration as end:
            if isinstance(end.value, Conclusion):
                return end.value
            got = type(end.value).__name__
            raise TypeError(
                f"moves must end with `return Conclusion(status)`; got {got}."
            ) from None
        except Ended as end:
            return Conclusion(end.status)
        except KeyboardInterrupt:
            if self.lowest is None and self.rough is None:
                raise
            what = "Interrupted; the best network so far is kept."
            warnings.warn(what, ConvergenceWarning, stacklevel=6)
            return Conclusion(Status.INTERRUPTED)

    def turn(self, move: Move) -> tuple[Visit | None, Ended | None]:
        """One move: made, kept, recorded and told, unless the budget for it is spent."""
        outcome, seconds = self.outcome(move)
        if isinstance(outcome, Status):
            return None, Spent(outcome, self.best_on(move.problem))
        if outcome is None:
            return None, None
        self.budget.iterations += move.kind == "step"
        shown, error = self.keep(move, outcome)
        if move.kind == "look" and move.stage.rows != "part":
            return outcome, None  # no iteration: nothing to record or to tell
        step = self.record(move, outcome, shown, error, seconds)
        status = self.tell(step, move.problem, shown)
        return outcome, None if status is None else Stopped(status, visit=outcome)

    def outcome(self, move: Move) -> tuple[Visit | Status | None, float]:
        """What a move came to, and when: from the checkpoint, or made now.

        A Status says that the budget is spent. Where the checkpoint ends the clock runs on.
        """
        if self.log is not None and (known := self.log.recall(move)) is not None:
            self.budget.started = perf_counter() - known[1]
            return known
        begun = self.budget.seconds
        used, status = self.budget.used(begun + self.pace.late(move, self.budget.max_time))
        outcome = status if move.kind == "step" and used >= move.stage.until else move.make()
        seconds = self.budget.seconds
        if move.kind == "step" and isinstance(outcome, Visit):
            self.pace = self.pace.after(seconds - begun, len(move.problem.source))
        if self.log is not None and outcome is not None:
            self.log.write(move, outcome, seconds)
        return outcome, seconds

    def keep(self, move: Move, visit: Visit) -> tuple[Point, float]:
        """Remember the best; the point that the record stands at, and its held-out error."""
        here = Best(move.problem, visit.point, visit.point.loss)
        error = visit.facts.get("held_out_mse", nan)
        if move.stage.rows == "part":
            if error == error:  # noqa: PLR0124, judged, so it competes
                here = replace(here, score=error)
                self.rough = here if self.rough is None else self.rough.or_better(here)
            elif self.rough is None:  # better than nothing
                self.rough = replace(here, score=inf)
            return visit.point, error
        if move.stage.rows == "sample":
            on_sample = self.rough is not None and self.rough.on_rows_of(here.problem)
            self.rough = self.rough.or_better(here) if on_sample and self.rough else here
        elif self.lowest is None or self.lowest.problem is not here.problem:
            self.lowest = here  # another network
        else:
            self.lowest = self.lowest.or_better(here)
        stands = self.lowest if move.stage.monotone and self.lowest is not None else here
        if self.held_out is None:
            self.best = self.lowest
        elif move.kind != "look":
            error = self.judge(stands)
        return stands.point, error

    def best_on(self, problem: Problem) -> Point | None:
        """The best point so far on the rows of a problem."""
        known = [best for best in (self.lowest, self.rough) if best is not None]
        return next((best.point for best in known if best.on_rows_of(problem)), None)

    def judge(self, stands: Best) -> float:
        """The error on rows held out; the least of them makes the best point."""
        known = self.history[-1] if self.history else None
        if known is not None and known.loss == stands.point.loss * self.units.loss:
            return known.held_out_mse / self.units.loss  # nothing new
        assert self.held_out is not None
        error = self.held_out(stands.problem, stands.point)
        if self.best is None or error < self.best.score:
            self.best = replace(stands, score=error)
        return error

    def record(self, move: Move, visit: Visit, shown: Point, error: float, seconds: float) -> Step:
        """The record of a move; that of a step on all rows or on a sample enters the history."""
        enters = move.stage.rows != "part"
        if not enters:
            self.path_steps += 1
        units, counts = self.units, visit.counts
        facts = {name: float(visit.facts[name]) for name in FACTS if name in visit.facts}
        for name in facts:
            facts[name] *= getattr(units, FACTS[name]) if FACTS[name] else 1.0
        step = Step(
            iteration=len(self.history) if enters else self.path_steps,
            loss=shown.loss * units.loss, mse=shown.mse * units.loss,
            held_out_mse=error * units.loss,
            tried_loss=visit.point.loss * units.loss if move.stage.monotone else nan,
            status=visit.status, phase=move.stage.phase, seconds=seconds,
            flips=nan if counts is None else counts.flip_share,
            dead=0 if counts is None else counts.dead,
            cells=0 if counts is None else int(counts.cells),
            lam=move.problem.lam * units.lam, share=self.budget.used(seconds)[0], **facts,
        )  # fmt: skip
        if enters:
            self.history.append(step)
        elif error == error:  # noqa: PLR0124
            self.judged.append(step)
        return step

    def tell(self, step: Step, problem: Problem, shown: Point) -> Status | None:
        """Tell the listeners; how to end, where one of them asks for it."""
        if not self.listeners:
            return None
        self.told, network = problem, problem.network(shown).scaled(self.units.y)
        answers = [hear(step, network) for hear in self.listeners]  # every one hears
        asked = next((answer for answer in answers if answer), None)
        return asked if asked is None or isinstance(asked, Status) else Status.INTERRUPTED

    def settled(self, conclusion: Conclusion) -> tuple[Problem, Point]:
        """The point to return, and the problem that it is a point of."""
        best, rough = self.best or self.lowest, self.rough
        stands = best or rough
        if stands is None:
            raise TypeError("moves ended without a point; yield a Move before you conclude.")
        if not self.history:  # interrupted while lam was chosen, or before the first record
            loss, mse = (v * self.units.loss for v in (stands.point.loss, stands.point.mse))
            self.history = [Step(0, loss, mse, seconds=self.budget.seconds)]
        if best is None:
            return stands.problem, stands.point
        if conclusion.point is not None:
            return conclusion.problem or best.problem, conclusion.point
        on_sample = rough is not None and rough.problem.lam == best.problem.lam
        stopped = conclusion.status is Status.INTERRUPTED and self.held_out is None
        if stopped and rough is not None and on_sample:
            problem = best.problem
            found = problem.balance(problem.at(rough.point.A))
            if found.loss < best.point.loss:
                return problem, found
        return best.problem, best.point
