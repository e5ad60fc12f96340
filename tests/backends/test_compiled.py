"""Compiled loops say what plain NumPy says, and without numba nothing is missing."""

import sys

import numpy as np
import pytest

from anmin import ANMINRegressor
from anmin.backends import NumpyBackend, compiled, pair_tables
from anmin.sums import gram
from anmin.sums.patterns import Rows

TOLERANCE = {"anmin": 1e-10, "varpro": 1e-3}  # the curvature of varpro is in single precision


@pytest.fixture
def without_numba(monkeypatch):
    compiled.kernels.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    yield
    compiled.kernels.cache_clear()


def test_without_a_writable_folder_loops_are_compiled_all_the_same(monkeypatch):
    """A read-only installation, and no home: numba finds no place for its cache."""
    caching = pytest.importorskip("numba.core.caching")
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    compiled.kernels.cache_clear()
    try:
        loops = compiled.kernels()
        V, out = np.arange(6.0).reshape(3, 2), np.zeros((2, 2))
        loops.add_rows(V, np.array([0, 1, 0]), out)
    finally:
        compiled.kernels.cache_clear()
    assert out.tolist() == [[4.0, 6.0], [2.0, 3.0]]


def rows(n, p, h, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)).astype(dtype)
    F = X @ rng.standard_normal((p, h)) > 0.3
    return Rows(F, X, rng.standard_normal((n, 2)).astype(dtype))


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize(
    ("n", "p", "h"), [(600, 3, 1), (600, 1, 5), (5000, 4, 8), (700, 17, 30), (513, 2, 67)]
)
def test_tables_give_the_products_of_all_pairs(n, p, h, slope):
    backend, patterns = NumpyBackend(), rows(n, p, h)
    wanted = gram.product_sums(backend, patterns, slope)
    found = pair_tables.pair_sums(
        patterns.F, lambda some: patterns.products(backend, some), slope, backend.each_share
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.slow
def test_tables_in_single_precision():
    backend, patterns = NumpyBackend("float32"), rows(5000, 5, 20, "float32")
    wanted = gram.product_sums(backend, patterns, 0.0)
    found = pair_tables.pair_sums(
        patterns.F, lambda some: patterns.products(backend, some), 0.0, backend.each_share
    )
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, atol=2e-5 * np.abs(wanted).max())


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    patterns, sums = rows(6000, 6, 21), []
    for cores in (1, 3):
        monkeypatch.setattr("anmin.backends.numpy.usable_cores", lambda cores=cores: cores)
        backend = NumpyBackend()
        sums.append(
            pair_tables.pair_sums(
                patterns.F, lambda some, b=backend: patterns.products(b, some), 0.0,
                backend.each_share,
            )
        )  # fmt: skip
    assert (sums[0] == sums[1]).all()


@pytest.mark.parametrize("m", [1, 2])
def test_rows_are_grouped_by_all_their_words(m):
    rng = np.random.default_rng(0)
    words = rng.integers(0, 4, (300, m)).astype(np.uint64)
    cell, first = np.empty(300, dtype=np.intp), np.empty(300, dtype=np.intp)
    with np.errstate(over="ignore"):  # hashing wraps around
        found = compiled.group(words, cell, first)
    assert found == len(np.unique(words, axis=0))
    assert (words[first[:found]][cell] == words).all()
    assert (cell[first[:found]] == np.arange(found)).all()


@pytest.mark.parametrize("n", [1, 1024, 4096, 4097, 4480, 9000, 13903, 58464])
def test_groups_are_as_many_blocks_as_the_others_and_hold_all_rows(n):
    groups = list(NumpyBackend(threads=2).map_groups(lambda rows: rows, n))
    assert [rows.start for rows in groups] == [0, *(rows.stop for rows in groups[:-1])]
    assert groups[-1].stop == n
    assert len(groups) == 1 or len(groups) % 2 == 0
    blocks = [-(-(rows.stop - rows.start) // 1024) for rows in groups]
    assert max(blocks) <= min(4, min(blocks) + 1)


def test_counts():
    rng = np.random.default_rng(0)
    F, before = rng.random((2, 40, 7)) < 0.5
    fired = np.zeros(7, dtype=int)
    assert compiled.count(F, before, fired) == (before != F).sum()
    assert (fired == F.sum(0)).all()


@pytest.mark.parametrize("solver", ["anmin", "varpro"])
@pytest.mark.parametrize("d", [1, 3])
def test_the_same_network_without_numba(solver, d, without_numba):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, d))
    y = np.sin(2 * X).sum(1)
    model = ANMINRegressor(9, lam=1e-3, solver=solver, max_iter=4, random_state=0)
    plain = model.fit(X, y).predict(X)
    assert compiled.kernels() is None
    compiled.kernels.cache_clear()
    sys.modules.pop("numba", None)
    np.testing.assert_allclose(model.fit(X, y).predict(X), plain, atol=TOLERANCE[solver])
