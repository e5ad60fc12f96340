"""Tables in files (CSV, TSV, Parquet) and on standard input, as data frames.

A Parquet file says what its columns are. The cells of a text file are texts, and what they mean is
found out (`layout.py`, `texts.py`): recognised and said, or refused, never guessed.
"""

from __future__ import annotations

import csv
import sys
import zlib
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pandas as pd
import typer
from pandas.api.types import infer_dtype, is_object_dtype, is_string_dtype

from anmin.cli.app import Flaw, InputError, note, quoted
from anmin.cli.layout import is_plain_number, lay_out
from anmin.cli.texts import Reading, make_sense
from anmin.files import open_atomically

STDIN = "-"
TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat")
FORMATS = (".csv", ".tsv", ".parquet")  # that can be written
UNREADABLE = (ImportError, OSError, EOFError, RuntimeError, KeyError, csv.Error, zlib.error)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table, what to call it in messages, and what is wrong with some of its columns."""

    name: str
    table: pd.DataFrame
    problems: dict[str, Flaw] = field(default_factory=dict)
    decimal: str | None = None  # of its numbers, where they are written with one mark alone

    @property
    def columns(self) -> list[str]:
        return list(self.table.columns)


def read(source: str, reading: Reading | None = None) -> Sheet:
    """Read a table; what was recognised is said on standard error."""
    name = "standard input" if source == STDIN else Path(source).name
    if source != STDIN and not Path(source).is_file():
        what = f"{source} is a folder" if Path(source).is_dir() else f"there is no file {source}"
        raise InputError(f"{what}; check its name and folder")
    try:
        sheet = parse(name, source, reading or Reading())
    except ValueError as error:
        raise InputError(f"{name} {str(error).strip().partition(chr(10))[0]}") from error
    except UNREADABLE as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{name} cannot be read: {reason}") from error
    if sheet.table.empty:
        raise InputError(f"{name} has no {'rows' if sheet.columns else 'columns'}")
    return sheet


def parse(name: str, source: str, reading: Reading) -> Sheet:
    """A table, read according to the ending of its name."""
    kind = Path(source.lower().removesuffix(".gz")).suffix
    if source == STDIN:
        return read_text(name, sys.stdin.buffer.read(), reading)
    if source.lower().endswith(".parquet"):
        table = as_wished(read_parquet(source), reading)
        return Sheet(name, table, no_cells(table))
    if kind not in TEXT:
        raise InputError(f"{name} must end in .csv, .tsv or .parquet (or be - for a pipe)")
    return read_text(name, Path(source).read_bytes(), reading)


def read_text(name: str, data: bytes, reading: Reading) -> Sheet:
    """A table from the bytes of a text file."""
    layout = lay_out(data)
    found = make_sense(layout.texts, layout.separator, reading)
    said = [f"{remark}: {quoted(names)}" for remark, names in found.remarks.items()]
    if remarks := [*layout.remarks, *said]:
        note(f"{name}: {'; '.join(remarks)}")
    table = pd.DataFrame(found.columns, index=layout.texts.index)
    return Sheet(name, table, found.problems, found.decimal)


def read_parquet(path: str) -> pd.DataFrame:
    """Without Arrow's threads, which may outlive a short command and abort it."""
    from pyarrow import ArrowInvalid, parquet

    try:
        table = parquet.read_table(path, use_threads=False, pre_buffer=False)
    except ArrowInvalid as error:
        raise ValueError(f"cannot be read: {error}") from None
    frame: pd.DataFrame = table.to_pandas(use_threads=False, ignore_metadata=True)
    return frame


def as_wished(table: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """A table whose types are known, with what the user says of gaps and codes."""
    words = set(reading.missing)
    numbers = {float(word) for word in words if is_plain_number(word.replace(",", "."))}
    for name in table:
        column = table[name]
        if gaps := words | numbers:
            table[name] = column = column.mask(column.isin(gaps))
        if reading.kinds.get(name) == "text" and not is_string_dtype(column.dtype):
            table[name] = column.astype(object).map(str, na_action="ignore")
        elif infer_dtype(column) == "decimal":
            table[name] = column.astype(float)
    return table


def no_cells(table: pd.DataFrame) -> dict[str, Flaw]:
    """The columns that hold what is neither a number nor a text nor a date."""
    strange = {}
    for name in table:
        cell = next(iter(table[name].dropna()), "") if is_object_dtype(table[name]) else ""
        if not isinstance(cell, (str, bytes, bool, float, int, date)):
            what = f"{name!r} holds no cells, but {type(cell).__name__}s"
            strange[name] = Flaw(what, ("--drop", name))
    return strange


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
