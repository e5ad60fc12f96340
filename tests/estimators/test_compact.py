"""A small network that does what a large one does."""

import numpy as np
import pytest
from conftest import make_data
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import anmin
from anmin import ANMINClassifier, ANMINRegressor
from anmin.compact import FEW, between
from anmin.sources import BatchSource

pytestmark = pytest.mark.slow


def rms(A, B):
    return np.sqrt(np.mean((A - B) ** 2))


@pytest.fixture(scope="module")
def large():
    """Three networks over encoded inputs, and rows that they have not seen."""
    X, y = make_data(260, 3)
    noise = 0.3 * np.random.default_rng(1).normal(size=200)
    model = ANMINRegressor(16, n_networks=3, encoding="auto", intervals=True, random_state=0)
    return model.fit(X[:200], y[:200] + noise), X[:200], X[200:]


def test_it_is_one_small_network_on_plain_inputs(large, tmp_path):
    model, X, X_new = large
    small = model.compact(6, X)
    assert type(small) is ANMINRegressor
    assert (small.n_hidden, small.n_networks, small.encoding) == (6, 1, None)
    assert small.n_hidden_ <= 6
    assert len(small.coefs_[0]) == 3
    assert rms(small.predict(X_new), model.predict(X_new)) < 0.35 * model.predict(X_new).std()
    assert small.predict(X_new).ndim == 1
    small.save(tmp_path / "small.anmin")
    again = anmin.load_model(tmp_path / "small.anmin")
    np.testing.assert_array_equal(again.predict(X_new), small.predict(X_new))
    small.to_c(tmp_path / "small.c")
    assert small.report().status


def test_the_large_one_stays_as_it_is_and_the_seed_decides(large):
    model, X, X_new = large
    before, settings = model.predict(X_new, return_std=True), model.get_params()
    small, same = model.compact(4, X), model.compact(4, X)
    np.testing.assert_array_equal(model.predict(X_new, return_std=True), before)
    np.testing.assert_array_equal(small.A_, same.A_)
    assert model.get_params() == settings
    with pytest.raises(ValueError, match="intervals=True"):
        small.predict(X_new, return_std=True)


def test_more_units_come_closer(large):
    model, X, _ = large
    errors = [rms(model.compact(h, X).predict(X), model.predict(X)) for h in (1, 4, 16)]
    assert errors == sorted(errors, reverse=True)


def test_a_network_of_few_units_is_found_again():
    X, y = make_data(400, 2)
    model = ANMINRegressor(4, n_networks=1, encoding=None, random_state=0).fit(X, y)
    small = model.compact(8, X)
    assert rms(small.predict(X), model.predict(X)) < 0.02 * model.predict(X).std()


def test_classes_and_names_of_columns_are_kept():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    X, y = pd.DataFrame(X, columns=list("abcd")), np.array(["one", "two", "three"])[y]
    model = ANMINClassifier(16, n_networks=2, random_state=0).fit(X, y)
    small = model.compact(4, X)
    assert small.n_hidden_ <= 4
    np.testing.assert_array_equal(small.classes_, model.classes_)
    assert (small.predict(X) == model.predict(X)).mean() > 0.95
    np.testing.assert_allclose(small.predict_proba(X).sum(1), 1)
    assert list(small.feature_names_in_) == list("abcd")


def test_outputs_are_kept():
    X, Y = make_data(300, 2, 2)
    small = ANMINRegressor(12, random_state=0).fit(X, Y).compact(6, X)
    assert small.predict(X).shape == Y.shape


def test_what_is_refused(large):
    model, X, _ = large
    with pytest.raises(NotFittedError):
        ANMINRegressor().compact(4, X)
    with pytest.raises(ValueError, match="n_hidden must be a whole number, 1 or more; got 0"):
        model.compact(0, X)
    with pytest.raises(ValueError, match="2 features"):
        model.compact(4, X[:, :2])
    with pytest.raises(TypeError, match="rows X in memory"):
        model.compact(4, BatchSource([(X, X[:, 0])]))


# ---- rows between rows --------------------------------------------------------------------------


def test_drawn_rows_lie_between_neighbours():
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.normal(size=(50, 2)), 1000 + rng.normal(size=(50, 2))])
    drawn = between(X, 300, rng)
    assert ((abs(drawn) < 10) | (abs(drawn - 1000) < 10)).all()
    assert X.min() <= drawn.min() <= drawn.max() <= X.max()
    assert 0.3 < (drawn[:, 0] > 500).mean() < 0.7


def test_inputs_of_few_values_take_none_between_them():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.randint(FEW, size=200), rng.normal(size=200), np.ones(200)])
    drawn = between(X, 100, rng)
    assert set(drawn[:, 0]) <= set(X[:, 0])
    assert not set(drawn[:, 1]) & set(X[:, 1])
    assert (drawn[:, 2] == 1).all()


@pytest.mark.parametrize(("n", "k", "rows"), [(1, 5, 0), (2, 5, 5), (3, 0, 0)])
def test_few_rows(n, k, rows):
    assert between(np.arange(n, dtype=float)[:, None], k, np.random.RandomState(0)).shape == (
        rows,
        1,
    )
