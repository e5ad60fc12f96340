"""Intervals that hold whatever the noise is: split-conformal prediction.

Some rows take no part in the fit. Each of them, as a new row does, lies so far from the prediction:

    |y − f(x)|                       one output a target
    max(q_low(x) − y, y − q_high(x)) several quantiles of one target, of which the outer ones count

Of m such distances and that of a new row each order is as likely, so the k-th smallest of the m,
k = ⌈(m + 1) coverage⌉, is not exceeded with that probability, or a little more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.sparse import issparse

from anmin.sources import Chunk, RawSource, Scaling
from anmin.sources.draws import TABLE, Groups, draw

SHARE, MOST = 0.2, 2000  # of the rows, that the distances are measured on


@dataclass(frozen=True, slots=True)
class Distances:
    """How far rows that took no part in the fit lie from their predictions."""

    values: np.ndarray  # (m, targets), each column ascending

    @classmethod
    def of(cls, y: np.ndarray, predicted: np.ndarray) -> Distances:
        """From targets (m, q) and what was predicted for them, (m, q), or quantiles of one."""
        if predicted.shape[1] > y.shape[1]:
            low, high = predicted[:, :1], predicted[:, -1:]
            return cls(np.sort(np.maximum(low - y, y - high), axis=0))
        return cls(np.sort(np.abs(y - predicted), axis=0))

    def within(self, coverage: float) -> np.ndarray:
        """The distance that a new row keeps within with this probability: (targets,)."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1; got {coverage!r}.")
        m = len(self.values)
        k = ceil((m + 1) * coverage - 1e-9)
        if k > m:
            raise ValueError(
                f"{m} rows were kept for intervals, too few for a coverage of {coverage:g}; "
                "fit more rows, or ask for less."
            )
        return self.values[k - 1]

    def interval(self, predicted: np.ndarray, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends about predictions (n, q): (n, targets) each."""
        width = self.within(coverage)
        if predicted.shape[1] > len(width):
            return predicted[:, :1] - width, predicted[:, -1:] + width
        return predicted - width, predicted + width


def kept_apart(
    rows: RawSource, rng: np.random.RandomState, share: float = SHARE
) -> tuple[RawSource, Chunk]:
    """The rows to fit, and those to measure distances on.

    They are drawn as a new row would be: copies of a row may lie on both sides, since where rows
    come twice a new one may be a copy as well.
    """
    n = rows.tally()[0]
    each = Groups(n, np.arange(n) if n <= TABLE else None)
    folds = each.folds(min(share, MOST / n), 1, rng)
    if not folds:
        raise ValueError('intervals="conformal" keeps rows apart and needs two or more; got one.')
    train, out = folds[0]
    apart = rows.part(out)
    m = apart.tally()[0]
    return rows.part(train), apart.gather(draw(m, m, rng)).chunk


def inputs_of(rows: Chunk, scaling: Scaling) -> np.ndarray:
    """Rows that were kept apart, as a network sees them."""
    return scaling.inputs(rows.X if issparse(rows.X) else np.asarray(rows.X))
