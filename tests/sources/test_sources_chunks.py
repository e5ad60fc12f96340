"""Raw rows on their way: checked, cut into batches, measured, drawn by number."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anmin.backends import NumpyBackend
from anmin.sources import BatchSource, Scaling
from anmin.sources.batch import Batch, Room
from anmin.sources.chunk import (
    LARGEST,
    Chunk,
    Origin,
    ahead,
    checked,
    floats,
    in_batches,
    matrix,
    targets,
)
from anmin.sources.draws import Fold
from anmin.sources.scaling import Moments, measure


def chunk(n, d=2, start=0.0, w=None):
    X = start + np.arange(n * d, dtype=float).reshape(n, d)
    return Chunk(X, X[:, :1] + 0.5, w)


def pieces(sizes):
    """Consecutive rows in chunks of these sizes."""
    whole = chunk(sum(sizes))
    edges = np.cumsum([0, *sizes])
    return whole, [whole.select(slice(*edge)) for edge in pairwise(edges)]


# ---- batches ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 7))
def test_batches_are_the_same_rows(sizes, size):
    whole, parts = pieces(sizes)
    batches = list(in_batches(parts, size))
    np.testing.assert_array_equal(np.vstack([b.X for b in batches]), whole.X)
    np.testing.assert_array_equal(np.vstack([b.Y for b in batches]), whole.Y)
    assert {len(batch) for batch in batches[:-1]} <= {size}


def test_batches_keep_the_count_of_rows_left_out():
    _, parts = pieces([3, 0, 4])
    for part, skipped in zip(parts, (2, 5, 1), strict=True):
        part.skipped = skipped
    assert sum(batch.skipped for batch in in_batches(parts, 2)) == 8


def test_weights_may_come_with_some_chunks_only():
    some = [chunk(2, w=np.array([2.0, 3.0])), chunk(1)]
    np.testing.assert_array_equal(Chunk.join(some).w, [2, 3, 1])


def test_reading_ahead_happens_in_one_other_thread():
    threads = set()

    def items():
        for i in range(5):
            threads.add(threading.current_thread().name)
            yield i

    assert list(ahead(items())) == list(range(5))
    assert len(threads) == 1
    assert threading.current_thread().name not in threads


def test_an_error_while_reading_ahead_arrives():
    def items():
        yield 1
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(ahead(items()))


def test_reading_ahead_may_be_left():
    source = ahead(iter(range(100)))
    assert next(source) == 0
    source.close()


# ---- checks -------------------------------------------------------------------------------------

HERE = Origin("here", 10, ["a", "b", "y", "w"])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("part", "column", "name"), [("X", 1, "b"), ("Y", 0, "y"), ("w", 0, "w")])
def test_a_bad_cell_is_named(value, part, column, name):
    bad = chunk(4, w=np.ones(4))
    getattr(bad, part).reshape(4, -1)[2, column] = value
    with pytest.raises(ValueError, match=rf"here, row 12, column '{name}' is {value}.*bad_rows"):
        checked(bad, HERE, "error")
    good = checked(bad, HERE, "skip")
    assert (len(good), good.skipped) == (3, 1)


def test_large_numbers_are_not_bad_until_their_squares_overflow():
    large = chunk(4)
    large.X[:] = LARGEST
    assert checked(large, HERE, "error") is large
    large.X[2, 1] = -1e308
    with pytest.raises(ValueError, match=r"row 12, column 'b' is -1e\+308, .*too large"):
        checked(large, HERE, "error")
    assert checked(large, HERE, "skip").skipped == 1


def test_rows_of_weight_zero_are_no_rows():
    few = checked(chunk(4, w=np.array([1.0, 0.0, 2.0, 0.0])), HERE, "error")
    np.testing.assert_array_equal(few.w, [1, 2])
    assert few.skipped == 0
    with pytest.raises(ValueError, match="weight is"):
        checked(chunk(2, w=np.array([1.0, -1.0])), HERE, "skip")


def test_cells_that_are_no_numbers():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "4"], "c": pd.array([None, 5], dtype="Int64")})
    np.testing.assert_array_equal(matrix(table), [[1, np.nan, np.nan], [2, 4, 5]])
    assert matrix(np.ones((2, 1), dtype=np.float32)).dtype == np.float32
    assert matrix(np.ones((2, 2), dtype=bool)).dtype == np.float64
    assert matrix(table[[]]).shape == (2, 0)
    np.testing.assert_array_equal(floats(np.array([True, False])), [1, 0])
    assert targets(table[["a"]]).shape == targets([1, 2]).shape == (2, 1)
    with pytest.raises(ValueError, match="two axes"):
        matrix(np.ones(3))


# ---- moments ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any), st.integers(0, 10**6))
def test_moments_add(sizes, seed):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    V, w = rng.normal(size=(n, 2)) * [1e-3, 1e6] + [1e3, 0.0], rng.uniform(0.1, 2.0, n)
    edges = np.cumsum([0, *sizes])
    parts = [Moments.of(V[a:b], w[a:b]) for a, b in pairwise(edges)]
    total = sum(parts[1:], start=parts[0])
    whole = Moments.of(V, w)
    assert total.n == n
    np.testing.assert_allclose(total.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(total.deviation, whole.deviation, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal([total.low, total.high], [whole.low, whole.high])


def test_the_moments_do_not_depend_on_how_rows_arrive():
    """To the last bit, whatever the chunks and their memory layout."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(20_000, 3)), rng.uniform(0.5, 2.0, 20_000)
    Y = X[:, :1] ** 2
    whole = Scaling.of(measure([Chunk(X, Y, w)]))
    cut = [Chunk(np.asfortranarray(X[a : a + 777]), Y[a : a + 777], w[a : a + 777])
           for a in range(0, 20_000, 777)]  # fmt: skip
    pieces = Scaling.of(measure(cut))
    for name in ("x_mean", "x_scale", "y_mean"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))


def test_nothing_to_measure():
    assert measure([]) is None
    assert measure([chunk(0)]).x.n == 0


def test_a_timestamp_over_many_rows_is_no_constant():
    """The threshold for constants does not grow with the number of rows beyond a block."""
    moments = Moments.of((1.7e9 + np.arange(100.0))[:, None], None)
    many = Moments(10**9, 1e9, moments.low, moments.high, moments.mean, moments.square * 1e7)
    assert many.deviation[0] > many.rounding[0]


# ---- what a source keeps ------------------------------------------------------------------------


def batch_source(n=20_000, d=3):
    X = np.random.default_rng(0).normal(size=(n, d))
    return BatchSource([(X[: n // 3], X[: n // 3, 0]), (X[n // 3 :], X[n // 3 :, 0])])


def test_a_stream_is_kept_whole_or_not_at_all(monkeypatch):
    raw = batch_source()
    size = 20_000 * 5 * 8
    for room, kept in ((size, 5), (size - 1, 0)):
        monkeypatch.setattr(NumpyBackend, "room", room)
        source = raw.prepared(Scaling.of(raw.measured), NumpyBackend(), 4096)
        first = [batch.X.copy() for batch in source.batches()]
        assert sum(batch.room is not None for batch in source.batches()) == kept
        for one, other in zip(first, source.batches(), strict=True):
            np.testing.assert_array_equal(one, other.X)


def test_what_a_batch_remembers_is_bounded():
    batch = Batch(np.ones((10, 1)), np.ones((10, 1)), 0, Room(200))
    here, there = object(), object()
    small, large = np.ones(20), np.ones(30)
    assert batch.once("a", here, lambda: small) is small
    assert batch.once("a", here, lambda: None) is small
    assert batch.once("b", here, lambda: large) is large  # no room: not remembered
    assert batch.once("b", here, lambda: None) is None
    batch.once("a", there, lambda: (np.ones(1), np.ones(1)))
    assert batch.room.left == 200 - 16


def test_a_part_of_a_stream_is_a_stream():
    raw = batch_source()
    fold = Fold(1, 0.25, 0, True)
    source = raw.prepared(Scaling.of(raw.measured), NumpyBackend(), 4096)
    part, numbers = source.part(fold), fold(0, Chunk.join([*raw.read()]))
    assert len(part) == part.weight == len(numbers)
    np.testing.assert_array_equal(
        np.vstack([batch.X for batch in part.batches()]), source.rows(numbers).X
    )
    np.testing.assert_array_equal(part.rows(np.array([7, 2])).X, source.rows(numbers[[7, 2]]).X)
    np.testing.assert_array_equal(
        part.part(np.array([1, 3])).rows(slice(None)).X, source.rows(numbers[[1, 3]]).X
    )


def test_rows_that_change_during_a_fit_are_noticed(monkeypatch):
    monkeypatch.setattr(NumpyBackend, "room", 0)
    data = [(np.ones((5, 1)), np.ones(5))]
    raw = BatchSource(data)
    source = raw.prepared(Scaling.of(raw.measured), NumpyBackend(), 4096)
    data.append((np.ones((2, 1)), np.ones(2)))
    with pytest.raises(ValueError, match="gave 5 rows at first and 7 now"):
        list(source.batches())
