"""Which source stands for what a user gave, and predictions for each kind of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anmin.sources.chunk import Chunk, Place, ahead, without_bad_rows
from anmin.sources.cluster import DaskSource
from anmin.sources.iterable import cells, column_names, labels
from anmin.sources.local import MappedRows, mapped_inputs
from anmin.sources.numbers import matrix
from anmin.sources.raw import RawSource

Function = Callable[[np.ndarray], np.ndarray]  # (n, d) → (n, q)


def open_source(X: Any, y: Any, sample_weight: Any) -> RawSource | None:
    """The raw source of what `fit` was given; None for arrays and frames in memory.

    >>> import numpy as np
    >>> from anmin.sources import BatchSource, open_source
    >>> rows = BatchSource([(np.zeros((2, 1)), np.zeros(2))])
    >>> open_source(rows, None, None) is rows, open_source(np.zeros((2, 1)), np.zeros(2), None)
    (True, None)
    """
    if isinstance(X, RawSource):
        if y is not None or sample_weight is not None:
            raise ValueError(
                f"{X!r} brings its own targets and weights; leave y and sample_weight out."
            )
        return X
    if is_dask(X):
        if y is None:
            raise ValueError("y is missing: fit a Dask collection X with y, or a DaskSource.")
        return DaskSource(X, y, sample_weight)
    if is_mapped(X) and y is not None:
        return MappedRows(X, y, sample_weight)
    return None


def is_dask(X: Any) -> bool:
    return hasattr(X, "__dask_graph__")


def is_mapped(X: Any) -> bool:
    return isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub"


def is_source(X: Any) -> bool:
    """Whether the rows of X are not all in memory: predictions then need `predict_source`."""
    return isinstance(X, RawSource) or is_dask(X) or is_mapped(X)


def predict_source(function: Function, X: Any, names: Sequence[str] | None, d: int) -> Any:
    """function(X) for the d columns `names` of a source: an array, or a lazy Dask array.

    Where a source leaves bad rows out, their predictions are NaN, so that all others stay in
    their places.
    """
    if is_dask(X):
        return predict_dask(function, X, names, d)
    skips = getattr(X, "bad_rows", "error") == "skip"
    parts = []
    for table, place in ahead(mapped_inputs(X) if is_mapped(X) else X.inputs(names)):
        if table.shape[1] != d:
            raise ValueError(f"{place.label} has {table.shape[1]} columns; the model expects {d}.")
        if not skips:
            without_bad_rows(Chunk(table, np.empty((len(table), 0))), place, "error")
        scores = function(table)
        scores[~np.isfinite(table).all(axis=1)] = np.nan
        parts.append(scores)
    if not parts:
        raise ValueError(f"{X!r} has no rows to predict for.")
    return np.concatenate(parts)


def predict_dask(function: Function, X: Any, names: Sequence[str] | None, d: int) -> Any:
    """The same, lazily, block by block."""
    if column_names(X) is not None:
        wanted = list(X.columns if names is None else names)
        missing = [name for name in wanted if name not in X.columns]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}; it has {', '.join(X.columns)}.")
        X = X[wanted].to_dask_array()
    if X.shape[1] != d:
        raise ValueError(f"X has {X.shape[1]} features, but the model expects {d}.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    q = function(np.zeros((1, d))).shape[1]
    return X.map_blocks(finite_block, function, dtype=np.float64, chunks=(X.chunks[0], (q,)))


def finite_block(X: Any, function: Function, block_id: tuple[int, ...]) -> np.ndarray:
    """function(X) for one block of a Dask array, if all its cells are finite numbers."""
    table = matrix(X)
    place = Place(f"partition {block_id[0]}", 0, labels(table.shape[1], 0, None), cells(X))
    return function(without_bad_rows(Chunk(table, np.empty((len(table), 0))), place, "error").X)


def pick(values: np.ndarray, index: Any) -> Any:
    """values[index], also for a Dask array of indices."""
    if is_dask(index):
        return index.map_blocks(values.__getitem__, dtype=values.dtype)
    return values[index]


def without_gaps(scores: Any) -> Any:
    """Scores of all rows, where none may be missing; a Dask array checks itself."""
    if not is_dask(scores) and np.isnan(scores).any():
        raise ValueError(
            "rows with bad cells have no class; predict_proba is NaN for them. Or read the rows "
            'with bad_rows="error" to learn where they are.'
        )
    return scores
