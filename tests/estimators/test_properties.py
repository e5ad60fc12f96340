"""Properties that hold for any small problem, searched by hypothesis."""

import numpy as np
import pytest
from conftest import in_solver
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from anmin import ANMINClassifier, ANMINRegressor

pytestmark = pytest.mark.filterwarnings("ignore:The outputs have deviations")  # so be it
NUMBERS = st.floats(-100, 100).map(lambda v: v if abs(v) > 1e-150 else 0.0)


@st.composite
def problems(draw, numbers=NUMBERS):
    """(X, y, weights, parameters): any numbers at all, so ties and constant columns are common."""
    n, d, q = draw(st.integers(2, 25)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    X = draw(arrays(float, (n, d), elements=numbers))
    Y = draw(arrays(float, (n, q), elements=numbers))
    w = draw(arrays(float, n, elements=st.floats(0.1, 10)))
    parameters = {
        "n_hidden": draw(st.integers(1, 5)),
        "slope": draw(st.sampled_from([0.0, 0.1, 0.5])),
        "lam": draw(st.sampled_from([1e-6, 1e-3, 0.1, 10.0])),
        "max_iter": draw(st.integers(0, 4)),
        "standardize": draw(st.booleans()),
        "random_state": draw(st.integers(0, 100)),
    }
    return X, Y, w, parameters


@st.composite
def smooth_problems(draw):
    """The same from a generator: no ties, no row on the edge of a cell."""
    n, d, q = draw(st.integers(20, 60)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X, w = rng.normal(size=(n, d)), rng.uniform(0.1, 3.0, n)
    Y = np.sin(X @ rng.normal(size=(d, q))) + 0.1 * rng.normal(size=(n, q))
    parameters = {
        "n_hidden": draw(st.integers(1, 5)),
        "slope": draw(st.sampled_from([0.0, 0.1, 0.5])),
        "lam": draw(st.sampled_from([1e-2, 0.1])),
        "max_iter": draw(st.integers(0, 4)),
        "standardize": draw(st.booleans()),
        "random_state": draw(st.integers(0, 100)),
    }
    return X, Y, w, parameters


def fit(X, Y, w, parameters):
    return ANMINRegressor(**in_solver("anmin", **parameters)).fit(X, Y, sample_weight=w)


def forward(model, X):
    (W1, W2), (b1, b2) = model.coefs_, model.intercepts_
    T = X @ W1 + b1
    return np.where(T > 0, T, model.slope * T) @ W2 + b2


def eq1(model, X, Y, w):
    """Eq. (1) of the network that `coefs_` and `intercepts_` make, in raw units."""
    norms = sum(np.sum(v**2) for v in (model.A_, model.B_, model.b0_))
    errors = ((forward(model, X) - Y) ** 2).sum(axis=1)
    return np.average(errors, weights=w) + model.lam * norms


@given(problems())
def test_predictions_are_finite(problem):
    X, Y, *_ = problem
    model = fit(*problem)
    predicted = model.predict(X)
    assert predicted.shape == Y.shape
    assert np.isfinite(predicted).all()
    assert np.isfinite(model.loss_curve_).all()


@given(problems())
def test_loss_is_equation_1(problem):
    X, Y, w, _ = problem
    model = fit(*problem)
    size = np.average((Y**2).sum(axis=1), weights=w)
    np.testing.assert_allclose(model.loss_, eq1(model, X, Y, w), rtol=1e-6, atol=1e-7 * (1 + size))


@given(problems())
def test_never_worse_than_the_start(problem):
    model = fit(*problem)
    assert model.loss_ <= model.history_[0].loss
    assert model.loss_ == min(model.loss_curve_)
    assert len(model.history_) == model.n_iter_ + 1


@given(problems())
def test_never_worse_than_predicting_nothing(problem):
    """B = 0 and b0 = 0 is among the output layers that Eq. (4) chooses from."""
    _, Y, w, _ = problem
    model = fit(*problem)
    centre = np.average(Y, axis=0, weights=w) if model.standardize else 0.0
    null = np.average(((Y - centre) ** 2).sum(axis=1), weights=w)
    start = model.history_[0]
    assert start.mse <= null * (1 + 1e-9) + 1e-9


@given(problems(), st.integers(0, 3))
def test_the_best_loss_never_rises_with_more_iterations(problem, more):
    X, Y, w, parameters = problem
    short = fit(*problem)
    long = fit(X, Y, w, parameters | {"max_iter": parameters["max_iter"] + more})
    assert long.loss_ <= short.loss_
    assert long.loss_curve_[: len(short.loss_curve_)] == short.loss_curve_


@given(problems())
def test_hidden_step_lowers_the_frozen_loss(problem):
    """Before the pattern is looked at again, the hidden step cannot raise the loss."""
    model = fit(*problem)
    for before, step in zip(model.history_, model.history_[1:], strict=False):
        if np.isfinite(step.frozen_loss):
            assert step.frozen_loss <= before.loss * (1 + 1e-7) + 1e-9


@given(smooth_problems(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(problem, random):
    X, Y, w, parameters = problem
    order = random.sample(range(len(X)), len(X))
    one, other = fit(*problem), fit(X[order], Y[order], w[order], parameters)
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-6)
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-5, atol=1e-6)


@given(smooth_problems(), st.integers(1, 70))
def test_batch_size_does_not_matter(problem, batch_size):
    X, Y, w, parameters = problem
    one, other = fit(*problem), fit(X, Y, w, parameters | {"batch_size": batch_size})
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-8, atol=1e-8)


@given(smooth_problems())
def test_whole_weights_are_repeated_rows(problem):
    X, Y, w, parameters = problem
    times = np.ceil(w).astype(int)
    one = fit(X, Y, times, parameters)
    other = fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0), None, parameters)
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-6)
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-5, atol=1e-6)


@given(smooth_problems())
def test_order_of_outputs_does_not_matter(problem):
    X, Y, w, parameters = problem
    one, other = fit(*problem), fit(X, Y[:, ::-1], w, parameters)
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-6)
    shape = (len(X), -1)
    same_order = other.predict(X).reshape(shape)[:, ::-1]
    np.testing.assert_allclose(same_order, one.predict(X).reshape(shape), rtol=1e-5, atol=1e-6)


@given(problems(), st.integers(2, 4))
def test_probabilities_of_any_classifier(problem, classes):
    X, _, w, parameters = problem
    y = np.arange(len(X)) % min(classes, len(X))
    model = ANMINClassifier(solver="anmin", **parameters).fit(X, y, sample_weight=w)
    P = model.predict_proba(X)
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-9)
    codes = np.searchsorted(model.classes_, model.predict(X))
    assert (P[np.arange(len(P)), codes] >= P.max(axis=1) - 1e-12).all()  # equal scores are common
