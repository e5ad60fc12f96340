"""Inputs as a network sees them: clipped, and cut at quantiles.

    z = (x − centre) / scale,     z / √(1 + (z/3)²)        finite wherever a new row may lie
    min(max((x − t_k) / (t_k+1 − t_k), 0), 1)              hinges between neighbouring quantiles t

The first d columns are the clipped inputs, the others their hinges. With the values of a
few-valued input for quantiles its hinges are steps from one value to the next, and any function of
it is linear in them. All of it is piecewise linear but the clip, and exact in every export.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anmin.backends import Array, Backend, library

CLIP = 3.0  # of the robust scale, where a clipped input bends
FAR = 1e9  # of it, where a clipped input is 3 to the last bit: an export need not go beyond
MOST_COLUMNS = 1024  # hinges are fewer where the inputs are many


@dataclass(frozen=True, slots=True)
class Encoding:
    """d clipped inputs, and m hinges; hinge k belongs to input `column[k]`."""

    centre: np.ndarray  # (d,)
    scale: np.ndarray  # (d,)
    column: np.ndarray  # (m,) whole numbers below d
    low: np.ndarray  # (m,)
    high: np.ndarray  # (m,)

    @classmethod
    def fit(
        cls, X: np.ndarray, weight: np.ndarray | None, hinges: int, most: int = MOST_COLUMNS
    ) -> Encoding:
        """For rows X (n, d), with up to so many hinges an input, and about `most` in all.

        >>> import numpy as np
        >>> from anmin.encoding import Encoding
        >>> encoding = Encoding.fit(np.array([[0.0], [1.0], [2.0], [9.0]]), None, 8)
        >>> encoding(np.array([[1.5]]))[:, 1:]
        array([[1. , 0.5, 0. ]])
        """
        d = X.shape[1]
        hinges = min(hinges, max(2, most // d)) if hinges else 0
        levels = np.linspace(0, 1, hinges + 1)
        centre, scale, knots = np.empty(d), np.empty(d), []
        for j in range(d):
            values, share = distinct(X[:, j].astype(np.float64), weight)
            first, centre[j], third = quantiles(values, share, np.array([0.25, 0.5, 0.75]))
            spread = third - first if third > first else (values[-1] - values[0]) / 2
            scale[j] = spread if spread > 0 else 1.0
            few = len(values) <= hinges + 1
            t = values if few else np.unique(quantiles(values, share, levels))
            knots.append(t if hinges and len(t) > 2 else t[:0])
        column = np.repeat(np.arange(d), [max(len(t) - 1, 0) for t in knots])
        low, high = (np.concatenate([t[k] for t in knots]) for k in (slice(-1), slice(1, None)))
        return cls(centre, scale, column, low, high)

    def check(self, d: int) -> None:
        """Refuse rows with another number of inputs."""
        if len(self.centre) != d:
            raise ValueError(f"encoding is for {len(self.centre)} inputs, and X has {d}.")

    @property
    def inputs(self) -> np.ndarray:
        """The input that each column comes from: (d + m,)."""
        return np.concatenate([np.arange(len(self.centre)), self.column])

    def without_hinges(self) -> Encoding:
        none = self.column[:0]
        return replace(self, column=none, low=self.low[:0], high=self.high[:0])

    def share(self) -> np.ndarray:
        """1 for an input, 1/√k for each of its k hinges: (d + m,)."""
        count = np.bincount(self.column, minlength=len(self.centre))
        return np.concatenate([np.ones(len(count)), 1 / np.sqrt(count[self.column])])

    def refined(self, other: Encoding) -> Encoding:
        """The same inputs with hinges between all knots of both: linear in them is what was."""
        parts = [(self.column[:0], self.low[:0], self.high[:0])]
        for j in np.union1d(self.column, other.column):
            both = [(e.low[e.column == j], e.high[e.column == j]) for e in (self, other)]
            knots = np.unique(np.concatenate([*both[0], *both[1]]))
            parts.append((np.full(len(knots) - 1, j), knots[:-1], knots[1:]))
        column, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
        return replace(self, column=column, low=low, high=high)

    def shares_in(self, fine: Encoding) -> np.ndarray:
        """How much of each hinge rises within each one of a refinement: (m', m)."""
        start = np.maximum(fine.low[:, None], self.low)
        end = np.minimum(fine.high[:, None], self.high)
        inside = (fine.column[:, None] == self.column) & (start < end)
        return np.where(inside, (end - start) / (self.high - self.low), 0.0)

    def on(self, backend: Backend) -> Encoding:
        """The same for arrays of a backend, in full precision."""
        column, there = backend.integers(self.column), backend.double
        ends = there(self.low), there(self.high)
        return Encoding(there(self.centre), there(self.scale), column, *ends)

    def clipped(self, x: Array, j: slice | Array) -> Array:
        """Values of the inputs j, clipped."""
        z = (x - self.centre[j]) / self.scale[j]
        xp = library(z)
        z = xp.clip(z, -FAR, FAR)  # so that no square overflows
        z /= xp.sqrt(1 + (z / CLIP) ** 2)
        return z

    def __call__(self, X: Array) -> Array:
        """(n, d) → (n, d + m)."""
        Z = self.clipped(X, slice(None))
        if not len(self.column):
            return Z
        xp, H = library(X), X[:, self.column] - self.low
        H /= self.high - self.low
        return xp.hstack([Z, xp.clip(H, 0, 1, out=H)])


def distinct(x: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The values of x in order, and the share of the weight up to each."""
    values, place = np.unique(x, return_inverse=True)
    share = np.cumsum(np.bincount(place, weight).astype(np.float64))
    return values, share / share[-1]


def quantiles(values: np.ndarray, share: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Values that are reached at these levels: a row twice counts as a row of weight two."""
    place = np.searchsorted(share, levels - 1e-12)
    return values[np.minimum(place, len(values) - 1)]
