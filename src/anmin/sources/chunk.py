"""Raw rows on their way: made numbers, checked, cut into batches, read ahead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from anmin.backends import WIDE
from anmin.sources.sparse import made_dense

T = TypeVar("T")
LARGEST = 1e151  # a cell; its square, summed over a million rows, is still a number
LEAST = 256  # rows of a sample of very wide ones


def within(rows: int, width: int) -> int:
    """So many rows, or of very wide ones as many as stay within a quarter of a gigabyte."""
    return rows if width <= WIDE else min(rows, max(2**25 // width, LEAST))


@dataclass(slots=True)
class Chunk:
    """Rows as they were given: numbers, not yet scaled or weighted."""

    X: np.ndarray  # (n, d); or sparse, in compressed rows
    Y: np.ndarray  # (n, q)
    w: np.ndarray | None = None  # (n,)
    skipped: int = 0  # rows left out of it

    def __len__(self) -> int:
        return self.X.shape[0]

    def __sizeof__(self) -> int:
        return self.X.nbytes + self.Y.nbytes + (0 if self.w is None else self.w.nbytes)

    def __add__(self, other: Chunk) -> Chunk:
        return Chunk.join([self, other])

    @property
    def width(self) -> tuple[int, int]:
        """d, q."""
        return self.X.shape[1], self.Y.shape[1]

    @property
    def columns(self) -> list[np.ndarray]:
        """X, Y and, if there are any, the weights, as matrices."""
        return [self.X, self.Y] + ([] if self.w is None else [self.w[:, None]])

    @property
    def weight(self) -> float:
        """Σw."""
        return float(len(self) if self.w is None else self.w.sum())

    @property
    def heaviest(self) -> float:
        """The largest weight; 0 without weights."""
        return 0.0 if self.w is None else float(self.w.max(initial=0.0))

    def select(self, rows: slice | np.ndarray) -> Chunk:
        """Some of the rows."""
        return Chunk(self.X[rows], self.Y[rows], None if self.w is None else self.w[rows])

    def only(self, columns: np.ndarray) -> Chunk:
        """Some of the columns of X, dense; one may come twice."""
        return replace(self, X=made_dense(self.X[:, columns]))

    def weighed_by(self, unit: float) -> Chunk:
        """The same rows, their weights in another unit."""
        return self if self.w is None or unit == 1.0 else replace(self, w=self.w / unit)

    @classmethod
    def join(cls, parts: Sequence[Chunk]) -> Chunk:
        """The rows of several chunks, one after the other."""
        if len(parts) == 1:
            return parts[0]
        X, Y = (np.concatenate([getattr(part, name) for part in parts]) for name in "XY")
        w = None
        if any(part.w is not None for part in parts):
            w = np.concatenate([np.ones(len(p)) if p.w is None else p.w for p in parts])
        return cls(X, Y, w, sum(part.skipped for part in parts))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a chunk comes from, so that a bad cell can be named."""

    label: str  # a file with its row group, or a partition
    first: int = 0  # number of the first row there
    names: Sequence[str] | None = None  # of the columns of X, or of Y and the weights as well

    def complaint(self, chunk: Chunk, bad: np.ndarray) -> str:
        """The first bad cell, and what it must be."""
        row, column = (int(i) for i in np.argwhere(bad)[0])
        d, q = chunk.width
        names = [f"X[:, {j}]" for j in range(d)]
        names += [*(["y"] if q == 1 else [f"y[:, {k}]" for k in range(q)]), "weight"]
        if self.names is not None:
            names[: len(self.names)] = self.names
        value = float(np.hstack([V[row] for V in chunk.columns])[column])
        shown = "nan (missing or no number)" if np.isnan(value) else f"{value}"
        return (
            f"{self.label}, row {self.first + row}, column {names[column]!r} is {shown}, and "
            f"must be a finite number; above {LARGEST:g} in size it is too large."
        )


# ---- checks -------------------------------------------------------------------------------------


def checked(chunk: Chunk, origin: Origin, bad_rows: str) -> Chunk:
    """The rows without those of weight 0; rows with a cell that is no usable number are bad.

    `bad_rows` is "error", "skip", or "" for an error about rows that cannot be left out.

    >>> import numpy as np
    >>> from anmin.sources.chunk import Chunk, Origin, checked
    >>> chunk = Chunk(np.array([[1.0], [np.nan]]), np.zeros((2, 1)))
    >>> origin = Origin("part-7.parquet, row group 0", 100, ["x", "y"])
    >>> len(checked(chunk, origin, "skip"))
    1
    >>> checked(chunk, origin, "error")
    Traceback (most recent call last):
    ...
    ValueError: part-7.parquet, row group 0, row 101, column 'x' is nan (missing or no \
number), and must be a finite number; above 1e+151 in size it is too large. Correct \
it, or leave such rows out: bad_rows="skip".
    """
    bad = bad_cells(chunk)
    if bad is not None and bad_rows != "skip":
        advice = ' Correct it, or leave such rows out: bad_rows="skip".' if bad_rows else ""
        raise ValueError(origin.complaint(chunk, bad) + advice)
    if bad is not None:
        good = np.flatnonzero(~bad.any(axis=1))
        chunk = replace(chunk.select(good), skipped=len(chunk) - len(good))
    if chunk.w is None:
        return chunk
    if len(chunk) and chunk.w.min() < 0:
        raise ValueError(f"{origin.label}: a weight is {chunk.w.min()}; weights are 0 or more.")
    if not chunk.w.all():
        chunk = replace(chunk.select(np.flatnonzero(chunk.w)), skipped=chunk.skipped)
    return chunk


def bad_cells(chunk: Chunk) -> np.ndarray | None:
    """Which cells of X, Y and the weights cannot be used: (n, d + q + 1); None if all can."""
    limits = (LARGEST, LARGEST, np.finfo(float).max)  # weights are made relative later
    pairs = [(V, limit) for V, limit in zip(chunk.columns, limits, strict=False) if V.size]
    if all(abs(float(end)) <= limit for V, limit in pairs for end in (V.min(), V.max())):
        return None  # the ends are NaN where there is one
    return np.hstack([~(np.abs(V.astype(np.float64)) <= limit) for V, limit in pairs])


# ---- streams ------------------------------------------------------------------------------------


def in_batches(chunks: Iterable[Chunk], size: int) -> Iterator[Chunk]:
    """The same rows in chunks of `size`; the last may be smaller. Empty chunks hold no rows, but
    may hold counts of rows left out, so a stream of nothing else gives one empty chunk.

    >>> import numpy as np
    >>> from anmin.sources.chunk import Chunk, in_batches
    >>> rows = np.zeros((5, 1))
    >>> [len(batch) for batch in in_batches([Chunk(rows, rows), Chunk(rows, rows)], 4)]
    [4, 4, 2]
    """
    waiting: list[Chunk] = []
    have = 0
    for chunk in chunks:
        waiting.append(chunk)
        have += len(chunk)
        while have >= size:
            joined = Chunk.join(waiting)
            for start in range(0, have - have % size, size):
                batch = joined.select(slice(start, start + size))
                batch.skipped, joined.skipped = joined.skipped, 0
                yield batch
            have %= size
            waiting = [joined.select(slice(len(joined) - have, None))] if have else []
    if waiting:
        yield Chunk.join(waiting)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, each fetched by a thread while the one before is worked on."""
    end = object()
    with ThreadPoolExecutor(1, "anmin-read") as pool:
        fetched = pool.submit(next, items, end)
        while (item := fetched.result()) is not end:
            fetched = pool.submit(next, items, end)
            yield item  # type: ignore[misc]


# ---- tables of any kind as numbers --------------------------------------------------------------


def chunk_of(
    label: str, X: Any, y: Any = None, w: Any = None, names: Sequence[str] | None = None
) -> tuple[Chunk, Origin]:
    """Arrays or frames as numbers, and where they are from; a cell that is no number is NaN."""
    try:
        table = matrix(X)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from error
    Y = np.empty((len(table), 0)) if y is None else targets(y)
    chunk = Chunk(table, Y, None if w is None else floats(w))
    shapes = [part.shape for part in (table, Y, chunk.w) if part is not None]
    if len({shape[0] for shape in shapes}) > 1 or (w is not None and len(shapes[-1]) > 1):
        got = " and ".join(map(str, shapes))
        raise ValueError(f"{label} has X, y and weights of shapes {got}; their rows must match.")
    return chunk, Origin(label, 0, names)


def column_names(X: Any) -> list[str] | None:
    """The columns of a frame, if they are names."""
    names = list(getattr(X, "columns", []))
    return names if names and all(isinstance(name, str) for name in names) else None


def floats(values: Any) -> np.ndarray:
    """One column as numbers."""
    column = np.asarray(values)
    if column.dtype.kind in "fiub":
        return column.astype(np.float64, copy=False)
    return np.array([number(value) for value in np.asarray(values, dtype=object)], dtype=np.float64)


def number(value: Any) -> float:
    """A cell as a number, NaN if it is none; "1_000" is none, though Python reads it."""
    try:
        return np.nan if isinstance(value, str) and "_" in value else float(value)
    except (TypeError, ValueError):
        return np.nan


def matrix(values: Any) -> np.ndarray:
    """An array or frame of two axes as numbers; single precision stays as it is."""
    if hasattr(values, "columns"):
        refuse_duplicates("the frame", list(values.columns))
        columns = [floats(values[name]) for name in values.columns]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))
    table = np.asarray(values)
    if table.dtype.kind not in "fiub":
        table = np.asarray(values, dtype=object)
    if table.ndim != 2:
        raise ValueError(f"X must have two axes, rows and columns; got shape {table.shape}.")
    if table.dtype in (np.float32, np.float64):
        return table
    return np.column_stack([floats(column) for column in table.T])


def targets(values: Any) -> np.ndarray:
    """y as (n, q)."""
    if hasattr(values, "columns"):
        return matrix(values)
    table = np.asarray(values)
    return floats(table)[:, None] if table.ndim == 1 else matrix(table).astype(np.float64)


def refuse_duplicates(what: str, names: Sequence[str]) -> None:
    """An error that names the first column that is there twice."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{what} has more than one column {twice[0]!r}; give each its own name.")
