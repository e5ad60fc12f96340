"""Losses that are not quadratic: all ask the objective, and least squares is a case of it."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from backend_cases import BACKENDS, make_problem, numpy_backend, start
from conftest import activate
from scipy.optimize import minimize

from anmin.engine import Budget, Engine
from anmin.inspect.audit import audit
from anmin.losses import Logistic, bound
from anmin.objective import SquaredError
from anmin.solvers import Search, Start, VarPro, solve
from anmin.solvers.curvature import CurvatureRows, DenseCurvature, ProductCurvature
from anmin.solvers.linear import linear_directions, ridge_network
from anmin.solvers.problem import Problem, gradient
from anmin.solvers.relocate import relocate, usefulness
from anmin.solvers.shares import HeldOut, best_shares, side_by_side
from anmin.solvers.views import View
from anmin.sources import Scaling, counting_rows

BACKEND = numpy_backend()
LAM = 1e-2


@dataclass(frozen=True)
class Half(SquaredError):  # noqa: N818
    """Half the squared error, which does not say that it is quadratic."""

    least_squares = False

    def value(self, Y, F, root):
        return SquaredError().value(Y, F, root) / 2

    def residual(self, Y, F, root):
        return (Y - F) / 2

    def weights(self, Y, F, root):
        return 0.5 + 0 * F


@dataclass(frozen=True)
class Smooth(SquaredError):  # noqa: N818
    """ℓ = √(1 + (y − f)²): convex, and a weight for every entry."""

    least_squares = False

    def size(self, Y, F, root):
        return (1 + ((Y - F) / root) ** 2) ** 0.5

    def value(self, Y, F, root):
        return float((root**2 * self.size(Y, F, root)).sum())

    def residual(self, Y, F, root):
        return (Y - F) / self.size(Y, F, root) / 2

    def weights(self, Y, F, root):
        return self.size(Y, F, root) ** -3 / 2


def pair(backend, **kwargs):
    """Least squares, and the same problem as one of a loss that is not."""
    whole = make_problem(backend, LAM, **kwargs)
    return whole, replace(whole, lam=LAM / 2, objective=Half())


def textbook(problem, point, objective):
    """Rows at a point: X, Y, S, F and the weights."""
    batch, be = problem.source.rows(slice(None)), problem.backend
    X, Y, A, W = (be.to_numpy(V) for V in (batch.X, batch.Y, point.A, point.W))
    S = np.column_stack([activate(X @ A, problem.slope), X[:, 0]])
    return X, Y, S, S @ W, objective.weights(Y, S @ W, X[:, :1])


# ---- half of a loss with half the penalty leads to the same network ------------------------------


@BACKENDS
def test_the_output_layer_is_that_of_least_squares(make_backend):
    whole, half = pair(make_backend())
    A, to = start(whole), whole.backend.to_numpy
    one, other = whole.at(A), half.at(A)
    np.testing.assert_allclose(to(other.W), to(one.W), rtol=1e-8, atol=1e-10)
    assert other.loss == pytest.approx(one.loss / 2, rel=1e-12)
    np.testing.assert_allclose(to(other.sums.StS), to(one.sums.StS) / 2, rtol=1e-12)
    g = to(gradient(whole, one))
    np.testing.assert_allclose(to(gradient(half, other)), g / 2, rtol=1e-6, atol=1e-9)


@BACKENDS
@pytest.mark.parametrize("q", [1, 3])
def test_the_curvature_is_that_of_least_squares(make_backend, q):
    whole, half = pair(make_backend(), q=q)
    point, to = whole.at(start(whole)), whole.backend.to_numpy
    V = whole.backend.asarray(np.random.default_rng(0).normal(size=(4, 4)))
    rows = CurvatureRows(whole.source)
    one, other = (ProductCurvature(rows, point, p, None) for p in (whole, half))
    expected, found = one.unit * to(one.product(V)), other.unit * to(other.product(V * 1))
    np.testing.assert_allclose(2 * found, expected, rtol=1e-4)
    np.testing.assert_allclose(2 * other.unit * to(other.D), one.unit * to(one.D), rtol=1e-9)
    if q == 1:
        one, other = (DenseCurvature(rows, point, p, None) for p in (whole, half))
        np.testing.assert_allclose(2 * to(other.H), to(one.H), rtol=0, atol=1e-6)


def test_the_linear_model_is_ridge_regression():
    whole, half = pair(BACKEND)
    one, other = (ridge_network(p) for p in (whole, half))
    X = whole.source.rows(slice(None)).X[:, 1:]
    gap = other.forward(X) - one.forward(X)  # penalties are chosen in another way
    assert gap.std() < 0.05 * one.forward(X).std()
    D, largest = linear_directions(whole, 2)
    E, as_large = linear_directions(half, 2)
    np.testing.assert_allclose(np.abs(E.T @ D).max(0), 1, rtol=1e-6)
    assert largest == as_large


def test_shares_are_those_of_least_squares():
    whole, half = pair(BACKEND)
    rng = np.random.default_rng(0)
    networks = [whole.network(whole.at(rng.normal(size=(4, h)))) for h in (2, 4, 6)]

    for alone in (True, False):
        parts = [HeldOut(p.source, side_by_side(p, networks)) for p in (whole, half)]
        one, other = (best_shares([part], alone) for part in parts)
        np.testing.assert_allclose(other, one, atol=1e-9)
        assert parts[1].loss(other) == pytest.approx(parts[0].loss(one) / 2, rel=1e-9)


def test_relocation_is_that_of_least_squares():
    whole, half = pair(BACKEND, q=1)
    one, other = (p.at(start(whole)) for p in (whole, half))
    np.testing.assert_allclose(usefulness(half, other), usefulness(whole, one) / 2, rtol=1e-6)
    A, B = (
        relocate(p, at, np.array([1]), np.random.RandomState(0))
        for p, at in ((whole, one), (half, other))
    )
    np.testing.assert_allclose(A, B, rtol=1e-9)


@pytest.mark.parametrize("q", [1, 2])
def test_the_audit_is_that_of_least_squares(q):
    whole, half = pair(BACKEND, q=q)
    one = audit(whole, net := whole.network(whole.at(start(whole))), 4)
    other = audit(half, net, 4)
    assert other.cosine == pytest.approx(one.cosine, rel=1e-9)
    assert other.loss == pytest.approx(one.loss / 2, rel=1e-12)
    if q == 1:
        assert other.system.gain == pytest.approx(one.system.gain, rel=1e-6)


# ---- a loss with weights of its own --------------------------------------------------------------


def smooth(backend, **kwargs):
    return make_problem(backend, LAM, objective=Smooth(), **kwargs)


@BACKENDS
def test_the_output_layer_is_the_best_one(make_backend):
    problem = smooth(make_backend())
    point, to = problem.at(A := start(problem)), problem.backend.to_numpy
    X, Y, S, _, _ = textbook(problem, point, Smooth())

    def loss(w):
        W = w.reshape(point.W.shape)
        value = Smooth().value(Y, S @ W, X[:, :1]) / point.sums.n
        return value + LAM * ((W**2).sum() + (to(A) ** 2).sum())

    best = minimize(loss, np.zeros(to(point.W).size), method="BFGS", options={"gtol": 1e-9})
    assert point.loss == pytest.approx(loss(to(point.W).ravel()), rel=1e-12)
    assert point.loss <= best.fun * (1 + 1e-5)
    again = problem.at(A, point.W)
    assert again.loss <= point.loss


def test_a_weight_is_a_repeated_row():
    problem = smooth(BACKEND, weighted=False)
    raw = problem.source.raw.chunk
    counts = np.random.default_rng(0).integers(1, 4, len(raw))
    one, other = (replace(raw, w=counts * 1.0), raw.select(np.repeat(np.arange(len(raw)), counts)))
    A = start(problem)
    points = [
        replace(problem, source=type(problem.source)(c.X, c.Y, c.w, problem.source.scaling,
                                                     BACKEND, 4096)).at(A)
        for c in (one, other)
    ]  # fmt: skip
    assert points[0].loss == pytest.approx(points[1].loss, rel=1e-12)
    np.testing.assert_allclose(points[0].W, points[1].W, rtol=1e-9)


@pytest.mark.parametrize("q", [1, 3])
def test_the_curvature_is_the_textbook_formula(q):
    """Σ_k of the projected JᵀVJ, each output with the SᵀVS of its own weights."""
    problem = smooth(BACKEND, q=q)
    point = problem.at(start(problem))
    X, _, S, _, V = textbook(problem, point, Smooth())
    G = np.where(X @ point.A > 0, 1.0, problem.slope)
    Z = (G[:, :, None] * X[:, None, :]).reshape(len(G), -1)
    H = 0.0
    for k, b in enumerate(point.W[:-1].T):
        v = V[:, k : k + 1]
        K = S.T @ (v * S) + point.sums.n * LAM * np.eye(5)
        ZtS = Z.T @ (v * S)
        inner = Z.T @ (v * Z) - ZtS @ np.linalg.solve(K, ZtS.T)
        H = H + inner * np.kron(np.outer(b, b), np.ones((4, 4))) / point.sums.n
    rows = CurvatureRows(problem.source)
    forms = [ProductCurvature(rows, point, problem, None)]
    U = np.random.default_rng(0).normal(size=(4, 4))
    found = forms[0].unit * forms[0].product(U)
    expected = (H @ U.T.ravel()).reshape(4, 4).T
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    if q == 1:
        dense = DenseCurvature(rows, point, problem, None)
        np.testing.assert_allclose(dense.unit * dense.H, H, rtol=0, atol=1e-4 * np.abs(H).max())


def test_the_gradient_is_the_slope_of_the_loss():
    problem, step = smooth(BACKEND, slope=1.0 - 1e-9), 1e-5  # no kinks
    A = start(problem)
    point = problem.at(A)
    g = gradient(problem, point)
    for a, j in np.ndindex(4, 4):
        nudge = np.zeros_like(A)
        nudge[a, j] = step
        up, down = (problem.at(A + sign * nudge, point.W).loss for sign in (1, -1))
        assert (up - down) / (2 * step) == pytest.approx(-2 * g[a, j], abs=1e-5)


def test_balance_keeps_the_function_and_lowers_the_penalty():
    problem = smooth(BACKEND)
    point = problem.at(5 * start(problem))
    even = problem.balance(point)
    assert even.loss < point.loss
    assert even.mse == point.mse
    X = problem.source.rows(slice(None)).X[:, 1:]
    one, other = (problem.network(p).forward(X) for p in (point, even))
    np.testing.assert_allclose(other, one, rtol=1e-10)


# ---- fits ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("q", [1, 2])
@BACKENDS
def test_a_fit_descends_and_beats_a_general_minimiser(make_backend, q):
    problem = replace(smooth(make_backend(), q=q, n=200), lam=1e-3)
    engine = Engine(Budget(60))
    _, fit = solve(VarPro(), problem, Start(6, np.random.RandomState(0)), None, engine)
    losses = [step.loss for step in fit.history]
    assert all(later <= before for before, later in pairwise(losses))
    X, Y, *_ = textbook(problem, problem.at(start(problem, 6)), Smooth())
    sizes = (4, 6), (7, q)

    def loss(theta):
        A, W = theta[:24].reshape(sizes[0]), theta[24:].reshape(sizes[1])
        S = np.column_stack([activate(X @ A, problem.slope), X[:, 0]])
        value = Smooth().value(Y, S @ W, X[:, :1]) / (X[:, 0] @ X[:, 0])
        return value + problem.lam * (theta @ theta)

    first = np.random.default_rng(0).normal(size=24 + 7 * q)
    assert fit.loss <= minimize(loss, first, method="L-BFGS-B").fun * (1 + 1e-3)


def test_the_linear_model_of_rows_that_can_be_told_apart_stays_sane():
    """The quadratic at 0 promises less than nothing there; values themselves do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    y = X[:, :3].sum(1) + 0.5 * rng.normal(size=300) > 0
    rows = counting_rows(X[:200], y[:200, None] * 1.0, None)
    scaling, objective = bound(Logistic(), rows, Scaling.of(rows.measured), True, True)
    source = rows.prepared(scaling, BACKEND, 4096)
    net = ridge_network(Problem(source, 0.0, objective=objective))
    f = net.forward(scaling.inputs(X[200:])) + scaling.y_mean
    assert Logistic().value(y[200:, None], f).mean() < 0.6 * np.log(2)


@pytest.mark.slow
@pytest.mark.parametrize("networks", [1, 2])
def test_held_out_rows_choose_the_penalty_by_the_same_loss(networks):
    problem = replace(smooth(BACKEND, n=300, q=1, weighted=False), lam=0.0)
    view = View(problem.source.scaling, np.arange(3))
    search = Search(views=[view], n_networks=networks)
    engine = Engine(Budget(500))
    there, fit = solve(VarPro(), problem, Start(8, np.random.RandomState(0)), search, engine)
    assert fit.path
    assert there.lam == min(fit.path, key=lambda step: step.held_out_mse).lam
    X, Y = (there.source.rows(slice(None)).X, problem.source.rows(slice(None)).Y)
    value = Smooth().value(Y, fit.network.forward(X[:, 1:]), X[:, :1]) / len(X)
    assert value < Smooth().value(Y, 0 * Y, X[:, :1]) / len(X)
    if networks == 1:
        assert fit.loss == min(step.loss for step in fit.history)
