"""Rows as the solvers want them: what they ask of a source, and what a kernel sees of it.

A batch leaves a source with its leading column, X standardised, Y centred, and all multiplied by
√w. Prepared batches are kept while the backend has room for them; the rest are prepared anew in
each pass, so that memory beyond the input stays bounded. What is read in a stream is kept whole
or not at all: keeping a part of it would not save the reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from scipy.sparse import issparse

from anmin.backends import WIDE, Array, Backend
from anmin.sources.chunk import Chunk
from anmin.sources.draws import Beside, Part
from anmin.sources.hinged import Hinges, hinged_rows
from anmin.sources.scaling import Scaling
from anmin.sources.sparse import sparse_rows

if TYPE_CHECKING:
    from anmin.sources.raw import RawSource

ROUND = 4096
SENT = 8  # times the raw inputs that a GPU must have room for, to keep them
TARGET = 1e30  # the largest prepared y: with its square, single precision comes to its end


class Adds(Protocol):
    """What a kernel returns: numbers, arrays, or a record of them."""

    def __add__(self, other: Any, /) -> Any: ...


T = TypeVar("T")
S = TypeVar("S", bound=Adds)
S_co = TypeVar("S_co", bound=Adds, covariant=True)


@dataclass(slots=True)
class Room:
    """Bytes that may still be kept."""

    left: int

    def take(self, size: int) -> bool:
        """Whether `size` bytes fit; if so they are spoken for."""
        fits = size <= self.left
        self.left -= size if fits else 0
        return fits


@dataclass(slots=True)
class Batch:
    """X with its leading column and Y, both multiplied by √w; `start` is its first row's number.

    A batch that the source keeps also remembers what kernels computed on it, while the source
    has room for that too.
    """

    X: Array  # (n, p)
    Y: Array  # (n, q)
    start: int
    room: Room | None = None  # where what is remembered is charged; None for a passing batch
    _memory: dict[str, tuple[object, Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.X)

    def once(self, name: str, at: object, compute: Callable[[], T]) -> T:
        """compute(), remembered under `name` until asked for at another object `at`."""
        known = self._memory.get(name)
        if known is not None and known[0] is at:
            return known[1]
        value = compute()
        if self.room is not None:
            if known is not None:
                self.room.left += bytes_of(self._memory.pop(name)[1])
            if self.room.take(bytes_of(value)):
                self._memory[name] = (at, value)
        return value


def bytes_of(value: object) -> int:
    """The size of an array, or of a tuple of them; whatever else is small."""
    if isinstance(value, tuple):
        return sum(map(bytes_of, value))
    return int(getattr(value, "nbytes", 0))


class Kernel(Protocol[S_co]):
    """A batch in, something that adds out."""

    def __call__(self, backend: Backend, batch: Batch, /) -> S_co: ...


def moved(value: T, convert: Callable[[Any], Any]) -> T:
    """A kernel, or what it returns, with its arrays converted."""
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(*(moved(getattr(value, f.name), convert) for f in fields(value)))
    return convert(value) if getattr(value, "ndim", 0) else value


def batch_rows(batch_size: int | str, backend: Backend, h: int, p: int, q: int) -> int:
    """Rows a batch: `batch_size`, or what the backend likes, in multiples of `ROUND`.

    Very wide rows come in a quarter of that.
    """
    unit = ROUND if p <= WIDE else ROUND // 4
    if batch_size == "auto":
        batch_size = backend.working // (8 * (p + q) + 40 * h)  # bytes a row in a pass
        batch_size = batch_size if p <= WIDE else batch_size // 2
    return max(1, -(-int(batch_size) // unit)) * unit


class Source:
    """What solvers ask of rows, wherever they live: those of a raw source, prepared, in batches."""

    def __init__(self, raw: RawSource, scaling: Scaling, backend: Backend, batch_size: int) -> None:
        self.raw, self.scaling, self.backend = raw, scaling, backend
        self.batch_size = batch_size
        self._kept: dict[int, Batch] = {}

    def __len__(self) -> int:
        return self.raw.tally()[0]

    @property
    def weight(self) -> float:
        """Σw."""
        return self.raw.tally()[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """n, p, q."""
        return len(self), self.scaling.n_inputs + 1, len(self.scaling.y_mean)

    def reduce(self, kernel: Kernel[S]) -> S:
        """Σ kernel(batch) over the batches, in their order."""
        total: S | None = None
        for batch in self.batches():
            part = kernel(self.backend, batch)
            total = part if total is None else total + part
        if total is None:
            raise ValueError(f"{self.raw!r} has no rows.")
        return total

    @cached_property
    def step(self) -> int:
        """Rows a batch."""
        return self.backend.batch(len(self), self.batch_size)

    def batches(self) -> Iterator[Batch]:
        if len(self._kept) * self.step >= len(self):
            yield from self._kept.values()
            return
        start = 0
        for chunk in self.raw.batches(self.step):
            if len(chunk):
                yield self._kept.get(start) or self._new(chunk, start)
            start += len(chunk)

    @property
    def keeps_all(self) -> bool:
        """Whether there is room for all of its rows, prepared."""
        n, p, q = self.shape
        fits = n * (p + q) * self.backend.dtype.itemsize <= self._rooms[0].left
        return n > 0 and (fits or len(self._kept) * self.step >= n)

    @property
    def is_one_batch(self) -> bool:
        """Whether all rows are one batch, which is kept."""
        return len(self) <= self.step and self.keeps_all

    def _new(self, chunk: Chunk, start: int) -> Batch:
        """A batch, kept if there is room."""
        batch = self._prepare(chunk, start)
        rows, memory = self._rooms
        if rows.take(batch.X.nbytes + batch.Y.nbytes):
            batch.room = memory
            self._kept[start] = batch
        return batch

    @cached_property
    def _rooms(self) -> tuple[Room, Room]:
        """For prepared rows, and as much for what batches remember."""
        room = 0 if self.passing else self.backend.room
        return Room(room), Room(room)

    @property
    def passing(self) -> bool:
        """Whether rows are read anew in each pass: those of a stream that there is no room for."""
        n, p, q = self.shape
        if self._hinges is not None:
            p = self.scaling.without_hinges().n_inputs + 2 * len(self._hinges.input)
        return self.raw.streamed and n * (p + q) * self.backend.dtype.itemsize > self.backend.room

    def _prepare(self, chunk: Chunk, start: int) -> Batch:
        """Raw rows as a batch."""
        backend, n, hinges = self.backend, len(chunk), self._hinges
        plain = self.scaling if hinges is None else self.scaling.without_hinges()
        scaling = plain.on(backend)
        roots = None if chunk.w is None else np.sqrt(chunk.w)[:, None]
        if issparse(chunk.X):
            return self._prepare_sparse(chunk, start)
        X, Y = backend.empty(n, plain.n_inputs + 1), backend.empty(n, self.shape[2])

        def part(rows: slice) -> None:
            size = max(1, backend.scratch // X.shape[1])
            for first in range(rows.start, rows.stop, size):
                prepare(slice(first, min(first + size, rows.stop)))

        def prepare(some: slice) -> None:
            Z = scaling.encoded(self._sent(chunk.X[some], start, some.start))
            X[some, :1], X[some, 1:] = 1.0, scaling.standardised(Z)
            Y[some] = usable(scaling.targets(backend.double(chunk.Y[some])))
            if roots is not None:
                root = backend.double(roots[some])
                X[some] *= root
                Y[some] *= root

        backend.each_block(part, n)
        if hinges is None:
            return Batch(X, Y, start)
        return Batch(hinged_rows(chunk.X, X, hinges), Y, start)  # type: ignore[arg-type]

    def _sent(self, X: np.ndarray, start: int, first: int) -> Array:
        """Raw inputs in full precision. Those in memory travel to a GPU once, if it has room."""
        be, sent = self.backend, self.raw.sent
        if sent is None or start < 0 or not be.stacks:
            return be.double(X)
        key = str(getattr(be, "device", "")), start + first, len(X)
        if key not in sent:
            Z = be.double(X)
            if SENT * Z.nbytes > be.room:
                return Z
            sent[key] = Z
        return sent[key]

    def _prepare_sparse(self, chunk: Chunk, start: int) -> Batch:
        s, dtype = self.scaling, self.backend.dtype
        X = sparse_rows(chunk.X, s.x_mean, s.x_scale, chunk.w, dtype)
        Y = usable(s.targets(chunk.Y)).astype(dtype) * X.root[:, None]
        return Batch(X, Y, start)  # type: ignore[arg-type]

    @cached_property
    def _hinges(self) -> Hinges | None:
        """How hinges are scaled, where products with them go through tables."""
        hinges = self.scaling.hinges if self.backend.looks_up else None
        return hinges if hinges is not None and hinges.many else None

    def take(self, rows: np.ndarray, backend: Backend | None = None) -> Source:
        """Some of the rows, in memory; with another backend if one is given."""
        raw = self.raw.gather(rows)
        return raw.prepared(self.scaling, backend or self.backend, self.batch_size)

    def part(self, part: Part) -> Source:
        """Some of the rows, where they live: by their numbers, or by a rule."""
        raw = self.raw.judge if isinstance(part, Beside) else self.raw.part(part)
        assert raw is not None, "a source without rows beside its own was asked for them"
        return raw.prepared(self.scaling, self.backend, self.batch_size)

    def using(self, backend: Backend) -> Source:
        """The same rows in the arithmetic of another backend."""
        if backend is self.backend:
            return self
        return self.raw.prepared(self.scaling, backend, self.batch_size)

    def scaled(self, scaling: Scaling) -> Source:
        """The same rows, prepared in another way."""
        return self.raw.prepared(scaling, self.backend, self.batch_size)

    def only(self, columns: np.ndarray) -> Source:
        """The same rows with some of the inputs."""
        scaling, raw = self.scaling.only(columns), self.raw.only(columns)
        return raw.prepared(scaling, self.backend, self.batch_size)

    def rows(self, rows: slice | np.ndarray) -> Batch:
        """Some rows, prepared: a slice, or their numbers."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        if self.is_one_batch and (self._kept or self.backend.stacks):  # they are there
            [batch], places = self.batches(), self.backend.integers(rows)
            return Batch(batch.X[places], batch.Y[places], -1)
        return self._prepare(self.raw.gather(rows).chunk, -1)


def usable(Y: Array) -> Array:
    """Prepared Y, if squares of it can be summed."""
    if len(Y) and (top := float(abs(Y).max())) > TARGET:
        raise ValueError(
            f"y is too large: it reaches {top:.3g} in the units it is fitted in, and sums of its "
            'squares overflow. Divide y by its standard deviation; solver="varpro" with lam="auto" '
            "does so by itself."
        )
    return Y
