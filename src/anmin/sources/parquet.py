"""Parquet files, read a row group at a time and some rows of it at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anmin.sources.files import READ, FileSource, Piece, pyarrow_needed


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
        try:
            from pyarrow import ArrowInvalid
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise pyarrow_needed("ParquetSource", error) from error
        try:
            return ParquetFile(path, pre_buffer=False)
        except ArrowInvalid as error:
            raise ValueError(f"{path} is not a Parquet file: {error}") from error

    def pieces(self, path: str, columns: list[str]) -> Iterator[Piece]:
        first = 0
        with self.open(path) as file:
            for group in range(file.num_row_groups):
                batches = file.iter_batches(READ, [group], columns, use_threads=False)
                for batch in batches:
                    yield batch, f"{path}, row group {group}", first
                    first += len(batch)
