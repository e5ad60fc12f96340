"""What a solver says to the engine: moves, and how they ended.

A solver is a generator. It yields a `Move`, which says how the next point is made, and is sent the
`Visit` that came of it. It never looks at a clock, counts iterations, or stores anything:

    visit = yield Move(make, problem, point.A)

`Spent` is raised at the yield when the budget for a move is used up, `Stopped` when somebody asked
to stop. A stage that has a use for what it found so far catches `Spent`. At its end a generator
returns a `Conclusion`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

from anmin.history import PathStep
from anmin.status import Status

if TYPE_CHECKING:
    from anmin.backends import Array
    from anmin.solvers.problem import Point, Problem
    from anmin.sums.patterns import Counts

T = TypeVar("T")


class Ended(Exception):  # noqa: N818
    """Raised where a generator waits: there are no more moves for it."""

    def __init__(
        self, status: Status, best: Point | None = None, visit: Visit | None = None
    ) -> None:
        super().__init__(status.value)
        self.status = status
        self.best = best  # so far, on the rows of the move that was asked for
        self.visit = visit  # the last one: that a listener heard of, or that a descent came to


class Spent(Ended):
    """The share of the budget that the move may use is spent: it is not made."""


class Stopped(Ended):
    """A listener asked to stop when it heard of the visit."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A point that was come to, and what was found out on the way."""

    point: Point
    status: Status = Status.SOLVED
    counts: Counts | None = None
    facts: dict[str, float] = field(default_factory=dict)  # `engine.FACTS` enter the history


@dataclass(frozen=True, slots=True)
class Stage:
    """What the moves of one stage have in common."""

    phase: str = ""
    rows: Literal["all", "sample", "part"] = "all"  # that its problem has
    until: float = 1.0  # share of the budget that may be used by then
    monotone: bool = False  # records stand at the best point so far, not at each point


@dataclass(frozen=True, slots=True)
class Move:
    """How the next point is made."""

    make: Callable[[], Visit | None]  # None: there is no next point, and nothing to record
    problem: Problem  # that the point will be a point of
    at: Array  # the A that it starts from
    stage: Stage = field(default_factory=Stage)
    kind: Literal["start", "step", "look"] = "step"  # steps count; a look leaves no record


Moves = Generator[Move, Visit, T]  # a Visit is None only where `make` said None


@dataclass(frozen=True, slots=True)
class Conclusion:
    """How a generator of moves ended; the point to keep, where that is not the best one."""

    status: Status
    point: Point | None = None
    problem: Problem | None = None  # of that point
    path: list[PathStep] = field(default_factory=list)  # in the units of the problem
    path_cut: bool = False
    networks: int = 1  # that were averaged; 0: the network is ridge regression or the mean
