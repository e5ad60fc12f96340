"""Split-conformal intervals: the order statistics, coverage, quantiles, files, errors."""

import numpy as np
import pytest

from anmin import ANMINRegressor, load_model
from anmin.conformal import Distances, kept_apart
from anmin.sources import BatchSource, counting_rows


def noisy(n, seed=0):
    """Noise that grows with x."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    return X, np.sin(3 * X[:, 0]) + (0.05 + 0.5 * (X[:, 0] + 1)) * rng.normal(size=n)


def covered(ends, y):
    return (ends[0] <= y) & (y <= ends[1])


def test_the_distance_is_an_order_statistic():
    y, f = np.arange(9.0)[:, None], np.zeros((9, 1))
    found = Distances.of(y, f)
    assert found.within(0.9) == 8
    assert found.within(0.8) == 7
    assert found.within(0.1) == 0
    with pytest.raises(ValueError, match="9 rows were kept"):
        found.within(0.95)
    with pytest.raises(ValueError, match="between 0 and 1"):
        found.within(1.0)


def test_quantiles_are_widened_or_narrowed():
    y, Q = np.zeros((99, 1)), np.tile([-1.0, 0.0, 2.0], (99, 1))
    found = Distances.of(y, Q)
    assert found.values.max() == -1  # all lie inside, by one
    low, high = found.interval(Q[:1], 0.9)
    assert low[0, 0] == 0
    assert high[0, 0] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"loss": "quantile", "quantile": [0.05, 0.5, 0.95]}, {"loss": "absolute_error"}]
)
def test_intervals_cover(options, tmp_path):
    X, y = noisy(1500)
    model = ANMINRegressor(8, intervals="conformal", random_state=0, **options).fit(X, y)
    X_new, y_new = noisy(4000, seed=1)
    inside = covered(model.predict_interval(X_new), y_new)
    assert 0.86 < inside.mean() < 0.94
    assert covered(model.predict_interval(X_new, 0.5), y_new).mean() == pytest.approx(0.5, abs=0.06)
    right = inside[X_new[:, 0] > 0].mean()
    assert (right > 0.85) == ("quantile" in options)  # where the noise is large
    model.save(tmp_path / "m.anmin")
    again = load_model(tmp_path / "m.anmin")
    np.testing.assert_array_equal(again.predict_interval(X_new), model.predict_interval(X_new))


@pytest.mark.slow
def test_outputs_and_sources_have_intervals_too():
    X, y = noisy(600)
    Y = np.column_stack([y, 10 * y])
    model = ANMINRegressor(6, intervals="conformal", random_state=0).fit(X, Y)
    low, high = model.predict_interval(X)
    assert low.shape == high.shape == (600, 2)
    assert (high - low)[0, 1] > 5 * (high - low)[0, 0]
    source = BatchSource(lambda: [(X[:300], y[:300]), (X[300:], y[300:])])
    one = ANMINRegressor(6, intervals="conformal", random_state=0).fit(source)
    other = ANMINRegressor(6, intervals="conformal", random_state=0).fit(X, y)
    np.testing.assert_allclose(one.predict_interval(X), other.predict_interval(X))


def test_what_is_missing_is_said():
    X, y = noisy(40)
    with pytest.raises(ValueError, match="intervals=True"):
        ANMINRegressor(2, lam=1e-2).fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match="cv"):
        ANMINRegressor(2, intervals="conformal", cv=[([0], [1])]).fit(X, y)
    with pytest.raises(ValueError, match="two or more"):
        ANMINRegressor(2, intervals="conformal").fit(X[:1], y[:1])
    gauss = ANMINRegressor(2, lam=1e-2, intervals=True, random_state=0).fit(X, y)
    mean, std = gauss.predict(X, return_std=True)
    low, high = gauss.predict_interval(X, 0.95)
    np.testing.assert_allclose((low + high) / 2, mean)
    np.testing.assert_allclose(high - low, 2 * 1.959964 * std, rtol=1e-6)


def test_copies_of_a_row_may_lie_on_both_sides():
    """A new row may be a copy too: with all copies apart intervals held more than was asked."""
    X = np.repeat(np.arange(50.0), 20)[:, None]
    rows = counting_rows(X, X + 1, None)
    fitted, apart = kept_apart(rows, np.random.RandomState(0))
    assert len(apart) == 200
    assert set(np.ravel(apart.X)) == set(X.ravel())
    assert fitted.tally()[0] == 800
