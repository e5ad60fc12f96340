"""The log-loss of class probabilities.

    two classes     p = 1 / (1 + exp(−f)),                 one output
    more            p_k = exp(f_k) / Σ_l exp(f_l),         an output a class

Of more than two classes the curvature couples the outputs; its diagonal p(1 − p) stands for it.
The whole of it is at most twice that, and q/(q − 1) times that where all q classes are as likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anmin.backends import Array
from anmin.losses.loss import Loss, library

RAREST = 1e-9  # share of a class that is looked for in a start


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(f)) − y f for y of 0 and 1.

    >>> import numpy as np
    >>> from anmin.losses import Logistic
    >>> Logistic().slope(np.array([[1.0], [0.0]]), np.zeros((2, 1))).ravel()
    array([-0.5,  0.5])
    """

    name: ClassVar[str] = "log_loss"
    label: ClassVar[str] = "mean log-loss"
    link: ClassVar[str] = "class"

    def value(self, y: Array, f: Array) -> Array:
        return library(f).logaddexp(0 * f, f) - y * f

    def slope(self, y: Array, f: Array) -> Array:
        return sigmoid(f) - y

    def curvature(self, y: Array, f: Array) -> Array:  # noqa: ARG002
        return sigmoid(f) * sigmoid(-f)

    def start(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        p = np.clip(np.average(y, axis=0, weights=w), RAREST, 1 - RAREST)
        return np.log(p / (1 - p))


@dataclass(frozen=True)
class Softmax(Loss):
    """−log p of the class with y = 1, an output a class.

    >>> import numpy as np
    >>> from anmin.losses import Softmax
    >>> Softmax().slope(np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 4)))
    array([[-0.75,  0.25,  0.25,  0.25]])
    """

    name: ClassVar[str] = "softmax"
    label: ClassVar[str] = "mean log-loss"
    link: ClassVar[str] = "class"

    def value(self, y: Array, f: Array) -> Array:
        xp = library(f)
        top = row_max(f)
        return top + xp.log(xp.exp(f - top).sum(1)[:, None]) - (y * f).sum(1)[:, None]

    def slope(self, y: Array, f: Array) -> Array:
        return softmax(f) - y

    def curvature(self, y: Array, f: Array) -> Array:  # noqa: ARG002
        p, q = softmax(f), f.shape[1]
        return p * (1 - p) * (q / (q - 1))

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        xp, top, q = library(f), row_max(f), f.shape[1]
        e = xp.exp(f - top)
        size = e.sum(1)[:, None]
        p = e / size
        value = top + xp.log(size) - (y * f).sum(1)[:, None]
        return value, p - y, p * (1 - p) * (q / (q - 1))

    def start(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(np.average(y, axis=0, weights=w), RAREST))


def sigmoid(f: Array) -> Array:
    e = library(f).exp(-abs(f))
    return library(f).where(f >= 0, 1 / (1 + e), e / (1 + e))


def row_max(f: Array) -> Array:
    return library(f).amax(f, 1)[:, None]


def softmax(f: Array) -> Array:
    """exp(f), normalised along each row."""
    e = library(f).exp(f - row_max(f))
    return e / e.sum(1)[:, None]
