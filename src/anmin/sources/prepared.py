"""Rows as the core wants them.

A batch leaves a source with its leading column, X standardised, Y centred, and all multiplied by
√w. Prepared batches are kept while the backend has room for them; the rest are prepared anew in
each pass, so that memory beyond the input stays bounded. What is read in a stream is kept whole
or not at all: keeping a part of it would not save the reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from anmin.backends import Backend
from anmin.sources.batch import Batch, Kernel, Room
from anmin.sources.chunk import Chunk
from anmin.sources.draws import Part
from anmin.sources.scaling import Scaling

ROUND = 4096


def batch_rows(batch_size: int | str, backend: Backend, h: int, p: int, q: int) -> int:
    """Rows a batch: `batch_size`, or what the backend likes, in multiples of `ROUND`."""
    if batch_size == "auto":
        batch_size = backend.working // (8 * (p + q) + 40 * h)  # bytes a row in a pass
    return max(1, -(-int(batch_size) // ROUND)) * ROUND


class Source:
    """The rows of a raw source, prepared, in batches."""

    def __init__(self, raw: Any, scaling: Scaling, backend: Backend, batch_size: int) -> None:
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
        return len(self), len(self.scaling.x_mean) + 1, len(self.scaling.y_mean)

    def reduce(self, kernel: Kernel) -> Any:
        """Σ kernel(batch) over the batches, in their order."""
        total = None
        for batch in self.batches():
            part = kernel(self.backend, batch)
            total = part if total is None else total + part
        return total

    def batches(self) -> Iterator[Batch]:
        if len(self._kept) * self.batch_size >= len(self):
            yield from self._kept.values()
            return
        start = 0
        for chunk in self.raw.batches(self.batch_size):
            if len(chunk):
                yield self._kept.get(start) or self._new(chunk, start)
            start += len(chunk)
        if start != len(self):
            raise ValueError(
                f"{self.raw!r} gave {len(self):,} rows at first and {start:,} now; rows must "
                "not change during a fit."
            )

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
        n, p, q = self.shape
        room = self.backend.room
        if self.raw.streamed and n * (p + q) * self.backend.dtype.itemsize > room:
            room = 0
        return Room(room), Room(room)

    def _prepare(self, chunk: Chunk, start: int) -> Batch:
        s, backend, (n, d) = self.scaling, self.backend, chunk.X.shape
        roots = None if chunk.w is None else np.sqrt(chunk.w)[:, None]
        X, Y = backend.empty(n, d + 1), backend.empty(*chunk.Y.shape)
        mean, scale, y_mean = (backend.double(W) for W in (s.x_mean, s.x_scale, s.y_mean))

        def part(some: slice) -> None:
            inputs = backend.double(chunk.X[some]) - mean
            inputs /= scale
            X[some, :1], X[some, 1:] = 1.0, inputs
            Y[some] = (backend.double(chunk.Y[some]) - y_mean) / s.y_scale
            if roots is not None:
                root = backend.double(roots[some])
                X[some] *= root
                Y[some] *= root

        backend.each_block(part, n)
        return Batch(X, Y, start)

    def take(self, rows: np.ndarray, backend: Backend | None = None) -> Source:
        """Some of the rows, in memory; with another backend if one is given."""
        some = self.raw.gather(rows)
        return some.prepared(self.scaling, backend or self.backend, self.batch_size)

    def part(self, part: Part) -> Source:
        """Some of the rows, where they live: by their numbers, or by a rule."""
        return self.raw.part(part).prepared(self.scaling, self.backend, self.batch_size)

    def using(self, backend: Backend) -> Source:
        """The same rows in the arithmetic of another backend."""
        return self.raw.prepared(self.scaling, backend, self.batch_size)

    def rows(self, rows: slice | np.ndarray) -> Batch:
        """Some rows, prepared: a slice, or their numbers."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        return self._prepare(self.raw.gather(rows).chunk, -1)
