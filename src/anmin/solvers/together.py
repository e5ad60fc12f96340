"""Several generators of moves as one: a move of each in turn, made side by side and ahead.

The engine sees one move at a time, in an order that does not depend on the cores, so that budget,
history and checkpoint know nothing of it. Once it has made a move, not recalled it, the next ones
are made before it asks for them, one thread a generator, and no core waits for the slowest. A move
that is then beyond the budget was made in vain.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from threading import Event
from typing import Generic, TypeVar

import numpy as np

from anmin.backends.threads import in_parallel, pool
from anmin.moves import Move, Moves, Spent, Visit

T = TypeVar("T")
Answer = Visit | Spent | None  # None: it begins


def together(generators: Sequence[Moves[T]], workers: int) -> Moves[list[T]]:
    """What each of the generators ends with; a spent budget is told to the one that asked."""
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
                if isinstance(answer, Spent):
                    move = self.moves.throw(answer)
                else:
                    move = next(self.moves) if answer is None else self.moves.send(answer)
            except StopIteration as end:
                self.end.append(end.value)
                return None
            made = attempted(move.make) if ahead and live.is_set() else None

        def make() -> Visit | None:
            live.set()
            return move.make() if made is None else made.result()

        return replace(move, make=make)


def attempted(make: Callable[[], Visit | None]) -> Future[Visit | None]:
    """What a move came to, or the error that it ended with."""
    done: Future[Visit | None] = Future()
    try:
        done.set_result(make())
    except Exception as error:  # noqa: BLE001, raised where it is asked for
        done.set_exception(error)
    return done
