"""Tables in files, read by column name with pyarrow, one piece of a file at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from glob import glob
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self

import numpy as np

from anmin.columns import Columns, Table
from anmin.sources.chunk import Chunk, Origin, floats, refuse_duplicates
from anmin.sources.raw import RawSource

READ = 2**16  # rows read at a time from Parquet
BLOCK = 2**23  # bytes read at a time from CSV
SAMPLE = 50_000  # rows that levels and gaps are known from
MANY = 10  # rows of text and nothing else that make a column one of text
Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
Piece = tuple[Any, str, int]  # a record batch, where it comes from, its first row's number there


class FileSource(RawSource):
    """Rows of one or more files with named columns; files are read in the order of their names."""

    suffix = ""  # of the files in a folder
    made: Columns | None = None  # how text and dates become numbers, where there are some

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
        w, made = len(columns) > d and len(self.weights), self.made
        names = columns if made is None else [*made.made, *columns[d:]]
        for path in self.paths:
            header = self.header(path)
            missing = [name for name in columns if name not in header]
            if missing:
                raise ValueError(
                    f"{path} has no column {missing[0]!r}; it has {', '.join(header)}."
                )
            refuse_duplicates(path, [name for name in header if name in columns])
            for batch, label, first in self.pieces(path, columns):
                numbers = columns if made is None else columns[d:]
                table = np.empty((len(numbers), len(batch)))
                for row, name in zip(table, numbers, strict=True):
                    row[:] = column_floats(batch.column(name))
                    refuse_text(label, name, row, batch)
                V = table.T
                if made is not None:
                    V = np.hstack([matrix(made, batch, columns[:d]), V])
                X, Y, weight = np.split(V, [V.shape[1] - len(columns) + d, V.shape[1] - w], axis=1)
                yield Chunk(X, Y, weight[:, 0] if w else None), Origin(label, first, names)

    def with_columns(self, columns: Columns) -> Self:
        found = copy(self)
        found.made = columns
        return found


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


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers."""
    types = pyarrow("pyarrow").types
    tests = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null
    return any(test(kind) for test in tests)


def matrix(columns: Columns, batch: Any, names: list[str]) -> np.ndarray:
    """The numbers that columns make of a record batch."""
    return columns.matrix(pyarrow("pyarrow").Table.from_batches([batch]).select(names))


def refuse_text(label: str, name: str, numbers: np.ndarray, batch: Any) -> None:
    """An error about a column of text, where many rows of it have been read."""
    column = batch.column(name)
    text = not is_number(column.type) and len(batch) >= MANY and not column.null_count
    if not text or not np.isnan(numbers).all():
        return
    raise ValueError(
        f"{label}: the column {name!r} holds {column[0].as_py()!r:.40} and no number. Text is "
        "taken from Parquet files and frames in memory; here leave the column out: columns=[…]."
    )


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

    def fit_columns(self, categorical: Any) -> Columns | None:
        """From the first rows: the types of the columns decide, or the names in `categorical`."""
        names, self.made = list(self.names), None
        for known in ("measured", "counted"):  # of other columns, in a fit before
            self.__dict__.pop(known, None)
        with self.open(self.paths[0]) as file:
            there = file.schema_arrow.names
            refuse_duplicates(self.paths[0], [name for name in there if name in names])
            kinds = [file.schema_arrow.field(name).type for name in names]
        named = categorical is not None and not isinstance(categorical, str)
        if not named and all(is_number(kind) for kind in kinds):
            return None
        sample: list[Any] = []
        for path in self.paths:
            for batch, _, _ in self.pieces(path, names):
                sample.append(batch)
                if sum(map(len, sample)) >= SAMPLE:
                    break
        rows = pyarrow("pyarrow").Table.from_batches(sample).select(names).slice(0, SAMPLE)
        table = Table.of(rows, categorical)
        none = np.empty((len(rows), 0))  # no targets: their means would be those of these rows
        self.made = None if table is None else Columns.fit(table, none, None)[0]
        return self.made

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
