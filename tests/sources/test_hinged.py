"""Rows with hinges multiply like the matrix that they stand for, which is never formed."""

from __future__ import annotations

import numpy as np
import pytest

from anmin.backends import NumpyBackend, compiled
from anmin.encoding import Encoding
from anmin.sources import Scaling
from anmin.sources.arrays import ArraySource
from anmin.sources.hinged import HingedRows

N, D, H = 300, 5, 7


def sources(dtype: str, weight: np.ndarray | None) -> tuple[ArraySource, np.ndarray]:
    """Rows behind hinges as a source, and as a plain matrix."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X[:, 1], X[:, 2], X[:, 3] = np.round(X[:, 1]), X[:, 2] > 0, 2.0  # few values, two, one
    Y = rng.normal(size=(N, 1))
    encoding = Encoding.fit(X, weight, 8)
    scaling = Scaling.fit(X, Y, weight).encoded_by(encoding, X, weight)
    root = np.ones((N, 1)) if weight is None else np.sqrt(weight)[:, None]
    dense = root * np.hstack([np.ones((N, 1)), scaling.inputs(X)])
    return ArraySource(X, Y, weight, scaling, NumpyBackend(dtype), 4096), dense


@pytest.fixture(params=["float64", "float32"])
def dtype(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[None, "weights"])
def weight(request: pytest.FixtureRequest) -> np.ndarray | None:
    return None if request.param is None else np.random.default_rng(1).uniform(0.5, 2, N)


@pytest.fixture(params=["compiled", "plain"], autouse=True)
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without numba; the rows are hinged in either case."""
    monkeypatch.setattr(NumpyBackend, "looks_up", True)
    if request.param == "plain":
        monkeypatch.setattr("anmin.sources.hinged.kernels", lambda: None)
    elif compiled.kernels() is None:
        pytest.skip("numba is not installed")


def test_products(dtype: str, weight: np.ndarray | None) -> None:
    source, dense = sources(dtype, weight)
    X = next(source.batches()).X
    assert isinstance(X, HingedRows)
    rng = np.random.default_rng(2)
    V, U = (rng.normal(size=(k, H)).astype(dtype) for k in (dense.shape[1], N))
    tol = 1e-10 if dtype == "float64" else 2e-4
    assert X.shape == dense.shape
    np.testing.assert_allclose(np.asarray(X), dense, atol=tol)
    np.testing.assert_allclose(X @ V, dense @ V, atol=10 * tol)
    np.testing.assert_allclose(X.T @ U, dense.T @ U, atol=100 * tol)
    np.testing.assert_allclose(X.T @ X, dense.T @ dense, atol=100 * tol)
    np.testing.assert_allclose(X.T @ U[:, 0], dense.T @ U[:, 0], atol=100 * tol)
    np.testing.assert_allclose(X * X, dense * dense, atol=100 * tol)
    np.testing.assert_allclose(U[:, :1] * X, U[:, :1] * dense, atol=100 * tol)


def test_some_rows_and_columns(dtype: str, weight: np.ndarray | None) -> None:
    source, dense = sources(dtype, weight)
    X = next(source.batches()).X
    some = slice(10, 50)
    np.testing.assert_allclose(np.asarray(X[some]), dense[some], atol=1e-5)
    np.testing.assert_allclose(X[some][:, 0], dense[some, 0], atol=1e-6)
    assert X[some].astype("float64").dtype == np.float64
    assert X.nbytes < np.asarray(X).nbytes


def test_beyond_the_range(dtype: str, weight: np.ndarray | None) -> None:
    """Rows outside those of the fit are clipped as by the encoding itself."""
    source, _ = sources(dtype, weight)
    far = np.array([[1e9] * D, [-1e9] * D])
    there = ArraySource(far, np.zeros((2, 1)), None, source.scaling, source.backend, 4096)
    X = np.asarray(next(there.batches()).X)
    np.testing.assert_allclose(X[:, 1:], source.scaling.inputs(far), rtol=1e-4, atol=1e-5)
