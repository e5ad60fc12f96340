"""Files, memory maps and a user's batches: what they read, and what they refuse."""

import containers
import numpy as np
import pytest
from conftest import make_data
from sklearn.model_selection import KFold

from anmin import ANMINClassifier, ANMINRegressor
from anmin.sources import BatchSource, CSVSource, ParquetSource

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MODEL = {"n_hidden": 3, "lam": 1e-3, "max_iter": 2, "random_state": 0}


def model(**settings):
    return ANMINRegressor(**(MODEL | settings))


def write(path, **columns):
    pq.write_table(pa.table(columns), path, row_group_size=4)
    return path


@pytest.fixture
def table():
    X, y = make_data(30, 2)
    return {"a": X[:, 0], "b": X[:, 1], "y": y}


# ---- which files, which columns -----------------------------------------------------------------


def test_files_are_read_in_the_order_of_their_names(tmp_path):
    (tmp_path / "deep").mkdir()
    for name, value in {"b": 2.0, "a": 1.0, "deep/c": 3.0}.items():
        write(tmp_path / f"{name}.parquet", x=[value], y=[0.0])
    everything = ParquetSource(tmp_path)
    assert [float(c.X[0, 0]) for c in everything.read()] == [1, 2, 3]
    assert len(ParquetSource(str(tmp_path / "*.parquet")).paths) == 2
    assert ParquetSource(tmp_path / "b.parquet").paths == [str(tmp_path / "b.parquet")]
    given = ParquetSource([tmp_path / "b.parquet", tmp_path / "a.parquet"])
    assert [float(c.X[0, 0]) for c in given.read()] == [2, 1]
    assert "a.parquet' and 2 more" in repr(everything)
    with pytest.raises(FileNotFoundError, match="no file"):
        ParquetSource(tmp_path / "*.csv")


def test_columns_by_name(tmp_path, table):
    path = write(tmp_path / "a.parquet", **table, z=np.ones(30), w=np.full(30, 2.0))
    source = ParquetSource(path, target=["y", "z"], weight="w")
    assert source.names == ["a", "b"]
    chunk = next(source.read())
    np.testing.assert_array_equal(chunk.Y[:, 0], table["y"][: len(chunk)])
    np.testing.assert_array_equal(chunk.w, 2)
    fitted = model().fit(ParquetSource(path, columns=["b"], weight="w"))
    assert list(fitted.feature_names_in_) == ["b"]
    assert fitted.predict(ParquetSource(path)).shape == (30,)
    assert model().fit(source).predict(source).shape == (30, 2)


def test_columns_may_stand_elsewhere_in_another_file(tmp_path, table):
    write(tmp_path / "1.parquet", **table)
    write(tmp_path / "2.parquet", y=table["y"], b=table["b"], more=["text"] * 30, a=table["a"])
    one, other = (np.vstack([c.X for c in ParquetSource(p).read()]) for p in (
        tmp_path / "1.parquet", [tmp_path / "1.parquet", tmp_path / "2.parquet"]))  # fmt: skip
    np.testing.assert_array_equal(other, np.vstack([one, one]))


def test_predictions_go_by_name_and_need_no_target(tmp_path, table):
    train = ParquetSource(write(tmp_path / "train.parquet", **table))
    test = write(tmp_path / "test.parquet", b=table["b"], a=table["a"])
    fitted = model().fit(train)
    np.testing.assert_array_equal(fitted.predict(ParquetSource(test)), fitted.predict(train))
    missing = write(tmp_path / "missing.parquet", a=table["a"], c=table["b"])
    with pytest.raises(ValueError, match=r"missing.parquet has no column 'b'; it has a, c"):
        fitted.predict(ParquetSource(missing))


def test_a_missing_target_is_named(tmp_path, table):
    path = write(tmp_path / "a.parquet", **table)
    with pytest.raises(ValueError, match="no column 'price'; it has a, b, y"):
        model().fit(ParquetSource(path, target="price"))


def test_other_numbers_and_files(tmp_path, table):
    narrow = {name: values.astype(np.float32) for name, values in table.items()}
    narrow["flag"] = np.arange(30) % 2 == 0
    narrow["count"] = pa.array(np.arange(30), pa.int16())
    narrow["code"] = pa.array([str(i % 3) for i in range(30)]).dictionary_encode()
    path = write(tmp_path / "a.parquet", **narrow)
    chunk = next(ParquetSource(path).read())
    np.testing.assert_array_equal(chunk.X[:3, 2:], [[1, 0, 0], [0, 1, 1], [1, 2, 2]])
    (tmp_path / "b.parquet").write_text("no table")
    with pytest.raises(ValueError, match=r"b.parquet is not a Parquet file"):
        model().fit(ParquetSource(tmp_path / "b.parquet"))


def test_csv_dialects(tmp_path):
    (tmp_path / "a.csv").write_text('x;y\n"1";2\n 3 ;4\n1e2;"5"\n')
    source = CSVSource(tmp_path / "a.csv", delimiter=";")
    np.testing.assert_array_equal(next(source.read()).X[:, 0], [1, 3, 100])
    (tmp_path / "b.csv").write_text("x,y\n1,2\n1,2,3\n")
    with pytest.raises(ValueError, match=r"b.csv.*Expected 2 columns, got 3"):
        model().fit(CSVSource(tmp_path / "b.csv"))
    (tmp_path / "c.csv").write_text("")
    with pytest.raises(ValueError, match=r"c.csv cannot be read as CSV"):
        model().fit(CSVSource(tmp_path / "c.csv"))


def test_a_csv_in_several_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("anmin.sources.readers.BLOCK", 200)
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{i},{2 * i}\n" for i in range(100)))
    chunks = list(CSVSource(tmp_path).read())
    assert len(chunks) > 1
    np.testing.assert_array_equal(np.vstack([c.X for c in chunks])[:, 0], np.arange(100))
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 100 + "1,2,3\n")
    with pytest.raises(ValueError, match=r"a.csv, after row \d+: .*Expected 2 columns"):
        list(CSVSource(tmp_path).read())


# ---- bad rows -----------------------------------------------------------------------------------


def spoiled(folder, kind):
    """31 files, the 30th of which has cells that are no numbers."""
    for i in range(31):
        x = [1.0 * i, 2.0, 3.0, 4.0, 5.0, 6.0]
        if i == 29:
            x = [1.0, 2.0, 3.0, 4.0, None, 6.0] if kind == "parquet" else [*"12345", "six"]
        columns = {"x": x, "z": [1.0] * 6, "y": [0.5] * 6}
        if kind == "parquet":
            write(folder / f"part-{i:02}.parquet", **columns)
        else:
            lines = [",".join(map(str, cells)) for cells in zip(*columns.values(), strict=True)]
            (folder / f"part-{i:02}.csv").write_text("\n".join(["x,z,y", *lines]))
    return {"parquet": ParquetSource, "csv": CSVSource}[kind]


def test_a_bad_cell_says_where_it_is(tmp_path):
    source = spoiled(tmp_path, "parquet")
    with pytest.raises(
        ValueError, match=r"part-29.parquet, row group 1, row 4, column 'x' is nan.*bad_rows"
    ):
        model().fit(source(tmp_path))


def test_a_bad_cell_of_a_csv_file(tmp_path):
    source = spoiled(tmp_path, "csv")
    with pytest.raises(ValueError, match=r"part-29.csv, row 5, column 'x' is nan"):
        model().fit(source(tmp_path))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_bad_rows_are_left_out_and_counted(tmp_path, kind):
    source = spoiled(tmp_path, kind)(tmp_path, bad_rows="skip")
    fitted = model().fit(source)
    assert source.n_skipped_ == fitted.n_skipped_ == 1
    predictions = fitted.predict(source)
    assert predictions.shape == (31 * 6,)  # every prediction in its row's place
    bad = 29 * 6 + (4 if kind == "parquet" else 5)
    assert np.flatnonzero(np.isnan(predictions)).tolist() == [bad]
    with pytest.raises(ValueError, match="part-29"):
        fitted.predict(type(source)(tmp_path))


def test_skipping_is_the_fit_without_them(tmp_path, table):
    path = write(tmp_path / "a.parquet", **table)
    clean = model().fit(ParquetSource(path))
    bad = {name: np.insert(values, 5, np.nan) for name, values in table.items()}
    rest = model().fit(ParquetSource(write(tmp_path / "b.parquet", **bad), bad_rows="skip"))
    np.testing.assert_array_equal(rest.A_, clean.A_)


def test_nothing_left(tmp_path):
    path = write(tmp_path / "a.parquet", x=[float("nan")] * 2, y=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"no row with a positive weight \(2 bad ones"):
        model().fit(ParquetSource(path, bad_rows="skip"))
    with pytest.raises(ValueError, match="'x' is nan"):
        model().fit(ParquetSource(path))
    with pytest.raises(ValueError, match="bad_rows must be"):
        ParquetSource(path, bad_rows="ignore")


# ---- a user's batches ---------------------------------------------------------------------------


def test_batches_from_a_function_and_as_frames():
    pd = pytest.importorskip("pandas")
    X, y = make_data(60, 2)

    def frames():
        for rows in (slice(0, 40), slice(40, 60)):
            yield pd.DataFrame(X[rows], columns=["a", "b"]), y[rows]

    fitted = model().fit(BatchSource(frames))
    assert list(fitted.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(fitted.A_, model().fit(X, y).A_)
    swapped = BatchSource([pd.DataFrame(X[:, ::-1], columns=["b", "a"])])
    np.testing.assert_array_equal(fitted.predict(swapped), fitted.predict(BatchSource(frames)))


@pytest.mark.parametrize(
    ("batches", "complaint"),
    [
        ([(np.ones((2, 1)),)], r"batch 0 must be \(X, y\)"),
        ([(np.ones((2, 1)), np.ones(2)), (np.ones((2, 3)), np.ones(2))], r"batch 1 .*\(n, 1\)"),
        ([(np.ones((2, 1)), np.ones(3))], r"batch 0 .*shapes \(2, 1\) and \(3, 1\)"),
        ([(np.ones((2, 1)), np.ones(2), np.ones(3))], r"batch 0 .*\(2, 1\) and \(3,\)"),
        ([(np.array([[1.0], [np.nan]]), np.ones(2))], r"batch 0, row 1, column 'X\[:, 0\]' is nan"),
        ([(np.array([["1"], ["b"]]), np.ones(2))], r"batch 0, row 1, column 'X\[:, 0\]' is nan"),
        ([(np.ones((2, 1)), np.ones(2), np.zeros(2))], "no row with a positive weight"),
        ([], "no row with a positive weight"),
    ],
)
def test_batches_that_do_not_do(batches, complaint):
    with pytest.raises(ValueError, match=complaint):
        model().fit(BatchSource(batches))


def test_batches_must_come_again():
    with pytest.raises(TypeError, match="more than once"):
        BatchSource(iter([]))
    with pytest.raises(TypeError, match="more than once"):
        BatchSource(3)


def test_batches_without_a_row_in_predict():
    fitted = model().fit(*make_data(60, 2))
    with pytest.raises(ValueError, match="no rows to predict"):
        fitted.predict(BatchSource([]))
    with pytest.raises(ValueError, match="batch 0 has 3 columns; the model expects 2"):
        fitted.predict(BatchSource([np.ones((4, 3))]))


# ---- memory maps --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_a_memory_map_is_never_copied_whole(tmp_path, monkeypatch, dtype):
    """Also where its numbers must be converted."""
    monkeypatch.setattr("anmin.sources.arrays.READ", 1000)
    X, y = make_data(9000, 2)
    X = (1000 * X).astype(dtype)
    mapped, _, w = containers.memmap(tmp_path, X, y, np.ones(9000))
    sizes = []
    convert = np.array
    monkeypatch.setattr(
        "anmin.sources.arrays.np.array",
        lambda values, **options: (
            sizes.append(len(np.atleast_1d(values))) or convert(values, **options)
        ),
    )
    fitted = model().fit(mapped, y, w)
    assert max(sizes) == 1000
    np.testing.assert_array_equal(fitted.A_, model().fit(X.astype(float), y).A_)
    np.testing.assert_allclose(fitted.predict(mapped), fitted.predict(X), rtol=1e-6)


def test_memory_maps_that_do_not_match(tmp_path):
    X, y = make_data(50, 2)
    mapped, *_ = containers.memmap(tmp_path, X, y)
    with pytest.raises(ValueError, match=r"y has shape \(49,\) but X has 50 rows"):
        model().fit(mapped, y[1:])
    with pytest.raises(ValueError, match=r"sample_weight has shape"):
        model().fit(mapped, y, np.ones(3))
    X[20, 1] = np.nan
    mapped, *_ = containers.memmap(tmp_path, X, y)
    with pytest.raises(ValueError, match=r"row 20, column 'X\[:, 1\]' is"):
        model().fit(mapped, y)


# ---- estimators ---------------------------------------------------------------------------------


def test_a_source_brings_its_own_targets(tmp_path, table):
    source = ParquetSource(write(tmp_path / "a.parquet", **table))
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        model().fit(source, table["y"])


def test_names_are_forgotten_with_the_next_fit(tmp_path, table):
    fitted = model().fit(ParquetSource(write(tmp_path / "a.parquet", **table)))
    fitted.fit(BatchSource([make_data(30, 2)]))
    assert not hasattr(fitted, "feature_names_in_")


def test_splitters_see_numbers_of_rows(tmp_path):
    X, y = make_data(200, 2)
    settings = {"lam": "auto", "cv": KFold(2), "max_iter": 20}
    ours = model(**settings).fit(X, y)
    theirs = model(**settings).fit(containers.parquet(tmp_path, X, y))
    np.testing.assert_array_equal(theirs.A_, ours.A_)


def test_a_classifier_trains_on_and_predicts_for_sources(tmp_path):
    X, y = make_data(60, 2)
    label = np.where(y > np.median(y), "high", "low")
    fitted = ANMINClassifier(3, lam=1e-2, max_iter=2, random_state=0).fit(X, label)
    source = BatchSource([(X, y)])
    assert (fitted.predict(source) == fitted.predict(X)).all()
    np.testing.assert_array_equal(fitted.predict_proba(source), fitted.predict_proba(X))
    place = np.searchsorted(fitted.classes_, label).astype(float)
    streamed = ANMINClassifier(3, lam=1e-2, max_iter=2, random_state=0)
    streamed.fit(BatchSource([(X, place)]))
    assert (fitted.classes_[streamed.predict(X)] == fitted.predict(X)).all()
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="have no class"):
        fitted.predict(BatchSource([(X, y)], bad_rows="skip"))
    mapped, *_ = containers.memmap(tmp_path, np.nan_to_num(X), y)
    assert fitted.fit(mapped, label).predict(mapped).shape == (60,)


def test_an_array_that_joblib_lends_is_an_array(tmp_path):
    """Gaps and all: which arrays it lends depends on their size alone."""
    X, y = make_data(60, 2)
    X[3, 1] = np.nan
    folder = tmp_path / "joblib_memmapping_folder_1_2"
    folder.mkdir()
    lent, *_ = containers.memmap(folder, X, y)
    ours = model().fit(X, y)
    theirs = model().fit(lent, y)
    np.testing.assert_array_equal(theirs.predict(lent), ours.predict(X))
