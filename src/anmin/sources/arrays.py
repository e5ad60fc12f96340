"""Rows that Python hands out: arrays in memory, memory maps, a user's own batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from anmin.backends import Backend
from anmin.sources.batch import Source
from anmin.sources.chunk import Chunk, Origin, checked, chunk_of, column_names
from anmin.sources.raw import ArrayRows, RawSource
from anmin.sources.scaling import Scaling, weight_unit

READ = 2**16  # rows of a memory map read at a time
LENT = "joblib_memmapping_folder"  # of arrays in memory that joblib lends to its workers


class ArraySource(Source):
    """The rows of X (n, d) and Y (n, q), with weights, prepared."""

    def __init__(
        self, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, scaling: Scaling,
        backend: Backend, batch_size: int,
    ) -> None:  # fmt: skip
        super().__init__(ArrayRows(Chunk(X, Y, weight)), scaling, backend, batch_size)


def counting_rows(X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None) -> ArrayRows:
    """Arrays as a raw source, without the rows of weight 0, checked to be in range.

    X may be sparse, in compressed rows; it is checked already.
    """
    sparse = issparse(X)
    seen = np.empty((len(Y), 0)) if sparse else X
    chunk = checked(Chunk(seen, Y, weight), Origin("X and y"), bad_rows="")
    if sparse:
        whole = Chunk(X, Y, weight)
        chunk = whole if weight is None else whole.select(np.flatnonzero(weight))
    return ArrayRows(chunk.weighed_by(weight_unit(chunk.heaviest)))


class BatchSource(RawSource):
    """Rows from anything that can be iterated again and again: (X, y) or (X, y, weight) a batch.

    A generator can be iterated only once; give an object whose `__iter__` starts anew, or a
    function that makes the generator.

    Parameters
    ----------
    batches : the re-iterable, or a function without arguments that returns an iterator
    bad_rows : "error" names the first cell that is no finite number; "skip" leaves such rows
        out and counts them in `n_skipped_`

    Examples
    --------
    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.sources import BatchSource
    >>> def batches():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).normal(size=(50, 2))
    ...         yield X, np.abs(X[:, 0])
    >>> model = ANMINRegressor(4, random_state=0).fit(BatchSource(batches))
    >>> model.n_features_in_
    2
    """

    def __init__(
        self, batches: Iterable[Any] | Callable[[], Iterable[Any]], bad_rows: str = "error"
    ) -> None:
        super().__init__(bad_rows)
        again = callable(batches) or isinstance(batches, Iterable)
        if isinstance(batches, Iterator) or not again:
            raise TypeError(
                "batches must be iterable more than once, and is read once a pass; got "
                f"{type(batches).__name__}. Give a list, an object with __iter__, or a function "
                "that returns a new iterator."
            )
        self._batches = batches
        first = next(self.items(), None)
        if first is not None:
            self.names = column_names(first[0])
            self.flat = len(first) < 2 or np.ndim(first[1]) == 1

    def __repr__(self) -> str:
        return f"BatchSource({type(self._batches).__name__})"

    def items(self) -> Iterator[tuple]:
        """The batches as tuples; X alone is a tuple of one."""
        made = self._batches() if callable(self._batches) else self._batches
        for item in made:
            yield tuple(item) if isinstance(item, (tuple, list)) else (item,)

    def chunks(self) -> Iterator[tuple[Chunk, Origin]]:
        for k, item in enumerate(self.items()):
            if not 2 <= len(item) <= 3:
                raise ValueError(
                    f"batch {k} must be (X, y) or (X, y, weight); got {len(item)} items."
                )
            X, y, w = (*item, None)[:3]
            yield chunk_of(f"batch {k}", X, y, w, self.names)

    def inputs(self, names: Sequence[str] | None) -> Iterator[tuple[Chunk, Origin]]:
        """X alone, for predictions; frames are asked for these columns."""
        for k, (given, *_) in enumerate(self.items()):
            X = given[list(names)] if names is not None and hasattr(given, "columns") else given
            yield chunk_of(f"batch {k}", X, names=names)


class MappedRows(RawSource):
    """X in a memory map, y and weights in arrays or maps: read in slices, never copied whole."""

    def __init__(self, X: np.ndarray, y: Any, weight: Any = None) -> None:
        super().__init__()
        self.X = X
        self.Y = np.empty((len(X), 0)) if y is None else np.asanyarray(y)
        self.w = None if weight is None else np.asanyarray(weight)
        self.flat = self.Y.ndim == 1
        for name, rows in {"y": self.Y, "sample_weight": self.w}.items():
            if rows is not None and (rows.ndim == 0 or len(rows) != len(X)):
                raise ValueError(
                    f"{name} has shape {rows.shape} but X has {len(X):,} rows; they must match."
                )

    @classmethod
    def wraps(cls, X: object) -> bool:
        if not isinstance(X, np.memmap) or LENT in str(X.filename):
            return False
        return X.ndim == 2 and X.dtype.kind in "fiub"

    def __repr__(self) -> str:
        return f"memory map of shape {self.X.shape}"

    def chunks(self) -> Iterator[tuple[Chunk, Origin]]:
        for start in range(0, len(self.X), READ):
            yield self._some(slice(start, start + READ)), Origin(repr(self), start)

    def gather(self, rows: np.ndarray) -> ArrayRows:
        return ArrayRows(self._some(rows)) if self.w is None else super().gather(rows)

    def _some(self, rows: slice | np.ndarray) -> Chunk:
        """A copy of some rows; single precision stays as it is."""
        X = np.array(self.X[rows], dtype=np.float32 if self.X.dtype == np.float32 else np.float64)
        Y = np.array(self.Y[rows], dtype=np.float64).reshape(len(X), -1)
        return Chunk(X, Y, None if self.w is None else np.array(self.w[rows], dtype=np.float64))
