"""The classifier: labels, probabilities, weights."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from anmin import ANMINClassifier, ANMINRegressor


def fit(X, y, w=None, *, n_hidden=8, **kwargs):
    settings = {"solver": "anmin", "lam": 1e-3, "max_iter": 8, "random_state": 0} | kwargs
    return ANMINClassifier(n_hidden, **settings).fit(X, y, sample_weight=w)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def binary():
    return make_classification(300, 5, n_informative=3, weights=[0.85], flip_y=0.05, random_state=0)


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [3, 8], ["no", "yes"], [False, True]])
def test_binary_labels(binary, labels):
    X, y = binary
    named = np.array(labels)[y]
    model = fit(X, named)
    np.testing.assert_array_equal(model.classes_, labels)
    predicted = model.predict(X)
    assert predicted.dtype == named.dtype
    assert set(predicted) <= set(labels)
    assert model.score(X, named) > 0.85
    np.testing.assert_allclose(model.predict_proba(X), fit(X, y).predict_proba(X))


@pytest.mark.parametrize("labels", [[0, 1, 2], [5, -2, 9], ["a", "b", "c"], ["ä", "long name", ""]])
def test_many_labels(iris, labels):
    X, y = iris
    named = np.array(labels)[y]
    model = fit(X, named)
    np.testing.assert_array_equal(model.classes_, np.unique(named))
    assert model.score(X, named) > 0.95


def test_object_labels(iris):
    X, y = iris
    named = np.array(["a", "b", "c"], dtype=object)[y]
    assert fit(X, named).score(X, named) > 0.95


@pytest.mark.parametrize("data", ["iris", "binary"])
def test_probabilities(data, request):
    X, y = request.getfixturevalue(data)
    model = fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (len(X), len(model.classes_))
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    base = np.bincount(y) / len(y)
    assert log_loss(y, P) < 0.7 * log_loss(y, np.tile(base, (len(y), 1)))


def test_probabilities_are_sane_on_digits():
    """Held out: better than 0.5, as a calibrated model of that accuracy is."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    model = fit(X, y, n_hidden=24, max_iter=4, lam=1e-3)
    P = model.predict_proba(X_test)
    assert np.isfinite(P).all()
    assert model.score(X_test, y_test) > 0.93
    assert log_loss(y_test, P) < 0.5


def test_far_away_rows_have_finite_probabilities(iris):
    X, y = iris
    model = fit(X, y)
    for away in (2.0, 5.0, 1e6):
        P = model.predict_proba(X * away)
        assert np.isfinite(P).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X * away))


def test_network_is_the_regressors_on_indicators(iris):
    """Least squares on one-hot targets, through the same core."""
    X, y = iris
    model = fit(X, y)
    regressor = ANMINRegressor(8, solver="anmin", lam=1e-3, max_iter=8, random_state=0)
    regressor.fit(X, np.eye(3)[y])
    np.testing.assert_allclose(model.A_, regressor.A_)
    np.testing.assert_allclose(model.loss_curve_, regressor.loss_curve_)
    scores = np.argmax(regressor.predict(X), axis=1)
    np.testing.assert_array_equal(model.predict(X), scores)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 2.0, 2: 4.0}])
def test_sample_weights_are_repeated_rows(iris, class_weight):
    X, y = iris
    w = np.arange(len(X)) % 4
    weighted = fit(X, y, w, class_weight=class_weight)
    repeated = fit(np.repeat(X, w, axis=0), np.repeat(y, w), class_weight=class_weight)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_only_ratios_of_weights_count(iris):
    X, y = iris
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    one, other = fit(X, y, w), fit(X, y, 1000 * w)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)


def test_class_weights_are_sample_weights(binary):
    X, y = binary
    by_class = fit(X, y, class_weight={0: 1.0, 1: 5.0})
    by_row = fit(X, y, np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(by_class.loss_curve_, by_row.loss_curve_)


def test_class_and_sample_weights_multiply(binary):
    X, y = binary
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    both = fit(X, y, w, class_weight={0: 1.0, 1: 5.0})
    by_row = fit(X, y, w * np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(both.loss_curve_, by_row.loss_curve_)


def test_balanced(binary):
    X, y = binary
    counts = np.bincount(y)
    by_hand = {k: len(y) / (2 * counts[k]) for k in (0, 1)}
    balanced = fit(X, y, class_weight="balanced")
    np.testing.assert_allclose(balanced.loss_curve_, fit(X, y, class_weight=by_hand).loss_curve_)
    plain = fit(X, y)
    rare = y == 1
    assert np.mean(balanced.predict(X)[rare] == 1) > np.mean(plain.predict(X)[rare] == 1)


def test_class_weights_by_name(iris):
    X, y = iris
    named = np.array(["a", "b", "c"])[y]
    one = fit(X, named, class_weight={"a": 1.0, "b": 2.0, "c": 3.0})
    other = fit(X, y, class_weight={0: 1.0, 1: 2.0, 2: 3.0})
    np.testing.assert_allclose(one.loss_curve_, other.loss_curve_)


ERRORS = {
    "one class": (np.zeros(150, dtype=int), {}, r"(?i)class"),
    "continuous labels": (np.linspace(0, 1, 150), {}, r"Unknown label type|continuous"),
    "labels in two columns": (np.zeros((150, 2), dtype=int), {}, r"y should be a 1d array"),
    "missing label": (np.where(np.arange(150) == 3, np.nan, 1.0), {}, r"NaN"),
    "unknown class weight": (None, {"class_weight": "heavy"}, r"class_weight.*heavy"),
    "class weight as a list": (None, {"class_weight": [1, 2, 3]}, r"class_weight"),
    "negative class weight": (None, {"class_weight": {0: -1.0}}, r"(?i)negative|class_weight"),
}


@pytest.mark.parametrize("case", ERRORS.values(), ids=ERRORS.keys())
def test_bad_labels(iris, case):
    y, parameters, words = case
    with pytest.raises((ValueError, TypeError), match=words):
        fit(iris[0], iris[1] if y is None else y, **parameters)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_class_that_has_all_the_weight_is_predicted(iris, k):
    X, y = iris
    model = fit(X, y, (y == k).astype(float))
    assert (model.predict(X) == k).all()
    assert (model.predict_proba(X)[:, k] > 0.9).all()


def test_two_classes_learn_what_a_line_cannot():
    """The exclusive or: no linear classifier does better than a coin."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert LogisticRegression().fit(X, y).score(X, y) < 0.7
    assert fit(X, y, n_hidden=16, max_iter=30, lam=1e-6).score(X, y) > 0.93
