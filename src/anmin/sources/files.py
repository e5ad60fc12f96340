"""Tables in files, read by column name with pyarrow, one piece of a file at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from glob import glob
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from anmin.sources.chunk import Chunk, Place
from anmin.sources.numbers import floats
from anmin.sources.raw import RawSource

READ = 2**16  # rows read at a time
Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
Piece = tuple[Any, str, int]  # a record batch, where it comes from, its first row's number there


class FileSource(RawSource):
    """Rows of one or more files with named columns; files are read in the order of their names."""

    suffix = ""  # of the files in a folder

    def __init__(
        self, path: Paths, target: str | Sequence[str] = "y", columns: Sequence[str] | None = None,
        weight: str | None = None, bad_rows: str = "error",
    ) -> None:  # fmt: skip
        super().__init__(bad_rows)
        self.paths = files(path, self.suffix)
        self.flat = isinstance(target, str)
        self.targets = [target] if isinstance(target, str) else list(target)
        self.columns = columns
        self.weight = weight

    def __repr__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{type(self).__name__}({self.paths[0]!r}{more})"

    def header(self, path: str) -> list[str]:
        """Names of the columns of a file."""
        raise NotImplementedError

    def pieces(self, path: str, columns: list[str]) -> Iterator[Piece]:
        """Some columns of a file, in record batches."""
        raise NotImplementedError

    @cached_property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """Names of the columns of X."""
        if self.columns is not None:
            return list(self.columns)
        others = {*self.targets, self.weight}
        return [name for name in self.header(self.paths[0]) if name not in others]

    def chunks(self) -> Iterator[tuple[Chunk, Place]]:
        d, q = len(self.names), len(self.targets)
        columns = [*self.names, *self.targets, *([] if self.weight is None else [self.weight])]
        for table, place in self.tables(columns):
            w = None if self.weight is None else table[:, -1]
            yield Chunk(table[:, :d], table[:, d : d + q], w), place

    def inputs(self, names: Sequence[str] | None) -> Iterator[tuple[np.ndarray, Place]]:
        """X alone, for predictions: these columns, or else the source's own."""
        return self.tables(list(self.names if names is None else names))

    def tables(self, columns: list[str]) -> Iterator[tuple[np.ndarray, Place]]:
        """Some columns of all files as numbers, column-major."""
        for path in self.paths:
            header = self.header(path)
            missing = [name for name in columns if name not in header]
            if missing:
                raise ValueError(
                    f"{path} has no column {missing[0]!r}; it has {', '.join(header)}."
                )
            for batch, label, first in self.pieces(path, columns):
                cells = [batch.column(name) for name in columns]
                yield numbers(cells), Place(label, first, columns, quoting(cells))


def files(path: Paths, suffix: str) -> list[str]:
    """The files that a path, a folder, a pattern or a list of them names."""
    if not isinstance(path, (str, PathLike)):
        return [name for item in path for name in files(item, suffix)]
    text = fspath(path)
    if Path(text).is_dir():
        found = sorted(str(p) for p in Path(text).rglob(f"*{suffix}") if p.is_file())
    elif Path(text).is_file():
        found = [text]
    else:
        found = sorted(glob(text, recursive=True))
    if not found:
        raise FileNotFoundError(f"There is no file {text!r}, and no file that matches it.")
    return found


def numbers(cells: Sequence[Any]) -> np.ndarray:
    """Arrow columns as a matrix of numbers: (n, m)."""
    table = np.empty((len(cells), len(cells[0])))
    for row, column in zip(table, cells, strict=True):
        row[:] = column_floats(column)
    return table.T


def quoting(cells: Sequence[Any]) -> Callable[[int, int], Any]:
    """(row, column) → the cell as the file has it."""
    return lambda row, column: cells[column][row].as_py()


def column_floats(column: Any) -> np.ndarray:
    """An Arrow column as numbers; what is no number, or missing, is NaN."""
    import pyarrow as pa

    if not pa.types.is_float64(column.type):
        try:
            column = column.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return floats(column.to_pylist())
    return column.to_numpy(zero_copy_only=False)


def pyarrow_needed(kind: str, error: ImportError) -> ImportError:
    return ImportError(f'{kind} needs pyarrow: pip install "anmin[parquet]". ({error})')
