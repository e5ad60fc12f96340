"""Tables in files (CSV, TSV, Parquet) and on standard input, as data frames.

CSV and TSV may be compressed (.gz). A first row of numbers alone is data: the columns are then
named x0, x1, ….
"""

import csv
import gzip
import io
import sys
import warnings
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import typer

from anmin.cli.app import InputError, note
from anmin.files import open_atomically

STDIN = "-"
TEXT = (".csv", ".tsv", ".tab", ".txt")
FORMATS = (".csv", ".tsv", ".parquet")  # that can be written
UNREADABLE = (
    ValueError, ImportError, OSError, EOFError, RuntimeError, KeyError, csv.Error, zlib.error,
)  # fmt: skip
HEAD = 1 << 20  # bytes in which the header must end


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table, and what to call it in messages."""

    name: str
    table: pd.DataFrame

    @property
    def columns(self) -> list[str]:
        return list(self.table.columns)


def read(source: str, text: Collection[str] = ()) -> Sheet:
    """Read a table; `text` names columns to leave as they are."""
    name = "standard input" if source == STDIN else Path(source).name
    if source != STDIN and not Path(source).is_file():
        raise InputError(f"there is no file {source}; check its name and folder")
    try:
        sheet = parse(name, source, text)
    except UnicodeDecodeError as error:
        raise InputError(f'{name} is not UTF-8; save it as "CSV UTF-8"') from error
    except UNREADABLE as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{name} cannot be read: {reason}") from error
    if sheet.table.empty:
        raise InputError(f"{name} has no {'rows' if sheet.columns else 'columns'}")
    return sheet


def parse(name: str, source: str, text: Collection[str]) -> Sheet:
    """A table, read according to the ending of its name."""
    if source == STDIN:
        return read_csv(name, sys.stdin.buffer.read(), text)
    path = source.lower()
    kind = Path(path.removesuffix(".gz")).suffix
    if path.endswith(".parquet"):
        return Sheet(name, read_parquet(source))
    if kind not in TEXT:
        raise InputError(f"{name} must end in .csv, .tsv or .parquet (or be - for a pipe)")
    with gzip.open(source) if path.endswith(".gz") else open(source, "rb") as file:
        return read_csv(name, file.read(), text, "\t" if kind in (".tsv", ".tab") else ",;\t|")


def read_csv(name: str, data: bytes, text: Collection[str], delimiters: str = ",;\t|") -> Sheet:
    """A table from the bytes of a CSV file.

    Columns without a name, such as the row numbers that some programs write, are left out.
    """
    delimiter, cells = first_row(name, data, delimiters)
    names = [cell or f"\0{i + 1}" for i, cell in enumerate(cells)]
    header: int | None = 0
    if all(is_number(cell) for cell in cells if cell):
        names, header = [f"x{i}" for i in range(len(cells))], None
        note(f"{name} has no header: its columns are x0 … x{len(cells) - 1}")
    if twice := sorted({column for column in names if names.count(column) > 1}):
        raise InputError(f"{name} has more than one column called {quoted(twice)}; rename them")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
        try:
            table = pd.read_csv(
                io.BytesIO(data), sep=delimiter, names=names, header=header,
                index_col=False, dtype=dict.fromkeys(set(text) & set(names), str),
                keep_default_na=False, na_values=[""], skipinitialspace=True, low_memory=False,
                encoding="utf-8-sig",
            )  # fmt: skip
        except pd.errors.ParserWarning:
            raise ValueError(f"its rows are longer than its first row of {len(names)}") from None
    if nameless := [column for column in names if column.startswith("\0")]:
        places = ", ".join(column[1:] for column in nameless)
        note(f"{name}: column {places} has no name and is left out")
    return Sheet(name, table.drop(columns=nameless))


def first_row(name: str, data: bytes, delimiters: str) -> tuple[str, list[str]]:
    """The delimiter that gives most columns, and the cells of the first row that is not blank."""
    head = data if len(data) <= HEAD else data[: data.rfind(b"\n", 0, HEAD) + 1]
    if b"\0" in head:  # as in UTF-16, of which each half may pass for UTF-8
        raise UnicodeDecodeError("utf-8", head, head.index(b"\0"), head.index(b"\0") + 1, "NUL")
    text = head.decode("utf-8-sig")
    if not text.strip():
        raise InputError(f"{name} is empty")
    found = {}
    for delimiter in delimiters:
        rows = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
        found[delimiter] = [cell.strip() for cell in next(row for row in rows if row)]
    return max(found.items(), key=lambda entry: len(entry[1]))


def is_number(cell: str) -> bool:
    """Whether a cell is a number as tables write it, which is without underscores.

    >>> is_number("-1.5e3"), is_number("1_000")
    (True, False)
    """
    try:
        return isinstance(float(cell), float) and "_" not in cell
    except ValueError:
        return False


def read_parquet(path: str) -> pd.DataFrame:
    """Without Arrow's threads, which may outlive a short command and abort it."""
    from pyarrow import parquet

    table = parquet.read_table(path, use_threads=False, pre_buffer=False)
    frame: pd.DataFrame = table.to_pandas(use_threads=False, ignore_metadata=True)
    return frame


def quoted(names: Iterable[str], most: int = 10) -> str:
    """Names for a message, not too many of them.

    >>> quoted(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(str(name)) for name in names[:most]) + rest


def write(target: str, table: pd.DataFrame) -> None:
    """Write a table to a file, in the format of its name, or as CSV to standard output.

    Numbers are written so that they read back as they were.
    """
    if target == STDIN:
        table.to_csv(typer.get_text_stream("stdout"), index=False, lineterminator="\n")
        return
    suffix = Path(target).suffix.lower()
    with open_atomically(target) as file:
        if suffix == ".parquet":
            table.to_parquet(file, index=False)
        else:
            delimiter = "\t" if suffix == ".tsv" else ","
            table.to_csv(file, index=False, sep=delimiter, lineterminator="\n", encoding="utf-8")
