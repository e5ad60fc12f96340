"""Several generators of moves as one: a move of each in turn, made side by side and ahead.

The engine sees one move at a time, in an order that does not depend on the cores, so that budget,
history and checkpoint know nothing of it. Once it has made a move, not recalled it, the next ones
are made before it asks for them, one thread a generator, and no core waits for the slowest. A move
that is then beyond the budget was made in vain.

Where there is one thread, as with a GPU, damped steps of a round are made as one (`stacked.py`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from anmin.backends.threads import in_parallel, pool
from anmin.moves import Move, Moves, Spent, Visit
from anmin.solvers.levenberg import DampedStep

if TYPE_CHECKING:
    from anmin.solvers.stacked import Stacks

T = TypeVar("T")
Answer = Visit | Spent | None  # None: it begins


def together(generators: Sequence[Moves[T]], workers: int) -> Moves[list[T]]:
    """What each of the generators ends with; a spent budget is told to the one that asked."""
    if not in_parallel(workers):
        return (yield from in_rounds(generators))
    live, runners = Event(), [Runner(moves) for moves in generators]
    waiting = deque(runners)
    for runner in runners:
        runner.go_on(None, live, workers if len(runners) > 1 else 1)
    try:
        while waiting:
            runner = waiting.popleft()
            move = runner.next_move()
            if move is None:
                continue
            try:
                answer: Answer = yield move
            except Spent as ended:
                answer = Spent(ended.status)
            runner.go_on(answer, live, workers if waiting else 1)
            waiting.append(runner)
    finally:
        for runner in waiting:
            runner.cancel()
    return [runner.end[0] for runner in runners]


def in_rounds(generators: Sequence[Moves[T]]) -> Moves[list[T]]:
    """The same on one thread, a move of each a round."""
    ends: dict[int, T] = {}
    answers: dict[int, Answer] = dict.fromkeys(range(len(generators)))
    one = AsOne()
    while answers:
        moves: dict[int, Move] = {}
        for k, answer in answers.items():
            try:
                moves[k] = sent(generators[k], answer)
            except StopIteration as end:
                ends[k] = end.value
        one.begin({k: move.make for k, move in moves.items()})
        answers = {}
        for k, move in moves.items():
            try:
                answers[k] = yield replace(move, make=partial(one.make, k))
            except Spent as ended:
                answers[k] = Spent(ended.status)
    return [ends[k] for k in range(len(generators))]


class AsOne:
    """The moves of a round, of which the damped steps of one kind are made as one.

    They are made when the first of them is asked for, also those that a log knew: the last bits of
    a step may depend on the company that it is in.
    """

    def __init__(self) -> None:
        self.stacks: Stacks | None = None

    def begin(self, makes: dict[int, Callable[[], Visit | None]]) -> None:
        self.makes, self.visits = makes, dict[int, Visit]()
        steps = {k: make for k, make in makes.items() if isinstance(make, DampedStep)}
        self.steps = {k: step for k, step in steps.items() if step.kind is not None}

    def make(self, k: int) -> Visit | None:
        if k not in self.steps:
            return self.makes[k]()
        if not self.visits:
            from anmin.solvers.stacked import Stacks

            self.stacks = self.stacks or Stacks()
            visits = self.stacks.visits(list(self.steps.values()))
            self.visits = dict(zip(self.steps, visits, strict=True))
        return self.visits[k]


class Runner(Generic[T]):
    """A generator, its next move, and what that comes to where it is made ahead."""

    def __init__(self, moves: Moves[T]) -> None:
        self.moves = moves
        self.end: list[T] = []
        self.next_move: Callable[[], Move | None]
        self.cancel: Callable[[], object] = bool

    def go_on(self, answer: Answer, live: Event, workers: int) -> None:
        """Let `next_move` be what comes of an answer; on a thread, where there are several."""
        if in_parallel(workers):
            job = pool(workers, os.getpid()).submit(self.advance, answer, live, True)
            self.next_move, self.cancel = job.result, job.cancel
        else:
            self.next_move, self.cancel = lambda: self.advance(answer, live, False), bool

    def advance(self, answer: Answer, live: Event, ahead: bool) -> Move | None:
        """The next move, which may be made already; None at the end."""
        with np.errstate(all="ignore"):  # as in the whole fit: overflow is looked for afterwards
            try:
                move = sent(self.moves, answer)
            except StopIteration as end:
                self.end.append(end.value)
                return None
            made = attempted(move.make) if ahead and live.is_set() else None

        def make() -> Visit | None:
            live.set()
            return move.make() if made is None else made.result()

        return replace(move, make=make)


def sent(moves: Moves[T], answer: Answer) -> Move:
    """The move that comes of an answer."""
    if isinstance(answer, Spent):
        return moves.throw(answer)
    return next(moves) if answer is None else moves.send(answer)


def attempted(make: Callable[[], Visit | None]) -> Future[Visit | None]:
    """What a move came to, or the error that it ended with."""
    done: Future[Visit | None] = Future()
    try:
        done.set_result(make())
    except Exception as error:  # noqa: BLE001, raised where it is asked for
        done.set_exception(error)
    return done
