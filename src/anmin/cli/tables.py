"""Tables in files (CSV, TSV, Parquet, NumPy's .npz) and on standard input, as data frames.

CSV and TSV may be compressed (.gz, .bz2, .xz). A first row of numbers alone is data: the
columns are then named x0, x1, …. In an .npz file an array of one axis is a column, and an array
`name` of two axes is the columns name0, name1, ….
"""

import bz2
import csv
import gzip
import io
import lzma
import sys
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

from anmin.cli.app import InputError, note
from anmin.files import open_atomically

STDIN = "-"
TEXT = (".csv", ".tsv", ".tab", ".txt")
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
FORMATS = (".csv", ".tsv", ".parquet", ".npz")  # that can be written
DELIMITERS = ",;\t|"
UNREADABLE = (
    ValueError, ImportError, OSError, EOFError, RuntimeError, KeyError, csv.Error,
    zipfile.BadZipFile, lzma.LZMAError, zlib.error,
)  # fmt: skip
HEAD = 1 << 20  # bytes in which the header must end


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table, what to call it in messages, and whether its columns brought their names."""

    name: str
    table: pd.DataFrame
    header: bool = True

    @property
    def columns(self) -> list[str]:
        return list(self.table.columns)


def read(source: str, header: bool | None = None, text: Collection[str] = ()) -> Sheet:
    """Read a table; `header` None means to look, `text` names columns to leave as they are."""
    name = "standard input" if source == STDIN else Path(source).name
    if source != STDIN and not Path(source).is_file():
        raise InputError(f"there is no file {source}; check its name and folder")
    try:
        sheet = parse(name, source, header, text)
    except UnicodeDecodeError as error:
        raise InputError(f'{name} is not UTF-8; save it as "CSV UTF-8"') from error
    except UNREADABLE as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{name} cannot be read: {reason}") from error
    if sheet.table.empty:
        raise InputError(f"{name} has no {'rows' if sheet.columns else 'columns'}")
    return sheet


def parse(name: str, source: str, header: bool | None, text: Collection[str]) -> Sheet:
    """A table, read according to the ending of its name."""
    if source == STDIN:
        return read_csv(name, sys.stdin.buffer.read(), header, text)
    kinds = [part.lower() for part in Path(source).suffixes if part.lower() not in OPENERS]
    kind = kinds[-1] if kinds else ""
    if kind in TEXT:
        delimiters = "\t" if kind in (".tsv", ".tab") else DELIMITERS
        opener = OPENERS.get(Path(source).suffix.lower(), open)
        with opener(source, "rb") as file:
            return read_csv(name, file.read(), header, text, delimiters)
    if kind == ".parquet":
        return Sheet(name, read_parquet(source))
    if kind == ".npz":
        return Sheet(name, read_npz(name, source))
    raise InputError(f"{name} must end in .csv, .tsv, .parquet or .npz (or be - for a pipe)")


def read_csv(
    name: str, data: bytes, header: bool | None, text: Collection[str], delimiters: str = DELIMITERS
) -> Sheet:
    """A table from the bytes of a CSV file; the delimiter is the one that gives most columns."""
    head = data if len(data) <= HEAD else data[: data.rfind(b"\n", 0, HEAD) + 1]
    if b"\0" in head:  # as in UTF-16, of which each half may pass for UTF-8
        raise UnicodeDecodeError("utf-8", head, head.index(b"\0"), head.index(b"\0") + 1, "NUL")
    top = head.decode("utf-8-sig")
    if not top.strip():
        raise InputError(f"{name} is empty")
    firsts = {delimiter: first_row(top, delimiter) for delimiter in delimiters}
    delimiter, cells = max(firsts.items(), key=lambda found: len(found[1]))
    if header is None:
        header = any(cell and not is_number(cell) for cell in cells)
    names = unique(name, cells if header else [f"x{i}" for i in range(len(cells))])
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
        try:
            table = pd.read_csv(
                io.BytesIO(data), sep=delimiter, names=names, header=0 if header else None,
                index_col=False, dtype=dict.fromkeys(set(text) & set(names), str),
                keep_default_na=False, na_values=[""], skipinitialspace=True, low_memory=False,
                encoding="utf-8-sig",
            )  # fmt: skip
        except pd.errors.ParserWarning:
            raise ValueError(f"its rows are longer than its first row of {len(names)}") from None
    return Sheet(name, without_nameless(name, table), header)


def first_row(text: str, delimiter: str) -> list[str]:
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    return [cell.strip() for cell in next(row for row in rows if row)]


def is_number(cell: str) -> bool:
    """Whether a cell is a number as tables write it, which is without underscores.

    >>> is_number("-1.5e3"), is_number("1_000")
    (True, False)
    """
    try:
        return isinstance(float(cell), float) and "_" not in cell
    except ValueError:
        return False


def unique(name: str, columns: list[str]) -> list[str]:
    """The names, if each occurs once; nameless columns are numbered, to be dropped."""
    twice = sorted({column for column in columns if column and columns.count(column) > 1})
    if twice:
        raise InputError(f"{name} has more than one column called {quoted(twice)}; rename them")
    return [column or f"\0{i}" for i, column in enumerate(columns)]


def without_nameless(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Without columns that have no name, such as the row numbers that some programs write."""
    nameless = [column for column in table.columns if column.startswith("\0")]
    if nameless:
        places = ", ".join(str(int(column[1:]) + 1) for column in nameless)
        note(f"{name}: column {places} has no name and is left out")
    return table.drop(columns=nameless)


def read_parquet(path: str) -> pd.DataFrame:
    """Without Arrow's threads, which may outlive a short command and abort it."""
    from pyarrow import parquet

    table = parquet.read_table(path, use_threads=False, pre_buffer=False)
    frame: pd.DataFrame = table.to_pandas(use_threads=False, ignore_metadata=True)
    return frame


def read_npz(name: str, path: str) -> pd.DataFrame:
    """The arrays of an .npz file, which must have one row for each row of the table."""
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an .npz file")
    columns: list[tuple[str, np.ndarray]] = []
    with np.load(path, allow_pickle=False) as file:
        for key, values in file.items():
            if values.ndim not in (1, 2):
                raise ValueError(f"the array {key} has shape {values.shape}; expected 1 or 2 axes")
            many = values.ndim == 2
            columns += (
                [(f"{key}{i}", v) for i, v in enumerate(values.T)] if many else [(key, values)]
            )
    unique(name, [key for key, _ in columns])
    lengths = {key: len(values) for key, values in columns}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"its arrays have different lengths: {lengths!s:.200}")
    return pd.DataFrame(dict(columns))


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
        elif suffix == ".npz":
            arrays: dict[str, Any] = {name: plain_array(table[name]) for name in table}
            np.savez(file, **arrays)
        else:
            delimiter = "\t" if suffix == ".tsv" else ","
            table.to_csv(file, index=False, sep=delimiter, lineterminator="\n", encoding="utf-8")


def plain_array(column: pd.Series) -> np.ndarray:
    """Without Python objects, which .npz would have to pickle."""
    values = column.to_numpy()
    return values if values.dtype.kind in "biuf" else values.astype(str)
