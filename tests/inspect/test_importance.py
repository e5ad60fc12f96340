"""Importances and interactions: laws, and functions whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.inspect.importance import pairs
from anmin.network import Network


def rows(n=300, d=4):
    return np.random.default_rng(0).normal(size=(n, d))


def model(**options):
    return ANMINRegressor(
        **({"n_hidden": 8, "lam": 1e-3, "max_iter": 30} | options), random_state=0
    )


def test_a_linear_function_has_the_squares_of_its_slopes():
    X = rows() * [1.0, 10.0, 0.1, 1.0]
    y = 3 * X[:, 0] + 0.1 * X[:, 1] - 20 * X[:, 2]
    found = ANMINRegressor(random_state=0).fit(X, y).feature_importances_
    expected = (np.array([3, 0.1, 20, 0]) * X.std(axis=0)) ** 2
    np.testing.assert_allclose(found, expected / expected.sum(), atol=0.02)


def test_it_is_the_mean_square_of_differences():
    """In agreement with finite differences of the predictions, in units of the deviations."""
    X = rows(200, 3)
    fitted = model(slope=0.1).fit(X, np.abs(X[:, 0]) + X[:, 1] * X[:, 2])
    step = 1e-6 * X.std(axis=0)
    slopes = [np.mean((fitted.predict(X + step * e) - fitted.predict(X)) ** 2) for e in np.eye(3)]
    np.testing.assert_allclose(
        fitted.feature_importances_, np.array(slopes) / np.sum(slopes), rtol=1e-3
    )


@pytest.mark.parametrize("encoding", [None, "auto"])
def test_they_sum_to_one_over_the_columns_of_the_user(tmp_path, encoding):
    X = rows(150, 2)
    frame = pd.DataFrame({"x": X[:, 0], "sign": np.where(X[:, 1] > 0, "plus", "minus")})
    frame["none"] = 1.0
    frame.loc[::5, "x"] = np.nan
    y = 3 * (frame["sign"] == "plus") + frame["x"].fillna(0)
    fitted = model(lam="auto", encoding=encoding, max_iter=60).fit(frame, y)
    found = fitted.feature_importances_
    assert found.shape == (3,)
    assert found.sum() == pytest.approx(1)
    assert found[1] > found[0] > found[2] == 0
    assert len(fitted.get_feature_names_out()) == len(fitted.coefs_[0])
    fitted.save(tmp_path / "m.anmin")
    np.testing.assert_array_equal(load_model(tmp_path / "m.anmin").feature_importances_, found)


def test_a_constant_uses_nothing():
    assert not model(lam="auto").fit(rows(30), np.ones(30)).feature_importances_.any()


def test_weights_count():
    X = rows(200, 2)
    y = np.where(X[:, 0] > 0, X[:, 0], X[:, 1])
    heavy = np.where(X[:, 0] > 0, 1.0, 1e-6)
    assert model().fit(X, y, heavy).feature_importances_[0] > 0.99


def test_a_sum_has_no_interactions_and_a_product_has():
    A = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    Z = rows(400, 2)
    columns, rng = [np.array([0]), np.array([1])], np.random.RandomState(0)
    apart = Network(A, np.array([[1.0], [1.0], [0.0]]), np.zeros(1))
    both = Network(A, np.array([[0.0], [0.0], [1.0]]), np.zeros(1))
    assert pairs(apart, Z, columns, [0, 1], rng)[0, 1] < 1e-25
    assert 0.05 < pairs(both, Z, columns, [0, 1], rng)[0, 1] < 0.5


@pytest.mark.slow
def test_the_share_of_a_product_is_all_of_the_variance():
    X = rows(600, 3)
    fitted = ANMINRegressor(random_state=0).fit(X, X[:, 0] * X[:, 2])
    (first, second, share), *others = fitted.interactions(X)
    assert (first, second) == ("x0", "x2")
    assert share == pytest.approx(1, abs=0.2)
    assert all(other.share < 0.05 for other in others)


def test_interactions_of_a_classifier_with_names():
    X = rows(200, 2)
    frame = pd.DataFrame(X, columns=["left", "right"])
    label = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    fitted = ANMINClassifier(8, n_networks=1, encoding=None, random_state=0).fit(frame, label)
    assert fitted.interactions(frame, n_pairs=1)[0][:2] == ("left", "right")
