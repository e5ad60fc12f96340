"""Algorithm 1 as a generator of moves; `test_reference.py` compares its numbers with the paper."""

import numpy as np
import pytest
from conftest import in_solver, make_data, make_problem
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from anmin import ANMINRegressor
from anmin.engine import Budget, Engine, listening
from anmin.solvers import Algorithm1, Start
from anmin.status import Status

SETTINGS = {"n_hidden": 6, "solver": "anmin", "lam": 1e-3, "random_state": 0}


def fit(X, y, **kwargs):
    return ANMINRegressor(**in_solver(**(SETTINGS | kwargs))).fit(X, y)


def run(solver, max_iter=10, h=5, **kwargs):
    problem = make_problem(*make_data(60, 2), **kwargs)
    engine = Engine(Budget(max_iter))
    start = Start(h, np.random.RandomState(0))
    return engine, engine.run(solver.moves(problem, start))


def test_all_iterations_are_a_finished_run():
    """The number of iterations is part of the algorithm, so it has not been cut short."""
    engine, end = run(Algorithm1(), 7)
    assert end.status is Status.FINISHED
    assert [step.iteration for step in engine.history] == list(range(8))
    assert [step.status for step in engine.history] == [Status.START] + [Status.SOLVED] * 7


def test_time_ends_it_early(data):
    model = fit(*data, max_iter=10**6, max_time=0.1)
    assert model.report().status == "out of time"
    assert fit(*data, max_iter=5).report().status not in ("out of time", "out of iterations")


def test_a_degenerate_system_stops_it_on_request():
    solver = Algorithm1(tau=1e6, degenerate="stop")
    engine, end = run(solver)
    assert end.status is Status.STOPPED
    assert len(engine.history) == 1
    with pytest.warns(ConvergenceWarning, match="degenerate, and the iteration stopped"):
        assert fit(*make_data(), solver=solver).n_iter_ == 0


def test_a_degenerate_system_is_drawn_anew_on_request():
    """Each iteration has a draw of its own, whether it is used or not."""
    engine, _ = run(Algorithm1(tau=1e6, degenerate="reinit"), 3)
    assert [step.status for step in engine.history[1:]] == [Status.REINITIALISED] * 3
    assert np.isnan([step.frozen_loss for step in engine.history]).all()
    rng = np.random.RandomState(0)
    draws = [rng.standard_normal((3, 5)) for _ in range(4)]
    losses = [make_problem(*make_data(60, 2)).at(A).loss for A in draws]
    np.testing.assert_allclose([step.loss for step in engine.history], losses, rtol=1e-8)


@pytest.mark.parametrize("stop", [None, 3])
def test_the_last_network_on_request(data, stop):
    """Also where a listener ends it."""
    curve = fit(*data, max_iter=20, lam=1e-6).loss_curve_
    rise = stop or next(k for k in range(2, 20) if curve[k] > min(curve[:k]))
    with listening(lambda step, _: step.iteration == rise):
        last = fit(*data, max_iter=20, lam=1e-6, keep="last")
        best = fit(*data, max_iter=20, lam=1e-6)
    assert last.loss_ == curve[rise]
    assert best.loss_ == min(curve[: rise + 1])


@pytest.mark.parametrize("n_hidden", [2, 12])
def test_conjugate_gradients_follow_the_factor(n_hidden):
    """To the tolerance of the inner iteration."""
    X, y = make_data(300, 3)
    formed, products = (
        fit(X, y, n_hidden=n_hidden, linear_solver=how, max_iter=1) for how in ("cholesky", "cg")
    )
    np.testing.assert_allclose(products.loss_curve_, formed.loss_curve_, rtol=1e-2)
    assert np.isnan([step.logdet for step in products.history_]).all()
    assert np.isfinite([step.logdet for step in formed.history_[1:]]).all()


def test_auto_forms_what_is_small(data):
    assert np.isfinite(fit(*data, max_iter=1).history_[1].logdet)
    wide = fit(*make_data(50, 9), n_hidden=301, max_iter=1)  # 3,010 unknowns
    assert np.isnan(wide.history_[1].logdet)


def test_it_removes_no_units():
    """What the paper's algorithm finds is returned as it is, dead units included."""
    X, y = make_data()
    A = np.random.default_rng(0).normal(size=(3, 6))
    A[:, 2] = [-100.0, 0.0, 0.0]
    model = fit(X, y, init=A, max_iter=0)
    assert (model.n_hidden_, model.history_[0].dead) == (6, 1)
    assert np.array_equal(model.A_, A)


def test_defaults_are_those_of_the_paper():
    solver, problem = Algorithm1(), make_problem(*make_data(60, 2))
    assert (solver.default_max_iter(None), solver.default_max_iter(9.0)) == (30, 30)
    assert solver.default_lam(60.0) == pytest.approx(1e-3 / 60)
    tau, floor = solver.limits(problem, 5)
    assert tau == pytest.approx(-10_000 - 15 * np.log(60))
    assert floor == pytest.approx(1e-4 / 60)
    assert Algorithm1(tau=-3.0, floor=0.1).limits(problem, 5) == (-3.0, 0.1)


def test_it_is_clonable():
    solver = Algorithm1(-5.0, 0.1, "last", "stop", dtype="float32", batch_size=64)
    assert clone(solver).get_params() == solver.get_params()
    assert set(solver.get_params()) == {
        "tau", "floor", "keep", "degenerate", "linear_solver", "dtype", "batch_size"
    }  # fmt: skip
