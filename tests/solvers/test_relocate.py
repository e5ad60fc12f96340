"""Which neurons are of little use, and where they go instead."""

from dataclasses import replace

import numpy as np
import pytest
from backend_cases import BACKENDS, PRECISIONS, make_problem, numpy_backend, start
from conftest import in_solver

from anmin import ANMINRegressor
from anmin.losses import Huber, LossObjective, Poisson
from anmin.network import activate
from anmin.solvers.relocate import (
    choose,
    hyperplanes,
    random_start,
    relocate,
    sample_rows,
    usefulness,
    working_rows,
)


@BACKENDS
@PRECISIONS
@pytest.mark.parametrize("lam", [1e-6, 1e-2])
def test_usefulness_is_the_rise_of_the_loss_without_the_neuron(make_backend, dtype, rtol, lam):
    problem = make_problem(make_backend(dtype), lam=lam)
    point = problem.at(start(problem, 5))
    A = problem.backend.to_numpy(point.A)
    for j, use in enumerate(usefulness(problem, point)):
        without = problem.at(problem.backend.double(np.delete(A, j, axis=1)))
        rise = without.loss + lam * (A[:, j] ** 2).sum() - point.loss
        assert use == pytest.approx(rise, rel=1e-5, abs=1e-9)


@BACKENDS
@PRECISIONS
@pytest.mark.parametrize("lam", [0.0, 1e-3])
def test_neurons_that_are_alike_or_dead_are_of_no_use(make_backend, dtype, rtol, lam):
    """SᵀS is singular then, and without a penalty nothing mends it."""
    problem = make_problem(make_backend(dtype), lam=lam, slope=0.0)
    A = problem.backend.to_numpy(start(problem, 3))
    A = np.hstack([A, A[:, :1], np.zeros((4, 1))])
    use = usefulness(problem, problem.at(problem.backend.double(A)))
    assert np.isfinite(use).all()
    assert use[4] == 0
    assert max(use[0], use[3]) < 1e-2 * use[1:3].min()


@BACKENDS
@PRECISIONS
def test_a_neuron_that_is_moved_explains_more(make_backend, dtype, rtol):
    problem = make_problem(make_backend(dtype))
    A = problem.backend.to_numpy(start(problem, 4))
    A[:, 3] = 0.0
    point = problem.at(problem.backend.double(A))
    moved = relocate(problem, point, np.array([3]), np.random.RandomState(0))
    np.testing.assert_array_equal(moved[:, :3], A[:, :3])
    assert problem.at(problem.backend.double(moved)).mse < 0.9 * point.mse


def test_both_precisions_move_it_alike():
    moved = []
    for dtype in ("float64", "float32"):
        problem = make_problem(numpy_backend(dtype))
        point = problem.at(start(problem, 4))
        moved.append(relocate(problem, point, np.array([1, 2]), np.random.RandomState(0)))
    np.testing.assert_allclose(moved[1], moved[0], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("solver", ["varpro", "anmin"])
def test_single_precision_without_a_penalty(solver):
    """|x| is fitted exactly, so that the units left over are alike; it once raised LinAlgError."""
    x = np.linspace(-1, 1, 200)[:, None]
    model = ANMINRegressor(16, lam=0.0, random_state=0, **in_solver(solver, dtype="float32"))
    assert model.set_params(max_iter=60).fit(x, np.abs(x).ravel()).score(x, np.abs(x)) > 0.9999


def test_the_less_useful_are_chosen_more_often():
    problem = make_problem(numpy_backend())
    A = problem.backend.to_numpy(start(problem, 6))
    A[:, 5] = 0.0
    point, rng = problem.at(A), np.random.RandomState(0)
    picks = np.concatenate([choose(problem, point, 2, rng) for _ in range(200)])
    assert np.bincount(picks).argmax() == 5


def test_hyperplanes_pass_the_rows_that_are_drawn():
    """With the odds on one row only, all go through it; normals have length one."""
    X = np.column_stack([np.ones(50), np.random.default_rng(0).normal(size=(50, 3))])
    odds = np.zeros(50)
    odds[17] = 1.0
    W = hyperplanes(X, odds, 8, np.random.RandomState(0))
    spread = np.ptp(X @ np.vstack([np.zeros(8), W[1:]]), axis=0)
    np.testing.assert_allclose(np.linalg.norm(W[1:], axis=0), 1.0)
    assert (X[17] @ W > 0).all()
    assert (X[17] @ W <= 2e-6 * spread).all()


def test_weights_are_repeated_rows_for_a_random_start():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    k = rng.integers(1, 4, 30)
    weighted = hyperplanes(X * np.sqrt(k)[:, None], k.astype(float), 9, np.random.RandomState(1))
    repeated = hyperplanes(np.repeat(X, k, axis=0), np.ones(k.sum()), 9, np.random.RandomState(1))
    np.testing.assert_allclose(weighted, repeated)


@BACKENDS
def test_a_random_start_is_the_same_on_every_backend(make_backend):
    one, other = (
        random_start(make_problem(backend), 5, np.random.RandomState(0))
        for backend in (numpy_backend(), make_backend())
    )
    np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize("loss", [Huber(0.2), Poisson()])
def test_outliers_draw_no_more_neurons_than_others(loss):
    """Under Huber's loss no row pulls with more than delta; other losses say what they say."""
    problem = make_problem(numpy_backend())
    start_at = LossObjective(loss, (0.0,) * problem.source.shape[2])
    problem = replace(problem, objective=start_at)
    point = problem.at(start(problem, 4))
    X, Y = sample_rows(problem, np.random.RandomState(0))
    Xv, Yv, draws = working_rows(problem, point, X, Y)
    S = np.column_stack([activate(Xv @ point.A, problem.slope), Xv[:, 0]])
    residual, root = Yv - S @ point.W, X[:, :1]
    if loss.name == "huber":
        assert (abs(draws * residual) <= 0.2 * root * (1 + 1e-9)).all()
        assert (abs(residual) > 0.2 * root).any()
    else:
        assert draws == 1.0
