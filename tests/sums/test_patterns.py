"""Rows with equal firing patterns may be summed first: the sums of a pass do not change."""

import numpy as np
import pytest
from backend_cases import BACKENDS

from anmin.backends import NumpyBackend
from anmin.sources import ArraySource, Scaling
from anmin.sums import patterns
from anmin.sums.gram import PatternPass, unpack

N = 3000


def rows_in_few_cells(d, h, q, weighted, seed=0):
    """N rows on few places in each dimension, and h hyperplanes: cells hold many rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(N, d)) + 1e-3 * rng.normal(size=(N, d))
    Y = rng.normal(size=(N, q))
    w = rng.uniform(0.1, 3.0, N) if weighted else None
    return X, Y, w, rng.normal(size=(d + 1, h))


def pass_at(A, X, Y, w, backend, slope, batch_size=4096):
    source = ArraySource(X, Y, w, Scaling.identity(X.shape[1], Y.shape[1]), backend, batch_size)
    return source.reduce(PatternPass(backend.asarray(A), slope))


def numbers(stats, backend):
    sums = [backend.to_numpy(getattr(stats, name)) for name in ("ZtZ", "Zt1", "ZtY", "Yt1")]
    fired = np.asarray(stats.counts.fired)
    return [*sums, np.array([stats.n, stats.YtY]), fired]


def assert_equal_sums(one, other, rtol):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=rtol * np.abs(b).max())


@BACKENDS
@pytest.mark.parametrize("h", [5, 64, 65, 130])
@pytest.mark.parametrize(
    ("q", "weighted", "slope"), [(1, False, 0.0), (3, True, 0.0), (3, True, 0.1), (1, True, 0.1)]
)
def test_compression_does_not_change_the_sums(monkeypatch, make_backend, h, q, weighted, slope):
    backend = make_backend()
    X, Y, w, A = rows_in_few_cells(2, h, q, weighted)
    monkeypatch.setattr(patterns, "WORTH_IT", 10**9)
    plain = pass_at(A, X, Y, w, backend, slope)
    monkeypatch.setattr(patterns, "WORTH_IT", 0)
    compressed = pass_at(A, X, Y, w, backend, slope)
    assert plain.counts.cells == compressed.counts.cells
    assert_equal_sums(numbers(compressed, backend), numbers(plain, backend), 1e-10)


@BACKENDS
@pytest.mark.parametrize("h", [5, 65])
@pytest.mark.parametrize("worth_it", [0, 10**9])
def test_the_sums_are_those_of_the_text(monkeypatch, make_backend, h, worth_it):
    """ZᵀZ and the rest, formed from Z itself."""
    backend, slope = make_backend(), 0.1
    X, Y, w, A = rows_in_few_cells(2, h, 2, weighted=True)
    monkeypatch.setattr(patterns, "WORTH_IT", worth_it)
    stats = pass_at(A, X, Y, w, backend, slope)
    X1, one = np.column_stack([np.ones(N), X]), np.sqrt(w)
    G = np.where(X1 @ A > 0, 1.0, slope)
    Z = (one[:, None, None] * G[:, :, None] * X1[:, None, :]).reshape(N, -1)
    Yw, p = one[:, None] * Y, 3
    ZtZ = backend.to_numpy(unpack(backend, stats)).reshape(h * p, h * p)
    assert_equal_sums(
        [ZtZ, *numbers(stats, backend)[1:]],
        [
            Z.T @ Z, (Z.T @ one).reshape(h, p), (Z.T @ Yw).reshape(h, p, 2), Yw.T @ one,
            np.array([w.sum(), (Yw**2).sum()]), (X1 @ A > 0).sum(0),
        ],
        1e-10,
    )  # fmt: skip


@BACKENDS
@pytest.mark.parametrize(("d", "h"), [(1, 1), (1, 5), (2, 62), (2, 63), (2, 64), (2, 65), (5, 130)])
def test_cells_are_counted_right(make_backend, d, h):
    X, Y, w, A = rows_in_few_cells(d, h, 1, weighted=True)
    F = np.column_stack([np.ones(N), X]) @ A > 0
    stats = pass_at(A, X, Y, w, make_backend(), 0.0)
    assert stats.counts.cells == len(np.unique(F, axis=0))
    assert stats.counts.rows == N


@BACKENDS
def test_groups_are_the_different_patterns_and_their_sums_hold_all_rows(make_backend):
    backend = make_backend()
    rng = np.random.default_rng(0)
    F, V = rng.random((500, 70)) < 0.02, rng.integers(0, 9, (500, 3)).astype(float)
    first, groups = backend.group_rows(backend.integers(F))
    sums = np.asarray(backend.sum_groups(backend.asarray(V), groups, len(first)))
    patterns, cell = np.unique(F, axis=0, return_inverse=True)
    expected = np.zeros((len(patterns), 3))
    np.add.at(expected, cell.ravel(), V)
    assert sorted(map(bytes, F[np.asarray(first)])) == sorted(map(bytes, patterns))
    found = {bytes(F[i]): tuple(total) for i, total in zip(np.asarray(first), sums, strict=True)}
    assert found == {bytes(f): tuple(t) for f, t in zip(patterns, expected, strict=True)}


@BACKENDS
def test_cells_are_counted_batch_by_batch(make_backend):
    X, Y, w, A = rows_in_few_cells(1, 6, 1, weighted=False)
    F = np.column_stack([np.ones(N), X]) @ A > 0
    parts = [len(np.unique(F[k : k + 1000], axis=0)) for k in range(0, N, 1000)]
    assert pass_at(A, X, Y, w, make_backend(), 0.0, batch_size=1000).counts.cells == sum(parts)


@BACKENDS
def test_products_are_formed_once_and_not_for_rows_of_other_weights(make_backend, monkeypatch):
    X, Y, _, A = rows_in_few_cells(1, 6, 1, weighted=False)
    backend, asked = make_backend(), []
    source = ArraySource(X, Y, None, Scaling.identity(1, 1), backend, N)
    targets = patterns.Rows.targets
    monkeypatch.setattr(
        patterns.Rows, "targets", lambda rows, some: asked.append(1) or targets(rows, some)
    )
    for scale in 1.0, 2.0:
        at = backend.asarray(scale * A)
        found = source.reduce(PatternPass(at, 0.0))
        new = pass_at(scale * A, X, Y, None, make_backend(), 0.0, N)
        assert_equal_sums(numbers(found, backend), numbers(new, backend), 1e-12)
    assert len(asked) == 3  # once, and in each new source
    source.reduce(PatternPass(at, 0.0, targets=False))
    assert len(asked) == 4


def test_compression_is_left_out_where_its_products_do_not_fit(monkeypatch):
    """More than `ROOM` bytes of products: the rows stay as they are, and are still counted."""
    X, Y, _, A = rows_in_few_cells(1, 4, 1, weighted=False)
    backend = NumpyBackend()
    rows = patterns.Rows(
        np.column_stack([np.ones(N), X]) @ A > 0, np.column_stack([np.ones(N), X]),
        np.column_stack([Y, np.ones(N)]),
    )  # fmt: skip
    few, counted = patterns.compress(backend, rows)
    assert isinstance(few, patterns.Cells)
    monkeypatch.setattr(patterns, "ROOM", 1)
    same, counted_again = patterns.compress(backend, rows)
    assert same is rows
    assert counted == counted_again == len(few.F)


@BACKENDS
def test_compression_in_single_precision(monkeypatch, make_backend):
    backend = make_backend("float32")
    X, Y, w, A = rows_in_few_cells(2, 65, 3, weighted=True)
    monkeypatch.setattr(patterns, "WORTH_IT", 10**9)
    plain = numbers(pass_at(A, X, Y, w, backend, 0.1), backend)
    monkeypatch.setattr(patterns, "WORTH_IT", 0)
    assert_equal_sums(numbers(pass_at(A, X, Y, w, backend, 0.1), backend), plain, 1e-4)
