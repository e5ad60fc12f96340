"""Compiled passes say what the same passes say in NumPy."""

import numpy as np
import pytest

from anmin.backends import NumpyBackend
from anmin.encoding import Encoding
from anmin.sources import ArraySource, Scaling
from anmin.sums.frame import ExplainedPass, FiringPass, Frame, ProductPass
from anmin.sums.output import GradientPass, OutputPass

pytest.importorskip("numba")
TOLERANCE = 2e-4


def source(kind, q, dtype="float32", n=5000, d=4):
    rng = np.random.default_rng(0)
    X, Y, w = rng.normal(size=(n, d)), rng.normal(size=(n, q)), rng.uniform(0.5, 2, n)
    scaling = Scaling.identity(d, q)
    if kind == "hinged":
        scaling = scaling.encoded_by(Encoding.fit(X, w, 12), X, w)
    return ArraySource(X, Y, w, scaling, NumpyBackend(dtype), n)


def passes(rows, q, slope, h=7):
    """What every pass comes to at one network."""
    rng, be, p = np.random.default_rng(1), rows.backend, rows.shape[1]
    A, V, W, root = (
        be.asarray(rng.normal(size=shape)) for shape in ((p, h), (p, h), (h + 1, q), (h + 1, h + 1))
    )
    frame = Frame(A, slope, root, be.asarray(W[:-1]))
    explained = rows.reduce(ExplainedPass(frame, V))
    output = rows.reduce(OutputPass(A, slope, rough=True))
    return [
        rows.reduce(FiringPass(frame, None)).GtG, explained,
        rows.reduce(ProductPass(frame, V, explained)), rows.reduce(GradientPass(A, W, slope)),
        output.StS, output.StY, np.array([output.n, output.YtY]),
    ]  # fmt: skip


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("kind", ["dense", "hinged"])
def test_they_are_what_numpy_says(kind, q, slope, monkeypatch):
    ours = passes(source(kind, q), q, slope)
    monkeypatch.setattr(NumpyBackend, "fused", lambda *_: None)
    for found, expected in zip(ours, passes(source(kind, q), q, slope), strict=True):
        assert found.dtype == expected.dtype
        size = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * size)


def test_hinges_are_looked_up_and_other_rows_are_left_alone():
    be, ones = NumpyBackend("float32"), np.ones((3, 2), np.float32)
    batch = next(iter(source("hinged", 1).batches()))
    assert be.fused(batch.X).place.shape == (5000, 4)
    assert be.fused(ones).place.shape == (3, 0)
    for other in (
        ones.T,
        ones.astype(float),
        next(iter(source("hinged", 1, "float64").batches())).X,
    ):
        assert be.fused(other) is None
    assert be.fused(object()) is None
