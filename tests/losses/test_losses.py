"""Losses as objects: derivatives, starts, bounds, and linear models that scikit-learn has too."""

from dataclasses import replace

import numpy as np
import pytest
from backend_cases import BACKENDS, numpy_backend
from scipy.optimize import minimize, minimize_scalar
from sklearn.linear_model import (
    GammaRegressor,
    HuberRegressor,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
)

from anmin.losses import (
    AbsoluteError,
    Gamma,
    Huber,
    Logistic,
    LossObjective,
    Poisson,
    Quantile,
    Softmax,
    bound,
)
from anmin.losses.loss import weighted_quantile
from anmin.solvers.glm import linear_model
from anmin.solvers.problem import Problem
from anmin.sources import Scaling, counting_rows

BACKEND = numpy_backend()
LOSSES = {
    "huber": Huber(0.7),
    "absolute error": AbsoluteError(width=1e-3),
    "quantile": Quantile((0.2,), width=1e-3),
    "quantiles": Quantile((0.1, 0.5, 0.8), width=1e-3),
    "poisson": Poisson(),
    "gamma": Gamma(),
    "logistic": Logistic(),
    "softmax": Softmax(),
}
each = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
KINKED = (Huber, Quantile)


def targets(loss, n=60, q=3, seed=0):
    """y of the kind that a loss takes, and outputs for it: (n, q)."""
    rng = np.random.default_rng(seed)
    q = {"softmax": 3, "quantile": len(getattr(loss, "levels", (0,)))}.get(loss.name, q)
    f = rng.normal(size=(n, q))
    y = f + rng.standard_t(3, size=(n, q))
    if loss.name == "poisson":
        y = rng.poisson(np.exp(f)) * 1.0
    if loss.name == "gamma":
        y = rng.gamma(2.0, size=(n, q))
    if loss.name == "log_loss":
        y = (y > 0) * 1.0
    if loss.name == "softmax":
        y = rng.integers(3, size=(n, 1)) * np.ones(3)
    return y, f


@each
@BACKENDS
def test_slope_and_curvature_are_derivatives(loss, make_backend):
    be, step = make_backend(), 1e-6
    y, f = targets(loss)
    to, Y = be.to_numpy, be.double(y)

    def at(f, what):
        return to(what(Y, be.double(f)))

    slope, curvature = at(f, loss.slope), at(f, loss.curvature)
    assert (curvature > 0).all()
    for k in range(f.shape[1]):
        nudge = step * np.eye(f.shape[1])[k]
        value = [at(f + sign * nudge, loss.value).sum(1) for sign in (1, -1)]
        np.testing.assert_allclose((value[0] - value[1]) / (2 * step), slope[:, k], atol=1e-4)
        bend = [at(f + sign * nudge, loss.slope)[:, k] for sign in (1, -1)]
        true = (bend[0] - bend[1]) / (2 * step)
        if isinstance(loss, KINKED):
            assert (true <= curvature[:, k] * (1 + 1e-6) + 1e-6).all()  # a bound
        elif loss.name in ("poisson", "log_loss"):
            np.testing.assert_allclose(true, curvature[:, k], rtol=1e-4, atol=1e-6)


@each
@BACKENDS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_terms_are_all_three_and_keep_their_type(loss, make_backend, dtype):
    be = make_backend(dtype)
    y, f = (be.asarray(V) for V in targets(loss))
    one, two = loss.terms(y, f), (loss.value(y, f), loss.slope(y, f), loss.curvature(y, f))
    for a, b in zip(one, two, strict=True):
        assert a.dtype == f.dtype
        np.testing.assert_allclose(be.to_numpy(a), be.to_numpy(b), rtol=1e-5, atol=1e-6)
    objective = LossObjective(loss, (0.3,) * f.shape[1], 2.0)
    root = be.asarray(np.full((len(y), 1), 1.5))
    for V in objective.terms(y, f, root)[1:]:
        assert V.dtype == f.dtype


@each
def test_values_do_not_overflow_far_away(loss):
    y, f = targets(loss)
    for factor in (30, -30):
        assert np.isfinite(loss.value(y, factor * f)).all()
        assert np.isfinite(loss.slope(y, factor * f)).all()


@pytest.mark.parametrize("loss", [Huber(0.7), Quantile((0.2,), 1e-3), AbsoluteError(width=1e-3)])
def test_a_parabola_with_that_curvature_lies_above(loss):
    """At f + t it is value + slope t + curvature t²/2, so that each step can only gain."""
    y, f = targets(loss, q=1)
    for t in (-3.0, -0.5, 0.1, 2.0):
        parabola = loss.value(y, f) + loss.slope(y, f) * t + loss.curvature(y, f) * t * t / 2
        assert (loss.value(y, f + t) <= parabola + 1e-3).all()  # up to the width of the kink


@BACKENDS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_far_from_the_middle_has_no_say(make_backend, dtype):
    be, middle = make_backend(dtype), (0.1, 0.2, -0.3)
    y, f = (be.asarray(V) for V in targets(Huber()))
    near = np.abs(be.to_numpy(y) - middle) <= 1.5
    assert 0 < near.mean() < 1
    for found, all_of in zip(
        Huber(0.7, 1.5, middle).terms(y, f), Huber(0.7).terms(y, f), strict=True
    ):
        assert found.dtype == f.dtype
        np.testing.assert_array_equal(be.to_numpy(found), near * be.to_numpy(all_of))


@each
def test_the_start_is_the_best_constant(loss):
    y, _ = targets(loss, n=400)
    w = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    y = y[:, :1] if loss.name in ("quantile", "softmax") else y
    start = loss.start(y, w)

    def total(c):
        return float((w[:, None] * loss.value(y + 0 * c, 0 * y + c)).sum())

    best = minimize(total, start + 0.1, method="Nelder-Mead", options={"xatol": 1e-6})
    if loss.name == "huber":  # starts at the median
        assert total(start) <= 1.02 * best.fun
    else:
        assert total(start) <= best.fun * (1 + 1e-5)


def test_weighted_quantiles_are_those_of_repeated_values():
    rng = np.random.default_rng(0)
    v, w = rng.normal(size=31), rng.integers(1, 5, 31)
    for level in (0.1, 0.5, 0.75):
        repeated = np.quantile(np.repeat(v, w), level, method="averaged_inverted_cdf")
        assert weighted_quantile(v, w * 1.0, level) == pytest.approx(repeated)


@each
def test_units_and_starts_are_undone(loss):
    """An objective in units and from a start is the loss itself, and its derivatives follow."""
    y, f = targets(loss)
    w = np.random.default_rng(1).uniform(0.2, 2.0, (len(y), 1))
    c, s = (0.3,) * f.shape[1], 1.0 if loss.link in ("exp", "class") else 2.5
    root, objective = w**0.5, LossObjective(loss, c, s)
    Y, F = root * (y - c) / s, root * (f - c) / s
    value, R, V = objective.terms(Y, F, root)
    assert value * s**loss.degree == pytest.approx(float((w * loss.value(y, f)).sum()))
    step = 1e-6 * np.ones((1, f.shape[1]))
    up, down = (objective.value(Y, F + sign * step, root) for sign in (1, -1))
    assert (up - down) / 2e-6 == pytest.approx(-2 * R.sum(), rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(V, objective.weights(Y, F, root))
    np.testing.assert_allclose(R, objective.residual(Y, F, root))


def test_kinks_become_sharper_as_the_fit_gets_better():
    loss = Quantile((0.5,))
    assert loss.near(0.2).width < loss.near(2.0).width
    assert LossObjective(loss, (0.0,), 10.0).near(0.1).loss == loss.near(1.0)
    assert Poisson().near(0.1) == Poisson()


def test_quantiles_of_one_target_are_outputs_of_their_own():
    y = np.random.default_rng(0).normal(size=(200, 1))
    rows = counting_rows(np.zeros((200, 1)), y, None)
    scaling, objective = bound(Quantile((0.1, 0.9)), rows, Scaling.of(rows.measured), True, True)
    np.testing.assert_allclose(scaling.y_mean, np.quantile(y, [0.1, 0.9]), atol=0.02)
    batch = rows.prepared(scaling, BACKEND, 4096).rows(slice(None))
    assert batch.Y.shape == (200, 2)
    raw, _ = objective.raw(batch.Y, 0 * batch.Y, batch.X[:, :1])
    np.testing.assert_allclose(raw, np.hstack([y, y]), atol=1e-12)


# ---- linear models -------------------------------------------------------------------------------


def linear(loss, X, y, penalty, w=None):
    """Coefficients and intercept of our linear model on raw inputs."""
    Y = y.reshape(len(y), -1) * 1.0
    rows = counting_rows(X, Y, w)
    scaling, objective = bound(loss, rows, Scaling.identity(X.shape[1], 1), True, False)
    problem = Problem(rows.prepared(scaling, BACKEND, 4096), 0.0, objective=objective)
    C = linear_model(problem, np.append(0.0, np.full(X.shape[1], penalty)))
    return C[1:], C[0] + scaling.y_mean


def data(seed=0, n=300, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) * 0.6 + 0.5, rng


def test_the_logistic_one_is_scikit_learns():
    X, f, rng = data()
    y, w = rng.uniform(size=len(f)) < 1 / (1 + np.exp(-f)), rng.uniform(0.5, 2.0, len(f))
    C, c0 = linear(Logistic(), X, y, penalty := 0.01, w)
    theirs = LogisticRegression(C=1 / (2 * penalty * w.sum()), tol=1e-10).fit(X, y, w)
    np.testing.assert_allclose(C[:, 0], theirs.coef_[0], atol=2e-3)
    np.testing.assert_allclose(c0, theirs.intercept_, atol=2e-3)


def test_the_one_for_classes_is_scikit_learns():
    X, _, rng = data()
    y = (X @ rng.normal(size=(4, 3)) + rng.gumbel(size=(len(X), 3))).argmax(1)
    C, c0 = linear(Softmax(), X, y, penalty := 0.01)
    theirs = LogisticRegression(C=1 / (2 * penalty * len(X)), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(C - C.mean(1, keepdims=True), theirs.coef_.T, atol=5e-3)
    np.testing.assert_allclose(c0 - c0.mean(), theirs.intercept_ - theirs.intercept_.mean(),
                               atol=5e-3)  # fmt: skip


@pytest.mark.parametrize(
    ("loss", "rival"), [(Poisson(), PoissonRegressor), (Gamma(), GammaRegressor)]
)
def test_those_of_rates_are_scikit_learns(loss, rival):
    X, f, rng = data()
    y = rng.poisson(np.exp(f)) if rival is PoissonRegressor else rng.gamma(3, np.exp(f) / 3) + 1e-3
    C, c0 = linear(loss, X, y, 0.02)
    theirs = rival(alpha=0.02, tol=1e-9).fit(X, y)  # half the deviance, half the penalty
    np.testing.assert_allclose(C[:, 0], theirs.coef_, atol=2e-3)
    assert c0[0] == pytest.approx(theirs.intercept_, abs=2e-3)


def test_hubers_is_scikit_learns():
    X, f, rng = data()
    y = f + rng.standard_t(2, size=len(f))
    theirs = HuberRegressor(alpha=1.0, tol=1e-9, max_iter=1000).fit(X, y)
    delta = theirs.epsilon * theirs.scale_
    C, c0 = linear(Huber(delta), X, y, theirs.alpha * theirs.scale_ / len(X))
    np.testing.assert_allclose(C[:, 0], theirs.coef_, atol=2e-2)
    assert c0[0] == pytest.approx(theirs.intercept_, abs=2e-2)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_that_of_a_quantile_is_scikit_learns(level):
    X, f, rng = data(n=200)
    y = f + rng.normal(size=len(f)) * np.exp(0.3 * X[:, 0])
    C, c0 = linear(Quantile((level,)), X, y, 0.0)
    theirs = QuantileRegressor(quantile=level, alpha=0.0).fit(X, y)
    ours, best = (
        Quantile((level,)).value(y[:, None], at[:, None]).mean()
        for at in (X @ C[:, 0] + c0, theirs.predict(X))
    )
    assert ours <= 1.003 * best


def test_a_smoothed_scalar_fit_finds_the_quantile():
    y = np.random.default_rng(0).gamma(2.0, size=(500, 1))
    loss = Quantile((0.8,))
    best = minimize_scalar(lambda c: loss.value(y, 0 * y + c).sum(), bounds=(0, 10)).x
    _, c0 = linear(loss, np.zeros((500, 1)), y[:, 0], 1.0)
    assert c0[0] == pytest.approx(best, abs=0.05)
    assert replace(loss, width=1e-9).slope(y, 0 * y + best).mean() == pytest.approx(0, abs=5e-3)
