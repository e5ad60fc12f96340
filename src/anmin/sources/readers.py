"""Tables in files, read by column name with pyarrow, one piece of a file at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from glob import glob
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from anmin.sources.chunk import Chunk, Origin, floats, refuse_duplicates
from anmin.sources.raw import RawSource

READ = 2**16  # rows read at a time from Parquet
BLOCK = 2**23  # bytes read at a time from CSV
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
        self.weights = [] if weight is None else [weight]
        if isinstance(columns, str) or (columns is not None and not len(columns)):
            raise ValueError(f"columns must be a list of names, or None for all; got {columns!r}.")
        if not self.targets:
            raise ValueError("target must be a name or a list of them; got an empty list.")
        refuse_duplicates("what is asked for", [*(columns or ()), *self.targets, *self.weights])

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
        others = {*self.targets, *self.weights}
        return [name for name in self.header(self.paths[0]) if name not in others]

    def chunks(self) -> Iterator[tuple[Chunk, Origin]]:
        return self.tables(len(self.names), [*self.names, *self.targets, *self.weights])

    def inputs(self, names: Sequence[str] | None) -> Iterator[tuple[Chunk, Origin]]:
        """X alone, for predictions: these columns, or else the source's own."""
        names = list(self.names if names is None else names)
        return self.tables(len(names), names)

    def tables(self, d: int, columns: list[str]) -> Iterator[tuple[Chunk, Origin]]:
        """Some columns of all files as numbers, the first d as X, column-major."""
        w = len(columns) > d and len(self.weights)
        for path in self.paths:
            header = self.header(path)
            missing = [name for name in columns if name not in header]
            if missing:
                raise ValueError(
                    f"{path} has no column {missing[0]!r}; it has {', '.join(header)}."
                )
            refuse_duplicates(path, [name for name in header if name in columns])
            for batch, label, first in self.pieces(path, columns):
                table = np.empty((len(columns), len(batch)))
                for row, name in zip(table, columns, strict=True):
                    row[:] = column_floats(batch.column(name))
                X, Y, weight = np.split(table.T, [d, len(columns) - w], axis=1)
                yield Chunk(X, Y, weight[:, 0] if w else None), Origin(label, first, columns)


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


def column_floats(column: Any) -> np.ndarray:
    """An Arrow column as numbers; what is no number, or missing, is NaN."""
    import pyarrow as pa

    if not pa.types.is_float64(column.type):
        try:
            column = column.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return floats(column.to_pylist())
    return column.to_numpy(zero_copy_only=False)


def pyarrow(module: str) -> Any:
    """A module of pyarrow, or advice on how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        needed = 'Files need pyarrow: pip install "anmin[parquet]".'
        raise ImportError(f"{needed} ({error})") from error


class ParquetSource(FileSource):
    """Rows in Parquet files: one file, a folder, a pattern such as "train/*.parquet", or a list.

    Parameters
    ----------
    path : the files; a folder stands for every .parquet file in it and below
    target : the column to predict, or a list of them
    columns : the columns to predict from; None for all others
    weight : the column with row weights, if there is one
    bad_rows : "error" names the first cell that is no finite number; "skip" leaves such rows
        out and counts them in `n_skipped_`

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from anmin import ANMINRegressor
    >>> from anmin.sources import ParquetSource
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     x = [i / 50 - 1 for i in range(100)]
    ...     pq.write_table(pa.table({"x": x, "y": [abs(v) for v in x]}), f"{folder}/a.parquet")
    ...     rows = ParquetSource(folder)
    ...     model = ANMINRegressor(4, random_state=0).fit(rows)
    ...     model.feature_names_in_, model.predict(rows).shape
    (array(['x'], dtype=object), (100,))
    """

    suffix = ".parquet"

    def header(self, path: str) -> list[str]:
        with self.open(path) as file:
            return list(file.schema_arrow.names)

    def open(self, path: str) -> Any:
        parquet, pa = pyarrow("pyarrow.parquet"), pyarrow("pyarrow")
        try:
            return parquet.ParquetFile(path, pre_buffer=False)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path} is not a Parquet file: {error}") from error

    def pieces(self, path: str, columns: list[str]) -> Iterator[Piece]:
        first = 0
        with self.open(path) as file:
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(READ, [group], columns, use_threads=False):
                    yield batch, f"{path}, row group {group}", first
                    first += len(batch)


class CSVSource(FileSource):
    """Rows in CSV files with a header: one file, a folder, a pattern, or a list.

    Parameters
    ----------
    path : the files; a folder stands for every .csv file in it and below
    target, columns, weight, bad_rows : as for `ParquetSource`
    delimiter : between the cells

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from anmin.sources import CSVSource
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("x,y\\n1,2\\n2,?\\n3,6\\n")
    ...     rows = CSVSource(folder, bad_rows="skip")
    ...     [chunk.X.tolist() for chunk in rows.read()], rows.n_skipped_
    ([[[1.0], [3.0]]], 1)
    """

    suffix = ".csv"

    def __init__(
        self, path: Paths, target: str | Sequence[str] = "y", columns: Sequence[str] | None = None,
        weight: str | None = None, bad_rows: str = "error", delimiter: str = ",",
    ) -> None:  # fmt: skip
        super().__init__(path, target, columns, weight, bad_rows)
        self.delimiter = delimiter

    def open(self, path: str, columns: Sequence[str] = ()) -> Any:
        """A reader of record batches whose columns are text."""
        csv, pa = pyarrow("pyarrow.csv"), pyarrow("pyarrow")
        convert = csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            include_columns=list(columns),
            strings_can_be_null=True,
        )
        read = csv.ReadOptions(block_size=BLOCK, use_threads=False)
        try:
            return csv.open_csv(path, read, csv.ParseOptions(delimiter=self.delimiter), convert)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path} cannot be read as CSV: {error}") from error

    def header(self, path: str) -> list[str]:
        with self.open(path) as reader:
            return list(reader.schema.names)

    def pieces(self, path: str, columns: list[str]) -> Iterator[Piece]:
        invalid = pyarrow("pyarrow").ArrowInvalid
        first = 0
        with self.open(path, columns) as reader:
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
                except invalid as error:
                    raise ValueError(f"{path}, after row {first}: {error}") from error
                yield batch, path, first
                first += len(batch)
