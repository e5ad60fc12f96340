"""A source of one's own: a class with `chunks`, and no more."""

import numpy as np
import pytest
from conftest import make_data

from anmin import ANMINRegressor, sources
from anmin.backends import NumpyBackend
from anmin.sources import Chunk, Origin, RawSource, Scaling, Source

MODEL = {"n_hidden": 4, "lam": 1e-3, "max_iter": 4, "random_state": 0}


class Halves(RawSource):
    """Rows in two chunks, of an object that has them."""

    def __init__(self, X, y=None, weight=None, bad_rows="error"):
        super().__init__(bad_rows)
        self.X, self.y, self.w = X.rows, y, weight

    @classmethod
    def wraps(cls, X):
        return isinstance(X, Holder)

    def chunks(self):
        n = len(self.X)
        for k, rows in enumerate((slice(0, n // 2), slice(n // 2, n))):
            Y = np.empty((n, 0)) if self.y is None else self.y[:, None]
            w = None if self.w is None else self.w[rows]
            yield Chunk(self.X[rows], Y[rows], w), Origin(f"half {k}")


class Holder:
    def __init__(self, rows):
        self.rows = rows


@pytest.fixture
def data():
    X, y = make_data(300, 2)
    return X, y, np.random.default_rng(0).uniform(0.5, 2.0, 300)


def test_it_fits_and_predicts_as_arrays_do(data):
    X, y, w = data
    ours = ANMINRegressor(**MODEL).fit(X, y, w)
    source = Halves(Holder(X), y, w)
    theirs = ANMINRegressor(**MODEL).fit(source)
    np.testing.assert_array_equal(theirs.A_, ours.A_)
    np.testing.assert_allclose(theirs.predict(source), ours.predict(X), rtol=1e-12)


def test_one_line_makes_fit_take_its_container(data, monkeypatch):
    X, y, w = data
    monkeypatch.setattr(sources, "WRAPPERS", [*sources.WRAPPERS, Halves])
    model = ANMINRegressor(**MODEL).fit(Holder(X), y, w)
    np.testing.assert_array_equal(model.A_, ANMINRegressor(**MODEL).fit(X, y, w).A_)
    assert model.predict(Holder(X)).shape == (300,)
    with pytest.raises(ValueError, match="y is missing"):
        ANMINRegressor(**MODEL).fit(Holder(X))


def test_its_bad_cells_and_its_names(data):
    X, y, _ = data
    X[200, 1] = np.nan
    with pytest.raises(ValueError, match=r"half 1, row 50, column 'X\[:, 1\]' is nan"):
        ANMINRegressor(**MODEL).fit(Halves(Holder(X), y))
    source = Halves(Holder(X), y, bad_rows="skip")
    source.names = ["a", "b"]
    model = ANMINRegressor(**MODEL).fit(source)
    assert np.flatnonzero(np.isnan(model.predict(source))).tolist() == [200]
    source.names = ["b", "a"]
    with pytest.raises(ValueError, match=r"has the columns .*'b', 'a'.*the model expects"):
        model.predict(source)


def test_chunks_of_different_widths_are_refused(data):
    X, y, _ = data

    class Uneven(Halves):
        def chunks(self):
            for k, (chunk, origin) in enumerate(super().chunks()):
                yield Chunk(chunk.X[:, k:], chunk.Y), origin

    with pytest.raises(ValueError, match=r"half 1 has X .*expected \(n, 2\) and \(n, 1\)"):
        ANMINRegressor(**MODEL).fit(Uneven(Holder(X), y))


def test_the_same_function_standardises_everywhere(data):
    """For training, single precision of the input and predictions alike."""
    X, y, w = data
    source = Halves(Holder(X), y, w)
    scaling = Scaling.of(source.measured)
    prepared: Source = source.prepared(scaling, NumpyBackend(), 4096)
    batch = prepared.rows(slice(0, 300))
    np.testing.assert_array_equal(batch.X[:, 1:], scaling.inputs(X) * np.sqrt(w)[:, None])
    np.testing.assert_array_equal(batch.Y, scaling.targets(y[:, None]) * np.sqrt(w)[:, None])
    assert scaling.inputs(X.astype(np.float32)).dtype == np.float64
