"""Several generators of moves as one: a move of each in turn, all of a round side by side.

The engine sees one move at a time, in an order that does not depend on the cores, so that budget,
history and checkpoint know nothing of it. Asked to make the first move of a round, all of them are
started, one thread each; whatever a generator computes between its moves is shared out likewise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from anmin.backends.threads import in_parallel, pool
from anmin.moves import Move, Moves, Spent, Visit

S = TypeVar("S")
T = TypeVar("T")


def together(generators: Sequence[Moves[T]], workers: int) -> Moves[list[T]]:
    """What each of the generators ends with; a spent budget is told to the one that asked."""
    ends: dict[int, T] = {}

    def advance(k: int, answer: Visit | Spent | None) -> Move | None:
        """The next move of a generator, from what came of its last one; None at its end."""
        moves = generators[k]
        try:
            if isinstance(answer, Spent):
                return moves.throw(answer)
            return next(moves) if answer is None else moves.send(answer)
        except StopIteration as end:
            ends[k] = end.value
            return None

    answers: dict[int, Visit | Spent | None] = dict.fromkeys(range(len(generators)))
    while answers:
        jobs = [partial(advance, k, answer) for k, answer in answers.items()]
        asked = dict(zip(answers, shared_out(jobs, workers), strict=True))
        waiting = {k: move for k, move in asked.items() if move is not None}
        made, answers = Round([move.make for move in waiting.values()], workers), {}
        for place, (k, move) in enumerate(waiting.items()):
            try:
                answers[k] = yield replace(move, make=partial(made, place))
            except Spent as ended:
                answers[k] = Spent(ended.status)
    return [ends[k] for k in range(len(generators))]


class Round:
    """Moves that are made side by side, once the first of them is asked for."""

    def __init__(self, makes: list[Callable[[], Visit | None]], workers: int) -> None:
        self.makes, self.workers = makes, workers
        self.started: dict[int, Future[Visit | None]] = {}

    def __call__(self, place: int) -> Visit | None:
        alone = len(self.makes) - place == 1 or not in_parallel(self.workers)
        if place not in self.started:
            if alone:
                return self.makes[place]()
            threads = pool(self.workers, os.getpid())
            for k in range(place, len(self.makes)):
                self.started[k] = threads.submit(quietly, self.makes[k])
        return self.started[place].result()


def shared_out(jobs: Iterable[Callable[[], S]], workers: int) -> list[S]:
    """What each job returns, one thread each."""
    jobs = list(jobs)
    if len(jobs) < 2 or not in_parallel(workers):
        return [job() for job in jobs]
    return list(pool(workers, os.getpid()).map(quietly, jobs))


def quietly(job: Callable[[], S]) -> S:
    """What a job returns; as in the fit that shares it out, overflow is looked for afterwards."""
    with np.errstate(all="ignore"):
        return job()
