"""Raw rows on their way: a chunk of them, checked, cut into batches, read ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
BAD_ROWS = ("error", "skip")


@dataclass(slots=True)
class Chunk:
    """Rows as they were given: numbers, not yet scaled or weighted."""

    X: np.ndarray  # (n, d)
    Y: np.ndarray  # (n, q)
    w: np.ndarray | None = None  # (n,)
    skipped: int = 0  # rows left out of it

    def __len__(self) -> int:
        return len(self.X)

    def __sizeof__(self) -> int:
        return self.X.nbytes + self.Y.nbytes + (0 if self.w is None else self.w.nbytes)

    @property
    def weight(self) -> float:
        """Σw."""
        return float(len(self) if self.w is None else self.w.sum())

    def select(self, rows: slice | np.ndarray) -> Chunk:
        """Some of the rows."""
        return Chunk(self.X[rows], self.Y[rows], None if self.w is None else self.w[rows])

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
class Place:
    """Where a chunk comes from, so that a bad cell can be named."""

    label: str  # a file with its row group, or a partition
    first: int  # number of the first row there
    names: Sequence[str]  # of the columns of X, then of Y, then of the weights
    cell: Callable[[int, int], Any] | None = None  # (row, column) → as it was given

    def complaint(self, row: int, column: int, value: Any) -> str:
        if self.cell is not None:
            value = self.cell(row, column)
        return f"{self.label}, row {self.first + row}, column {self.names[column]!r} is {value!r}"


def checked(chunk: Chunk, place: Place, bad_rows: str) -> Chunk:
    """The rows without those of weight 0; rows with a cell that is no finite number are bad.

    >>> import numpy as np
    >>> from anmin.sources.chunk import Chunk, Place, checked
    >>> chunk = Chunk(np.array([[1.0], [np.nan]]), np.zeros((2, 1)))
    >>> place = Place("part-7.parquet, row group 0", 100, ["x", "y"])
    >>> len(checked(chunk, place, "skip"))
    1
    >>> checked(chunk, place, "error")
    Traceback (most recent call last):
    ...
    ValueError: part-7.parquet, row group 0, row 101, column 'x' is nan, and must be a finite \
number. Correct it, or leave such rows out: bad_rows="skip".
    """
    if not surely_finite(chunk):
        chunk = without_bad_rows(chunk, place, bad_rows)
    if chunk.w is None:
        return chunk
    if len(chunk) and chunk.w.min() < 0:
        row = int(chunk.w.argmin())
        raise ValueError(f"{place.label}: a weight is {chunk.w[row]!r}; weights are 0 or more.")
    if not chunk.w.all():
        chunk = replace(chunk.select(np.flatnonzero(chunk.w)), skipped=chunk.skipped)
    return chunk


def surely_finite(chunk: Chunk) -> bool:
    """A quick look: a sum is finite only if its terms are."""
    with np.errstate(all="ignore"):
        total = chunk.X.sum(dtype=np.float64) + chunk.Y.sum()
        return bool(np.isfinite(total + (0.0 if chunk.w is None else chunk.w.sum())))


def without_bad_rows(chunk: Chunk, place: Place, bad_rows: str) -> Chunk:
    columns = [chunk.X, chunk.Y] + ([] if chunk.w is None else [chunk.w[:, None]])
    bad = np.hstack([~np.isfinite(part) for part in columns])  # (n, d + q + 1)
    if not bad.any():
        return chunk
    if bad_rows == "error":
        row, column = (int(i) for i in np.argwhere(bad)[0])
        value = float(np.hstack([part[row] for part in columns])[column])
        raise ValueError(
            f"{place.complaint(row, column, value)}, and must be a finite number. "
            'Correct it, or leave such rows out: bad_rows="skip".'
        )
    good = np.flatnonzero(~bad.any(axis=1))
    return replace(chunk.select(good), skipped=len(chunk) - len(good))


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
    """The items, each fetched by a thread while the one before is worked on.

    >>> from anmin.sources.chunk import ahead
    >>> list(ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    end = object()
    with ThreadPoolExecutor(1, "anmin-read") as pool:
        fetched = pool.submit(next, items, end)
        while (item := fetched.result()) is not end:
            fetched = pool.submit(next, items, end)
            yield item  # type: ignore[misc]
