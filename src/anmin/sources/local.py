"""Arrays on this machine: in memory, or mapped from a file that may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from anmin.backends import Backend
from anmin.sources.chunk import Chunk, Place
from anmin.sources.iterable import labels
from anmin.sources.prepared import Source
from anmin.sources.raw import ArrayRows, RawSource
from anmin.sources.scaling import Scaling

READ = 2**16  # rows read at a time


class ArraySource(Source):
    """The rows of X (n, d) and Y (n, q), with weights, prepared."""

    def __init__(
        self, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, scaling: Scaling,
        backend: Backend, batch_size: int,
    ) -> None:  # fmt: skip
        super().__init__(ArrayRows(Chunk(X, Y, weight)), scaling, backend, batch_size)


def counting_rows(X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None) -> ArrayRows:
    """Checked arrays as a raw source, without the rows of weight 0."""
    chunk = Chunk(X, Y, weight)
    if weight is not None and not weight.all():
        chunk = chunk.select(weight > 0)
    return ArrayRows(chunk)


class MappedRows(RawSource):
    """X in a memory map, y and weights in arrays or maps: read in slices, never copied whole."""

    def __init__(self, X: np.ndarray, y: Any, weight: Any = None) -> None:
        super().__init__()
        self.X = X
        self.Y = np.asanyarray(y)
        self.w = None if weight is None else np.asanyarray(weight)
        self.flat = self.Y.ndim == 1
        for name, rows in {"y": self.Y, "sample_weight": self.w}.items():
            if rows is not None and (rows.ndim == 0 or len(rows) != len(X)):
                raise ValueError(
                    f"{name} has shape {rows.shape} but X has {len(X):,} rows; they must match."
                )

    def __repr__(self) -> str:
        return f"memory map of shape {self.X.shape}"

    def chunks(self) -> Iterator[tuple[Chunk, Place]]:
        for rows in slices(len(self.X)):
            chunk = self._some(rows)
            names = labels(chunk.X.shape[1], chunk.Y.shape[1], None)
            yield chunk, Place(repr(self), rows.start, names)

    def gather(self, rows: np.ndarray) -> ArrayRows:
        return ArrayRows(self._some(rows)) if self.w is None else super().gather(rows)

    def _some(self, rows: slice | np.ndarray) -> Chunk:
        """A copy of some rows; single precision stays as it is."""
        X = copied(self.X[rows])
        Y = np.array(self.Y[rows], dtype=np.float64).reshape(len(X), -1)
        return Chunk(X, Y, None if self.w is None else np.array(self.w[rows], dtype=np.float64))


def slices(n: int) -> Iterator[slice]:
    """n rows, `READ` at a time."""
    return (slice(start, start + READ) for start in range(0, n, READ))


def copied(X: np.ndarray) -> np.ndarray:
    """A copy in memory; single precision stays as it is."""
    return np.array(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)


def mapped_inputs(X: np.ndarray) -> Iterator[tuple[np.ndarray, Place]]:
    """The rows of a memory map, for predictions."""
    names = labels(X.shape[1], 0, None)
    for rows in slices(len(X)):
        yield copied(X[rows]), Place(f"memory map of shape {X.shape}", rows.start, names)
