"""Standardisation: X to mean 0 and deviation 1, y centred, with weights.

It comes from the moments of the columns, and moments of two sets of rows add:

    mean = mean₁ + (w₂/w) δ,   Σw(v − mean)² = Σ₁ + Σ₂ + (w₁w₂/w) δ²,   δ = mean₂ − mean₁

so that one pass is enough, wherever the rows live. Columns are measured in units of half their
range, so that no square overflows or underflows, and from their least value, so that a constant
is exactly a constant.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from scipy.sparse import issparse

from anmin.backends import Array, Backend
from anmin.backends.threads import usable_cores
from anmin.encoding import Encoding
from anmin.network import Network
from anmin.sources.chunk import Chunk, in_batches, within
from anmin.sources.hinged import Hinges
from anmin.sources.sparse import Standardised

BLOCK = 4096  # rows at a time: they stay in the cache
BATCH = 16 * BLOCK
WORTH_THREADS = 2**19  # numbers of a batch
ORDINARY = 1e-30, 1e30  # largest weights whose sums neither overflow nor vanish


@dataclass(frozen=True, slots=True)
class Moments:
    """Range, mean and scatter of columns over n rows of weight w.

    >>> import numpy as np
    >>> from anmin.sources.scaling import Moments
    >>> V = np.arange(6.0)[:, None]
    >>> both = Moments.of(V[:2], None) + Moments.of(V[2:], None)
    >>> both.n, both.mean, both.deviation
    (6, array([2.5]), array([1.70782513]))
    """

    n: int
    w: float
    low: np.ndarray  # (m,)
    high: np.ndarray  # (m,)
    mean: np.ndarray  # (m,)
    square: np.ndarray  # Σw(v − mean)² / unit²

    @classmethod
    def of(cls, V: np.ndarray, weight: np.ndarray | None) -> Moments:
        n, m = V.shape
        if n and issparse(V):
            return cls(n, *sparse_moments(V, np.ones(n) if weight is None else weight))
        if n == 0:
            zero = np.zeros(m)
            return cls(0, 0.0, zero + np.inf, zero - np.inf, zero, zero)
        apart = np.array(V.T, dtype=float, order="C")  # (m, n), changed in place
        low, high = apart.min(axis=1), apart.max(axis=1)
        unit = unit_of(low, high)
        w = np.ones(n) if weight is None else weight
        total = float(w.sum())
        apart -= low[:, None]
        apart /= unit[:, None]
        shift = apart @ w / total
        apart -= shift[:, None]
        apart *= apart
        return cls(n, total, low, high, low + unit * shift, apart @ w)

    @property
    def unit(self) -> np.ndarray:
        """Half the range; 1 for a constant."""
        return unit_of(self.low, self.high)

    @property
    def deviation(self) -> np.ndarray:
        return self.unit * np.sqrt(self.square / self.w)

    @property
    def rounding(self) -> np.ndarray:
        """How much a constant may seem to vary."""
        return min(self.n, BLOCK) * np.finfo(float).eps * np.abs(self.mean)

    def __add__(self, other: Moments) -> Moments:
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        unit, w = unit_of(low, high), self.w + other.w
        step = (other.mean - self.mean) / unit
        mean = self.mean + unit * step * (other.w / w)
        ours, theirs = (part.square * (part.unit / unit) ** 2 for part in (self, other))
        square = ours + theirs + step**2 * (self.w * other.w / w)
        return Moments(self.n + other.n, w, low, high, mean, square)


def sparse_moments(
    S: Any, w: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same of sparse columns, what is zero counted and not visited: weight, ends, mean, square.

    No terms of opposite sign are added, so that a constant stays a constant.
    """
    n, total = S.shape[0], float(w.sum())
    low, high = (np.asarray(end.todense(), dtype=float).ravel() for end in (S.min(0), S.max(0)))
    unit, S = unit_of(low, high), S.astype(np.float64)
    mean, count = S.T @ w / total, np.bincount(S.indices, minlength=S.shape[1])
    apart, there = S.copy(), S.copy()
    apart.data = ((S.data - mean[S.indices]) / unit[S.indices]) ** 2
    there.data = np.ones_like(S.data)
    zeros = np.where(count < n, np.maximum(total - there.T @ w, 0.0), 0.0)
    return total, low, high, mean, apart.T @ w + zeros * (mean / unit) ** 2


def unit_of(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    half = high / 2 - low / 2
    return np.where(half > 0, half, 1.0)


@dataclass(frozen=True, slots=True)
class Measure:
    """What one pass over raw rows finds out. `sizes` are rows by partition, in their order."""

    x: Moments
    y: Moments
    sizes: tuple[int, ...]
    skipped: int = 0
    heaviest: float = 0.0  # the largest weight; 0 without weights

    def __add__(self, other: Measure) -> Measure:
        x, y, skipped = self.x + other.x, self.y + other.y, self.skipped + other.skipped
        heaviest = max(self.heaviest, other.heaviest)
        return Measure(x, y, self.sizes + other.sizes, skipped, heaviest)


def weight_unit(heaviest: float) -> float:
    """1, or the largest weight where sums of such weights would overflow or vanish.

    Only the ratios of weights matter to a fit, so they may be divided by anything.
    """
    low, high = ORDINARY
    return 1.0 if heaviest == 0 or low <= heaviest <= high else heaviest


def measure(chunks: Iterable[Chunk]) -> Measure | None:
    """The moments of rows read in order; None where there are no chunks.

    They are formed in blocks of fixed size, so that no bit depends on how the rows arrive.
    """
    total: Measure | None = None
    with ThreadPoolExecutor(usable_cores()) as pool:
        for chunk in in_batches(chunks, BATCH):
            size = within(BLOCK, 4 * sum(chunk.width))
            starts = range(0, max(len(chunk), 1), size)
            few = len(starts) < 4 or len(chunk) * sum(chunk.width) < WORTH_THREADS
            each = map if few else pool.map
            parts = [*each(partial(block_moments, chunk, size), starts)]
            with np.errstate(all="ignore"):  # huge weights, measured again in their unit
                found = reduce(add, parts if total is None else [total, *parts])
            total = replace(found, sizes=(found.x.n,), skipped=found.skipped + chunk.skipped)
    return total


def block_moments(chunk: Chunk, size: int, start: int) -> Measure:
    block = chunk.select(slice(start, start + size))
    X = block.X if issparse(block.X) else np.ascontiguousarray(block.X)  # so are the products
    Y = np.ascontiguousarray(block.Y)
    with np.errstate(all="ignore"):
        return Measure(Moments.of(X, block.w), Moments.of(Y, block.w), (), 0, block.heaviest)


@dataclass(frozen=True, slots=True)
class Scaling:
    """The network acts on (e(x) − x_mean) / x_scale and predicts (y − y_mean) / y_scale.

    e is the encoding, where there is one. `inputs` is the only place where raw inputs become those
    of the network: for batches, for the workers of a cluster and for predictions.
    """

    x_mean: np.ndarray  # (n_inputs,)
    x_scale: np.ndarray  # (n_inputs,)
    y_mean: np.ndarray  # (q,)
    y_scale: float = 1.0  # one for all outputs
    encoding: Encoding | None = None

    @classmethod
    def identity(cls, d: int, q: int) -> Scaling:
        return cls(np.zeros(d), np.ones(d), np.zeros(q))

    @classmethod
    def fit(cls, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None) -> Scaling:
        """That of arrays.

        >>> import numpy as np
        >>> from anmin.sources import Scaling
        >>> found = Scaling.fit(np.array([[0.0], [4.0]]), np.array([[1.0], [2.0]]), None)
        >>> found.x_mean, found.x_scale, found.y_mean
        (array([2.]), array([2.]), array([1.5]))
        """
        found = measure([Chunk(X, Y, weight)])
        assert found is not None
        return cls.of(found)

    @classmethod
    def of(cls, found: Measure) -> Scaling:
        """Weighted means, and deviations with ddof 0; a constant column keeps scale 1."""
        x = found.x
        scale = np.where(x.deviation > x.rounding, x.deviation, 1.0)
        return cls(x.mean, scale, found.y.mean)

    @property
    def n_inputs(self) -> int:
        """Inputs of the network, without the leading column."""
        return len(self.x_mean)

    @property
    def n_features(self) -> int:
        """Columns of raw X."""
        return self.n_inputs if self.encoding is None else len(self.encoding.centre)

    def only(self, columns: np.ndarray) -> Scaling:
        """That of some of the inputs, copies; without an encoding."""
        assert self.encoding is None
        return replace(self, x_mean=self.x_mean[columns], x_scale=self.x_scale[columns])

    def on(self, backend: Backend) -> Scaling:
        """The same, with arrays of a backend, in full precision."""
        x_mean, x_scale, y_mean = map(backend.double, (self.x_mean, self.x_scale, self.y_mean))
        encoding = None if self.encoding is None else self.encoding.on(backend)
        return Scaling(x_mean, x_scale, y_mean, self.y_scale, encoding)

    def inputs(self, X: np.ndarray) -> np.ndarray:
        """Raw X as the network sees it: (n, d) → (n, n_inputs)."""
        return self.standardised(self.encoded(X))

    def outputs(self, network: Network, X: np.ndarray) -> np.ndarray:
        """The outputs of a network for raw X: (n, d) → (n, q)."""
        return network.forward(self.inputs(X)) + self.y_mean

    def encoded(self, X: Array) -> Array:
        return X if self.encoding is None else self.encoding(X)

    def standardised(self, Z: Array) -> Array:
        if issparse(Z):
            return Standardised(Z, self.x_mean, self.x_scale)  # type: ignore[return-value]
        Z = Z - self.x_mean
        Z /= self.x_scale
        return Z

    def encoded_by(self, encoding: Encoding, X: np.ndarray, weight: np.ndarray | None) -> Scaling:
        """The same behind an encoding, whose columns get deviation 1 on the rows X."""
        encoding.check(X.shape[1])
        x = Moments.of(encoding(X), weight)
        scale = np.where(x.deviation > x.rounding + 1e-9, x.deviation, 1.0) / encoding.share()
        return replace(self, x_mean=x.mean, x_scale=scale, encoding=encoding)

    @property
    def hinges(self) -> Hinges | None:
        """How the hinges of the encoding are scaled; None where there are none."""
        if self.encoding is None or not len(self.encoding.column):
            return None
        return Hinges.of(self.encoding, self.x_mean, self.x_scale)

    def without_hinges(self) -> Scaling:
        """The same on the clipped inputs alone."""
        if self.encoding is None:
            return self
        d, encoding = len(self.encoding.centre), self.encoding.without_hinges()
        return replace(self, x_mean=self.x_mean[:d], x_scale=self.x_scale[:d], encoding=encoding)

    def targets(self, Y: Array) -> Array:
        """Raw Y as the network is to predict it: (n, q)."""
        return (Y - self.y_mean) / self.y_scale

    def unit_target(self, y: Moments) -> Scaling:
        """The same, with y in units of its deviation over all outputs."""
        c = self.y_mean
        largest = float(np.maximum(y.high - c, c - y.low).max())
        if largest <= (y.rounding.max() if c.any() else 0.0):  # a constant target
            return self
        about_c = (y.deviation / largest) ** 2 + ((y.mean - c) / largest) ** 2
        return replace(self, y_scale=float(largest * np.sqrt(about_c.mean())))
