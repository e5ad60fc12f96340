"""A small network that does what a large one does."""

import numpy as np
import pytest
from conftest import make_data
from scipy.sparse import csr_matrix
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


def test_it_is_one_small_network_without_hinges(large, tmp_path):
    model, X, X_new = large
    small = model.compact(6, X)
    assert type(small) is ANMINRegressor
    assert (small.n_hidden, small.n_networks) == (6, 1)
    assert small.encoding is None or not len(small.encoding.column)
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


def test_inputs_that_are_to_be_left_alone_are_not_clipped():
    X, y = make_data(200, 2)
    for how in ({"encoding": None}, {"standardize": False}):
        small = ANMINRegressor(8, random_state=0, **how).fit(X, y).compact(4, X)
        assert small.encoding is None
        assert small._scaling.encoding is None


def test_far_rows_do_not_rule_it():
    """One input has a row a thousand deviations out, on which next to nothing depends."""
    X, y = make_data(300, 3)
    X[7, 2] = 1e3
    model = ANMINRegressor(random_state=0).fit(X, y)
    rows = np.delete(X, 7, axis=0)
    small = model.compact(12, X)
    assert rms(small.predict(rows), model.predict(rows)) < 0.35 * model.predict(rows).std()


def test_distances_errors_and_connections_are_those_of_the_large_one(tmp_path):
    X, y = make_data(200, 3)
    model = ANMINRegressor(8, intervals="conformal", connections=2, random_state=0).fit(X, y)
    model.extra_ = {"table": "t", "summary": {"test": 1}}
    small = model.compact(4, X)
    assert (small.intervals, small.connections) == (False, None)
    with pytest.raises(ValueError, match="intervals"):
        small.predict_interval(X)
    small.save(tmp_path / "small.anmin")
    assert anmin.load_model(tmp_path / "small.anmin").extra_ == {"table": "t", "summary": {}}
    small.set_params(solver__patience=1)
    assert model.compact(4, X).solver.patience == 4


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
    sparse = ANMINRegressor(4, connections=2, lam=1e-2, max_iter=2).fit(csr_matrix(X), X[:, 0])
    with pytest.raises(TypeError, match=r"X\.toarray\(\)"):
        sparse.compact(2, csr_matrix(X))
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
