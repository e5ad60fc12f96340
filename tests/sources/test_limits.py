"""What sources refuse, and what they make of extreme numbers: each said in words that help."""

import numpy as np
import pytest
from conftest import make_data

from anmin import ANMINRegressor
from anmin.backends import NumpyBackend
from anmin.sources import BatchSource, CSVSource, ParquetSource, Scaling, counting_rows
from anmin.sources.batch import TARGET
from anmin.sources.chunk import LARGEST

pytestmark = pytest.mark.slow

MODEL = {"n_hidden": 4, "lam": 1e-3, "max_iter": 4, "random_state": 0}


def model(**settings):
    return ANMINRegressor(**(MODEL | settings))


def rows(n=300):
    X, y = make_data(n, 2)
    return X, y, np.random.default_rng(1).uniform(0.2, 2.0, n)


# ---- weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e155, 1e300])
@pytest.mark.parametrize("settings", [{}, {"lam": "auto"}, {"solver": "anmin"}], ids=str)
@pytest.mark.parametrize("container", ["arrays", "batches", "dask"])
def test_extreme_weights_count_by_their_ratios(factor, settings, container):
    X, y, w = rows()
    settings = {"max_iter": 20} | settings
    one, other = (fitted(container, X, y, v, settings) for v in (w / w.max(), w * factor))
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-6, atol=1e-6)
    assert other.loss_ == pytest.approx(one.loss_)
    assert np.var(y - other.predict(X)) < 0.5 * np.var(y)


def fitted(container, X, y, w, settings):
    if container == "arrays":
        return model(**settings).fit(X, y, w)
    if container == "batches":
        return model(**settings).fit(
            BatchSource([(X[:90], y[:90], w[:90]), (X[90:], y[90:], w[90:])])
        )
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    with dask.config.set(scheduler="synchronous"):
        return model(**settings).fit(*(da.from_array(part, chunks=len(X)) for part in (X, y, w)))


def test_ordinary_weights_are_not_touched():
    X, y, w = rows()
    assert counting_rows(X, y[:, None], w * 1e20).chunk.w[3] == w[3] * 1e20
    source = BatchSource([(X, y, w * 1e20)])
    assert source.measured.x.w == pytest.approx((w * 1e20).sum())
    assert source.weight_unit == 1.0


# ---- X and y ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1e308, -1.7e308])
@pytest.mark.parametrize(("column", "name"), [(0, "a"), (2, "y")])
@pytest.mark.parametrize("lam", [1e-3, "auto"])
def test_one_huge_cell_of_a_csv_file_is_named(tmp_path, value, column, name, lam):
    pytest.importorskip("pyarrow")
    X, y, _ = rows(50)
    table = np.column_stack([X, y])
    table[7, column] = value
    lines = ["a,b,y", *(",".join(map(str, row)) for row in table.tolist())]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(
        ValueError, match=rf"a.csv, row 7, column '{name}' is .*finite number; above 1e"
    ):
        model(lam=lam).fit(CSVSource(tmp_path / "a.csv"))
    assert model(lam=lam).fit(CSVSource(tmp_path / "a.csv", bad_rows="skip")).n_skipped_ == 1


@pytest.mark.parametrize("value", [1e160, -1.7e308])
@pytest.mark.parametrize("lam", [1e-3, "auto"])
def test_one_huge_cell_of_an_array_is_named(value, lam):
    X, y, _ = rows(50)
    spoiled = X.copy()
    spoiled[7, 1] = value
    with pytest.raises(ValueError, match=r"X and y, row 7, column 'X\[:, 1\]' is .*too large\.$"):
        model(lam=lam).fit(spoiled, y)
    y[9] = value
    with pytest.raises(ValueError, match=r"X and y, row 9, column 'y' is"):
        model(lam=lam).fit(X, y)


@pytest.mark.parametrize("scale", [1e37, 1e100, LARGEST / 1e3])
def test_a_huge_y_with_a_fixed_lam_is_blamed_on_y(scale):
    X, y, _ = rows(6000)
    with pytest.raises(ValueError, match=r"^y is too large: it reaches .* Divide y"):
        model().fit(X, scale * y)
    free = model(lam="auto").fit(X, scale * y)
    assert np.isfinite(free.loss_)
    assert np.var(y - free.predict(X) / scale) < 0.5 * np.var(y)


def test_a_large_y_is_fitted_in_its_units():
    X, y, _ = rows(6000)
    large = model().fit(X, y * 1e28)
    assert np.var(y - large.predict(X) / 1e28) < 0.5 * np.var(y)
    source = counting_rows(X, y[:, None] * TARGET * 10, None)
    prepared = source.prepared(Scaling.identity(2, 1), NumpyBackend(), 4096)
    with pytest.raises(ValueError, match="y is too large"):
        prepared.rows(slice(0, 10))


# ---- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"columns": []}, r"columns must be a list of names.*got \[\]"),
        ({"columns": "ab"}, r"columns must be a list of names.*got 'ab'"),
        ({"columns": ["a", "a"]}, r"asked for has more than one column 'a'"),
        ({"columns": ["a", "y"]}, r"asked for has more than one column 'y'"),
        ({"weight": "y"}, r"asked for has more than one column 'y'"),
        ({"target": []}, r"target must be a name"),
        ({"target": ["y", "y"]}, r"more than one column 'y'"),
    ],
)
def test_columns_that_cannot_be_meant(tmp_path, settings, complaint):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,3\n2,3,4\n")
    with pytest.raises(ValueError, match=complaint):
        CSVSource(tmp_path / "t.csv", **settings)


def test_files_with_a_name_twice(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "t.csv").write_text("a,a,b,y\n1,2,3,4\n2,3,4,5\n")
    with pytest.raises(ValueError, match=r"t.csv has more than one column 'a'"):
        model().fit(CSVSource(tmp_path / "t.csv"))
    assert model().fit(CSVSource(tmp_path / "t.csv", columns=["b"])).n_features_in_ == 1
    table = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 3, names=["a", "a", "y"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t.parquet has more than one column 'a'"):
        model().fit(ParquetSource(tmp_path / "t.parquet"))


def test_frames_with_a_name_twice():
    pd = pytest.importorskip("pandas")
    X, y, _ = rows(40)
    twice = pd.DataFrame(X, columns=["a", "a"])
    with pytest.raises(ValueError, match=r"batch 0: the frame has more than one column 'a'"):
        model().fit(BatchSource([(twice, y)]))
    dd = pytest.importorskip("dask.dataframe")
    parts = (dd.from_pandas(part, npartitions=2) for part in (twice, pd.Series(y)))
    with pytest.raises(ValueError, match=r"partition \d: the frame has more than one column 'a'"):
        model().fit(*parts)


def test_nothing_to_predict_from(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.csv").write_text("y\n1\n2\n")
    with pytest.raises(ValueError, match=r"t.csv'\) has no column to predict from"):
        model().fit(CSVSource(tmp_path / "t.csv"))


def test_an_underscore_is_no_part_of_a_number(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.csv").write_text("a,y\n1,2\n1_000,3\n")
    with pytest.raises(ValueError, match=r"row 1, column 'a' is nan \(missing or no number"):
        model().fit(CSVSource(tmp_path / "t.csv"))


# ---- rows that change between passes ------------------------------------------------------------


class Changing:
    """The same batch, until it is read for the k-th time: then `later`."""

    def __init__(self, k, first, later):
        self.k, self.first, self.later, self.reads = k, first, later, 0

    def __iter__(self):
        self.reads += 1
        found = self.first if self.reads <= self.k else self.later
        return iter([] if found is None else [found])


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("settings", [{}, {"lam": "auto"}, {"solver": "anmin"}], ids=str)
@pytest.mark.parametrize("kind", ["fewer rows", "no rows", "fewer columns"])
def test_batches_that_shrink_are_noticed(monkeypatch, k, settings, kind):
    monkeypatch.setattr(NumpyBackend, "room", 0)
    X, y, _ = rows()
    later = {"fewer rows": (X[:100], y[:100]), "no rows": None, "fewer columns": (X[:, :1], y)}
    with pytest.raises(ValueError, match="rows must not change during a fit"):
        model(**settings).fit(BatchSource(Changing(k, (X, y), later[kind])))
