"""Laws of a fit that hold for both solvers, in both precisions, on both backends."""

import numpy as np
import pytest
from backend_cases import BACKENDS
from conftest import activate, in_solver, make_data, standardised

from anmin import ANMINRegressor

pytestmark = pytest.mark.slow

everywhere = pytest.mark.parametrize("solver", ["anmin", "varpro"])
precisions = pytest.mark.parametrize("dtype", ["float64", "float32"])
ROWS = {"float64": 1e-9, "float32": 1e-5}  # what rows in that precision can know


@pytest.fixture
def fit(monkeypatch):
    """Fits on a backend that no name of a device leads to."""

    def fitting(make_backend, X, y, w=None, **kwargs):
        monkeypatch.setattr("anmin.base.get_backend", lambda _device, dtype, _: make_backend(dtype))
        settings = {"n_hidden": 8, "lam": 1e-4, "max_iter": 12, "random_state": 0} | kwargs
        return ANMINRegressor(**in_solver(**settings)).fit(X, y, sample_weight=w)

    return fitting


def quadratic(n=600):
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 4))
    return X, (X**2).sum(1) + X[:, 0] * X[:, 1]


@BACKENDS
@precisions
@everywhere
@pytest.mark.parametrize("lam", [1e-2, 1e-8, 1e-10, 0.0])
def test_the_error_that_is_claimed_is_the_error(fit, make_backend, dtype, solver, lam):
    """In single precision it was once a hundredth of it, noise of a difference of sums."""
    X, y = quadratic()
    model = fit(make_backend, X, y, n_hidden=32, lam=lam, solver=solver, dtype=dtype, max_iter=40)
    best = min(model.history_, key=lambda step: step.loss)
    true = np.mean((model.predict(X) - y) ** 2)
    assert best.mse == pytest.approx(true, rel=10 * ROWS[dtype])
    assert model.report().mse == pytest.approx(true, rel=10 * ROWS[dtype])


@BACKENDS
@precisions
@everywhere
def test_the_output_layer_is_the_best_for_the_hidden_one(fit, make_backend, dtype, solver):
    X, y = make_data(200, 3, 2)
    w = np.random.default_rng(1).uniform(0.2, 2.0, 200)
    model = fit(make_backend, X, y, w, solver=solver, dtype=dtype, slope=0.1)
    Z, Y = standardised(X, y, w)
    S = np.column_stack([activate(Z @ model.A_, 0.1), np.ones(200)])
    W = np.vstack([model.B_, model.b0_])
    slope = S.T @ ((w / w.sum())[:, None] * (Y - S @ W)) - 1e-4 * W
    assert np.abs(slope).max() <= ROWS[dtype]


@BACKENDS
@precisions
@everywhere
def test_weights_are_repeated_rows(fit, make_backend, dtype, solver):
    X, y = make_data(120, 2)
    w = np.arange(120) % 3 + 1
    settings = {"solver": solver, "dtype": dtype, "max_iter": 1}
    weighted = fit(make_backend, X, y, w, **settings)
    repeated = fit(make_backend, np.repeat(X, w, axis=0), np.repeat(y, w), **settings)
    tolerance = {"float64": 1e-6, "float32": 1e-3}[dtype]
    np.testing.assert_allclose(repeated.loss_curve_, weighted.loss_curve_, rtol=tolerance)


@BACKENDS
@everywhere
def test_single_precision_follows_double(fit, make_backend, solver):
    X, y = make_data(400, 2)
    single, double = (
        fit(make_backend, X, y, solver=solver, dtype=dtype, max_iter=1)
        for dtype in ("float32", "float64")
    )
    np.testing.assert_allclose(single.loss_curve_, double.loss_curve_, rtol=1e-3)


@BACKENDS
@precisions
def test_the_loss_of_varpro_never_rises(fit, make_backend, dtype):
    X, y = quadratic(300)
    model = fit(make_backend, X, y, dtype=dtype, lam=1e-6, max_iter=40)
    assert (np.diff(model.loss_curve_) <= 0).all()


@pytest.mark.parametrize("lam", [1e37, 1e38, 1e100, 1e200])
@pytest.mark.parametrize("linear_solver", ["cholesky", "cg"])
@everywhere
def test_a_huge_penalty_leaves_the_mean(lam, linear_solver, solver):
    X, y = make_data(600, 3)
    settings = {"solver": solver, "linear_solver": linear_solver, "max_iter": 5}
    model = ANMINRegressor(6, lam=lam, random_state=0, **in_solver(**settings)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-9)


def test_targets_too_large_for_the_curvature_are_named():
    """Its rows are in single precision; the words once blamed X."""
    X, y = make_data(600, 3)
    with pytest.raises(ValueError, match="y is too large"):
        ANMINRegressor(6, lam=1e-3, max_iter=5).fit(X, 1e40 * y)
