"""Tables larger than memory: read anew in each pass, and never held.

The columns are judged on the first rows. From a CSV file inputs are numbers; texts and dates are
left out and named. Rows with a gap that cannot be filled are left out and counted. Every fifth row
is held out, and as many of them are judged as memory has room for. The network that was tested is
the one that is kept: on so many rows a fifth more says nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api import types

from anmin.cli.app import InputError, note, quoted
from anmin.cli.layout import lay_out
from anmin.cli.roles import LabelledRows, Roles, assign
from anmin.cli.tables import Sheet
from anmin.cli.texts import Reading, make_sense
from anmin.cli.useless import is_text
from anmin.sources import Chunk, CSVSource, ParquetSource, RawSource

if TYPE_CHECKING:
    from anmin.base import BaseANMIN

HEAD = 2**23  # bytes of a text that show the same
SHOWN = 200_000  # rows that show what the columns are, and that judge
COPIES = 6  # of a table in memory while it is read and fitted
EXPANSION = {".parquet": 4.0, ".csv": 3.0}  # from bytes in a file to bytes of numbers
CELL = 8


def too_large(source: str) -> bool:
    """Whether a table has no room in memory."""
    path = Path(source)
    if path.suffix.lower() not in EXPANSION or not path.is_file():
        return False
    size = path.stat().st_size * EXPANSION[path.suffix.lower()]
    if path.suffix.lower() == ".parquet":
        from pyarrow import ArrowInvalid, parquet

        try:
            facts = parquet.read_metadata(path)
        except ArrowInvalid as error:
            raise InputError(f"{path.name} cannot be read: {error}") from error
        size = CELL * facts.num_rows * facts.num_columns
    return size * COPIES > free_memory()


def free_memory() -> float:
    """Bytes that can be had, as far as the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = dict(line.split(":") for line in file)
        return 1024.0 * int(found["MemAvailable"].split()[0])
    except (KeyError, OSError, ValueError):  # not on this system
        return float("inf")


def open_rows(source: str, roles: Roles) -> tuple[RawSource, LabelledRows]:
    """The rows of a large table, and the first of them, by which its columns are judged."""
    name, kind = Path(source).name, Path(source).suffix.lower()
    try:
        sheet = Sheet(name, first_rows(source))
    except ValueError as error:
        raise InputError(f"{name} {error}") from error
    note(f"{name} is larger than memory and is read in a stream; its first "
         f"{len(sheet.table):,} rows show what its columns are")  # fmt: skip
    texts = [n for n in sheet.columns if n not in roles.targets and not is_number(sheet.table[n])]
    drop = texts if kind == ".csv" else []  # Parquet files say what their texts and dates are
    drop = [n for n in drop if n not in roles.drop and n in (roles.features or sheet.columns)]
    if drop:
        note(f"left out, as a stream of CSV takes numbers alone: {quoted(drop)}")
    chosen = Roles(roles.targets, roles.weight, roles.features, [*roles.drop, *drop], roles.keep)
    rows, classes = assign(sheet, chosen)
    if classes or roles.classify:
        raise InputError("classes cannot be fitted to a table larger than memory; use some rows")
    target = roles.targets[0] if len(roles.targets) == 1 else list(roles.targets)
    options: Any = {"target": target, "columns": list(rows.X), "weight": roles.weight}
    reader = ParquetSource if kind == ".parquet" else CSVSource
    return reader(source, bad_rows="skip", **options), rows


def first_rows(source: str) -> pd.DataFrame:
    """The beginning of a file; a text must be written as programs do, to be read in a stream."""
    if source.lower().endswith(".parquet"):
        from pyarrow import Table, parquet

        with parquet.ParquetFile(source, pre_buffer=False) as file:
            batches = islice(file.iter_batches(2**16, use_threads=False), SHOWN // 2**16 + 1)
            table = Table.from_batches(list(batches))
        return table.to_pandas(use_threads=False, ignore_metadata=True)
    with open(source, "rb") as text:
        head = text.read(HEAD)
    layout = lay_out(head[: head.rfind(b"\n") + 1])
    found = make_sense(layout.texts, layout.separator, Reading())
    unusual = [*layout.remarks, *found.remarks, *(p.what for p in found.problems.values())]
    if unusual or layout.separator != ",":
        why = unusual[0] if unusual else "cells are separated by tabs"
        raise ValueError(f"is larger than memory and no plain CSV ({why}); convert it to Parquet")
    return pd.DataFrame(found.columns)


def is_number(column: pd.Series) -> bool:
    number = types.is_any_real_numeric_dtype(column.dtype) or types.is_bool_dtype(column.dtype)
    return bool(number) and not is_text(column)


def split_rows(source: RawSource, test_size: float) -> tuple[RawSource, RawSource]:
    """Rows to fit on, and every k-th, to test on."""
    every = round(1 / test_size)

    def place(first: int, chunk: Chunk) -> np.ndarray:
        return (first + np.arange(len(chunk))) % every

    parts = [
        source.part(lambda first, chunk: np.flatnonzero(place(first, chunk) > 0)),
        source.part(lambda first, chunk: np.flatnonzero(place(first, chunk) == 0)),
    ]
    made = source.fit_columns("from_dtype")
    for part in parts:
        part.names, part.flat = source.names, source.flat
        part.fit_columns = lambda categorical: made  # type: ignore[method-assign] # noqa: ARG005
    return parts[0], parts[1]


def on_made_inputs(model: BaseANMIN) -> BaseANMIN:
    """The model on the numbers that a source makes of texts and dates."""
    if model._columns is None:
        return model
    plain = copy(model)
    plain.feature_names_in_ = np.array(model._columns.made, dtype=object)
    plain.n_features_in_, plain._columns = len(plain.feature_names_in_), None
    return plain


def in_memory(source: RawSource, model: BaseANMIN, most: int = SHOWN) -> LabelledRows:
    """The first rows of a source, as `model` takes them."""
    names = model.feature_names_in_
    chunk = Chunk.join([*up_to(source.read(), most)])
    y = chunk.Y[:, 0] if source.flat else chunk.Y
    return LabelledRows(pd.DataFrame(chunk.X, columns=list(names)), y, chunk.w)


def up_to(chunks: Iterator[Chunk], most: int) -> Iterator[Chunk]:
    """Chunks until there are so many rows."""
    rows = 0
    for chunk in chunks:
        yield chunk.select(np.arange(min(len(chunk), most - rows)))
        rows += len(chunk)
        if rows >= most:
            return
