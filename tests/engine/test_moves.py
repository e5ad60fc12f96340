"""What solvers and the engine say to each other."""

import pytest

from anmin.moves import Conclusion, Ended, Move, Spent, Stage, Stopped, Visit
from anmin.status import Status


@pytest.mark.parametrize("kind", [Spent, Stopped])
def test_an_end_carries_its_status_and_its_advice(kind):
    ended = kind(Status.OUT_OF_TIME, best="best", visit="visit")
    assert isinstance(ended, Ended)
    assert (ended.status, ended.best, ended.visit) == (Status.OUT_OF_TIME, "best", "visit")
    assert str(ended) == "max_time was spent; the best network so far is kept."


def test_an_end_is_no_other_error():
    """A narrow `except` in a solver must not swallow it."""
    assert not issubclass(Ended, (ValueError, ArithmeticError, LookupError, RuntimeError))
    assert not issubclass(Spent, Stopped)
    assert not issubclass(Stopped, Spent)


def test_moves_are_steps_on_all_rows_unless_they_say_so():
    move = Move(lambda: None, None, None)
    assert (move.kind, move.stage) == ("step", Stage())
    assert (Stage().phase, Stage().rows, Stage().until, Stage().monotone) == ("", "all", 1.0, False)


def test_nothing_is_shared_between_visits_or_conclusions():
    assert Visit(None).facts is not Visit(None).facts
    assert Conclusion(Status.CONVERGED).path is not Conclusion(Status.CONVERGED).path


@pytest.mark.parametrize("status", Status)
def test_every_status_says_what_it_means(status):
    """One member a meaning: no two messages are the same, for an enum would make them one."""
    assert status.value[0].islower() or status.value.startswith("max_")
    assert Status[status.name] is status
    assert Status.OUT_OF_TIME is not Status.OUT_OF_ITERATIONS
