"""A user's own batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from anmin.sources.chunk import Chunk, Place
from anmin.sources.numbers import floats, matrix, targets
from anmin.sources.raw import RawSource


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

    def __init__(self, batches: Any, bad_rows: str = "error") -> None:
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

    def chunks(self) -> Iterator[tuple[Chunk, Place]]:
        shape: tuple[int, int] | None = None
        for k, item in enumerate(self.items()):
            if not 2 <= len(item) <= 3:
                raise ValueError(
                    f"batch {k} must be (X, y) or (X, y, weight); got {len(item)} items."
                )
            X, Y = matrix(item[0]), targets(item[1])
            chunk = Chunk(X, Y, floats(item[2]) if len(item) == 3 else None)
            shape = shape or (X.shape[1], Y.shape[1])
            if (X.shape[1], Y.shape[1]) != shape or len(Y) != len(X):
                raise ValueError(
                    f"batch {k} has X of shape {X.shape} and y of {Y.shape}; expected "
                    f"(n, {shape[0]}) and (n, {shape[1]})."
                )
            if chunk.w is not None and chunk.w.shape != (len(X),):
                raise ValueError(f"batch {k} has {len(X)} rows but weights {chunk.w.shape}.")
            yield chunk, Place(f"batch {k}", 0, labels(*shape, self.names), cells(*item))

    def inputs(self, names: Sequence[str] | None) -> Iterator[tuple[np.ndarray, Place]]:
        """X alone, for predictions; frames are asked for these columns."""
        for k, item in enumerate(self.items()):
            X = item[0]
            if names is not None and hasattr(X, "columns"):
                X = X[list(names)]
            table = matrix(X)
            yield table, Place(f"batch {k}", 0, labels(table.shape[1], 0, names), cells(X))


def column_names(X: Any) -> list[str] | None:
    """The columns of a frame, if they are names."""
    names = list(getattr(X, "columns", []))
    return names if names and all(isinstance(name, str) for name in names) else None


def cells(*parts: Any) -> Callable[[int, int], Any]:
    """(row, column) → the cell as it was given."""

    def cell(row: int, column: int) -> Any:
        rows = [np.asarray(part, dtype=object)[row] for part in parts]
        return np.hstack([np.atleast_1d(values) for values in rows])[column]

    return cell


def labels(d: int, q: int, names: Sequence[str] | None) -> list[str]:
    """What to call the columns of X, y and the weights in a message."""
    inputs = [f"X[:, {j}]" for j in range(d)] if names is None else list(names)
    return [*inputs, *(["y"] if q == 1 else [f"y[:, {k}]" for k in range(q)]), "weight"]
