"""Several generators of moves as one, made side by side."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from anmin.moves import Move, Moves, Spent, Visit
from anmin.solvers.together import together
from anmin.status import Status


def counting(name: str, turns: int, log: list[str]) -> Moves[str]:
    """A generator of so many moves, which notes what it is sent."""
    for k in range(turns):
        try:
            visit = yield Move(lambda k=k: Visit(f"{name}{k}"), None, np.zeros(1))
        except Spent:
            return f"{name} spent"
        log.append(visit.point)
    return f"{name} done"


def drive(moves: Moves, spent: int = 10**9) -> tuple[list[str], list[str]]:
    """Make the moves in order; after so many the budget is spent."""
    order: list[str] = []
    try:
        move = next(moves)
        while True:
            if len(order) >= spent:
                move = moves.throw(Spent(Status.OUT_OF_TIME))
                continue
            visit = move.make()
            order.append(visit.point)
            move = moves.send(visit)
    except StopIteration as end:
        return order, end.value


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_order_does_not_depend_on_the_workers(workers: int) -> None:
    log: list[str] = []
    walks = [counting("a", 3, log), counting("b", 1, log), counting("c", 2, log)]
    order, ends = drive(together(walks, workers))
    assert order == ["a0", "b0", "c0", "a1", "c1", "a2"]
    assert ends == ["a done", "b done", "c done"]
    assert sorted(log) == sorted(order)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_spent_budget_is_told_to_each(workers: int) -> None:
    walks = [counting(name, 9, []) for name in "ab"]
    order, ends = drive(together(walks, workers), spent=4)
    assert order == ["a0", "b0", "a1", "b1"]
    assert ends == ["a spent", "b spent"]


def test_moves_are_made_at_the_same_time_and_ahead() -> None:
    """Once one was made: until then they may come from a log."""
    meet = threading.Barrier(2, timeout=10)

    def waiting() -> Moves[None]:
        yield Move(lambda: Visit(0), None, np.zeros(1))
        yield Move(lambda: Visit(meet.wait()), None, np.zeros(1))

    drive(together([waiting(), waiting()], 2))


def test_nothing_is_made_of_what_a_log_knows() -> None:
    made = []

    def moves() -> Moves[None]:
        for _ in range(3):
            yield Move(lambda: made.append(1), None, np.zeros(1))

    both = together([moves(), moves()], 2)
    next(both)
    for _ in range(5):
        both.send(Visit(None))
    with pytest.raises(StopIteration):
        both.send(Visit(None))
    assert not made


def test_an_error_in_a_move_is_raised() -> None:
    def failing() -> Moves[None]:
        yield Move(lambda: 1 / 0, None, np.zeros(1))

    with pytest.raises(ZeroDivisionError):
        drive(together([failing(), counting("a", 2, [])], 2))


def test_nothing_to_do() -> None:
    assert drive(together([], 2)) == ([], [])
