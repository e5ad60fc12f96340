"""Frames as people have them, in every library: text, gaps, dates, booleans; file and pickle."""

import pickle
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pytest

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.columns import Columns, Table
from anmin.columns.cells import texts

N = 120


def people(n=N):
    """A made table with every kind of column, and a target that depends on all of them."""
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, n)
    colour = rng.choice(["red", "green", "blue"], n)
    when = np.datetime64("2023-03-01") + np.arange(n) * np.timedelta64(9, "D")
    member = rng.random(n) < 0.5
    town = np.array([f"town {k}" for k in rng.integers(0, 30, n)])
    y = 0.05 * age + 2 * (colour == "red") + member + 0.1 * (np.char.str_len(town) - 6)
    age[::11] = np.nan
    colour = colour.astype(object)
    colour[5::13] = None
    frame = pd.DataFrame(
        {"age": age, "colour": colour, "when": when, "member": member, "town": town}
    )
    return frame, y + 0.1 * rng.normal(size=n)


def quick(kind=ANMINRegressor, **options):
    settings = {"n_hidden": 6, "lam": 1e-2, "max_iter": 5, "random_state": 0}
    return kind(**(settings | options))


@pytest.fixture(scope="module")
def fitted():
    frame, y = people()
    return quick().fit(frame, y), frame, y


def as_pandas(frame):
    return frame


def as_categories(frame):
    return frame.astype({"colour": "category", "town": "category"})


def as_nullable(frame):
    return frame.convert_dtypes()


def as_arrow_backed(frame):
    return frame.convert_dtypes(dtype_backend="pyarrow")


def as_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def as_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


def as_dictionaries(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(as_categories(frame))


CONTAINERS = [
    as_pandas, as_categories, as_nullable, as_arrow_backed, as_polars, as_arrow, as_dictionaries,
]  # fmt: skip


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_library_gives_the_same_model(fitted, container):
    model, frame, y = fitted
    given = container(frame)
    again = quick().fit(given, y)
    np.testing.assert_array_equal(again.predict(given), model.predict(frame))
    np.testing.assert_array_equal(model.predict(given), model.predict(frame))
    assert again._columns.made == model._columns.made


def test_names_say_what_each_input_is(fitted):
    made = fitted[0]._columns.made
    assert made[:2] == ["age", "age is missing"]
    assert {"colour=red", "colour=blue", "colour is missing", "when: years", "member"} <= set(made)
    assert "when: hour" not in made  # it does not vary
    assert fitted[0].n_features_in_ == 5
    assert len(fitted[0].coefs_[0]) == len(made)


def test_objects_in_an_array(fitted):
    model, frame, y = fitted
    X = frame.astype({"when": object}).to_numpy(dtype=object)
    again = quick().fit(X, y)
    np.testing.assert_allclose(again.predict(X), model.predict(frame), rtol=1e-9)
    assert again._columns.made[1] == "x0 is missing"


@pytest.mark.parametrize("kind", [ANMINRegressor, ANMINClassifier])
def test_file_and_pickle_take_the_raw_frame(tmp_path, kind):
    frame, y = people()
    y = y if kind is ANMINRegressor else np.where(y > np.median(y), "much", "little")
    model = quick(kind, categorical_features=["colour", "town"]).fit(frame, y)
    model.save(tmp_path / "m.anmin")
    for again in (load_model(tmp_path / "m.anmin"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
        assert again.get_params() == model.get_params()
        assert again._columns.made == model._columns.made


def test_gaps_where_there_were_none_are_neutral():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = quick().fit(X, X[:, 0])
    assert model._columns is None
    gap = np.where([[True, False]], np.nan, X)
    at_mean = np.where([[True, False]], X.mean(axis=0), X)
    np.testing.assert_allclose(model.predict(gap), model.predict(at_mean), rtol=1e-9)
    with pytest.raises(ValueError, match=r"NaN.*standardize=False"):
        quick(standardize=False).fit(X, X[:, 0]).predict(gap)


def test_unknown_levels_and_gaps_at_prediction(fitted):
    """An unknown level is one of the others; a gap in a column without gaps is no level at all."""
    model, frame, _ = fitted
    strange = frame.assign(town="nowhere", colour="mauve")
    assert np.isfinite(model.predict(strange)).all()
    gap = frame.assign(town=None, when=pd.NaT)
    assert np.isfinite(model.predict(gap)).all()
    np.testing.assert_array_equal(
        model.predict(frame.assign(town="nowhere")), model.predict(frame.assign(town="elsewhere"))
    )


def test_plain_numbers_need_no_columns():
    X = np.random.default_rng(0).normal(size=(30, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    for given in (X, X.tolist(), frame, frame.astype(object), X.astype(np.float32), X > 0):
        assert Table.of(given) is None


def test_gaps_in_an_array():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = X[:, 1] + np.isnan(X[:, 0])
    X[::4, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), 3.0, y)
    model = quick().fit(X, y)
    assert model._columns.made == ["x0", "x0 is missing", "x1"]
    assert model.score(X, y) > 0.9


# ---- which columns are categories ----------------------------------------------------------------

CODES = np.random.default_rng(0).integers(0, 3, size=(60, 2)).astype(float)


@pytest.mark.parametrize("given", [[0], [True, False], ["a"], np.array([0])], ids=str)
def test_categories_by_name_number_or_mask(given):
    frame = pd.DataFrame(CODES, columns=["a", "b"])
    model = quick(categorical_features=given).fit(frame, CODES[:, 0] ** 2)
    assert model._columns.made == ["a=0", "a=1", "a=2", "b"]
    whole = frame.astype(int)
    np.testing.assert_array_equal(model.predict(whole), model.predict(frame))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("text", "from_dtype"),
        (["c"], "no column 'c'"),
        ([5], "from 0 to 1"),
        ([True], "mask of 1 columns"),
        ([[0]], "one axis"),
    ],
)
def test_categories_that_make_no_sense(given, words):
    frame = pd.DataFrame(CODES, columns=["a", "b"])
    with pytest.raises(ValueError, match=words):
        quick(categorical_features=given).fit(frame, CODES[:, 0])


def test_text_that_is_not_called_a_category():
    frame = pd.DataFrame({"a": ["x", "y"] * 30, "b": CODES[:, 0]})
    with pytest.raises(ValueError, match=r"'a'.*text.*categorical_features"):
        quick(categorical_features=None).fit(frame, CODES[:, 1])


# ---- cells ---------------------------------------------------------------------------------------

SAME_DATES = [
    np.array(["2024-02-29", "2024-03-01"], dtype="datetime64[D]"),
    np.array([date(2024, 2, 29), date(2024, 3, 1)], dtype=object),
    np.array([datetime(2024, 2, 29), datetime(2024, 3, 1, tzinfo=UTC)], dtype=object),
    np.array(["2024-02-29", "2024-03-01T00:00"], dtype=object),
    pd.Series(pd.to_datetime(["2024-02-29", "2024-03-01"])).dt.tz_localize("Europe/Berlin"),
    pd.Series(pd.PeriodIndex(["2024-02-29", "2024-03-01"], freq="D")),
]


@pytest.mark.parametrize("dates", SAME_DATES, ids=lambda d: str(getattr(d, "dtype", "")))
def test_dates_of_every_type(dates):
    table = Table.of(pd.DataFrame({"t": dates, "x": [0.0, 1.0]}))
    columns, X = Columns.fit(table, np.zeros((2, 1)), None)
    assert columns.columns[0].neutral == 1709208000.0  # noon between them
    assert columns.columns[0].parts == ("years", "season", "month", "day", "weekday")
    np.testing.assert_array_equal(X[:, 2:5], [[2, 29, 4], [3, 1, 5]])


def test_texts_of_odd_cells():
    nan = float("nan")
    cells = np.array([True, 1, 1.0, "1", nan, float("nan"), None, "", 2.5, b"x"], dtype=object)
    assert texts(cells) == ["True", "1", "1", "1", None, None, None, None, "2.5", "x"]
    assert texts(np.array([3.0, nan, nan, -0.5])) == ["3", None, None, "-0.5"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"age": "old"}, r"'age'.*'old' in row 0.*number"),
        ({"when": "soon"}, r"'when'.*'soon' in row 0.*2024-02-29"),
        ({"age": np.inf}, r"infinity.*'age'"),
    ],
)
def test_cells_that_cannot_be_read_are_named(fitted, change, words):
    model, frame, _ = fitted
    with pytest.raises(ValueError, match=words):
        model.predict(frame.assign(**change))


def test_strange_cells_and_shapes_are_refused(fitted):
    model, frame, y = fitted
    with pytest.raises(TypeError, match=r"'odd'.*list.*string.*number"):
        quick().fit(frame.assign(odd=[[1]] * N), y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(frame[:0])
    with pytest.raises(ValueError, match="2D array"):
        model.predict(np.array(["a"], dtype=object))
    with pytest.raises(ValueError, match="more than one column 'age'"):
        quick().fit(frame.rename(columns={"town": "age"}), y)


# ---- files ---------------------------------------------------------------------------------------


def test_parquet_files_with_text_and_dates(tmp_path):
    """The same inputs as a frame, but for the means of the target; predictions from any file."""
    pytest.importorskip("pyarrow")
    from anmin.sources import BatchSource, CSVSource, ParquetSource

    frame, y = people()
    frame["colour"] = frame["colour"].astype("category")
    frame.assign(y=y).to_parquet(tmp_path / "a.parquet", row_group_size=50)
    rows = ParquetSource(tmp_path / "a.parquet")
    model = quick().fit(rows)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == 5
    assert {"age is missing", "colour=red", "when: month"} <= set(model._columns.made)
    np.testing.assert_array_equal(model.predict(rows), model.predict(frame))
    frame.assign(y=y).to_csv(tmp_path / "a.csv", index=False)
    in_memory = quick().fit(frame, y)
    for source in (ParquetSource(tmp_path / "a.parquet"), CSVSource(tmp_path / "a.csv")):
        np.testing.assert_allclose(in_memory.predict(source), in_memory.predict(frame), rtol=1e-12)
    model.save(tmp_path / "m.anmin")
    np.testing.assert_array_equal(
        load_model(tmp_path / "m.anmin").predict(rows), model.predict(rows)
    )
    with pytest.raises(ValueError, match=r"'town' holds 'town \d+' and no number"):
        quick().fit(CSVSource(tmp_path / "a.csv", columns=["age", "town"]))
    with pytest.raises(ValueError, match=r"table with text.*numbers only"):
        model.predict(BatchSource([(np.zeros((2, 5)), np.zeros(2))]))
    with pytest.raises(ValueError, match=r"categorical_features needs.*BatchSource"):
        quick(categorical_features=[0]).fit(BatchSource([(np.zeros((2, 5)), np.zeros(2))]))
    named = quick(categorical_features=["member", "colour", "town"]).fit(rows)
    assert "member=True" in named._columns.made


def test_dask_names_columns_of_text():
    dataframe = pytest.importorskip("dask.dataframe")
    frame, y = people()
    frame = frame.astype({"colour": "category"})
    with pytest.raises(ValueError, match=r"\['colour', 'when', 'town'\].*ParquetSource"):
        quick().fit(
            dataframe.from_pandas(frame, npartitions=2),
            dataframe.from_pandas(pd.Series(y), npartitions=2),
        )


def numbers_and(**columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=60), **columns}), rng.normal(size=60)


@pytest.mark.parametrize(
    ("cells", "levels"),
    [(pd.cut(np.arange(60), 3), 3), (pd.cut(np.arange(60), 3).astype(pd.IntervalDtype()), 3)],
)
def test_intervals_are_levels(cells, levels):
    table = Table.of(numbers_and(bin=cells)[0])
    assert table.kinds == ["number", "category"]
    assert len(set(texts(np.asarray(table.columns[1].astype(str), dtype=object)))) == levels
    quick().fit(*numbers_and(bin=cells))


def test_durations_are_seconds_beside_plain_numbers():
    frame, y = numbers_and(lasts=pd.to_timedelta(np.arange(60), unit="h"))
    model = quick().fit(frame, y)
    plain = quick().fit(frame.assign(lasts=3600.0 * np.arange(60)), y)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(plain_of(frame)))


def plain_of(frame):
    return frame.assign(lasts=frame["lasts"].dt.total_seconds())


def test_a_text_with_a_zone_is_the_clock_that_it_shows():
    hours = [f"2024-02-{k % 28 + 1:02d}T{k % 24:02d}:30:00" for k in range(60)]
    shown, y = numbers_and(at=hours)
    for zone in ("Z", "+02:00", "-0530"):
        frame = shown.assign(at=[hour + zone for hour in hours])
        assert Table.of(frame).kinds == ["number", "date"]
        same = quick().fit(frame, y).predict(frame), quick().fit(shown, y).predict(shown)
        np.testing.assert_array_equal(*same)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([f"{k / 7:.3f}" for k in range(60)], r"'b'.*numbers.*60 different.*astype\(float\)"),
        ([f"{k % 12 + 1}/{k % 28 + 1}/2024" for k in range(60)], r"'b'.*dates.*to_datetime"),
    ],
)
def test_texts_that_are_numbers_or_dates_are_named(cells, said):
    with pytest.warns(UserWarning, match=said):
        quick().fit(*numbers_and(b=cells))


def test_codes_that_repeat_and_names_are_taken_in_silence():
    quick().fit(*numbers_and(code=["10115", "20095", "80331"] * 20))
    quick().fit(*numbers_and(name=[f"Ann no. {k}" for k in range(60)]))


def test_text_for_a_model_of_numbers_is_named():
    frame, y = numbers_and(b=np.arange(60.0))
    with pytest.raises(ValueError, match="the column 'b' of X holds 'many' in row 0"):
        quick().fit(frame, y).predict(frame.assign(b="many"))


def test_a_lazy_frame_is_to_be_collected():
    frame, y = numbers_and()
    with pytest.raises(TypeError, match=r"LazyFrame.*X\.collect\(\)"):
        quick().fit(pytest.importorskip("polars").from_pandas(frame).lazy(), y)


@pytest.mark.slow
def test_a_table_of_few_levels_is_learnt_though_its_rows_are_copies():
    """600 rows, 16 different ones: the error is that of the shares in each cell."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["u", "v"], 600), "b": rng.integers(0, 4, 600)})
    p = np.where(frame["a"] == "u", 0.1, 0.8) - 0.02 * frame["b"].to_numpy()
    y = rng.random(600) < p
    model = ANMINClassifier(random_state=0).fit(frame, y)
    np.testing.assert_allclose(model.predict_proba(frame)[:, 1], p, atol=0.15)
    numbers = ANMINRegressor(random_state=0).fit(frame, y)
    np.testing.assert_allclose(numbers.predict(frame), p, atol=0.15)


def test_a_date_that_is_the_same_in_every_row():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "day": pd.Timestamp("2020-01-01")})
    model = ANMINRegressor(4, max_iter=20, random_state=0).fit(frame, frame["x"])
    later = frame.assign(day=pd.Timestamp("2021-01-01"))
    assert np.isfinite(model.predict(later)).all()


def test_frames_of_sparse_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": rng.integers(0, 2, 50).astype(float)})
    some = frame.astype({"b": pd.SparseDtype("float", 0.0)}).assign(c="red")
    model = ANMINRegressor(4, max_iter=20, random_state=0).fit(some, frame["a"])
    plain = ANMINRegressor(4, max_iter=20, random_state=0).fit(frame.assign(c="red"), frame["a"])
    assert np.array_equal(model.predict(some), plain.predict(frame.assign(c="red")))
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        ANMINRegressor(4).fit(frame.astype(pd.SparseDtype("float", 0.0)), frame["a"])


@pytest.mark.parametrize("dtype", ["int64", "Int64"])
def test_whole_numbers_that_are_too_long_for_a_float(dtype):
    z = np.random.default_rng(0).integers(0, 4, 200)
    y = np.array([0.0, 5.0, -3.0, 2.0])[z]
    frame = pd.DataFrame({"k": pd.array(z + 2**60, dtype=dtype), "x": np.linspace(0, 1, 200)})
    named = ANMINRegressor(4, max_iter=40, random_state=0, categorical_features=["k"])
    assert named.fit(frame, y).score(frame, y) > 0.99
    if dtype == "int64":
        with pytest.warns(UserWarning, match="'k' of X holds whole numbers beyond 2"):
            ANMINRegressor(4, max_iter=5, random_state=0).fit(frame, y)


def test_numbers_called_categories_are_taken_in_silence(recwarn):
    X = np.random.default_rng(0).normal(size=(60, 2))
    ANMINRegressor(4, max_iter=5, random_state=0, categorical_features=[0]).fit(X, X[:, 1])
    assert not [w for w in recwarn if "written as texts" in str(w.message)]


@pytest.mark.parametrize("kind", [list, np.array, pd.Index])
def test_columns_may_be_said_in_any_container(kind):
    frame, y = people()
    names = kind(["colour", "member", "town"])
    plain = quick(categorical_features=["colour", "member", "town"]).fit(frame, y)
    np.testing.assert_array_equal(quick(categorical_features=names).fit(frame, y).A_, plain.A_)
