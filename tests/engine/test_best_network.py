"""The network that is returned, and what is said about it: the best, its loss, its history."""

import numpy as np
import pytest
from conftest import activate, make_data, standardised

from anmin import ANMINRegressor
from anmin.solvers import Algorithm1

LAST = Algorithm1(keep="last")


def fit(X, y, w=None, *, n_hidden=6, **kwargs):
    settings = {"solver": "anmin", "lam": 1e-2, "max_iter": 6, "random_state": 0} | kwargs
    return ANMINRegressor(n_hidden, **settings).fit(X, y, sample_weight=w)


def eq1(model, X, Y, w=None):
    """Eq. (1) from the fitted attributes."""
    predicted = activate(X @ model.A_, model.slope) @ model.B_ + model.b0_
    data_term = np.average(((predicted - Y) ** 2).sum(axis=1), weights=w)
    norms = sum(np.sum(v**2) for v in (model.A_, model.B_, model.b0_))
    return data_term + model.lam * norms


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("lam", [1e-6, 1e-2])
def test_the_best_network_is_returned(slope, q, lam):
    X, y = make_data(100, 2, q)
    model = fit(X, y, slope=slope, lam=lam, max_iter=30)
    assert model.loss_ == model.best_loss_ == min(model.loss_curve_)
    assert model.loss_curve_ == [step.loss for step in model.history_]
    assert model.n_iter_ == 30
    assert model.loss_ == pytest.approx(eq1(model, *standardised(X, y)), rel=1e-8)


def test_the_last_network_on_request(data):
    X, y = data
    model = fit(X, y, solver=LAST, max_iter=12)
    assert model.loss_ == model.loss_curve_[-1]
    assert model.best_loss_ == min(model.loss_curve_)
    assert model.loss_ == pytest.approx(eq1(model, *standardised(X, y)), rel=1e-9)


def test_the_start_competes():
    """One turn from an iterate whose successor is worse: the start is the best network."""
    X, y = make_data(100, 2)
    curve = fit(X, y, lam=1e-6, max_iter=20).loss_curve_
    rise = next(i for i in range(20) if curve[i + 1] > curve[i])
    at = fit(X, y, lam=1e-6, solver=LAST, max_iter=rise)
    again = fit(X, y, lam=1e-6, init=at.A_, max_iter=1)
    assert again.loss_curve_[1] > again.loss_curve_[0]
    np.testing.assert_array_equal(again.A_, at.A_)
    assert again.loss_ == again.loss_curve_[0] == pytest.approx(at.loss_, rel=1e-9)


def test_the_last_iterate_competes():
    X, y = make_data(100, 2)
    curve = fit(X, y, max_iter=10).loss_curve_
    fall = next(i for i in range(1, 11) if curve[i] < min(curve[:i]))
    model = fit(X, y, max_iter=fall)
    assert model.loss_ == model.loss_curve_[-1] < min(model.loss_curve_[:-1])


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("weights", [False, True])
def test_folded_coefficients_act_on_raw_inputs(q, slope, standardize, weights):
    X, y = make_data(80, 3, q)
    w = np.random.default_rng(0).uniform(0.1, 2.0, len(X)) if weights else None
    model = fit(X, y, w, slope=slope, standardize=standardize)
    (W1, W2), (b1, b2) = model.coefs_, model.intercepts_
    assert [v.shape for v in (W1, b1, W2, b2)] == [(3, 6), (6,), (6, q), (q,)]
    by_hand = activate(X @ W1 + b1, slope) @ W2 + b2
    np.testing.assert_allclose(model.predict(X).reshape(-1, q), by_hand, rtol=1e-9)
    if standardize:
        Z, _ = standardised(X, y, w)
        shift = np.average(y, axis=0, weights=w)
    else:
        Z, shift = np.column_stack([np.ones(len(X)), X]), 0.0
        np.testing.assert_array_equal(np.vstack([b1, W1]), model.A_)
        np.testing.assert_array_equal(b2, model.b0_)
    unfolded = activate(Z @ model.A_, slope) @ model.B_ + model.b0_ + shift
    np.testing.assert_allclose(model.predict(X).reshape(-1, q), unfolded, rtol=1e-8)


def test_history_tells_what_happened(data):
    X, y = data
    model = fit(X, y, max_iter=5)
    assert [step.iteration for step in model.history_] == list(range(6))
    assert all(0 <= step.flips <= 1 for step in model.history_[1:])
    assert all(0 <= step.dead <= 6 for step in model.history_)
    assert all(1 <= step.cells <= len(X) for step in model.history_)
    assert all(step.condition >= 1 and np.isfinite(step.logdet) for step in model.history_[1:])
    assert all(step.mse <= step.loss for step in model.history_)
    seconds = [step.seconds for step in model.history_]
    assert seconds == sorted(seconds)
    assert 0 <= seconds[0] < seconds[-1]
    for before, step in zip(model.history_, model.history_[1:], strict=False):
        assert step.frozen_loss <= before.loss * (1 + 1e-12)


def test_fitted_attributes(data):
    X, y = data
    model = fit(X, y)
    assert (model.n_hidden_, model.n_features_in_, model.n_outputs_) == (6, 2, 1)
    assert (model.A_.shape, model.B_.shape, model.b0_.shape) == ((3, 6), (6, 1), (1,))
    assert not hasattr(model, "feature_names_in_")


def test_max_iter_defaults_to_thirty(data):
    assert fit(*data, max_iter=None).n_iter_ == 30


def test_a_time_budget_ends_the_run(data):
    X, y = data
    model = fit(X, y, max_iter=10**7, max_time=0.2)
    assert model.n_iter_ < 10**7
    assert model.history_[-1].seconds < 2.0
    assert model.loss_ == min(model.loss_curve_)


def test_more_units_fit_better():
    """A sanity check of the whole: a circle's distance, which no linear model can fit."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(1500, 2))
    y = np.hypot(*X.T) - 0.5
    scores = [fit(X, y, n_hidden=h, lam=1e-7, max_iter=30).score(X, y) for h in (1, 4, 32)]
    assert scores[0] < scores[1] < scores[2]
    assert scores[2] > 0.99
