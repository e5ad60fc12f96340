"""The one loop: budget, history, best point, listeners, interrupts, whatever the moves are."""

import threading
from dataclasses import replace
from math import inf, isnan, nan

import numpy as np
import pytest
from conftest import make_data, make_problem
from sklearn.exceptions import ConvergenceWarning

from anmin.engine import Budget, Engine, listening
from anmin.history import Units
from anmin.moves import Conclusion, Move, Spent, Stage, Stopped, Visit
from anmin.status import Status

PROBLEM, OTHER = make_problem(*make_data(20, 1), lam=1e-2), make_problem(*make_data(10, 1))
DONE = Conclusion(Status.CONVERGED)
MONOTONE = Stage("descend", monotone=True)


def at(loss, problem=PROBLEM):
    """A point of this loss."""
    return replace(problem.at(np.full((2, 1), float(loss))), loss=float(loss), mse=loss / 2)


def move(loss, stage=Stage(), kind="step", problem=PROBLEM, **facts):  # noqa: B008
    point = at(loss, problem)
    return Move(lambda: Visit(point, facts=facts), problem, point.A, stage, kind)


def through(losses, stage=Stage()):  # noqa: B008
    """A generator of a start and steps of these losses."""
    for k, loss in enumerate(losses):
        yield move(loss, stage, "step" if k else "start")
    return DONE


def run(moves, budget=None, **attributes):
    engine = Engine(Budget() if budget is None else budget)
    for name, value in attributes.items():
        setattr(engine, name, value)
    return engine, engine.run(moves)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told the time."""
    now = {"time": 0.0}
    monkeypatch.setattr("anmin.engine.perf_counter", lambda: now["time"])
    return now


# ---- the budget ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_iter", "max_time", "iterations", "seconds", "expected"),
    [
        (10, None, 4, 99.0, (0.4, Status.OUT_OF_ITERATIONS)),
        (10, 2.0, 4, 0.5, (0.4, Status.OUT_OF_ITERATIONS)),
        (10, 2.0, 4, 1.5, (0.75, Status.OUT_OF_TIME)),
        (inf, 2.0, 10**6, 3.0, (1.5, Status.OUT_OF_TIME)),
        (inf, None, 10**6, 1e9, (0.0, Status.OUT_OF_ITERATIONS)),
        (0, None, 0, 0.0, (inf, Status.OUT_OF_ITERATIONS)),
        (10, 0.0, 0, 0.0, (inf, Status.OUT_OF_TIME)),
    ],
)
def test_the_share_that_is_used(max_iter, max_time, iterations, seconds, expected):
    assert Budget(max_iter, max_time, iterations).used(seconds) == expected


def test_out_of_iterations():
    engine, end = run(through(range(9, 0, -1)), Budget(3))
    assert end == Conclusion(Status.OUT_OF_ITERATIONS)
    assert [step.loss for step in engine.history] == [9, 8, 7, 6]  # the start, and three steps
    assert [step.iteration for step in engine.history] == [0, 1, 2, 3]
    assert [step.share for step in engine.history] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert engine.settled(end)[1].loss == 6


def test_out_of_time(clock):
    def slow():
        yield move(5, kind="start")
        for loss in (4, 3, 2, 1):
            clock["time"] += 0.75
            yield move(loss)
        return DONE

    engine, end = run(slow(), Budget(max_time=2.0, started=0.0))
    assert end.status is Status.OUT_OF_TIME
    assert [step.loss for step in engine.history] == [5, 4, 3]
    assert [step.seconds for step in engine.history] == [0, 0.75, 1.5]


def test_starts_and_looks_are_free():
    def moves():
        yield move(3, kind="start")
        for loss in range(20):
            yield move(2 + loss, kind="look")
        return DONE

    engine, end = run(moves(), Budget(0))
    assert end is DONE
    assert (engine.budget.iterations, len(engine.history)) == (0, 1)
    assert engine.settled(end)[1].loss == 2  # a look competes, but leaves no record


def test_a_stage_has_its_share_and_the_next_one_the_rest():
    seen = []

    def stages():
        yield move(100, kind="start")
        for until in (0.5, 0.7, 1.0):
            try:
                for loss in range(50, 0, -1):
                    yield move(loss, Stage(str(until), until=until))
            except Spent as ended:
                seen.append((ended.status, ended.best.loss))
        return DONE

    engine, end = run(stages(), Budget(10))
    assert end is DONE
    phases = [step.phase for step in engine.history[1:]]
    assert phases == ["0.5"] * 5 + ["0.7"] * 2 + ["1.0"] * 3
    assert seen == [(Status.OUT_OF_ITERATIONS, 46.0)] * 3


def test_the_best_so_far_is_that_on_the_rows_of_the_move():
    """Losses on other rows do not compare."""
    sample, found = Stage(rows="sample", until=0.5), []

    def stages():
        yield move(5, kind="start")
        for problem in (OTHER, make_problem(*make_data(10, 1))):
            try:
                for loss in (3, 2, 4, 1):
                    yield move(loss, sample, problem=problem)
            except Spent as ended:
                found.append(ended.best and ended.best.loss)
        yield move(4)
        return DONE

    engine, end = run(stages(), Budget(6))
    assert found == [2.0, None]
    assert engine.settled(end)[1].loss == 4


def test_a_budget_that_nobody_asks_for_is_the_end():
    def moves():
        yield move(2, kind="start")
        try:
            yield move(1)
        finally:
            closed.append(True)

    closed = []
    assert run(moves(), Budget(0))[1].status is Status.OUT_OF_ITERATIONS
    assert closed


# ---- the best point, and the history ------------------------------------------------------------


def test_the_best_point_is_returned():
    engine, end = run(through([5, 3, 4, 2, 6]))
    assert engine.settled(end)[1].loss == 2
    assert [step.loss for step in engine.history] == [5, 3, 4, 2, 6]
    assert all(isnan(step.tried_loss) for step in engine.history)


def test_the_first_of_equals_is_the_best():
    first, second = at(2), replace(at(2), mse=7.0)

    def moves():
        for point in (first, second):
            yield Move(lambda point=point: Visit(point), PROBLEM, point.A)
        return DONE

    engine, end = run(moves())
    assert engine.settled(end)[1] is first


def test_another_point_on_request():
    def moves():
        for loss in (2, 3):
            visit = yield move(loss)
        return Conclusion(Status.FINISHED, visit.point)

    engine, end = run(moves())
    assert engine.settled(end)[1].loss == 3


def test_monotone_records_stand_at_the_best_point():
    engine, _ = run(through([5, 7, 3, 4, 3], MONOTONE))
    assert [step.loss for step in engine.history] == [5, 5, 3, 3, 3]
    assert [step.mse for step in engine.history] == [2.5, 2.5, 1.5, 1.5, 1.5]
    assert [step.tried_loss for step in engine.history] == [5, 7, 3, 4, 3]


def test_a_step_on_a_sample_is_recorded_at_the_best_point_on_all_rows():
    def moves():
        yield move(5, MONOTONE, "start")
        yield move(1, replace(MONOTONE, rows="sample"), problem=OTHER)
        return DONE

    engine, end = run(moves())
    assert [step.loss for step in engine.history] == [5, 5]
    assert engine.history[1].tried_loss == 1
    assert engine.settled(end)[1].loss == 5


def test_what_is_found_on_a_part_of_the_rows_leaves_no_record():
    heard = []

    def moves():
        yield move(3, Stage("path", "part"), problem=OTHER)
        yield move(3, Stage("path", "part"), "look", OTHER, held_out_mse=4.0)
        yield move(5, kind="start")
        return DONE

    engine, end = run(moves(), listeners=[lambda step, _: heard.append(step)])
    assert [step.loss for step in engine.history] == [5]
    assert [step.phase for step in heard] == ["path", "path", ""]
    np.testing.assert_array_equal([step.held_out_mse for step in heard], [nan, 4.0, nan])
    assert [step.iteration for step in heard] == [1, 2, 0]
    assert engine.settled(end) == (PROBLEM, engine.best.point)


def test_records_are_in_the_units_of_y():
    networks = []
    engine = Engine(Budget(), Units(10.0))
    engine.listeners = [lambda step, network: networks.append(network)]
    facts = {"frozen_loss": 2.0, "gradient": 3.0, "damping": 0.5, "stuck": 1.0}
    engine.run(iter_of(move(4, **facts)))
    (step,) = engine.history
    assert (step.loss, step.mse, step.frozen_loss) == (400, 200, 200)
    assert step.gradient == pytest.approx(3 * 10**1.5)
    assert (step.damping, step.lam) == (0.5, pytest.approx(0.1))
    plain = PROBLEM.network(at(4))
    X = np.linspace(-2, 2, 5)[:, None]
    np.testing.assert_allclose(networks[0].forward(X), 10 * plain.forward(X), rtol=1e-12)


def iter_of(*moves):
    for one in moves:  # noqa: UP028, a tuple cannot be sent anything
        yield one
    return DONE


# ---- rows held out ------------------------------------------------------------------------------


def test_the_least_error_on_rows_held_out_makes_the_best_point():
    errors = {5.0: 3.0, 4.0: 1.0, 3.0: nan, 2.0: 2.0, 1.0: inf}
    engine, end = run(through([5, 4, 3, 2, 1]), held_out=lambda _, point: errors[point.loss])
    assert engine.settled(end)[1].loss == 4
    known = [step.held_out_mse for step in engine.history]
    np.testing.assert_array_equal(known, list(errors.values()))


def test_a_network_is_judged_once():
    asked = []

    def error(_, point):
        asked.append(point.loss)
        return point.loss

    moves = through([5, 7, 6, 3, 4, 3, 9], MONOTONE)
    engine, _ = run(moves, held_out=error)
    assert asked == [5, 3]
    assert [step.held_out_mse for step in engine.history] == [5, 5, 5, 3, 3, 3, 3]


# ---- listeners ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "status"), [(True, Status.INTERRUPTED), (Status.STOPPED_EARLY, Status.STOPPED_EARLY)]
)
def test_a_listener_asks_to_stop(answer, status):
    heard = []

    def ask(step, _):
        return answer if step.iteration == 2 else None

    listeners = [ask, lambda step, _: heard.append(step.iteration)]
    engine, end = run(through([5, 4, 3, 2, 1]), listeners=listeners)
    assert end == Conclusion(status)
    assert heard == [0, 1, 2]  # every one hears, also of the last step
    assert engine.settled(end)[1].loss == 3


@pytest.mark.parametrize("answer", [None, False, 0])
def test_a_listener_that_does_not_ask(answer):
    assert run(through([2, 1]), listeners=[lambda *_: answer])[1] is DONE


def test_a_generator_hears_that_it_is_stopped():
    caught = []

    def moves():
        try:
            yield from through([3, 2])
        except Stopped as ended:
            caught.append((ended.status, ended.visit.point.loss))
        return DONE

    assert run(moves(), listeners=[lambda *_: True])[1] is DONE
    assert caught == [(Status.INTERRUPTED, 3.0)]


def test_stopped_before_there_is_anything_on_all_rows():
    """As by a listener that asks at the first step of the penalty path."""
    moves = iter_of(move(3, Stage("path", "part"), problem=OTHER), move(2, kind="start"))
    engine, end = run(moves, listeners=[lambda *_: True])
    assert end.status is Status.INTERRUPTED
    assert engine.settled(end)[1].loss == 3
    assert [step.loss for step in engine.history] == [3]


def test_listening_is_for_the_block_and_this_thread():
    heard = {"outer": 0, "inner": 0}

    def hear(name):
        def listener(*_):
            heard[name] += 1

        return listener

    with listening(hear("outer")):
        with listening(hear("inner")):
            run(through([2, 1]))
            other = threading.Thread(target=lambda: run(through([2, 1])))
            other.start()
            other.join()
        run(through([2, 1]))
    run(through([2, 1]))
    assert heard == {"outer": 4, "inner": 2}


def test_listening_ends_with_an_error():
    def fail(*_):
        raise RuntimeError("no more paper")

    with pytest.raises(RuntimeError, match="no more paper"), listening(fail):
        run(through([2, 1]))
    assert run(through([2, 1]))[1] is DONE


# ---- interrupts ---------------------------------------------------------------------------------


def press():
    raise KeyboardInterrupt


def in_make():
    yield move(3, kind="start")
    yield Move(press, PROBLEM, at(2).A)


def in_generator():
    yield move(3, kind="start")
    press()


def in_generator_on_a_part():
    yield move(3, Stage("path", "part"), problem=OTHER)
    press()


@pytest.mark.parametrize("moves", [in_make, in_generator, in_generator_on_a_part])
def test_an_interrupt_keeps_the_best_so_far(moves):
    with pytest.warns(ConvergenceWarning, match=r"Interrupted; the best network so far is kept\."):
        engine, end = run(moves())
    assert end == Conclusion(Status.INTERRUPTED)
    assert engine.settled(end)[1].loss == 3
    assert [step.loss for step in engine.history] == [3]


def test_an_interrupt_by_a_listener_keeps_the_best_so_far():
    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        engine, end = run(through([3, 2, 1]), listeners=[lambda *_: press()])
    assert engine.settled(end)[1].loss == 3


def test_an_interrupt_while_the_first_network_is_judged():
    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        engine, end = run(through([3, 2, 1]), held_out=lambda *_: press())
    assert engine.settled(end)[1].loss == 3
    assert [step.loss for step in engine.history] == [3]


@pytest.mark.parametrize(
    "moves", [lambda: iter_of(Move(press, PROBLEM, at(2).A)), lambda: (press() for _ in range(1))]
)
def test_an_interrupt_before_there_is_anything_goes_through(moves):
    with pytest.raises(KeyboardInterrupt):
        run(moves())


def test_an_interrupt_uses_what_a_sample_has_taught():
    """The best A of the sample is tried on all rows."""
    A = np.array([[0.0], [1.0]])
    good = PROBLEM.balance(PROBLEM.at(A))
    bad = replace(good, loss=2 * good.loss)
    stage = replace(MONOTONE, rows="sample")
    there = replace(OTHER, lam=PROBLEM.lam)

    def moves():
        yield Move(lambda: Visit(bad), PROBLEM, A, MONOTONE, "start")
        yield Move(lambda: Visit(there.at(A)), there, A, stage)
        press()

    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        engine, end = run(moves())
    problem, point = engine.settled(end)
    assert (problem, point.loss) == (PROBLEM, good.loss)


def test_another_error_goes_through():
    def moves():
        yield move(3, kind="start")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(moves())


# ---- moves that are none ------------------------------------------------------------------------


def test_a_move_to_nowhere_leaves_no_record():
    visits = []

    def moves():
        yield move(3, kind="start")
        visits.append((yield Move(lambda: None, PROBLEM, at(2).A)))
        return DONE

    engine, end = run(moves())
    assert (end, visits) == (DONE, [None])
    assert len(engine.history) == 1


def test_moves_must_conclude():
    def moves():
        yield move(3)

    with pytest.raises(TypeError, match=r"must end with `return Conclusion\(status\)`; got NoneTy"):
        run(moves())


def test_moves_must_move():
    def moves():
        return DONE
        yield

    engine, end = run(moves())
    with pytest.raises(TypeError, match="moves ended without a point; yield a Move"):
        engine.settled(end)
