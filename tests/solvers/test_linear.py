"""Ridge and reduced-rank regression as a network of always-on units."""

from dataclasses import replace

import numpy as np
import pytest
from backend_cases import BACKENDS, PRECISIONS, make_problem, numpy_backend

from anmin import ANMINRegressor
from anmin.solvers import VarPro
from anmin.solvers.linear import INSIDE, as_network, linear_directions, linear_start, with_linear


def rows_of(problem):
    batch = problem.source.rows(slice(None))
    return problem.backend.to_numpy(batch.X), problem.backend.to_numpy(batch.Y)


def least_squares(X, Y, rank):
    """The least squared error of any linear map of that rank; the constant is free."""
    C = np.linalg.lstsq(X, Y, rcond=None)[0]
    F = X @ C
    left = Y - F
    x0 = X[:, :1]
    about = F - x0 * ((x0 * F).sum(0) / (x0 * x0).sum())
    values = np.linalg.svd(about, compute_uv=False)
    return (left**2).sum() + (values[rank:] ** 2).sum()


@BACKENDS
@PRECISIONS
@pytest.mark.parametrize("h", [1, 2, 4])
def test_it_does_as_well_as_linear_regression(make_backend, dtype, rtol, h):
    """Of full rank with two units for two outputs, of rank one with one."""
    problem = make_problem(make_backend(dtype), lam=0.0)
    X, Y = rows_of(problem)
    found = problem.at(linear_start(problem, h)).mse * (X[:, 0] ** 2).sum()
    assert found == pytest.approx(least_squares(X, Y, min(h, 2)), rel=1e-6)


@BACKENDS
def test_its_units_are_always_on(make_backend):
    problem = make_problem(make_backend())
    A = problem.backend.to_numpy(linear_start(problem, 5))
    X, _ = rows_of(problem)
    assert (X @ A[:, :2] > 0).all()
    assert (A[:, 2:] == 0).all()


@BACKENDS
@PRECISIONS
def test_directions_are_units_and_their_sign_is_fixed(make_backend, dtype, rtol):
    problem = make_problem(make_backend(dtype))
    D, largest = linear_directions(problem, 4)
    X, _ = rows_of(problem)
    np.testing.assert_allclose(np.linalg.norm(D, axis=0), 1.0)
    assert (D[np.abs(D).argmax(axis=0), np.arange(D.shape[1])] > 0).all()
    assert largest == pytest.approx(np.linalg.norm(X / X[:, :1], axis=1).max(), rel=1e-6)


def test_in_a_start_the_other_neurons_stay():
    problem = make_problem(numpy_backend())
    A = np.random.default_rng(0).normal(size=(4, 6))
    X, _ = rows_of(problem)
    mixed = with_linear(problem, A, X)
    np.testing.assert_array_equal(mixed[:, 2:], A[:, 2:])
    np.testing.assert_array_equal(mixed[:, :2], problem.backend.to_numpy(linear_start(problem, 2)))


def test_where_all_neurons_are_linear_their_hinges_stand_inside_the_rows():
    problem = make_problem(numpy_backend(), n=2000)
    X, _ = rows_of(problem)
    off = (X @ with_linear(problem, np.zeros((4, 2)), X) <= 0).mean(axis=0)
    np.testing.assert_allclose(off, INSIDE, atol=1 / 2000)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_columns_that_repeat_are_no_trouble_without_a_penalty(dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1))
    X, y = np.hstack([x, x, 1e-9 * rng.normal(size=(200, 1)), 2 * x]), np.abs(x).ravel()
    model = ANMINRegressor(4, lam=0.0, solver=VarPro(dtype=dtype), max_iter=20, random_state=0).fit(
        X, y
    )
    assert model.score(X, y) > 0.99


@pytest.mark.parametrize("scale", [1e160, 1e300])
@pytest.mark.parametrize("solver", ["anmin", "varpro"])
def test_targets_whose_squares_overflow_are_named(scale, solver):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match=r"'y' is .* too large"):
        ANMINRegressor(4, lam=1e-3, solver=solver).fit(X, scale * np.abs(X[:, 0]))


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_linear_model_as_a_network_is_linear_however_far(slope):
    rng = np.random.default_rng(0)
    problem = replace(make_problem(numpy_backend("float64")), slope=slope)
    C, c0 = rng.normal(size=(3, 2)), rng.normal(size=2)
    X = np.vstack([rng.normal(size=(20, 3)), 1e9 * rng.normal(size=(20, 3))])
    np.testing.assert_allclose(as_network(problem, C, c0).forward(X), X @ C + c0, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_far_outside_the_rows_a_line_stays_a_line(seed):
    """Inputs of heavy tails: ridge regression wins, and nothing breaks off beyond the rows."""
    rng = np.random.RandomState(seed)
    X = rng.lognormal(sigma=2.0, size=(200, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(200)
    model = ANMINRegressor(8, n_networks=1, encoding=None, random_state=0).fit(X, y)
    far = 1e4 * rng.uniform(size=(5, 3))
    np.testing.assert_allclose(model.predict(far), far @ [1.0, -2.0, 0.5], rtol=0.05)
