"""Where rows live. One verb: run a kernel over the batches and add up what it returns.

Which source stands for what a user gave is decided here, and predictions for each kind of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anmin.columns import Columns
from anmin.sources.arrays import ArraySource, BatchSource, MappedRows, counting_rows
from anmin.sources.batch import Batch, Kernel, Source, batch_rows
from anmin.sources.chunk import Chunk, Origin
from anmin.sources.cluster import DaskSource, is_dask
from anmin.sources.raw import Function, RawSource
from anmin.sources.readers import CSVSource, ParquetSource
from anmin.sources.scaling import Scaling

__all__ = [
    "ArraySource", "Batch", "BatchSource", "CSVSource", "Chunk", "DaskSource", "Kernel",
    "Origin", "ParquetSource", "RawSource", "Scaling", "Source", "batch_rows", "counting_rows",
    "is_source", "open_source", "pick", "predict_source", "without_gaps",
]  # fmt: skip

WRAPPERS: list[type[RawSource]] = [DaskSource, MappedRows]  # what fit(X, y) makes by itself


def wrapper(X: object) -> type[RawSource] | None:
    """The kind of source that stands for a container X; None for arrays and frames in memory."""
    return next((kind for kind in WRAPPERS if kind.wraps(X)), None)


def is_source(X: object) -> bool:
    """Whether the rows of X are not all in memory: predictions then need `predict_source`."""
    return isinstance(X, RawSource) or wrapper(X) is not None


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
    kind = wrapper(X)
    if kind is None:
        return None
    if y is None:
        raise ValueError("y is missing: give it with X, or give a source that brings it.")
    return kind(X, y, sample_weight)  # type: ignore[call-arg]


def predict_source(
    function: Function, X: Any, names: Sequence[str] | None, d: int, columns: Columns | None = None
) -> Any:
    """function(X) for the d columns `names` of a source: an array, or a lazy Dask array.

    Where a source leaves bad rows out, their predictions are NaN, so that all others stay in
    their places.
    """
    kind = wrapper(X)
    source = X if kind is None else kind.of_inputs(X)
    if columns is not None:
        source = source.with_columns(columns)
    return source.predict(function, names, d)


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
