"""Tables as they come: formats, headers, and everything that can be wrong with them."""

import gzip
import io

import pytest

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pandas", reason='the command line needs the extra "cli"')

import pandas as pd

from anmin.cli.app import InputError
from anmin.cli.columns import Inputs, choose_inputs, numbers
from anmin.cli.tables import FORMATS, Sheet, read, write

FRAME = pd.DataFrame({"a": [1.5, 2.0, -0.1], "b": [1, 2, 3]})
CSV = "a,b\n1.5,1\n2.0,2\n-0.1,3\n"


@pytest.fixture
def table(tmp_path):
    """Read a table from text, or bytes, in a file of that name."""

    def read_text(content, name="t.csv", **kwargs):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(str(path), **kwargs)

    return read_text


def complaint(function, *args, **kwargs):
    with pytest.raises(InputError) as error:
        function(*args, **kwargs)
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (CSV, "t.csv"),
        (CSV.replace(",", "\t"), "t.tsv"),
        (CSV.replace(",", ";"), "t.csv"),
        (CSV.replace(",", "|"), "t.txt"),
        (CSV.replace(",", ", "), "t.csv"),
        (CSV.replace("\n", "\r\n"), "T.CSV"),
        ("\ufeff" + CSV, "t.csv"),
        ("\n" + CSV, "t.csv"),
        ('"a","b"\n1.5,"1"\n2.0,2\n-0.1,3', "t.csv"),
        (gzip.compress(CSV.encode(), mtime=0), "t.csv.gz"),
    ],
    ids=repr,
)
def test_csv_of_every_kind(table, content, name):
    sheet = table(content, name)
    pd.testing.assert_frame_equal(sheet.table, FRAME)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    pd.testing.assert_frame_equal(read(str(path)).table, FRAME)


@pytest.mark.parametrize("content", ["1,2\n3,4\n", "1,\n3,4\n"])
def test_a_first_row_of_numbers_is_no_header(table, content):
    sheet = table(content)
    assert sheet.columns == ["x0", "x1"]
    assert len(sheet.table) == 2


def test_a_number_has_no_underscores(table):
    assert table("1_000,2_000\n3,4\n").columns == ["1_000", "2_000"]


def test_standard_input(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(CSV.encode()))
    monkeypatch.setattr("sys.stdin", stream)
    pd.testing.assert_frame_equal(read("-").table, FRAME)


def test_a_nameless_column_is_left_out_with_a_note(table, capsys):
    assert table(",a\n0,1.5\n1,2.5\n").columns == ["a"]
    assert "column 1 has no name" in capsys.readouterr().err


def test_numbers_are_read_to_the_last_digit(table):
    sheet = table(f"a\n{0.1 + 0.2!r}\n{1 / 3!r}\n")
    assert sheet.table["a"].tolist() == pytest.approx([0.1 + 0.2, 1 / 3], rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("", "t.csv", "is empty"),
        (" \n\n", "t.csv", "is empty"),
        ("a,b\n", "t.csv", "has no rows"),
        ("a,a\n1,2\n", "t.csv", "more than one column called 'a'"),
        ("a,b\n1,2,3\n", "t.csv", "longer than its first row of 2"),
        ("a,b\n1,2\n1,2,3\n", "t.csv", "line 3"),
        ("é,b\n1,2\n".encode("latin-1"), "t.csv", "not UTF-8"),
        ("a,b\n1,é\n".encode("latin-1"), "t.csv", "not UTF-8"),
        (CSV.encode("utf-16"), "t.csv", "not UTF-8"),
        (CSV.encode("utf-16-le"), "t.csv", "not UTF-8"),
        (CSV.encode("utf-16-be"), "t.csv", "not UTF-8"),
        (b"\x1f\x8bnonsense", "t.csv.gz", "cannot be read"),
        (b"nonsense", "t.parquet", "cannot be read"),
        (b"nonsense", "t.npz", "must end in .csv"),
        (b"PK", "t.xlsx", "must end in .csv"),
        ("a,b\n1,2\n", "table", "must end in .csv"),
    ],
)
def test_a_file_that_is_no_table_is_one_line(table, content, name, words):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    assert words in complaint(table, content, name)


def test_a_file_that_is_not_there(tmp_path):
    assert "there is no file" in complaint(read, str(tmp_path / "t.csv"))


def test_booleans_and_numbers_among_missing_words_are_numbers(table):
    sheet = table("a,b,c\ntrue,1,2\nFALSE,NA,3\n")
    assert numbers(sheet, ["a", "c"]).tolist() == [[1, 2], [0, 3]]
    assert "'b' of t.csv has no value in row 2" in complaint(numbers, sheet, ["b"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,\n2,3\n,\n", "'a' of t.csv has no value in row 3;"),
        ("a\n1\nnan\nNaN\n", "has no value in row 2 and 1 more"),
        ("a\n1\ninf\n", "infinite in row 2"),
        ("a\n1_000\n2\n", "text in the column 'a' ('1_000' in row 1)"),
        ("a\n1\n2\n?\n", "text in the column 'a' ('?' in row 3)"),
        ("a\n2020-01-01\n", "text in the column 'a' ('2020-01-01' in row 1)"),
    ],
)
def test_what_is_no_number_is_named_with_its_row(table, content, words):
    assert words in complaint(numbers, table(content), ["a"])


def test_a_date_is_no_number():
    sheet = Sheet("t", pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}))
    assert "datetime64" in complaint(numbers, sheet, ["a"])


def test_complex_numbers_are_no_inputs():
    sheet = Sheet("t", pd.DataFrame({"a": [1j]}))
    assert "complex" in complaint(numbers, sheet, ["a"])


def test_text_needs_leave_and_both_columns_are_named(table):
    sheet = table("a,b,c\nx,1,u\ny,2,v\n")
    message = complaint(choose_inputs, sheet, sheet.columns, False)
    for words in ("'a' ('x' in row 1)", "'c' ('u' in row 1)", "--one-hot", "--drop 'a'"):
        assert words in message


def test_one_hot_remembers_the_categories_in_order(table):
    sheet = table("a,b\nred,1\n green ,2\nNA,3\n")
    inputs = choose_inputs(sheet, ["a", "b"], True)
    assert inputs.encoded == ["a=NA", "a=green", "a=red", "b"]
    assert inputs.encode(sheet).to_numpy().tolist() == [[0, 0, 1, 1], [0, 1, 0, 2], [1, 0, 0, 3]]


def test_categories_that_look_like_numbers_stay_as_they_were(table):
    inputs = Inputs(("a",), {"a": ["007", "7", "x"]})
    sheet = table("a\n007\n7\n", text=["a", "elsewhere"])
    assert inputs.encode(sheet).to_numpy().tolist() == [[1, 0, 0], [0, 1, 0]]


def test_an_unknown_category_has_no_input_and_is_noted(table, capsys):
    inputs, sheet = Inputs(("a",), {"a": ["red"]}), table("a\nred\npink\n")
    assert inputs.encode(sheet).to_numpy().tolist() == [[1], [0]]
    noted = capsys.readouterr().err
    for words in ("'a'", "in 1 rows", "'pink' in row 2"):
        assert words in noted


def test_a_text_that_is_missing_is_named_with_its_row(table):
    sheet = table("a,b\nred,1\n,2\n")
    assert "'a' of t.csv has no value in row 2" in complaint(choose_inputs, sheet, ["a"], True)


def test_too_many_categories(table):
    sheet = table("a\n" + "\n".join(f"t{i}" for i in range(300)))
    assert "300 different texts" in complaint(choose_inputs, sheet, ["a"], True)


def test_pandas_categories_are_texts_or_numbers():
    table = pd.DataFrame({"a": pd.Categorical(["u", "v"]), "b": pd.Categorical([1, 2])})
    sheet = Sheet("t", table)
    assert choose_inputs(sheet, ["a"], True).encoded == ["a=u", "a=v"]
    assert "category" in complaint(numbers, sheet, ["b"])


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
