"""Idle units go, and the network does what it did."""

import numpy as np
import pytest
from conftest import make_data
from hypothesis import given
from hypothesis import strategies as st

from anmin import ANMINRegressor
from anmin.backends import NumpyBackend
from anmin.network import Network
from anmin.solvers import Problem
from anmin.solvers.tidy import alike, merged, one_for_all, tidy
from anmin.sources import ArraySource, Scaling

VARIETY = {
    "plain": {},
    "many outputs": {"q": 3},
    "leaky": {"slope": 0.1},
    "weights": {"weighted": True},
    "all": {"q": 2, "slope": 0.05, "weighted": True},
}
variety = pytest.mark.parametrize("case", VARIETY.values(), ids=VARIETY.keys())


def make_problem(q=1, slope=0.0, weighted=False, lam=1e-3, n=200):
    X, y = make_data(n, 3, q)
    Y = y.reshape(n, q)
    w = np.random.default_rng(1).uniform(0.2, 3.0, n) if weighted else None
    source = ArraySource(X, Y, w, Scaling.fit(X, Y, w), NumpyBackend(), 4096)
    return Problem(source, lam, slope)


def live_units(h=4):
    return np.random.default_rng(2).normal(size=(4, h))


def outputs(problem, net):
    """On the rows, as √w f."""
    X = problem.source.rows(slice(None)).X
    P = X @ net.A
    return np.maximum(P, net.slope * P) @ net.B + X[:, :1] * net.b0


def idle_units(A):
    """A with a repeat of unit 0 and two of unit 1, one unit that never fires, and a zero."""
    never = np.array([[-100.0], [1.0], [0.0], [0.0]])
    return np.hstack([A, 2 * A[:, :1], 0.1 * A[:, 1:2], 3 * A[:, 1:2], never, np.zeros((4, 1))])


# ---- what goes ----------------------------------------------------------------------------------


@variety
def test_each_kind_is_counted_and_removed(case):
    problem = make_problem(**case)
    found = tidy(problem, problem.at(idle_units(live_units())))
    leaky = "slope" in case  # a leaky unit that never fires is linear, not dead
    assert (found.dead, found.off, found.duplicates) == (1 if leaky else 2, 0, 3)
    assert found.point.A.shape == (4, 5 if leaky else 4)


@variety
def test_units_that_the_penalty_has_shrunk_are_off(case):
    problem = make_problem(**case)
    A = np.hstack([live_units(), 1e-9 * live_units(6)[:, 4:]])
    found = tidy(problem, problem.at(A))
    assert (found.dead, found.off, found.duplicates) == (0, 2, 0)
    np.testing.assert_allclose(found.point.A, live_units())


def test_nothing_to_do_leaves_the_point_alone():
    problem = make_problem()
    point = problem.at(live_units())
    assert tidy(problem, point).point is point


def test_mirror_images_are_two_different_units():
    problem = make_problem()
    A = live_units(2)
    found = tidy(problem, problem.at(np.hstack([A, -A])))
    assert found.point.A.shape[1] == 4


def test_all_units_may_go():
    problem = make_problem()
    found = tidy(problem, problem.at(np.zeros((4, 3))))
    assert found.dead == 3
    assert found.point.A.shape == (4, 0)
    assert found.point.mse == pytest.approx(problem.at(np.zeros((4, 3))).mse)


def test_near_repeats_stay():
    problem = make_problem()
    A = live_units(2)
    assert tidy(problem, problem.at(np.hstack([A, A + 1e-4]))).duplicates == 0


# ---- what stays ---------------------------------------------------------------------------------


@variety
def test_merging_keeps_the_predictions(case):
    problem = make_problem(**case)
    net = problem.network(problem.at(idle_units(live_units())))
    B = np.random.default_rng(3).normal(size=net.B.shape)  # any output layer, not the best
    net = Network(net.A, B, net.b0, net.slope)
    live = np.arange(8) if "slope" in case else np.arange(7)
    small = merged(net, alike(net.A, live))
    assert small.A.shape[1] == len(live) - 3
    old, new = outputs(problem, net), outputs(problem, small)
    np.testing.assert_allclose(new, old, atol=1e-12 * np.abs(old).max())


@variety
@pytest.mark.parametrize("noise", [0.0, 1e-8])
def test_without_a_penalty_the_predictions_are_the_same(case, noise):
    """Solving the output layer anew finds the one there was, from repeats that rounding parted."""
    problem = make_problem(lam=0.0, **case)
    A = idle_units(live_units())
    A[:, 4:7] *= 1 + noise * np.random.default_rng(4).normal(size=(4, 3))
    point = problem.at(A)
    found = tidy(problem, point)
    assert found.duplicates == 3
    old, new = (outputs(problem, problem.network(z)) for z in (point, found.point))
    np.testing.assert_allclose(new, old, atol=1e-6 * np.abs(old).max())


@variety
@pytest.mark.parametrize("lam", [0.0, 1e-6, 1e-2, 10.0])
def test_the_loss_never_rises(case, lam):
    problem = make_problem(lam=lam, **case)
    point = problem.at(idle_units(live_units()))
    small = tidy(problem, point).point
    assert small.loss <= point.loss
    assert small.loss == pytest.approx(problem.at(small.A).loss, rel=1e-9)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_one_unit_does_the_work_of_many(k, q, seed):
    """The same function, and no more penalty, whatever the scales and the output weights."""
    rng = np.random.default_rng(seed)
    u, size = rng.normal(size=3), 10.0 ** rng.uniform(-3, 3, k)
    A, B = np.outer(u, size), rng.normal(size=(k, q)) * 10.0 ** rng.uniform(-3, 3, (k, 1))
    a, b = one_for_all(A, B)
    np.testing.assert_allclose(np.outer(a, b), A @ B, atol=1e-12 * np.abs(A @ B).max())
    assert a @ u > 0
    assert a @ a + b @ b <= ((A**2).sum() + (B**2).sum()) * (1 + 1e-12)


def test_repeats_that_cancel_leave_a_unit_that_does_nothing():
    a, b = one_for_all(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[2.0], [-1.0]]))
    assert np.isfinite(a).all()
    assert b == 0


# ---- in a fit -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", ["auto", 1e-3])
def test_a_fit_is_left_tidy(lam):
    """Units meet at the one kink there is; the model counts what is left."""
    x = np.linspace(-1, 1, 200)[:, None]
    model = ANMINRegressor(16, lam=lam, n_networks=1, encoding=None, random_state=0).fit(
        x, np.abs(x).ravel()
    )
    report = model.report()
    removed = report.removed
    assert removed > 0
    assert model.n_hidden_ == model.A_.shape[1] == report.units <= 16 - removed
    assert len(alike(model.A_, np.arange(model.n_hidden_))) == model.n_hidden_
    assert model.score(x, np.abs(x).ravel()) > 0.99


def test_the_paper_keeps_its_units():
    x = np.linspace(-1, 1, 200)[:, None]
    init = np.array([[-9.0, 0, 0], [1, 1, 1]])
    model = ANMINRegressor(3, solver="anmin", lam=1e-3, init=init, max_iter=0).fit(x, x.ravel())
    assert model.n_hidden_ == 3
    assert model.report().removed == 0
