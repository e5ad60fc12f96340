"""Random rows and folds, in which copies of a row lie together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from anmin.backends.compiled import kernels
from anmin.sources.chunk import Chunk
from anmin.sources.draws import TABLE, Chosen, Fold, Groups, draw, keys, mixed, row_and_input_keys
from anmin.sources.raw import ArrayRows


@pytest.mark.parametrize(("n", "k"), [(10, 10), (1000, 300), (TABLE + 1, TABLE), (10**12, 5000)])
def test_draws_are_different_numbers_in_order(n, k):
    rows = draw(n, k, np.random.RandomState(0))
    assert len(rows) == k
    assert (np.diff(rows) > 0).all()
    assert 0 <= rows[0] <= rows[-1] < n
    np.testing.assert_array_equal(rows, draw(n, k, np.random.RandomState(0)))


def test_draws_are_uniform():
    rows = draw(10 * TABLE, 20_000, np.random.RandomState(1))
    assert np.histogram(rows, 10, (0, 10 * TABLE))[0].min() > 1800


def rows_of(X, y=None):
    return Chunk(X, np.zeros((len(X), 1)) if y is None else y[:, None])


@pytest.mark.parametrize("n", [50, TABLE + 5])
def test_folds_are_a_partition(n):
    rows = ArrayRows(rows_of(np.arange(n, dtype=float)[:, None]))
    folds = rows.groups().folds(0.2, 5, np.random.RandomState(0))
    seen = np.zeros(n, dtype=int)
    for train, out in folds:
        kept, held = (p if isinstance(p, np.ndarray) else p(0, rows.chunk) for p in (train, out))
        assert len(kept) + len(held) == n
        assert len(held) == pytest.approx(0.2 * n, rel=0.01)
        seen[held] += 1
    assert (seen == 1).all()


@given(st.integers(0, 1000), st.integers(1, 50))
def test_a_fold_does_not_depend_on_chunks(first, n):
    fold, X = Fold(3, 0.3, 1, True), np.random.default_rng(0).normal(size=(first + n, 2))
    whole = fold(0, rows_of(X))
    np.testing.assert_array_equal(fold(first, rows_of(X[first:])) + first, whole[whole >= first])


def test_chosen_rows_may_come_twice():
    chosen = Chosen(np.array([1, 4, 4, 9]))
    np.testing.assert_array_equal(chosen(3, rows_of(np.zeros((4, 1)))), [1, 1])


# ---- copies of a row ----------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.sampled_from([1, 3]), st.sampled_from([1, 8, 1000]))
def test_rows_are_equal_where_their_keys_are(seed, d, values):
    """Whole numbers, whose bits are nearly all zero, and mixtures of columns."""
    V = np.random.default_rng(seed).integers(-values, values + 1, (400, d + 1)).astype(float)
    V[::7] *= -0.0
    _, expected = np.unique(V + 0.0, axis=0, return_inverse=True)
    _, found = np.unique(keys(rows_of(V[:, :d], V[:, d])), return_inverse=True)
    pairs = set(zip(expected.ravel(), found, strict=True))
    assert len(pairs) == expected.max() + 1 == found.max() + 1


@pytest.mark.parametrize("kind", ["float64", "float32", "fortran", "read-only", "wide", "sparse"])
@pytest.mark.parametrize("seed", [0, 7])
def test_keys_have_the_same_bits_compiled_or_not(kind, seed, monkeypatch):
    """And are those of the formula, in which the part of X does not know of Y."""
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(1100, 2500 if kind == "wide" else 5)), 1) * 3.0
    X[::3] *= -0.0
    X, Y = X.astype("float32" if kind == "float32" else "float64"), rng.normal(size=(1100, 2))
    V = np.hstack([X, Y], dtype=float) + 0.0
    X = np.asfortranarray(X) if kind == "fortran" else csr_array(X) if kind == "sparse" else X
    if kind == "read-only":
        X.flags.writeable = False
    factor = np.random.Philox(key=seed).random_raw(V.shape[1]) | np.uint64(1)
    d, parts = X.shape[1], mixed(mixed(V.view(np.uint64)) * factor)
    rows, inputs = mixed(parts.sum(axis=1)), mixed(parts[:, :d].sum(axis=1))
    for found in (kernels, lambda: None):
        monkeypatch.setattr("anmin.sources.draws.kernels", found)
        np.testing.assert_array_equal(keys(Chunk(X, Y), seed), rows)
        if seed == 0:
            both = row_and_input_keys(Chunk(X, Y))
            np.testing.assert_array_equal(both, np.column_stack([rows, inputs]))


@given(st.integers(0, 2**32), st.sampled_from([2, 40, 10**6]), st.sampled_from([2, 40]))
def test_groups_are_those_that_a_dictionary_finds(seed, values, inputs):
    """In the order in which they come; rows of equal X and different keys stand alone."""
    rng = np.random.default_rng(seed)
    row = rng.integers(0, values, 60).astype(np.uint64)
    x = row % np.uint64(inputs)
    different = {int(v): len(np.unique(row[x == v])) for v in x}
    for given_inputs in (None, x):
        known, expected = {}, []
        for i, key in enumerate(row):
            alone = given_inputs is not None and different[int(x[i])] > 1
            expected.append(known.setdefault(("row", i) if alone else int(key), len(known)))
        found = Groups.of(row, given_inputs)
        assert found.count == len(known)
        assert found.of_row.tolist() == expected


def test_the_bits_of_keys_are_even():
    bits = np.unpackbits(keys(rows_of(np.arange(20_000.0)[:, None])).view(np.uint8)).reshape(-1, 64)
    assert abs(bits.mean(0) - 0.5).max() < 0.02
    assert abs(np.corrcoef(bits.T) - np.eye(64)).max() < 0.04


@pytest.mark.parametrize("repeat", [np.repeat, lambda X, k, axis: np.tile(X, (k, 1))])
def test_copies_lie_on_one_side_and_change_no_fold(repeat):
    X = np.random.default_rng(0).normal(size=(60, 2))

    def sides(X):
        rows = ArrayRows(rows_of(X))
        return [
            [set(map(tuple, rows.part(p).chunk.X)) for p in fold]
            for fold in rows.groups().folds(0.2, 5, np.random.RandomState(0))
        ]

    assert sides(repeat(X, 4, axis=0)) == sides(X)


def test_copies_lie_on_one_side_where_there_is_no_table():
    X = np.tile(np.random.default_rng(0).normal(size=(3000, 2)), (2, 1))
    rows = ArrayRows(rows_of(X))
    for fold in rows.groups(most=100).folds(0.2, 5, np.random.RandomState(0)):
        train, out = (set(map(tuple, rows.part(p).chunk.X)) for p in fold)
        assert not train & out
        assert len(out) == pytest.approx(600, abs=80)


def test_without_copies_every_row_is_a_group():
    groups = Groups.of(np.array([7, 3, 5]))
    np.testing.assert_array_equal(groups.of_row, [0, 1, 2])
    np.testing.assert_array_equal(Groups.of(np.array([7, 3, 7, 3, 5])).of_row, [0, 1, 0, 1, 2])


def test_equal_rows_are_chance_where_their_inputs_come_with_other_targets():
    X = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)
    y = np.array([0, 1, 0, 1] + [5] * 4 + [2, 2, 2, 3])
    groups = ArrayRows(rows_of(X, y.astype(float))).groups()
    np.testing.assert_array_equal(groups.of_row, [0, 1, 2, 3, 4, 4, 4, 4, 5, 6, 7, 8])
    assert groups.count == 9
