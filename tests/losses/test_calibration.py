"""Quantiles are shifted by rows kept apart: the law, what differs, when, weights, sources."""

import numpy as np
import pytest

from anmin import ANMINRegressor, estimators, load_model
from anmin.calibration import FOR_SHIFT
from anmin.conformal import kept_apart
from anmin.losses import AbsoluteError, Huber, Poisson, Quantile
from anmin.sources import BatchSource, counting_rows

LEVELS = (0.1, 0.5, 0.9)
SMALL = {
    "loss": "quantile", "quantile": LEVELS, "n_networks": 1, "encoding": None, "random_state": 0,
}  # fmt: skip


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.sin(3 * X[:, 0]) + (0.1 + (X[:, 0] > 0)) * rng.standard_exponential(n)


def band(**options):
    return ANMINRegressor(4, **SMALL | options)


def test_on_exchangeable_rows_coverage_is_nominal():
    """Whatever the network: here outputs that are far off, in three ways."""
    rng, loss, found = np.random.default_rng(0), Quantile(LEVELS), []
    for _ in range(400):
        X, y = rows(301, rng.integers(2**31))
        f = np.column_stack([X[:, 0], 0 * y + 5, -3 * X[:, 1]])
        m = 300
        shift = loss.shift(y[:m, None], f[:m], np.ones(m))
        found.append(y[m:, None] <= f[m:] + shift)
        held = (y[:m, None] <= f[:m] + shift).mean(0)
        np.testing.assert_allclose(held, LEVELS, atol=1 / m)  # of those rows themselves
    error = np.sqrt(np.prod([LEVELS, np.subtract(1, LEVELS)], axis=0) / len(found))
    assert (abs(np.mean(found, axis=(0, 1)) - LEVELS) < 3 * error + 1 / m).all()


def test_a_weight_counts_as_so_many_rows():
    rng = np.random.default_rng(0)
    y, f, w = rng.normal(size=(50, 1)), rng.normal(size=(50, 3)), rng.integers(1, 4, 50)
    loss = Quantile(LEVELS)
    repeated = np.repeat(y, w, axis=0), np.repeat(f, w, axis=0)
    np.testing.assert_allclose(loss.shift(y, f, w), loss.shift(*repeated, np.ones(w.sum())))


def test_one_level_is_that_of_each_target():
    y = np.random.default_rng(0).normal(size=(200, 2))
    off = np.array([1.0, -1.0])
    shift = Quantile((0.8,)).shift(y, 0 * y + off, np.ones(200))
    np.testing.assert_allclose(shift, np.quantile(y, 0.8, axis=0) - off, atol=0.05)


@pytest.mark.slow
def test_the_shift_is_all_that_differs(tmp_path):
    """A fit is that of the rows which are not kept apart, of which the others say the rest."""
    X, y = rows(1050)
    model = band().fit(X, y)
    fitted, apart = kept_apart(
        counting_rows(X, y[:, None], None), np.random.RandomState(0), FOR_SHIFT
    )
    plain = band().fit(fitted.chunk.X, fitted.chunk.Y[:, 0])  # too few for rows apart
    np.testing.assert_array_equal(model.A_, plain.A_)
    np.testing.assert_array_equal(model.B_, plain.B_)
    assert not np.allclose(model.b0_, plain.b0_)
    held = (model._outputs(model._inputs(apart.X)) >= apart.Y).mean(0)
    np.testing.assert_allclose(held, LEVELS, atol=1 / len(apart))
    assert model.loss_ == pytest.approx(model.report().loss, rel=1e-6)
    assert model.loss_ > plain.loss_  # of the rows of the fit, which are not what it is for
    assert (np.diff(model.predict(X), axis=1) >= 0).all()
    model.save(tmp_path / "m.anmin")
    np.testing.assert_array_equal(load_model(tmp_path / "m.anmin").predict(X), model.predict(X))


@pytest.mark.slow
def test_rows_of_a_source_are_kept_apart_as_well():
    X, y = rows(1000)
    source = BatchSource(lambda: [(X[:300], y[:300]), (X[300:], y[300:])])
    found = band(max_iter=20).fit(source).predict(X)
    np.testing.assert_allclose(found, band(max_iter=20).fit(X, y).predict(X))


GROUPS = np.arange(1000) % 7
ORDINARY = {
    "squared_error": ({"loss": "squared_error", "quantile": None}, {}),
    "absolute_error": ({"loss": "absolute_error", "quantile": None}, {}),
    "lam": ({"lam": 1e-2}, {}),
    "cv": ({"cv": [(np.arange(500), np.arange(500, 1000))]}, {}),
    "groups": ({}, {"groups": GROUPS}),
    "X_val": ({}, dict(zip(("X_val", "y_val"), rows(50, 1), strict=True))),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", ORDINARY)
def test_no_row_is_kept_apart_without_need_or_against_the_users_own(what, monkeypatch):
    monkeypatch.setattr(estimators, "kept_apart", None)  # would fail
    options, given = ORDINARY[what]
    model = band(max_iter=1, **options).fit(*rows(1000), **given)
    assert model.report().rows == 1000


def test_losses_of_a_mean_ask_for_no_shift():
    assert not any(loss.shifted for loss in (AbsoluteError(), Huber(1.0), Poisson()))
    with pytest.raises(NotImplementedError):
        Poisson().shift(np.ones((2, 1)), np.ones((2, 1)), np.ones(2))
