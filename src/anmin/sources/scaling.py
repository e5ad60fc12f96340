"""Standardisation: X to mean 0 and deviation 1, y centred, with weights."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anmin.backends.numpy import usable_cores

CHUNK = 4096  # rows at a time: they stay in the cache


@dataclass(frozen=True, slots=True)
class Scaling:
    """The network acts on (x − x_mean) / x_scale and predicts (y − y_mean) / y_scale."""

    x_mean: np.ndarray  # (d,)
    x_scale: np.ndarray  # (d,)
    y_mean: np.ndarray  # (q,)
    y_scale: float = 1.0  # one for all outputs

    @classmethod
    def identity(cls, d: int, q: int) -> Scaling:
        return cls(np.zeros(d), np.ones(d), np.zeros(q))

    @classmethod
    def fit(cls, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None) -> Scaling:
        """Weighted means, and deviations with ddof 0; a constant column keeps scale 1.

        Columns are measured in units of their range, so that no square overflows or
        underflows, and from their least value, so that a constant is exactly a constant.
        """
        low = np.min(in_threads(lambda s: X[s].min(axis=0), len(X)), axis=0).astype(float)
        high = np.max(in_threads(lambda s: X[s].max(axis=0), len(X)), axis=0).astype(float)
        unit = np.where(high > low, high / 2 - low / 2, 1.0)
        unit = np.where(unit > 0, unit, 1.0)
        w = np.ones(len(X)) if weight is None else weight
        w = w / w.sum()
        mean = low + unit * sum(in_threads(lambda s: w[s] @ ((X[s] - low) / unit), len(X)))
        squares = in_threads(lambda s: w[s] @ ((X[s] - mean) / unit) ** 2, len(X))
        variance = sum(squares)
        rounding = len(X) * np.finfo(float).eps * np.abs(mean) / unit  # what a constant may show
        scale = np.where(variance > rounding**2, unit * np.sqrt(variance), 1.0)
        return cls(mean, scale, sum(in_threads(lambda s: w[s] @ Y[s], len(X))))

    def unit_target(self, Y: np.ndarray, weight: np.ndarray | None) -> Scaling:
        """The same, with y in units of its deviation over all outputs."""
        w = np.ones(len(Y)) if weight is None else weight
        centred = Y - self.y_mean
        largest = np.abs(centred).max(initial=0.0)
        rounding = len(Y) * np.finfo(float).eps * np.abs(self.y_mean).max()
        if largest <= rounding:  # a constant target
            return self
        mean_square = (w / w.sum()) @ ((centred / largest) ** 2).sum(axis=1)
        return replace(self, y_scale=float(largest * np.sqrt(mean_square / Y.shape[1])))


def in_threads(part: Callable[[slice], Any], n: int) -> list[Any]:
    """part(rows) for each chunk of rows, in their order."""
    chunks = [slice(start, start + CHUNK) for start in range(0, n, CHUNK)]
    if len(chunks) < 4:
        return [part(chunk) for chunk in chunks]
    with ThreadPoolExecutor(usable_cores()) as pool:
        return list(pool.map(part, chunks))
