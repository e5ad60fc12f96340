"""Rows as the core sees them: scaled, weighted, in batches that are kept or made anew."""

import numpy as np
import pytest
from conftest import make_data
from sklearn.preprocessing import StandardScaler

from anmin.backends import NumpyBackend
from anmin.sources import ArraySource, Batch, Scaling
from anmin.sources.batch import ROUND, Room, batch_rows
from anmin.sources.chunk import Chunk
from anmin.sources.scaling import measure
from anmin.sums.output import OutputPass


def rows(n=300, d=3, q=2):
    X, y = make_data(n, d, q)
    w = np.random.default_rng(1).uniform(0.2, 3.0, n)
    return X, y.reshape(n, q), w


def unit_scaling(X, Y, w=None):
    found = measure([Chunk(X, Y, w)])
    return Scaling.of(found).unit_target(found.y)


def source(X, Y, w=None, backend=None, batch_size=100):
    return ArraySource(X, Y, w, Scaling.fit(X, Y, w), backend or NumpyBackend(), batch_size)


# ---- scaling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1.0, 1e8, 1e150])
def test_scaling_is_that_of_scikit_learn(weighted, scale):
    X, Y, w = rows()
    w = w if weighted else None
    ours, theirs = Scaling.fit(scale * X, Y, w), StandardScaler().fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.x_mean, scale * theirs.mean_, rtol=1e-10)
    np.testing.assert_allclose(ours.x_scale, scale * theirs.scale_, rtol=1e-10)
    np.testing.assert_allclose(ours.y_mean, np.average(Y, axis=0, weights=w), rtol=1e-12)
    assert ours.y_scale == 1.0


@pytest.mark.parametrize("weighted", [False, True])
def test_constant_columns_keep_their_scale(weighted):
    """Also where the mean of a constant is not exactly that constant."""
    X, Y, w = rows(1000)
    X = np.column_stack([X, np.full(1000, 0.1), np.full(1000, 1e8 / 3), np.zeros(1000)])
    w = w if weighted else None
    ours, theirs = Scaling.fit(X, Y, w), StandardScaler().fit(X[:, :3], sample_weight=w)
    np.testing.assert_allclose(ours.x_scale, [*theirs.scale_, 1, 1, 1], rtol=1e-10)
    np.testing.assert_allclose(ours.x_mean[3:], X[0, 3:], rtol=1e-13)


def test_nearly_constant_columns():
    """A small signal on a large constant is a signal; rounding on it is none."""
    rng = np.random.default_rng(0)
    small = rng.normal(size=500)
    Y = np.zeros((500, 1))
    signal = Scaling.fit((1e6 + 1e-3 * small)[:, None], Y, None)
    assert signal.x_scale[0] == pytest.approx(1e-3 * small.std(), rel=1e-5)
    rounding = (1e6 + 1e-10 * np.sign(small))[:, None]  # one step of rounding, or none
    assert Scaling.fit(rounding, Y, None).x_scale[0] == 1


def test_scaling_of_many_rows_goes_by_chunks():
    X, Y, w = rows(150_000, 2, 1)
    ours, theirs = Scaling.fit(X, Y, w), StandardScaler().fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.x_mean, theirs.mean_, rtol=1e-10)
    np.testing.assert_allclose(ours.x_scale, theirs.scale_, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_unit_target_is_one_scale_for_all_outputs(weighted):
    X, Y, w = rows()
    Y = Y * [1.0, 50.0]
    w = w if weighted else None
    scaling = unit_scaling(X, Y, w)
    centred = (Y - scaling.y_mean) / scaling.y_scale
    assert np.average((centred**2).mean(axis=1), weights=w) == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_unit_target_neither_overflows_nor_vanishes(scale):
    X, Y, _ = rows()
    one, other = (unit_scaling(X, s * Y) for s in (1.0, scale))
    assert other.y_scale == pytest.approx(scale * one.y_scale, rel=1e-10)


def test_a_constant_target_keeps_its_scale():
    X, Y, _ = rows()
    Y = np.full_like(Y, 2.0)
    assert unit_scaling(X, Y).y_scale == 1.0


# ---- batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [7, 100, 300, 1000])
def test_batches_are_the_rows_in_their_order(batch_size):
    X, Y, w = rows()
    s = source(X, Y, w, batch_size=batch_size)
    batches = list(s.batches())
    assert [b.start for b in batches] == list(range(0, 300, batch_size))
    root = np.sqrt(w)[:, None]
    Xs = np.vstack([b.X for b in batches])
    np.testing.assert_allclose(Xs[:, :1], root)
    np.testing.assert_allclose(Xs[:, 1:], root * StandardScaler().fit_transform(X, sample_weight=w))
    Ys = np.vstack([b.Y for b in batches])
    np.testing.assert_allclose(Ys, root * (Y - np.average(Y, axis=0, weights=w)))
    assert s.shape == (300, 4, 2)
    assert sum(len(b) for b in batches) == len(s)


@pytest.mark.parametrize(("room", "kept"), [(0, 0), (100 * 6 * 8, 1), (10**9, 3)])
def test_batches_kept_or_not_are_the_same(monkeypatch, room, kept):
    X, Y, w = rows()
    A = np.random.default_rng(0).normal(size=(4, 5))
    reference = source(X, Y, w).reduce(OutputPass(A, 0.1))
    monkeypatch.setattr(NumpyBackend, "room", room)
    s = source(X, Y, w)
    for _ in range(3):
        again = s.reduce(OutputPass(A, 0.1))
        assert (again.StS == reference.StS).all()
        assert (again.StY == reference.StY).all()
    assert sum(b.room is not None for b in s.batches()) == kept
    one, other = list(s.batches()), list(s.batches())
    assert sum(a is b for a, b in zip(one, other, strict=True)) == kept


def test_a_kept_batch_remembers_until_asked_at_another_place():
    calls = []

    def ask(batch, at):
        return batch.once("F", at, lambda: calls.append(at) or len(calls))

    here, there = object(), object()
    kept = Batch(np.ones((2, 1)), np.ones((2, 1)), 0, Room(10**6))
    assert [ask(kept, at) for at in (here, here, there, here)] == [1, 1, 2, 3]
    passing = Batch(np.ones((2, 1)), np.ones((2, 1)), 0)
    assert [ask(passing, here) for _ in range(2)] == [4, 5]


@pytest.mark.parametrize("asked", [1, ROUND, ROUND + 1, 10 * ROUND])
def test_batch_sizes_are_rounded_up(asked):
    got = batch_rows(asked, NumpyBackend(), 64, 10, 1)
    assert got % ROUND == 0
    assert asked <= got < asked + ROUND


def test_automatic_batches_shrink_with_the_width():
    sizes = [batch_rows("auto", NumpyBackend(), 64, p, 1) for p in (2, 200, 20_000, 200_000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == ROUND // 4  # of very wide rows


# ---- parts --------------------------------------------------------------------------------------


def test_take_and_rows_give_some_of_the_rows():
    X, Y, w = rows()
    s, some = source(X, Y, w), np.array([3, 250, 17])
    taken, (batch,) = s.rows(some), s.take(some).batches()
    whole = s.rows(slice(0, 300))
    for got in (taken, batch):
        np.testing.assert_allclose(got.X, whole.X[some], rtol=1e-14)
        np.testing.assert_allclose(got.Y, whole.Y[some], rtol=1e-14)
    assert len(s.take(some)) == 3
    assert s.take(some).scaling is s.scaling
    assert s.take(some).weight == pytest.approx(w[some].sum())
    assert s.part(some).weight == pytest.approx(w[some].sum())
    assert s.weight == pytest.approx(w.sum())


def test_using_is_the_same_rows_in_another_arithmetic():
    X, Y, w = rows()
    s = source(X, Y, w)
    single = s.using(NumpyBackend("float32"))
    assert single.backend.dtype == np.float32
    assert s.take(np.arange(5), single.backend).backend is single.backend
    for one, other in zip(s.batches(), single.batches(), strict=True):
        assert other.X.dtype == other.Y.dtype == np.float32
        np.testing.assert_allclose(other.X, one.X, rtol=1e-6)
        np.testing.assert_allclose(other.Y, one.Y, rtol=1e-6)
