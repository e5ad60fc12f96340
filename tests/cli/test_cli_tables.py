"""Tables of every format, what their columns are for, and which are left out."""

import gzip
import io
from datetime import date, time
from decimal import Decimal

import numpy as np
import pytest

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pandas", reason='the command line needs the extra "cli"')

import pandas as pd

from anmin.cli.app import InputError, TableError
from anmin.cli.roles import Roles, assign
from anmin.cli.tables import FORMATS, Sheet, read, write
from anmin.cli.texts import Reading

FRAME = pd.DataFrame({"a": [1.5, 2.0, -0.1], "b": [1, 2, 3]})
CSV = "a,b\n1.5,1\n2.0,2\n-0.1,3\n"


@pytest.fixture
def table(tmp_path):
    """Read a table from text, or bytes, in a file of that name."""

    def read_text(content, name="t.csv", **known):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(str(path), Reading(**known))

    return read_text


def complaint(function, *args):
    with pytest.raises((InputError, TableError)) as error:
        function(*args)
    found = error.value
    return found.message(["fit", "t.csv"]) if isinstance(found, TableError) else str(found)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (CSV, "t.csv"),
        (CSV.replace(",", "\t"), "t.tsv"),
        (CSV.replace(",", "|"), "t.txt"),
        (CSV, "T.CSV"),
        (gzip.compress(CSV.encode(), mtime=0), "t.csv.gz"),
    ],
    ids=repr,
)
def test_text_of_every_name(table, content, name):
    pd.testing.assert_frame_equal(table(content, name).table, FRAME)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    pd.testing.assert_frame_equal(read(str(path)).table, FRAME)


def test_standard_input(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(CSV.encode()))
    monkeypatch.setattr("sys.stdin", stream)
    pd.testing.assert_frame_equal(read("-").table, FRAME)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"\x1f\x8bnonsense", "t.csv.gz", "cannot be read"),
        (b"nonsense", "t.parquet", "cannot be read"),
        (b"nonsense", "t.npz", "must end in .csv"),
        ("a,b\n1,2\n", "table", "must end in .csv"),
    ],
)
def test_a_file_that_is_no_table_is_one_line(table, content, name, words):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    said = complaint(table, content, name)
    assert words in said
    assert "\n" not in said


def test_a_file_that_is_not_there(tmp_path):
    assert "there is no file" in complaint(read, str(tmp_path / "t.csv"))


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_written_reads_back_as_it_was(tmp_path, ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    path = str(tmp_path / f"out{ending}")
    table = pd.DataFrame({"price, $": [1 / 3, 2.5e-300], "kind": ["a", 'b"c']})
    write(path, table)
    again = read(path).table
    assert again["price, $"].tolist() == table["price, $"].tolist()
    assert again["kind"].tolist() == table["kind"].tolist()


# ---- what columns are for -----------------------------------------------------------------------


def houses(n=60):
    """A table with columns of every use, and of none."""
    rng = np.random.default_rng(0)
    area = rng.uniform(50, 150, n).round(1)
    price = (1000 * area + rng.normal(size=n)).round(2)
    gap = np.where(np.arange(n) % 7 == 0, np.nan, 5.0)
    return pd.DataFrame({
        "rownames": range(1, n + 1), "customer_id": rng.permutation(10 * n)[:n],
        "name": [f"owner {i}" for i in range(n)], "country": "DE", "nothing": np.nan,
        "area": area, "town": rng.choice(["Ulm", "Bonn"], n), "year": range(1950, 1950 + n),
        "gap": gap, "price": price, "cents": 100 * price, "dear": price > 1e5,
    })  # fmt: skip


def inputs(table, *targets, **roles):
    return list(assign(Sheet("t.csv", table), Roles(targets, **roles))[0].X)


def test_columns_of_no_use_are_left_out_and_named(capsys):
    assert inputs(houses(), "price") == ["area", "town", "year", "gap", "dear"]
    said = capsys.readouterr().err
    for words in ("only count rows: 'rownames', 'customer_id'", "a text of its own: 'name'",
                  "one value alone: 'country'", "no value: 'nothing'", "copy the target: 'cents'",
                  "--keep NAME"):  # fmt: skip
        assert words in said


def test_what_the_user_keeps_or_lists_is_used():
    assert "rownames" in inputs(houses(), "price", keep=["rownames"])
    assert inputs(houses(), "price", features=["cents", "area"]) == ["cents", "area"]
    assert "area" not in inputs(houses(), "price", drop=["area"])


def test_a_column_that_tells_too_much_is_named(capsys):
    rounded = houses().assign(thousands=lambda t: (t["price"] / 1000).round(1))
    assert "thousands" in inputs(rounded, "price", drop=["area"])
    assert "'thousands' tells almost all of the target" in capsys.readouterr().err


def test_a_number_that_may_stand_for_a_gap_is_named(capsys):
    table = houses().assign(rooms=[-999, -999, *[1, 2, 3, 4] * 14, 3, 4])
    inputs(table, "price")
    assert (
        "'rooms' holds -999, far from its other values; --missing -999" in capsys.readouterr().err
    )
    inputs(table.assign(rooms=table["rooms"].abs() % 7), "price")
    assert "far from" not in capsys.readouterr().err


def test_gaps_and_codes_of_a_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    table = pd.DataFrame({"a": [1.5, -999, 2], "b": [1, 2, 3], "c": ["u", "?", "v"]})
    table.to_parquet(path)
    table = read(str(path), Reading(missing=["-999", "?"], kinds={"b": "text"})).table
    assert table["a"].isna().tolist() == table["c"].isna().tolist() == [False, True, False]
    assert table["b"].tolist() == ["1", "2", "3"]


def test_a_copy_of_classes_is_left_out():
    table = houses().assign(code=lambda t: np.where(t["dear"], 7, 3))
    assert "code" not in inputs(table, "dear", drop=["price", "cents"])
    assert "code" in inputs(table, "town")


def test_where_nothing_else_is_left_a_counter_is_an_input():
    assert inputs(pd.DataFrame({"t": range(30), "y": np.arange(30.0) ** 2}), "y") == ["t"]


def test_rows_without_target_are_left_out_and_counted(capsys):
    table = houses()
    table.loc[[3, 7], "price"] = np.nan
    rows, _ = assign(Sheet("t.csv", table), Roles(["price"]))
    assert len(rows.y) == len(rows.X) == 58
    assert "2 of 60 rows have no 'price'" in capsys.readouterr().err


def test_a_text_is_a_class_and_that_is_said(capsys):
    _, classes = assign(Sheet("t.csv", houses()), Roles(["town"]))
    assert classes
    assert "'town' is a class, one of 2: Bonn (" in capsys.readouterr().err
    assert assign(Sheet("t.csv", houses()), Roles(["dear"], drop=["price", "cents"]))[1]
    assert not assign(Sheet("t.csv", houses()), Roles(["year"]))[1]
    assert assign(Sheet("t.csv", houses()), Roles(["year"], classify=True))[1]


def test_all_problems_are_listed_at_once_with_a_command_that_works(table):
    lines = ["a;b;c;d;e;y"] + [f"1,{100 + i};{i},5;01/02/2020;{i};{i};{i}" for i in range(30)]
    lines[5], lines[6] = "1,234;0.5;01/02/2020;broken;4;4", "1,234;0,5;01/02/2020;5;off;5"
    text = "\n".join(lines)
    sheet = table(text)
    said = complaint(assign, sheet, Roles(["y"]))
    for words in ("5 problems", "'a' holds 1,100", "'b' mixes", "'c' holds dates",
                  "but 'broken' in row 5", "but 'off' in row 6"):  # fmt: skip
        assert words in said
    command = said.rpartition("this would work: ")[2].split()
    assert command[:3] == ["anmin", "fit", "t.csv"]
    assert command[3:5] == ["--decimal", ","]
    again = table(text, missing=["broken", "off"], decimal=",")
    assert list(assign(again, Roles(["y"], drop=["b", "c"], keep=["d", "e"]))[0].X) == [*"ade"]


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (["prize"], "did you mean 'price'?"),
        (["Price"], "did you mean 'price'?"),
        (["zzz"], "it has 'rownames'"),
        (["name"], "60 different texts"),
        (["price", "town"], "one target"),
    ],
)
def test_a_target_that_cannot_be(targets, words):
    assert words in complaint(assign, Sheet("t.csv", houses()), Roles(targets))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([1j] * 60, "complex128"),
        ([np.inf, *range(59)], "holds inf in row 1"),
        (pd.to_timedelta(range(60), unit="s"), "timedelta64"),
    ],
)
def test_what_cannot_be_an_input(column, words):
    table = houses().assign(bad=column)
    said = complaint(assign, Sheet("t.csv", table), Roles(["price"]))
    assert words in said
    assert "--drop bad" in said


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (["a", *"b" * 59], "the weight 'w' holds 'a', and weights are numbers"),
        ([1.0, -1.0, *[1.0] * 58], "the weight 'w' is negative in row 2"),
        ([0.0] * 60, "the weight 'w' is 0 in every row"),
        ([np.nan, *[1.0] * 59], "the weight 'w' is not known in every row"),
    ],
)
def test_what_cannot_be_a_weight(weights, words):
    sheet = Sheet("t.csv", houses().assign(w=weights))
    assert words in complaint(assign, sheet, Roles(["price"], "w"))


def test_a_target_with_one_value_or_one_row(capsys):
    table = houses().assign(price=5.0)
    chosen = assign(Sheet("t.csv", table), Roles(["price"]))[0].X
    assert "area" in chosen
    said = capsys.readouterr().err
    assert "'price' is 5 in every row" in said
    assert "copy the target" not in said
    assert "one row" in complaint(assign, Sheet("t.csv", houses()[:1]), Roles(["price"]))
    both = Roles(["price"], drop=["price"])
    assert "--target and --drop both name 'price'" in complaint(assign, Sheet("t.csv", table), both)


def test_a_column_that_goes_with_the_target_is_named(capsys):
    table = houses().assign(log=lambda t: np.log(t["price"]))
    assign(Sheet("t.csv", table), Roles(["price"]))
    assert "'log' tells almost all of the target" in capsys.readouterr().err


def test_categories_of_pandas_are_texts():
    table = houses().assign(town=lambda t: t["town"].astype("category"))
    assert "town" in inputs(table, "price")


def test_dates_are_of_the_clock_that_they_show(table):
    """As in `anmin.columns.cells`: the zone has no part."""
    cells = ["2024-04-13T15:30:00+05:00", "2024-04-14 09:30:00.25-0800", "2024-04-15T00:00Z"]
    found = table("t\n" + "\n".join(cells) + "\n").table["t"]
    shown = ["2024-04-13T15:30", "2024-04-14T09:30:00.250", "2024-04-15T00:00"]
    np.testing.assert_array_equal(found.to_numpy(), np.array(shown, dtype="datetime64[ns]"))


def test_parquet_columns_that_hold_no_cells(tmp_path):
    pytest.importorskip("pyarrow", reason='Parquet needs the extra "parquet"')
    columns = {
        "price": [Decimal("1.5"), None, Decimal("2.25")], "day": [date(2024, 1, 2)] * 3,
        "list": [[1, 2]] * 3, "struct": [{"a": 1}] * 3, "time": [time(1, 2)] * 3,
    }  # fmt: skip
    pd.DataFrame(columns).to_parquet(tmp_path / "t.parquet")
    sheet = read(str(tmp_path / "t.parquet"))
    assert sheet.table["price"].dtype == float
    assert sorted(sheet.problems) == ["list", "struct", "time"]
    assert sheet.problems["time"].remedy == ("--drop", "time")
