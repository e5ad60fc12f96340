"""Clipped inputs and hinges at quantiles."""

import numpy as np
import pytest

from anmin.backends import get_backend
from anmin.encoding import MOST_COLUMNS, Encoding
from anmin.sources import Scaling, counting_rows

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=500), RNG.exponential(size=500), RNG.integers(0, 4, 500)])


def test_any_function_of_a_few_valued_input_is_linear_in_its_hinges():
    encoding = Encoding.fit(X, None, 8)
    E = encoding(X)[:, encoding.inputs == 2]
    y = np.array([3.0, -1.0, 7.0, 0.5])[X[:, 2].astype(int)]
    C = np.column_stack([np.ones(500), E])
    left = y - C @ np.linalg.lstsq(C, y, rcond=None)[0]
    np.testing.assert_allclose(left, 0, atol=1e-10)


def test_hinges_follow_the_quantiles_and_end_at_0_and_1():
    encoding = Encoding.fit(X, None, 8)
    E = encoding(X)
    assert E.shape == (500, 3 + 8 + 8 + 3)
    for j, count in enumerate([8, 8, 3]):
        own = E[:, 3:][:, encoding.column == j]
        assert own.shape[1] == count
        np.testing.assert_allclose([own.min(0), own.max(0)], [[0] * count, [1] * count])
        order = np.argsort(X[:, j])
        assert (np.diff(own[order], axis=0) >= 0).all()
    np.testing.assert_allclose((E[:, 3:11] > 0).mean(0), 1 - np.arange(8) / 8, atol=0.01)


def test_a_row_twice_is_a_row_of_weight_two():
    w = RNG.integers(1, 4, 500).astype(float)
    one, other = Encoding.fit(X, w, 8), Encoding.fit(np.repeat(X, w.astype(int), axis=0), None, 8)
    for name in ("centre", "scale", "column", "low", "high"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_far_rows_stay_near():
    encoding = Encoding.fit(X, None, 4)
    far = encoding(np.array([[1e9, -1e9, 1e300]]))
    assert np.isfinite(far).all()
    assert np.abs(far).max() <= 3


def test_odd_inputs():
    Z = np.column_stack([np.ones(50), np.arange(50) % 2, np.r_[np.zeros(49), 1e12]])
    encoding = Encoding.fit(Z, None, 16)
    assert not np.isin([0, 1], encoding.column).any()  # constant and binary: no hinges
    assert np.isfinite(encoding(Z)).all()


def test_many_inputs_have_few_hinges():
    wide = RNG.normal(size=(100, 200))
    assert len(Encoding.fit(wide, None, 16).column) <= max(2, MOST_COLUMNS // 200) * 200


def test_without_hinges_the_inputs_are_the_same():
    encoding = Encoding.fit(X, None, 8)
    np.testing.assert_array_equal(encoding.without_hinges()(X), encoding(X)[:, :3])
    np.testing.assert_allclose(encoding.share()[3:11], 1 / np.sqrt(8))


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-13), ("float32", 1e-6)])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_device_of_pytorch_encodes_as_numpy_does(dtype, rtol, kind, monkeypatch):
    """A few rows at a time, by its own arithmetic, and the rows given stay as they are."""
    torch = pytest.importorskip("torch")
    from anmin.backends.torch import TorchBackend

    rng = np.random.default_rng(2)
    V, Y, w = X.astype(kind), rng.normal(size=(len(X), 2)), rng.uniform(0.5, 2.0, len(X))
    V[0] = 1e30, -1e30, 1e9
    before = V.copy()
    plain = Scaling.fit(X, Y, w)
    monkeypatch.setattr(TorchBackend, "scratch", 1000)
    monkeypatch.setattr("anmin.backends.numpy.kernels", lambda: None)  # hinges as columns
    for encoding in (Encoding.fit(X, w, 8), Encoding.fit(X, w, 0)):
        scaling = plain.encoded_by(encoding, X, w)
        rows = counting_rows(V, Y, w)
        ours, theirs = (
            next(rows.prepared(scaling, get_backend(where, dtype), 4096).batches())
            for where in ("cpu:0", "cpu")
        )
        assert isinstance(ours.X, torch.Tensor)
        for name in ("X", "Y"):
            one, other = getattr(ours, name).numpy(), getattr(theirs, name)
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)
        np.testing.assert_array_equal(V, before)
