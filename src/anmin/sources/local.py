"""Rows in memory.

A batch leaves the source as the core wants it: X with its leading column, standardised, Y
centred, and both multiplied by √w. Prepared batches are kept while the backend has room for
them; the rest are prepared anew in each pass, so that memory beyond the input stays bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from anmin.backends import Backend
from anmin.sources.batch import Batch, Kernel
from anmin.sources.scaling import Scaling

ROUND = 4096


def batch_rows(batch_size: int | str, backend: Backend, h: int, p: int, q: int) -> int:
    """Rows a batch: `batch_size`, or what the backend likes, in multiples of `ROUND`."""
    if batch_size == "auto":
        batch_size = backend.working // (8 * (p + q) + 40 * h)  # bytes a row in a pass
    return max(1, -(-int(batch_size) // ROUND)) * ROUND


class ArraySource:
    """The rows of X (n, d) and Y (n, q), with weights."""

    def __init__(
        self, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, scaling: Scaling,
        backend: Backend, batch_size: int,
    ) -> None:  # fmt: skip
        self.X, self.Y, self.scaling, self.backend = X, Y, scaling, backend
        self.root_weight = np.ones(len(X)) if weight is None else np.sqrt(weight)
        self.batch_size = batch_size
        self._kept: dict[int, Batch] = {}
        self._room = backend.room

    def __len__(self) -> int:
        return len(self.X)

    @property
    def shape(self) -> tuple[int, int, int]:
        """n, p, q."""
        return len(self.X), self.X.shape[1] + 1, self.Y.shape[1]

    def reduce(self, kernel: Kernel) -> Any:
        """Σ kernel(batch) over the batches, in their order."""
        total = None
        for batch in self.batches():
            part = kernel(self.backend, batch)
            total = part if total is None else total + part
        return total

    def batches(self) -> Iterator[Batch]:
        for start in range(0, len(self.X), self.batch_size):
            if start in self._kept:
                yield self._kept[start]
                continue
            batch = self.rows(slice(start, start + self.batch_size))
            size = batch.X.nbytes + batch.Y.nbytes
            if size <= self._room:
                self._room -= size
                self._kept[start] = batch
                batch.kept = True
            yield batch

    def take(self, rows: np.ndarray, backend: Backend | None = None) -> ArraySource:
        """A source of some of the rows, in one batch; of another backend if one is given."""
        return ArraySource(
            self.X[rows], self.Y[rows], self.root_weight[rows] ** 2, self.scaling,
            backend or self.backend, len(rows),
        )  # fmt: skip

    def weight_of(self, rows: np.ndarray | slice) -> float:
        """Σw over some rows."""
        return float((self.root_weight[rows] ** 2).sum())

    def using(self, backend: Backend) -> ArraySource:
        """The same rows in the arithmetic of another backend."""
        weight = self.root_weight**2
        return ArraySource(self.X, self.Y, weight, self.scaling, backend, self.batch_size)

    def rows(self, rows: slice | np.ndarray) -> Batch:
        """Some rows, prepared: a slice, or their numbers."""
        s = self.scaling
        raw, target, w = self.X[rows], self.Y[rows], self.root_weight[rows, None]
        X = self.backend.empty(len(raw), raw.shape[1] + 1)
        Y = self.backend.empty(*target.shape)
        mean, scale, y_mean = (self.backend.double(W) for W in (s.x_mean, s.x_scale, s.y_mean))

        def part(some: slice) -> None:
            root = self.backend.double(w[some])
            X[some, :1] = root
            X[some, 1:] = (self.backend.double(raw[some]) - mean) / scale * root
            Y[some] = (self.backend.double(target[some]) - y_mean) / s.y_scale * root

        self.backend.each_block(part, len(raw))
        start = rows.start if isinstance(rows, slice) else -1
        return Batch(X, Y, start)
