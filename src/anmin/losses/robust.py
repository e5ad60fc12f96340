"""Losses for targets with outliers, and for quantiles of them.

Of |y − f| the curvature is that of the parabola that touches it from above, 1/|y − f|, kept away
from the kink: within `width` of it slope and curvature are those of a parabola, too. The width is
a small share of the mean value, and so shrinks as the fit gets better; values are never smoothed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Self

import numpy as np

from anmin.backends import Array, library
from anmin.losses.loss import Loss, like, weighted_quantile

SHARP = 0.05  # of the mean value: the width of a kink


@dataclass(frozen=True)
class Huber(Loss):
    """(y − f)² up to delta, and from there on in a straight line: 2 delta |y − f| − delta².

    Rows with y further than `far` from `middle`, one number or one for each target, have no say.

    Without a delta a fit takes 1.35 robust deviations of what a first network leaves over. If there
    is no far either, the middle is the median, and all rows that this network explains have a say.

    >>> import numpy as np
    >>> from anmin.losses import Huber
    >>> Huber(delta=1.0, far=9.0).value(np.array([[0.5], [3.0], [99.0]]), np.zeros((3, 1))).ravel()
    array([0.25, 5.  , 0.  ])
    """

    name: ClassVar[str] = "huber"
    label: ClassVar[str] = "mean Huber loss"
    bounded: ClassVar[bool] = True
    delta: float | None = None
    far: float = inf
    middle: tuple[float, ...] = (0.0,)

    @property
    def bend(self) -> float:
        if self.delta is None or not min(self.delta, self.far) > 0:
            raise ValueError(f"delta and far must be positive numbers; got {self}.")
        return self.delta

    def heard(self, y: Array) -> Array:
        return abs(y - like(y, self.middle)) <= self.far

    def value(self, y: Array, f: Array) -> Array:
        size = abs(y - f)
        inner = library(f).clip(size, None, self.bend)
        return self.heard(y) * (inner * (2 * size - inner))

    def slope(self, y: Array, f: Array) -> Array:
        return self.heard(y) * (-2 * library(f).clip(y - f, -self.bend, self.bend))

    def curvature(self, y: Array, f: Array) -> Array:
        return self.heard(y) * (2 * self.bend / library(f).clip(abs(y - f), self.bend, None))

    def start(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.array([weighted_quantile(v, w, 0.5) for v in y.T])


@dataclass(frozen=True)
class Quantile(Loss):
    """The pinball loss, level (y − f) above f and (1 − level)(f − y) below; a level an output.

    >>> import numpy as np
    >>> from anmin.losses import Quantile
    >>> Quantile((0.9,)).value(np.array([[2.0], [-2.0]]), np.zeros((2, 1))).ravel()
    array([1.8, 0.2])
    """

    name: ClassVar[str] = "quantile"
    label: ClassVar[str] = "mean pinball loss"
    bounded: ClassVar[bool] = True
    degree: ClassVar[float] = 1.0
    shifted: ClassVar[bool] = True
    levels: tuple[float, ...] = (0.5,)
    width: float = 1.0

    @property
    def link(self) -> str:  # type: ignore[override]
        return "sort" if len(self.levels) > 1 else "identity"

    def tilt(self, f: Array) -> Array:
        """level − 1/2, of each output."""
        return like(f, self.levels) - 0.5

    def value(self, y: Array, f: Array) -> Array:
        r = y - f
        return 0.5 * abs(r) + self.tilt(f) * r

    def slope(self, y: Array, f: Array) -> Array:
        r = library(f).clip((y - f) / self.width, -1.0, 1.0)
        return -0.5 * r - self.tilt(f)

    def curvature(self, y: Array, f: Array) -> Array:
        return 0.5 / library(f).clip(abs(y - f), self.width, None)

    def start(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return self.shift(y, np.zeros(len(self.levels)), w)

    def shift(self, y: np.ndarray, f: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The quantiles of what is left over: with them added, outputs hold what they should."""
        R = y - f  # (n, levels) of one target, or (n, targets) of one level
        levels = np.broadcast_to(self.levels, R.shape[1])
        return np.array([weighted_quantile(r, w, q) for r, q in zip(R.T, levels, strict=True)])

    def near(self, level: float) -> Self:
        return replace(self, width=SHARP * level) if level > 0 else self


@dataclass(frozen=True)
class AbsoluteError(Quantile):
    """|y − f|: what the median has least of.

    >>> import numpy as np
    >>> from anmin.losses import AbsoluteError
    >>> AbsoluteError().value(np.array([[2.0], [-3.0]]), np.zeros((2, 1))).ravel()
    array([2., 3.])
    """

    name: ClassVar[str] = "absolute_error"
    label: ClassVar[str] = "mean absolute error"
    shifted: ClassVar[bool] = False

    def value(self, y: Array, f: Array) -> Array:
        return 2 * super().value(y, f)

    def slope(self, y: Array, f: Array) -> Array:
        return 2 * super().slope(y, f)

    def curvature(self, y: Array, f: Array) -> Array:
        return 2 * super().curvature(y, f)
