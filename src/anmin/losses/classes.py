"""The log-loss of class probabilities.

    two classes     p = 1 / (1 + exp(−f)),                 one output
    more            p_k = exp(f_k) / Σ_l exp(f_l),         an output a class

Of more than two classes the curvature couples the outputs; its diagonal p(1 − p) stands for it.
The whole of it is at most twice that, and q/(q − 1) times that where all q classes are as likely.

Held-out rows that are all told right say that the surer the better, up to certainty, and one row
that is not would then cost all that was gained. So with m of them each is taken to be of any class
with the odds of `LUCK` rows to m: probabilities are believed up to about m to `LUCK`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from anmin.backends import Array, Backend, get_backend, library
from anmin.losses.loss import Loss, like
from anmin.sources import Batch, RawSource, Scaling

RAREST = 1e-9  # share of a class, at least, in a start
MOST_CLASSES, ROWS = 1000, 65_536
ROUNDING = 1e-12
LUCK = 0.1  # of a row, among those of a held-out part
CLOSE = 1e-5  # of the largest label: nearer than this, single precision mixes them up


class OfLabels(Loss):
    """What losses of classes share: y is the label of a row, a number, in every column."""

    label: ClassVar[str] = "mean log-loss"
    link: ClassVar[str] = "class"
    labels: tuple[float, ...]
    odd: float  # share of each row that is taken to be of any class

    def judged_on(self, rows: int) -> Self:
        return replace(self, odd=LUCK / (rows + LUCK))  # type: ignore[type-var]

    def numbers(self) -> dict[str, Any]:
        return {"labels": self.labels}

    @property
    def gap(self) -> float:
        """The least distance between labels."""
        return min(b - a for a, b in pairwise(self.labels))

    def check(self, low: np.ndarray, high: np.ndarray) -> None:  # noqa: ARG002
        if self.gap < CLOSE * max(map(abs, self.labels)):
            raise ValueError(f"labels are too close to each other; got {self.labels!r:.60}.")


@dataclass(frozen=True)
class Logistic(OfLabels):
    """log(1 + exp(f)) − f for the second label, without − f for the first.

    >>> import numpy as np
    >>> from anmin.losses import Logistic
    >>> Logistic().slope(np.array([[1.0], [0.0]]), np.zeros((2, 1))).ravel()
    array([-0.5,  0.5])
    """

    name: ClassVar[str] = "log_loss"
    labels: tuple[float, ...] = (0.0, 1.0)
    odd: float = 0.0

    def second(self, y: Array) -> Array:
        """1 for the second label, 0 for the first."""
        return (y > sum(self.labels) / 2) * (1 - self.odd + 0 * y) + self.odd / 2

    def value(self, y: Array, f: Array) -> Array:
        return library(f).logaddexp(0 * f, f) - self.second(y) * f

    def slope(self, y: Array, f: Array) -> Array:
        return sigmoid(f) - self.second(y)

    def curvature(self, y: Array, f: Array) -> Array:  # noqa: ARG002
        return sigmoid(f) * sigmoid(-f)

    def start(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        p = np.clip(np.average(self.second(y), axis=0, weights=w), RAREST, 1 - RAREST)
        return np.log(p / (1 - p))


@dataclass(frozen=True)
class Softmax(OfLabels):
    """−log p of the class with the label y, an output a class.

    >>> import numpy as np
    >>> from anmin.losses import Softmax
    >>> Softmax((0.0, 1.0, 2.0, 3.0)).slope(np.array([[0.0]]), np.zeros((1, 4)))
    array([[-0.75,  0.25,  0.25,  0.25]])
    """

    name: ClassVar[str] = "softmax"
    labels: tuple[float, ...] = (0.0, 1.0, 2.0)
    odd: float = 0.0

    def hot(self, y: Array, f: Array) -> Array:
        """1 for the class of a row, 0 for the others."""
        own = abs(y - like(f, self.labels)) < self.gap / 4
        return own * (1 - self.odd + 0 * f) + self.odd / f.shape[1]

    def value(self, y: Array, f: Array) -> Array:
        return self.terms(y, f)[0]

    def slope(self, y: Array, f: Array) -> Array:
        return softmax(f) - self.hot(y, f)

    def curvature(self, y: Array, f: Array) -> Array:  # noqa: ARG002
        p, q = softmax(f), f.shape[1]
        return p * (1 - p) * (q / (q - 1))

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        xp, top, q, hot = library(f), row_max(f), f.shape[1], self.hot(y, f)
        e = xp.exp(f - top)
        size = e.sum(1)[:, None]
        p = e / size
        value = top + xp.log(size) - (hot * f).sum(1)[:, None]
        return value, p - hot, p * (1 - p) * (q / (q - 1))

    def start(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        share = np.average(self.hot(y, np.zeros((1, len(self.labels)))), axis=0, weights=w)
        return np.log(np.maximum(share, RAREST))


# ---- labels that a source brings -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Labels:
    """Different labels, in order; those of two sets of rows add to those of both."""

    values: np.ndarray

    def __add__(self, other: Labels) -> Labels:
        return Labels(np.union1d(self.values, other.values))


def label_pass(backend: Backend, batch: Batch) -> Labels:
    """A kernel: the labels of a batch of rows whose y is as it was given."""
    found = np.unique(backend.to_numpy(batch.Y / batch.X[:, :1]))
    whole = np.round(found)
    near = abs(found - whole) <= ROUNDING * np.maximum(abs(whole), 1)  # the weight was divided out
    return Labels(np.unique(np.where(near, whole, found)))


def labels_in(rows: RawSource) -> np.ndarray:
    """The different labels of a source, in order: one more pass over its rows."""
    d, q = rows.width
    if q != 1:
        raise ValueError(f"a classifier needs one target; the source has {q}.")
    backend = get_backend("cpu", "float64")
    source = rows.prepared(Scaling.identity(d, 1), backend, ROWS)
    values = source.reduce(label_pass).values
    if not 2 <= len(values) <= MOST_CLASSES:
        raise ValueError(
            f"y must hold two classes or more, and at most {MOST_CLASSES:,}; got {len(values):,} "
            "different numbers. For a target that is measured use ANMINRegressor."
        )
    return values


# ---- functions -----------------------------------------------------------------------------------


def sigmoid(f: Array) -> Array:
    e = library(f).exp(-abs(f))
    return library(f).where(f >= 0, 1 / (1 + e), e / (1 + e))


def row_max(f: Array) -> Array:
    return library(f).amax(f, 1)[:, None]


def softmax(f: Array) -> Array:
    """exp(f), normalised along each row."""
    e = library(f).exp(f - row_max(f))
    return e / e.sum(1)[:, None]
