"""CSV files too large to load, with a header line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anmin.sources.files import FileSource, Paths, Piece, pyarrow_needed

BLOCK = 2**23  # bytes read at a time


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
        try:
            import pyarrow as pa
            from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv
        except ImportError as error:
            raise pyarrow_needed("CSVSource", error) from error
        convert = ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            include_columns=list(columns),
            strings_can_be_null=True,
        )
        try:
            return open_csv(
                path, ReadOptions(block_size=BLOCK, use_threads=False),
                ParseOptions(delimiter=self.delimiter), convert,
            )  # fmt: skip
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path} cannot be read as CSV: {error}") from error

    def header(self, path: str) -> list[str]:
        with self.open(path) as reader:
            return list(reader.schema.names)

    def pieces(self, path: str, columns: list[str]) -> Iterator[Piece]:
        import pyarrow as pa

        first = 0
        with self.open(path, columns) as reader:
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
                except pa.ArrowInvalid as error:
                    raise ValueError(f"{path}, after row {first}: {error}") from error
                yield batch, path, first
                first += len(batch)
