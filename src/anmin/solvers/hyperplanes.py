"""Random hyperplanes through rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from anmin.backends import Backend
from anmin.backends.compiled import kernels


def hyperplanes(X: np.ndarray, odds: np.ndarray, k: int, rng: np.random.RandomState) -> np.ndarray:
    """k random hyperplanes through rows drawn with the given odds, unit normals: (p, k)."""
    D = rng.standard_normal((X.shape[1] - 1, k))
    return through_rows(X, D, odds, rng)


def through_rows(
    X: np.ndarray, D: np.ndarray, odds: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:  # fmt: skip
    """Hyperplanes with the normals D (d, k) through rows drawn with the given odds: (p, k).

    A row is drawn by its place along the normal, so that neither the order of the rows nor
    whether a row is weighted or repeated changes the outcome.
    """
    k = D.shape[1]
    D = (D / np.maximum(np.linalg.norm(D, axis=0), 1e-12)).astype(X.dtype)
    V = np.vstack([np.zeros((1, k), X.dtype), D])
    along = np.ascontiguousarray(((X @ V) / X[:, :1]).T)  # (k, n)
    level: np.ndarray = rng.uniform(size=(k,))
    through = reached(along, odds, level).astype(X.dtype)
    # A hair before the row, so that rounding does not decide whether it fires.
    return np.vstack([1e-6 * np.ptp(along, axis=1) - through, D])


def reached(along: np.ndarray, odds: np.ndarray, level: np.ndarray) -> np.ndarray:
    """For each row of `along` (k, n) the value up to which a share `level` of the odds lies."""
    compiled = kernels()
    if compiled is not None:
        return compiled.place(along, odds, level)
    order = along.argsort(axis=1)
    so_far = odds[order].cumsum(axis=1)
    row = (so_far < level[:, None] * so_far[:, -1:]).sum(axis=1)
    k = np.arange(len(along))
    return along[k, order[k, row]]


def hyperplanes_on_device(
    be: Backend, X: Any, odds: Any, k: int, rng: np.random.RandomState
) -> Any:  # fmt: skip
    """`hyperplanes` on tensors of rows in PyTorch, of the same random numbers: (p, k)."""
    D = rng.standard_normal((X.shape[1] - 1, k))
    D /= np.maximum(np.linalg.norm(D, axis=0), 1e-12)
    W: Any = be.double(np.vstack([np.zeros((1, k)), D]))
    W = W.to(X.dtype)
    along, order = (X @ W / X[:, :1]).T.sort(dim=1)  # (k, n)
    so_far = odds[order].cumsum(1)
    level: Any = be.double(rng.uniform(size=(k, 1)))
    row = (so_far < level * so_far[:, -1:]).sum(1, keepdims=True)
    W[0] = 1e-6 * (along[:, -1] - along[:, 0]) - along.gather(1, row)[:, 0]
    return W
