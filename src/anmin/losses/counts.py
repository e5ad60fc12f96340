"""Losses for counts and for positive amounts: deviances of a mean exp(f)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anmin.backends import Array, library
from anmin.losses.loss import Loss

TINY = 1e-37  # single precision has it


class OfRate(Loss):
    """What losses of a mean exp(f) share."""

    link: ClassVar[str] = "exp"

    def start(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(np.average(y, axis=0, weights=w), TINY))


@dataclass(frozen=True)
class Poisson(OfRate):
    """The Poisson deviance 2 (y log(y/μ) − y + μ) of counts, with μ = exp(f).

    >>> import numpy as np
    >>> from anmin.losses import Poisson
    >>> Poisson().value(np.array([[1.0], [0.0]]), np.zeros((2, 1))).ravel()
    array([0., 2.])
    """

    name: ClassVar[str] = "poisson"
    label: ClassVar[str] = "mean Poisson deviance"

    def value(self, y: Array, f: Array) -> Array:
        xp = library(f)
        y = xp.clip(y, 0.0, None)  # rounding may have put zeros below
        return 2 * (y * (xp.log(xp.clip(y, TINY, None)) - f - 1) + xp.exp(f))

    def slope(self, y: Array, f: Array) -> Array:
        return 2 * (library(f).exp(f) - y)

    def curvature(self, y: Array, f: Array) -> Array:  # noqa: ARG002
        return 2 * library(f).exp(f)

    def check(self, low: np.ndarray, high: np.ndarray) -> None:
        if low.min() < 0 or not high.min() > 0:
            raise ValueError(
                f'loss="poisson" needs y of 0 or more, and some above 0; got y from {low.min():g} '
                f"to {high.min():g}."
            )


@dataclass(frozen=True)
class Gamma(OfRate):
    """The gamma deviance 2 (log(μ/y) + y/μ − 1) of positive amounts, with μ = exp(f).

    Its curvature 2y/μ vanishes with y; the mean of that and of what is expected, 2, does not.

    >>> import numpy as np
    >>> from anmin.losses import Gamma
    >>> Gamma().value(np.array([[1.0]]), np.zeros((1, 1))).ravel()
    array([0.])
    """

    name: ClassVar[str] = "gamma"
    label: ClassVar[str] = "mean gamma deviance"

    def value(self, y: Array, f: Array) -> Array:
        xp = library(f)
        return 2 * (f + y * xp.exp(-f) - 1 - xp.log(xp.clip(y, TINY, None)))

    def slope(self, y: Array, f: Array) -> Array:
        return 2 * (1 - y * library(f).exp(-f))

    def curvature(self, y: Array, f: Array) -> Array:
        return 1 + y * library(f).exp(-f)

    def check(self, low: np.ndarray, high: np.ndarray) -> None:  # noqa: ARG002
        if not low.min() > 0:
            raise ValueError(f'loss="gamma" needs y above 0; got {low.min():g}.')
