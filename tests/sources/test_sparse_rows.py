"""Sparse rows, and rows as units of few connections see them, multiply like what they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from anmin.backends import NumpyBackend, compiled
from anmin.sources import Scaling, counting_rows
from anmin.sources.chunk import Chunk
from anmin.sources.draws import keys
from anmin.sources.raw import ArrayRows
from anmin.sources.scaling import Moments
from anmin.sources.sparse import SparseRows, hinge_sums, square_sums
from anmin.sources.support import Support, SupportedRows

N, D, H = 300, 40, 6


@pytest.fixture(params=[None, "weights"])
def weight(request: pytest.FixtureRequest) -> np.ndarray | None:
    return None if request.param is None else np.random.default_rng(1).uniform(0.5, 2, N)


@pytest.fixture
def dense() -> np.ndarray:
    """Few numbers that are not zero; some columns below zero, one constant, one empty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.uniform(size=(N, D)) < 0.1)
    X[:, 5:10] = -np.abs(X[:, 5:10])
    X[:, 3], X[:, 4] = 2.5, 0.0
    return X


def prepared(X, Y, weight, dtype="float64"):
    rows = counting_rows(X, Y, weight)
    scaling = Scaling.of(rows.measured)
    return rows.prepared(scaling, NumpyBackend(dtype), 4096)


def test_moments(dense: np.ndarray, weight: np.ndarray | None) -> None:
    ours, theirs = (Moments.of(V, weight) for V in (csr_array(dense), dense))
    for name in ("low", "high", "mean", "deviation"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)
    assert ours.deviation[3] <= ours.rounding[3], "a constant is a constant"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sparse_rows_multiply_like_dense_ones(dense, weight, dtype) -> None:
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(N, 2))
    ours, theirs = (
        next(prepared(X, Y, weight, dtype).batches()) for X in (csr_array(dense), dense)
    )
    assert isinstance(ours.X, SparseRows)
    tol = 1e-10 if dtype == "float64" else 1e-3
    V, U = rng.normal(size=(D + 1, H)).astype(dtype), rng.normal(size=(N, H)).astype(dtype)
    np.testing.assert_allclose(ours.X @ V, theirs.X @ V, atol=tol)
    np.testing.assert_allclose(ours.X.T @ U, theirs.X.T @ U, atol=10 * tol)
    np.testing.assert_allclose(ours.X[10:50] @ V, theirs.X[10:50] @ V, atol=tol)
    np.testing.assert_allclose(ours.X[:, 0], theirs.X[:, 0])
    np.testing.assert_allclose(ours.Y, theirs.Y, atol=tol)
    for own, other in zip(
        (square_sums(ours.X, ours.Y**2), *hinge_sums(ours.X, ours.Y)),
        (square_sums(theirs.X, theirs.Y**2), *hinge_sums(theirs.X, theirs.Y)), strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(own, other, atol=20 * tol)


def test_keys_of_sparse_rows_are_those_of_dense_ones(dense) -> None:
    Y = np.arange(float(N))[:, None] % 3
    assert np.array_equal(keys(Chunk(csr_array(dense), Y)), keys(Chunk(dense, Y)))


def test_rows_of_weight_zero_are_left_out(dense) -> None:
    weight = np.ones(N)
    weight[::3] = 0
    assert len(counting_rows(csr_array(dense), np.zeros((N, 1)), weight).chunk) == N - N // 3


@pytest.fixture(params=["compiled", "plain"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "plain":
        monkeypatch.setattr("anmin.sources.support.kernels", lambda: None)
    elif compiled.kernels() is None:
        pytest.skip("numba is not installed")
    monkeypatch.setattr("anmin.sources.support.WIDE", 2)
    return request.param == "compiled"


def few_weights(rng: np.random.Generator, k: int) -> np.ndarray:
    """A with k connections a unit, but for one with none and one with all."""
    A = np.zeros((D + 1, H))
    A[0] = rng.normal(size=H)
    for j in range(1, H):
        A[1 + rng.choice(D, D if j == H - 1 and k > 2 else k, replace=False), j] = 1.0
    return A * rng.normal(size=A.shape)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_units_see_their_own_inputs(dense, weight, compiler, sparse, k) -> None:
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(N, 1))
    A = few_weights(rng, k)
    support = Support.of(A)
    whole = prepared(csr_array(dense) if sparse else dense, Y, weight)
    source = support.source(whole)
    X, full = next(source.batches()).X, next(prepared(dense, Y, weight).batches()).X
    assert isinstance(X, SupportedRows)
    assert X.wide == (compiler and k == 2)
    assert source.shape == (N, len(support.index), 1)
    a, U = support.gather(A), rng.normal(size=(N, H))
    np.testing.assert_array_equal(support.scatter(a), A)
    np.testing.assert_allclose(X @ a, full @ A, atol=1e-10)
    np.testing.assert_allclose(X[50:99] @ a, full[50:99] @ A, atol=1e-10)
    np.testing.assert_allclose(X.T @ U, support.gather(full.T @ U), atol=1e-10)
    np.testing.assert_allclose(
        X[50:99].T @ U[50:99], support.gather(full[50:99].T @ U[50:99]), atol=1e-10
    )
    np.testing.assert_allclose((X.gathered() * a.T).sum(2), full @ A, atol=1e-10)


def test_columns_of_a_stream(dense) -> None:
    rows = ArrayRows(Chunk(dense, np.zeros((N, 1))))
    some = np.array([7, 2])
    streamed = super(ArrayRows, rows).only(some)
    assert streamed.tally() == (N, N)
    np.testing.assert_array_equal(next(streamed.read()).X, dense[:, some])
