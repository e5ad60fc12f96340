"""What Dask's workers do: make a partition numbers, and run a pass over it.

Everything here travels to the workers as it is, so it holds nothing of the size of the data, and
needs no Dask itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from anmin.backends import NumpyBackend, get_backend
from anmin.backends.numpy import BLOCK
from anmin.sources.batch import Kernel
from anmin.sources.chunk import Chunk, Place, checked
from anmin.sources.draws import Chosen, Keep
from anmin.sources.iterable import cells, labels
from anmin.sources.numbers import floats, matrix, targets
from anmin.sources.raw import ArrayRows
from anmin.sources.scaling import Measure, Scaling, measure

Work = Callable[[ArrayRows, int], Any]  # some rows, and the number of the first one


@dataclass(frozen=True, slots=True)
class Task:
    """One pass: what to do, and on which rows."""

    work: Work
    keep: Keep | None


def run(task: Task, chunk: Chunk, index: int, start: int, first: int) -> Any:
    """One pass over one partition, on a worker."""
    try:
        if task.keep is not None:
            chunk = chunk.select(task.keep(start, len(chunk)))
        return task.work(ArrayRows(chunk), first)
    except Exception as error:
        raise PartitionError(f"partition {index}: {error!r}") from error


def added(parts: list[Any]) -> Any:
    """Their sum, in order, without what empty partitions give."""
    parts = [part for part in parts if part is not None]
    return reduce(add, parts) if parts else None


class PartitionError(ValueError):
    """A partition that could not be read or worked on; the message says which."""


@dataclass(frozen=True, slots=True)
class Loading:
    """How a partition becomes numbers."""

    index: int
    names: Sequence[str] | None
    bad_rows: str


def load(X: Any, y: Any, w: Any, how: Loading) -> Chunk:
    """A partition as numbers, checked, without rows of weight 0."""
    label = f"partition {how.index}"
    chunk = Chunk(matrix(X), targets(y), None if w is None else floats(w))
    lengths = {len(part) for part in (chunk.X, chunk.Y, chunk.w) if part is not None}
    if len(lengths) > 1:
        raise PartitionError(f"{label}: X, y and weights have {sorted(lengths)} rows; they must "
                             "be in the same partitions.")  # fmt: skip
    place = Place(label, 0, labels(chunk.X.shape[1], chunk.Y.shape[1], how.names),
                  cells(*(part for part in (X, y, w) if part is not None)))  # fmt: skip
    try:
        return checked(chunk, place, how.bad_rows)
    except ValueError as error:
        raise PartitionError(str(error)) from error


class Measuring:
    def __call__(self, rows: ArrayRows, first: int) -> Measure | None:  # noqa: ARG002
        return measure(rows.read())


@dataclass(frozen=True, slots=True)
class Tally:
    sizes: tuple[int, ...]
    weight: float

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.sizes + other.sizes, self.weight + other.weight)


class Counting:
    def __call__(self, rows: ArrayRows, first: int) -> Tally:  # noqa: ARG002
        n, weight = rows.tally()
        return Tally((n,), weight)


@dataclass(frozen=True, slots=True)
class Gathered:
    chunk: Chunk

    def __add__(self, other: Gathered) -> Gathered:
        return Gathered(Chunk.join([self.chunk, other.chunk]))


@dataclass(frozen=True, slots=True)
class Gathering:
    wanted: Chosen

    def __call__(self, rows: ArrayRows, first: int) -> Gathered:
        return Gathered(rows.chunk.select(self.wanted(first, len(rows.chunk))))


@dataclass(frozen=True, slots=True)
class Pass:
    """A kernel, and how the rows are prepared for it."""

    kernel: Kernel
    scaling: Scaling
    device: str
    dtype: str
    batch_size: int

    def __call__(self, rows: ArrayRows, first: int) -> Any:  # noqa: ARG002
        one = self.device == "cpu"
        backend = OneThread(self.dtype) if one else get_backend(self.device, self.dtype)
        kernel = moved(self.kernel, backend.asarray)
        with backend.session(), np.errstate(all="ignore"):
            total = rows.prepared(self.scaling, backend, self.batch_size).reduce(kernel)
        return total if one else moved(total, backend.to_numpy)


class OneThread(NumpyBackend):
    """One thread: the workers share the rows out already."""

    def map_blocks(self, part: Callable[[slice], Any], n: int) -> Iterator[Any]:
        for start in range(0, n, BLOCK):
            yield part(slice(start, min(start + BLOCK, n)))

    def each_share(self, part: Callable[[slice], None], n: int) -> None:
        part(slice(0, n))


def moved(value: Any, convert: Callable[[Any], Any]) -> Any:
    """A kernel, or what it returns, with its arrays converted."""
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(*(moved(getattr(value, f.name), convert) for f in fields(value)))
    return convert(value) if getattr(value, "ndim", 0) else value
