"""Very wide rows: what is found without XᵀX agrees with what is found with it."""

import tracemalloc
from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from conftest import make_problem
from sklearn.linear_model import Ridge

from anmin import ANMINClassifier, ANMINRegressor
from anmin.inspect import importance
from anmin.inspect.importance import importances
from anmin.network import Network
from anmin.solvers import curvature, linear, spectrum
from anmin.solvers.curvature import CurvatureRows, DenseCurvature, ProductCurvature
from anmin.solvers.linear import linear_directions, ridge_network
from anmin.solvers.spectrum import (
    CentredInputs,
    InputProducts,
    conjugate_gradients,
    leading,
    leading_inputs,
)
from anmin.sources import Chunk, draws
from anmin.sources.chunk import LEAST, within
from anmin.sources.draws import keys
from anmin.sums.gram import PatternPass


def wide_rows(n=60, d=40, q=1, seed=0, weighted=False):
    """Inputs with a few strong directions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) + 0.3 * rng.normal(size=(n, d)) + 1
    Y = X[:, :3] @ rng.normal(size=(3, q)) + 0.1 * rng.normal(size=(n, q))
    return X, Y, rng.uniform(0.5, 2.0, n) if weighted else None


def problem_of(*args, **kwargs):
    return make_problem(*wide_rows(*args, **kwargs))


@pytest.fixture
def narrow(monkeypatch):
    """Everything is very wide, but for the rows that are looked at."""
    monkeypatch.setattr(linear, "WIDE", 3)
    monkeypatch.setattr(spectrum, "ALL_VALUES", 3)
    monkeypatch.setattr(spectrum, "FORMED", 3)


# ---- eigenvalues --------------------------------------------------------------------------------


def test_the_leading_eigenvalues_of_few_rows_are_all_there_are():
    M = np.cov(np.random.default_rng(0).normal(size=(50, 12)), ddof=0)  # rank 11
    found = leading(lambda V: M @ V, 50, np.trace(M), 12)
    assert found.rest < 1e-12
    np.testing.assert_allclose((found.vectors * found.values) @ found.vectors.T, M, atol=1e-9)


def test_the_leading_eigenvalues_of_many_rows():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    values = 0.5 ** np.arange(60)
    found = leading(lambda V: Q @ (values[:, None] * (Q.T @ V)), 60, values.sum(), 10)
    np.testing.assert_allclose(found.values[::-1][:6], values[:6], rtol=1e-3)


def test_products_of_inputs_are_scaled_as_the_inputs_are():
    source = make_problem(*wide_rows(weighted=True)).source
    s = np.random.default_rng(1).uniform(0.1, 3.0, 40)
    other = source.scaled(replace(source.scaling, x_scale=source.scaling.x_scale / s))
    found, expected = InputProducts(source).at(other), InputProducts(other).at(other)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_conjugate_gradients_solve_from_any_spectrum():
    rng = np.random.default_rng(0)
    B, c = rng.normal(size=(30, 30)), rng.normal(size=(30, 2))
    M = B @ B.T / 30
    for rank in (1, 5, 30):
        found = leading(lambda V: M @ V, 30, np.trace(M), rank)
        v = conjugate_gradients(lambda V: M @ V, c, 0.1, found)
        np.testing.assert_allclose(M @ v + 0.1 * v, c, atol=2e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_centred_inputs_are_those_of_the_rows(weighted):
    X, Y, w = wide_rows(weighted=weighted)
    problem = make_problem(X, Y, w)
    inputs, batch = CentredInputs(problem.source), problem.source.rows(slice(0, 60))
    V = np.random.default_rng(1).normal(size=(40, 3))
    Z = batch.X[:, 1:] - batch.X[:, :1] * inputs.mean
    n = (batch.X[:, 0] ** 2).sum()
    np.testing.assert_allclose(inputs(V), Z.T @ (Z @ V) / n, atol=1e-9)
    np.testing.assert_allclose(inputs.c, Z.T @ batch.Y / n, atol=1e-9)
    assert inputs.trace == pytest.approx((Z**2).sum() / n)


# ---- the same as with XᵀX ---------------------------------------------------------------------


@pytest.mark.parametrize("n", [25, 200])
@pytest.mark.parametrize("q", [1, 3])
def test_ridge_regression_is_the_same(narrow, monkeypatch, n, q):
    problem = problem_of(n, q=q, weighted=True)
    X = problem.source.rows(slice(0, n)).X
    found = ridge_network(problem)
    monkeypatch.setattr(linear, "WIDE", 10**6)
    expected = ridge_network(problem)

    def outputs(net):
        return np.maximum(X @ net.A, 0) @ net.B + X[:, :1] * net.b0

    np.testing.assert_allclose(outputs(found), outputs(expected), atol=2e-3)


def test_the_directions_of_the_linear_model_are_the_same(narrow, monkeypatch):
    problem = problem_of(200, q=3)
    found, largest = linear_directions(problem, 2)
    monkeypatch.setattr(linear, "WIDE", 10**6)
    expected, expected_largest = linear_directions(problem, 2)
    assert largest == pytest.approx(expected_largest)
    np.testing.assert_allclose(abs((found * expected).sum(0)), 1, atol=1e-3)


def test_a_damped_step_is_the_same(narrow, monkeypatch):
    problem = problem_of(200)
    A = np.random.default_rng(0).normal(size=(41, 4))
    point = problem.at(A)
    g = np.random.default_rng(1).normal(size=A.shape)
    effort = curvature.Effort(200, 1e-6)

    def step():
        rows = CurvatureRows(problem.source, True)
        return ProductCurvature(rows, point, problem, None).solve(g, 0.1, effort)

    found = []
    for rank in (3, 41):
        monkeypatch.setattr(spectrum, "RANK", rank)
        for formed in (3, 100):
            monkeypatch.setattr(spectrum, "FORMED", formed)
            found.append(step())
    monkeypatch.setattr(spectrum, "ALL_VALUES", 10**6)
    np.testing.assert_allclose(found, [step()] * len(found), rtol=1e-2, atol=1e-4)
    found = leading_inputs(problem.source)
    assert found.values.sum() + found.rest * (41 - len(found.values)) == pytest.approx(41, rel=0.1)


def test_importances_are_the_same(monkeypatch):
    problem, rng = problem_of(), np.random.default_rng(0)
    net = Network(rng.normal(size=(41, 5)), rng.normal(size=(5, 1)), np.zeros(1))
    columns = [np.array([j]) for j in range(40)]
    expected = importances(problem, net, columns)
    monkeypatch.setattr(importance, "WIDE", 3)
    np.testing.assert_allclose(importances(problem, net, columns), expected, rtol=1e-9)


def test_many_outputs_need_no_sums_of_targets(monkeypatch):
    problem = problem_of(80, d=4, q=5)
    point = problem.at(np.random.default_rng(0).normal(size=(5, 6)))
    rows = CurvatureRows(problem.source, True)
    expected = DenseCurvature(rows, point, problem, None)
    monkeypatch.setattr(curvature, "MANY", 1)
    found = DenseCurvature(rows, point, problem, None)
    np.testing.assert_allclose(found.H, expected.H, atol=1e-9)
    sums = problem.source.reduce(PatternPass(point.A, 0.0, targets=False))
    assert sums.ZtY.size == 0


# ---- samples ------------------------------------------------------------------------------------


def test_samples_of_very_wide_rows_are_bounded(monkeypatch):
    assert within(4000, 500) == 4000
    assert within(8000, 10_000) * 10_000 * 8 <= 2**28
    assert within(8000, 10**9) == LEAST
    X, Y, _ = wide_rows()
    chunk = Chunk(X, Y)
    expected = keys(chunk)
    monkeypatch.setattr(draws, "BLOCK", 7)
    np.testing.assert_array_equal(keys(chunk), expected)


# ---- fits ---------------------------------------------------------------------------------------


def teacher(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, np.abs(X @ rng.normal(size=d) / d**0.5) + X[:, 0]


@pytest.mark.slow
def test_few_very_wide_rows_take_about_the_time_they_are_given():
    X, y = teacher(30, 10_000)
    ANMINRegressor(4, max_iter=3).fit(X[:, :5], y)  # compiled code
    begin = process_time()
    model = ANMINRegressor(max_time=1, random_state=0).fit(X, y)
    assert process_time() - begin < 10  # a hundred when XᵀX was formed
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.slow
def test_very_wide_rows_are_fitted_better_than_by_ridge_in_little_memory():
    X, y = teacher(2000, 2999)
    ridge = Ridge(1.0).fit(X, y)
    tracemalloc.start()
    model = ANMINRegressor(8, lam=1e-3, max_iter=8, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    ours, theirs = (np.mean((m.predict(X) - y) ** 2) for m in (model, ridge))
    assert ours < theirs + 0.05
    assert peak < 350e6


@pytest.mark.slow
def test_classes_of_very_wide_rows():
    X, y = teacher(80, 2500)
    model = ANMINClassifier(2, lam=1e-2, max_iter=3, random_state=0).fit(X, y > 1)
    assert model.score(X, y > 1) > 0.6
