"""Tables of numbers in text files, plain or in a zip, and whether they are complete."""

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

ADVICE = "Delete it and fetch the set again, or put the whole file in its place."


class DatasetError(Exception):
    """A data set cannot be used; the message says what to do."""


class DatasetDamagedError(DatasetError, ValueError):
    """A file is here, but it is not the data set, or not all of it."""


@contextmanager
def open_table(path: Path) -> Iterator[TextIO]:
    """The text of a table; of the only .txt or .csv where the file is a zip, whatever its name."""
    if not is_zipfile(path):
        with open(path, encoding="utf-8") as text:
            yield text
        return
    with ZipFile(path) as archive:
        tables = [name for name in archive.namelist() if name.lower().endswith((".txt", ".csv"))]
        if len(tables) != 1:
            raise ValueError(f"the zip holds {archive.namelist()}; expected one .txt or .csv")
        with archive.open(tables[0]) as member, io.TextIOWrapper(member, "utf-8") as text:
            yield text


@contextmanager
def naming_the_file(path: Path) -> Iterator[None]:
    """Turn every error of reading into one that names the file."""
    try:
        yield
    except (BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise DatasetDamagedError(
            f"{path} cannot be read as a table of numbers: {error}. {ADVICE}"
        ) from error


def check_size(path: Path, rows: int, columns: int) -> None:
    """Refuse a table of another size; lines and commas are counted, nothing is converted."""
    found, widths = 0, set()
    with naming_the_file(path), open_table(path) as lines:
        for line in lines:
            if not line.isspace():
                found += 1
                widths.add(line.count(",") + 1)
    if (found, widths) != (rows, {columns}):
        raise DatasetDamagedError(_not_whole(path, (found, *sorted(widths)), (rows, columns)))


def read_table(path: Path, rows: int, columns: int) -> NDArray[np.float64]:
    """The numbers of a table, which must have so many rows and columns."""
    with naming_the_file(path), open_table(path) as lines:
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    if table.shape != (rows, columns):
        raise DatasetDamagedError(_not_whole(path, table.shape, (rows, columns)))
    return table


def _not_whole(path: Path, found: tuple[int, ...], expected: tuple[int, int]) -> str:
    rows, *widths = found
    columns = " or ".join(map(str, widths)) or "no"
    return (
        f"{path} has {rows:,} rows of {columns} columns; the whole data set has "
        f"{expected[0]:,} of {expected[1]}. {ADVICE}"
    )
