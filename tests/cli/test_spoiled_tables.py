"""Ways to spoil a CSV: each is recognised and right, or refused in one clear sentence."""

import gzip

import numpy as np
import pytest

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pandas", reason='the command line needs the extra "cli"')

import pandas as pd

from anmin.cli.app import InputError
from anmin.cli.tables import read
from anmin.cli.texts import Reading

nan = np.nan
DAY = pd.Timestamp
PLAIN = "area,town,price\n1.5,Ulm,1000\n2.25,Bonn,2000\n3,Ulm,3500\n"
TABLE = {"area": [1.5, 2.25, 3.0], "town": ["Ulm", "Bonn", "Ulm"], "price": [1000, 2000, 3500]}
GERMAN = PLAIN.replace(",", ";").replace(".", ",")
UMLAUT = PLAIN.replace("Ulm", "Köln")
KOELN = TABLE | {"town": ["Köln", "Bonn", "Köln"]}
MANY = "\n".join(f"{i}.5,{i}" for i in range(30))
THOUSANDS = "\n".join(f'"{i},{500 + i}",{i}' for i in range(1, 30))

RIGHT = {  # content → columns
    "plain": (PLAIN, TABLE),
    "semicolons and decimal commas": (GERMAN, TABLE),
    "tabs": (PLAIN.replace(",", "\t"), TABLE),
    "bars": (PLAIN.replace(",", "|"), TABLE),
    "blanks of any number": (PLAIN.replace(",", "   "), TABLE),
    "blanks behind the commas": (PLAIN.replace(",", ", "), TABLE),
    "quoted numbers, decimal commas in them": (
        'a,b\n"1,5","2"\n"2,25","3"\n',
        {"a": [1.5, 2.25], "b": [2, 3]},
    ),
    "a separator in quotes": (
        'a,b\n"x, y",2\n"z ""q""",3\n',
        {"a": ["x, y", 'z "q"'], "b": [2, 3]},
    ),
    "a line break in quotes": ('a,b\n"x\ny",2\nz,3\n', {"a": ["x\ny", "z"], "b": [2, 3]}),
    "lines of Windows": (PLAIN.replace("\n", "\r\n"), TABLE),
    "lines of an old Mac": (PLAIN.replace("\n", "\r"), TABLE),
    "no line break at the end": (PLAIN.strip(), TABLE),
    "blank lines": (PLAIN.replace("\n", "\n\n"), TABLE),
    "rows of separators alone": (PLAIN + ",,\n,,\n", TABLE),
    "UTF-8 with a mark": (b"\xef\xbb\xbf" + UMLAUT.encode(), KOELN),
    "UTF-16": (UMLAUT.encode("utf-16"), KOELN),
    "UTF-16 without a mark": (UMLAUT.encode("utf-16-be"), KOELN),
    "UTF-32": (UMLAUT.encode("utf-32"), KOELN),
    "Windows-1252": (UMLAUT.encode("cp1252"), KOELN),
    "compressed": (gzip.compress(PLAIN.encode(), mtime=0), TABLE),
    "the separator announced": ("sep=;\n" + GERMAN, TABLE),
    "comments on top": ("# by us\n# in 2020, twice\n" + PLAIN, TABLE),
    "comments within": (PLAIN.replace("2.25", "# moved\n2.25"), TABLE),
    "a header as a comment": ("# a b\n1 2.5\n3 4.5\n", {"a": [1, 3], "b": [2.5, 4.5]}),
    "a title on top": ("Houses of 2020;;\n;;\n" + GERMAN, TABLE),
    "no header": ("1.5,2\n2.5,3\n", {"x0": [1.5, 2.5], "x1": [2, 3]}),
    "row names of R with a header": ('"","a"\n"1",1.5\n"2",2.5\n', {"a": [1.5, 2.5]}),
    "row names of R without one": (
        '"a" "b"\n"r1" 1.5 "u"\n"r2" 2.5 "v"\n',
        {"a": [1.5, 2.5], "b": ["u", "v"]},
    ),
    "row names of R that do not count": (
        '"a" "b"\n"17" 1.5 "u"\n"4" 2.5 "v"\n',
        {"a": [1.5, 2.5], "b": ["u", "v"]},
    ),
    "separators at the end of lines": (PLAIN.replace("\n", ",\n"), TABLE),
    "separators at the end of rows": ("a,b\n1.5,2,\n2.5,3,\n", {"a": [1.5, 2.5], "b": [2, 3]}),
    "a name twice": ("a,a\n1.5,2\n2.5,3\n", {"a": [1.5, 2.5], "a (2)": [2, 3]}),
    "blanks in names": ("  living   area ,b\n1.5,2\n", {"living area": [1.5], "b": [2]}),
    "decimal commas and thousands points": (
        "a;b\n1.234,5;1\n12.345,25;2\n",
        {"a": [1234.5, 12345.25], "b": [1, 2]},
    ),
    "thousands commas": ('a,b\n"1,234.50",1\n"2,000,000",2\n', {"a": [1234.5, 2e6], "b": [1, 2]}),
    "thousands told by another column": (
        "a;b\n1.234;0,5\n2.345;0,25\n",
        {"a": [1234, 2345], "b": [0.5, 0.25]},
    ),
    "thousands told by small numbers": (
        "a,b\n987,0\n" + THOUSANDS,
        {"a": [987, *(1000 * i + 500 + i for i in range(1, 30))], "b": range(30)},
    ),
    "thousands blanks": (
        "a;b\n1 234,5;1\n1\u00a0234\u202f567,5;2\n",
        {"a": [1234.5, 1234567.5], "b": [1, 2]},
    ),
    "thousands apostrophes": (
        "a,b\n1'234.5,1\n12’345.5,2\n",
        {"a": [1234.5, 12345.5], "b": [1, 2]},
    ),
    "currency before": (
        'a,b\n"$1,234.50",1\n$2.25,2\n-$3.5,3\n',
        {"a": [1234.5, 2.25, -3.5], "b": [1, 2, 3]},
    ),
    "currency behind": ("a;b\n1.234,50 €;1\n2,25 €;2\n", {"a": [1234.5, 2.25], "b": [1, 2]}),
    "percent": ("a,b\n10%,1\n12.5 %,2\n", {"a": [10, 12.5], "b": [1, 2]}),
    "one unit everywhere": ("a,b\n10 kg,1\n12.5 kg,2\n", {"a": [10, 12.5], "b": [1, 2]}),
    "negative in brackets": ("a,b\n(10),1\n12.5,2\n", {"a": [-10, 12.5], "b": [1, 2]}),
    "a true minus": ("a,b\n\u221210,1\n12.5,2\n", {"a": [-10, 12.5], "b": [1, 2]}),
    "powers of ten": ("a;b\n1,5e3;1\n2E-1;2\n", {"a": [1500, 0.2], "b": [1, 2]}),
    "gaps among numbers": (
        "a,b\n1.5,1\nNA,2\n?,3\n-,4\nn/a,5\n#DIV/0!,6\n,7\n",
        {"a": [1.5, *[nan] * 6], "b": range(1, 8)},
    ),
    "gaps among texts": (
        "a,b\nu,1\nNA,2\n,3\n?,4\n",
        {"a": ["u", None, None, "?"], "b": [1, 2, 3, 4]},
    ),
    "truth values": ("a,b\nTRUE,1\nfalse,2\n", {"a": [True, False], "b": [1, 2]}),
    "codes with leading zeros": ("a,b\n007,1\n120,2\n", {"a": ["007", "120"], "b": [1, 2]}),
    "keys longer than a number": (
        "a,b\n12345678901234567,1\n12345678901234568,2\n",
        {"a": ["12345678901234567", "12345678901234568"], "b": [1, 2]},
    ),
    "dates": (
        "a,b\n2020-01-31,1\n2020-02-01 12:00,2\n,3\n",
        {"a": [DAY("2020-01-31"), DAY("2020-02-01 12:00"), pd.NaT], "b": [1, 2, 3]},
    ),
    "dates of Germany": (
        "a;b\n01.02.2020;1\n03.04.2020;2\n",
        {"a": [DAY("2020-02-01"), DAY("2020-04-03")], "b": [1, 2]},
    ),
    "dates of America": (
        "a,b\n01/02/2020,1\n01/31/2020,2\n",
        {"a": [DAY("2020-01-02"), DAY("2020-01-31")], "b": [1, 2]},
    ),
    "dates of Britain": (
        "a,b\n01/02/2020,1\n31/01/2020,2\n",
        {"a": [DAY("2020-02-01"), DAY("2020-01-31")], "b": [1, 2]},
    ),
    "dates with names": (
        "a,b\n5-Feb-20,1\n31 January 2020,2\n",
        {"a": [DAY("2020-02-05"), DAY("2020-01-31")], "b": [1, 2]},
    ),
    "times of day": ("a,b\n13:45,1\n9:00:36,2\n", {"a": [13.75, 9.01], "b": [1, 2]}),
    "few numbers among texts": (
        "a,b\n4,1\n6,2\nrotary,3\n",
        {"a": ["4", "6", "rotary"], "b": [1, 2, 3]},
    ),
    "ordinals": ("a,b\n1st,1\n2nd,2\n", {"a": ["1st", "2nd"], "b": [1, 2]}),
}

REFUSED = {  # content → words of the sentence
    "nothing": ("", "is empty"),
    "blanks alone": (" \n\n", "is empty"),
    "a header alone": ("a,b\n", "has no rows"),
    "longer rows": (
        "a,b\n1,2\n1,2,3\n1,2\n",
        "another length than its header of 2 cells: 3 in line 3",
    ),
    "shorter rows": (
        "a,b,c\n1,2,3\n1,2\n1,2,3\n",
        "another length than its header of 3 cells: 2 in line 3",
    ),
    "decimal commas between commas": (
        "a,b\n1,5,2,5\n2,5,3,5\n3,5,4,5\n",
        "decimal commas need another separator",
    ),
    "one column with decimal commas": (
        "a\n1,5\n7,5\n2,5\n",
        "decimal commas need another separator",
    ),
    "one of two columns with decimal commas": (
        "a,b\n1,5,1\n7,5,2\n2,5,3\n",
        "another length than its header of 2 cells",
    ),
    "a quote that does not end": ('a,b\n"1,2\n3,4\n', "check its quotes"),
    "1,234 in a file of semicolons": (
        "a;b\n1,234;1\n2,500;2\n",
        "1,234, which may be 1234 or 1.234",
    ),
    "1.234 in a file of semicolons": (
        "a;b\n1.234;1\n2.500;2\n",
        "1.234, which may be 1234 or 1.234",
    ),
    "1.234 between tabs": ("a\tb\n1.234\t1\n2.500\t2\n", "1.234, which may be 1234 or 1.234"),
    "a title above numbers": ("Houses\n1.5,2\n2.5,3\n", "another length than its header of 1"),
    "blanks in the only column": ("a\n1 234\n7 345\n2 456\n", "another length than its header"),
    "1,234 in quotes": ('a,b\n"1,234",1\n"2,500",2\n', "1,234, which may be 1234 or 1.234"),
    "decimal points and commas": (
        "a;b\n1,5;1\n2.5;2\n",
        "mixes decimal points and commas, as in '2.5' and '1,5'",
    ),
    "two currencies": ("a,b\n$5,1\n€6,2\n", "mixes numbers in '$', '€'"),
    "percent here and there": ("a,b\n5%,1\n0.6,2\n", "mixes numbers in '%' and without a unit"),
    "a word among numbers": (
        "a,b\n" + MANY + "\nerror,30\n",
        "'a' holds numbers, but 'error' in row 31",
    ),
    "two headers": ("a,b\nkg,m\n" + MANY, "'a' holds numbers, but 'kg' in row 1"),
    "a sum at the end": (
        "a,b\n" + MANY + "\nTotal,500\n",
        "'a' holds numbers, but 'Total' in row 31",
    ),
    "days or months": ("a,b\n01/02/2020,1\n03/04/2020,2\n", "day and month cannot be told apart"),
    "days and months": ("a,b\n31/01/2020,1\n01/31/2020,2\n", "day and month change places"),
    "a day that is none": ("a,b\n2020-02-30,1\n2020-02-28,2\n", "'2020-02-30' in row 1 is none"),
    "two encodings": (
        "é,b\n".encode() + "é,2\n".encode("latin-1"),
        "mixes UTF-8 with another encoding, first in line 2",
    ),
    "another encoding": (b"a,b\n\x81\x8d,2\n", "neither UTF-8 nor Windows-1252"),
    "no text": (b"a,b\n\x00\x00\x00\x01\x02,2\n", "is no text"),
    "Excel": (b"PK\x03\x04...", "an Excel or zip file; save the table as CSV"),
    "old Excel": (b"\xd0\xcf\x11\xe0....", "an old Excel file"),
    "a web page": (b"<!DOCTYPE html><html>", "a web page"),
    "JSON": (b'[{"a": 1}]', "JSON"),
    "Parquet": (b"PAR1....", "must end in .parquet"),
}


def table(tmp_path, content, **known):
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(str(path), Reading(**known))


def known(values):
    """The values, None in a gap."""
    return [None if pd.isna(value) else value for value in values]


@pytest.mark.parametrize(("content", "columns"), RIGHT.values(), ids=RIGHT.keys())
def test_recognised_and_right(tmp_path, content, columns):
    sheet = table(tmp_path, content)
    assert sheet.problems == {}
    found = {name: known(sheet.table[name]) for name in sheet.table}
    assert found == {name: known(values) for name, values in columns.items()}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_in_one_sentence(tmp_path, content, words):
    try:
        problems = table(tmp_path, content).problems
        said = [problem.what for problem in problems.values()]
    except InputError as error:
        said = [str(error)]
    assert words in said[0]
    assert "\n" not in said[0]


@pytest.mark.parametrize(
    "name", [n for n, (_, words) in REFUSED.items() if "which may be" in words]
)
@pytest.mark.parametrize("mark", ".,")
def test_the_user_decides_what_the_table_does_not_tell(tmp_path, name, mark):
    content, _ = REFUSED[name]
    sheet = table(tmp_path, content, decimal=mark)
    assert sheet.problems == {}
    first = sheet.table["a"][0]
    assert first == (1.234 if mark in content.split("\n")[1].split(";")[0].split("\t")[0] else 1234)


def test_a_word_for_a_gap_and_a_column_of_codes(tmp_path):
    content, _ = REFUSED["a word among numbers"]
    sheet = table(tmp_path, content, missing=["error"], kinds={"b": "text"})
    assert sheet.problems == {}
    assert sheet.table["a"].isna().sum() == 1
    assert sheet.table["b"][3] == "3"


def test_what_was_recognised_is_said(tmp_path, capsys):
    table(tmp_path, "a;b;c\n1.234,5 €;x;10%\n2,25 €;y;20%\n".encode("cp1252"))
    said = capsys.readouterr().err
    for words in ("Windows-1252", "semicolons", "decimal commas: 'a'", "without their €: 'a'",
                  "without their %: 'c'"):  # fmt: skip
        assert words in said


def test_a_table_of_programs_is_read_in_silence(tmp_path, capsys):
    table(tmp_path, PLAIN)
    assert capsys.readouterr().err == ""


def test_numbers_are_read_to_the_last_bit(tmp_path):
    x = np.random.default_rng(0).normal(size=200) * 10.0 ** np.arange(-100, 100)
    content = "a\n" + "\n".join(map(repr, x.tolist()))
    assert table(tmp_path, content).table["a"].tolist() == x.tolist()
    german = "a;b\n" + "\n".join(f"{v!r};1".replace(".", ",") for v in x.tolist())
    assert table(tmp_path, german).table["a"].tolist() == x.tolist()


# ---- a law: any locale is right or refused ------------------------------------------------------


def written(x, decimal, thousands, digits):
    """Numbers as a spreadsheet of some country writes them."""
    swap = str.maketrans({",": thousands, ".": decimal})
    return [f"{v:,.{digits}f}".translate(swap) for v in x]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("thousands", ["", "'", "\u00a0", "other"])
@pytest.mark.parametrize("seed", range(4))
def test_any_locale_is_right_or_refused(tmp_path, separator, decimal, thousands, seed):
    rng = np.random.default_rng(seed)
    mark = {".": ",", ",": "."}[decimal] if thousands == "other" else thousands
    n, truth, columns = int(rng.integers(3, 40)), {}, {}
    for k in range(4):
        digits = int(rng.integers(0, 4))
        truth[f"c{k}"] = (rng.normal(size=n) * 10.0 ** rng.integers(0, 6)).round(digits).tolist()
        columns[f"c{k}"] = written(truth[f"c{k}"], decimal, mark, digits)
    lines = [separator.join(columns), *map(separator.join, zip(*columns.values(), strict=True))]
    sheet = table(tmp_path, "\n".join(lines))
    for name, values in truth.items():
        assert name in sheet.problems or sheet.table[name].tolist() == values
