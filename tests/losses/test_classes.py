"""Classes: the softmax is minimised to the end, and luck on held-out rows is not certainty."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from anmin import ANMINClassifier
from anmin.backends import get_backend
from anmin.losses import Logistic, Softmax, bound
from anmin.objective import SquaredError
from anmin.solvers import Problem
from anmin.solvers.glm import linear_model
from anmin.solvers.newton import total
from anmin.sources import Scaling, counting_rows


@pytest.mark.parametrize("penalty", [1e-2, 1e-4])
def test_a_softmax_model_is_minimised_whatever_its_penalty(penalty):
    """With the diagonal of the curvature alone it ended at twice the least loss."""
    X, y = load_iris(return_X_y=True)
    Z = (X - X.mean(0)) / X.std(0)
    exact = LogisticRegression(C=1 / (2 * len(y) * penalty), tol=1e-10, max_iter=10_000).fit(Z, y)
    P = exact.predict_proba(Z)[np.arange(len(y)), y]
    least = -np.log(P).mean() + penalty * (exact.coef_**2).sum()
    rows = counting_rows(X, y[:, None].astype(float), None)
    scaling, objective = bound(Softmax(), rows, Scaling.of(rows.measured), True, True)
    backend = get_backend("cpu", "float64")
    problem = Problem(rows.prepared(scaling, backend, 4096), 0.0, objective=objective)
    column = np.append(0.0, np.full(4, penalty))
    C = linear_model(problem, column)
    found = total(problem.working_sums(None)(C, False), C, column[:, None])
    assert found == pytest.approx(least, rel=1e-6)


Y = np.array([[0.0], [1.0]])
RIGHT = {
    Logistic(): np.array([[-1.0], [1.0]]),
    Softmax((0.0, 1.0)): np.array([[0.5, -0.5], [-0.5, 0.5]]),
}


@pytest.mark.parametrize("loss", RIGHT, ids=lambda loss: loss.name)
def test_rows_that_are_all_right_do_not_call_for_certainty(loss):
    odds = np.arange(1.0, 25)
    judge = loss.judged_on(30)
    assert odds[np.argmin([judge.value(Y, a * RIGHT[loss]).mean() for a in odds])] == 6  # 600 to 1
    assert odds[np.argmin([loss.value(Y, a * RIGHT[loss]).mean() for a in odds])] == odds[-1]
    many = loss.judged_on(10**9).value(Y, RIGHT[loss])
    np.testing.assert_allclose(many, loss.value(Y, RIGHT[loss]), rtol=1e-8)
    value, slope, _ = judge.terms(Y, RIGHT[loss])
    step = judge.value(Y, RIGHT[loss] + 1e-6) - judge.value(Y, RIGHT[loss] - 1e-6)
    np.testing.assert_allclose(step[:, :1] / 2e-6, slope.sum(1, keepdims=True), atol=1e-8)
    np.testing.assert_allclose(value, judge.value(Y, RIGHT[loss]))
    assert judge.numbers() == loss.numbers()  # a model file does not know of it


def test_squared_error_is_judged_as_it_is():
    assert SquaredError().judged_on(3) == SquaredError()


@pytest.mark.slow
def test_classes_that_can_be_told_apart_are_not_certain():
    """One row in a hundred that lies on the wrong side does not cost all."""
    X, y = make_blobs(300, 3, centers=3, cluster_std=2.0, random_state=2)
    fit, test = slice(0, 100), slice(100, None)
    P = ANMINClassifier(random_state=0).fit(X[fit], y[fit]).predict_proba(X[test])
    plain = LogisticRegression().fit(X[fit], y[fit]).predict_proba(X[test])
    assert log_loss(y[test], P) < 1.5 * log_loss(y[test], plain)
    assert P.max() < 1 - 1e-6
