"""Parameters and arrays that a user gave: accepted, or refused with what to do instead."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse


def whole_number(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more; got {value!r}.")
    return int(value)


def real_number(name: str, value: Any, least: float, below: float = np.inf) -> float:
    good = isinstance(value, Real) and not isinstance(value, bool) and least <= value < below
    if not good:
        bound = "" if below == np.inf else f" and below {below:g}"
        raise ValueError(f"{name} must be a finite number, at least {least:g}{bound}; got {value!r}.")
    return float(value)


def true_or_false(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value


def start(init: Any, shape: tuple[int, int], rng: np.random.RandomState) -> np.ndarray:
    """The first A: standard normal, or the array that was given."""
    if isinstance(init, str):
        one_of("init", init, ("random",))
        return rng.standard_normal(shape)
    A = np.array(init, dtype=np.float64)
    if A.shape != shape:
        raise ValueError(
            f"init must have shape (n_features + 1, n_hidden) = {shape}, biases in row 0; "
            f"got {A.shape}."
        )
    if not np.isfinite(A).all():
        raise ValueError("init must be finite; it contains NaN or infinity.")
    return A


def positive_weights(weight: np.ndarray | None) -> np.ndarray | None:
    """Weights without negative values, and not all zero."""
    if weight is None:
        return None
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight must not be negative; {int((weight < 0).sum())} of {len(weight)} are."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    return weight


def dense_target(y: Any) -> None:
    if issparse(y):
        raise TypeError("y is sparse, and must be dense: use y.toarray().")
