"""Tables of any kind as floating-point numbers; a cell that is no number becomes NaN."""

from __future__ import annotations

from typing import Any

import numpy as np


def floats(values: Any) -> np.ndarray:
    """One column.

    >>> from anmin.sources.numbers import floats
    >>> floats(["1.5", None, "three", True])
    array([1.5, nan, nan, 1. ])
    """
    column = np.asarray(values)
    if column.dtype.kind in "fiub":
        return column.astype(np.float64, copy=False)
    return np.array([number(value) for value in np.asarray(values, dtype=object)], dtype=np.float64)


def number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def matrix(values: Any) -> np.ndarray:
    """An array or frame of two axes; single precision stays as it is.

    >>> from anmin.sources.numbers import matrix
    >>> matrix([[1, 2], [3, "x"]])
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    if hasattr(values, "columns"):
        columns = [floats(values[name]) for name in values.columns]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))
    table = np.asarray(values)
    if table.dtype.kind not in "fiub":
        table = np.asarray(values, dtype=object)
    if table.ndim != 2:
        raise ValueError(f"X must have two axes, rows and columns; got shape {table.shape}.")
    if table.dtype in (np.float32, np.float64):
        return table
    return np.column_stack([floats(column) for column in table.T])


def targets(values: Any) -> np.ndarray:
    """y as (n, q)."""
    if hasattr(values, "columns"):
        return matrix(values)
    table = np.asarray(values)
    return floats(table)[:, None] if table.ndim == 1 else matrix(table).astype(np.float64)
