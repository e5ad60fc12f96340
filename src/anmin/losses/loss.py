"""What a loss is, and how it becomes the objective of a fit.

A loss compares the target y of a row with the output f of the network, entry by entry:

    value(y, f)   slope(y, f) = ∂ℓ/∂f   curvature(y, f) ≈ ∂²ℓ/∂f² > 0        all (n, q)

and says where outputs start, which y it takes, and what f predicts. It must be convex in f. The
curvature may also be a bound on it: steps are then shorter and safer, and the minimum is the same.
Arrays are NumPy's or tensors; `library(f)` has the functions for both.

A fit sees y and f less their start c and divided by a unit s, multiplied by the root of the row's
weight. `LossObjective` undoes that, so that a loss knows nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from anmin import checks
from anmin.backends import Array, library
from anmin.objective import SQUARED_ERROR, Objective
from anmin.sources import RawSource, Scaling
from anmin.sources.draws import draw

SAMPLE = 50_000  # rows that starts and units are found on


def like(array: Array, values: Any) -> Array:
    """Values in the type of an array, and where it is."""
    xp: Any = library(array)
    where = {} if xp is np else {"device": array.device}
    return xp.asarray(values, dtype=array.dtype, **where)


class Loss:
    """The base of all losses, each a frozen dataclass of its numbers.

    >>> from anmin.losses import LOSSES, Loss
    >>> all(issubclass(cls, Loss) for cls in LOSSES.values())
    True
    """

    name: ClassVar[str] = ""  # by which it is known
    label: ClassVar[str] = "mean loss"  # what a report calls the mean of its values
    link: ClassVar[str] = "identity"  # "exp" where predictions are exp(f); "sort" for quantiles
    bounded: ClassVar[bool] = False  # whether slopes are, so that outliers have little say
    degree: ClassVar[float] = 2.0  # ℓ(sy, sf) = s^degree ℓ(y, f); of use where f is in units of y
    shifted: ClassVar[bool] = False  # whether rows kept apart say what outputs lack: `shift`

    def value(self, y: Array, f: Array) -> Array:
        raise NotImplementedError

    def slope(self, y: Array, f: Array) -> Array:
        raise NotImplementedError

    def curvature(self, y: Array, f: Array) -> Array:
        raise NotImplementedError

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """All three at once, for losses that have more than one thing in common."""
        return self.value(y, f), self.slope(y, f), self.curvature(y, f)

    def start(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The best constant outputs for targets y (n, q) of weights w (n,)."""
        raise NotImplementedError

    def shift(self, y: np.ndarray, f: np.ndarray, w: np.ndarray) -> np.ndarray:
        """What outputs f (m, q) lack on rows that took no part in the fit: (q,)."""
        raise NotImplementedError

    def check(self, low: np.ndarray, high: np.ndarray) -> None:
        """Refuse targets that it cannot take, from the least and the largest of each."""

    def near(self, level: float) -> Loss:  # noqa: ARG002
        """The same where the mean value has come down to `level`: for losses that are smoothed."""
        return self

    def judged_on(self, rows: int) -> Loss:  # noqa: ARG002
        """The same for so many held-out rows: for losses that luck may bring down to nothing."""
        return self

    def numbers(self) -> dict[str, Any]:
        """Its numbers, plain."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class LossObjective:
    """Σ w ℓ(y, f) with y = c + sY/√w, f = c + sF/√w, in units of s^degree."""

    loss: Loss
    start: tuple[float, ...]  # c
    unit: float = 1.0  # s

    @property
    def least_squares(self) -> bool:
        return False

    @property
    def degree(self) -> float:
        return self.loss.degree

    @property
    def bounded(self) -> bool:
        return self.loss.bounded

    def near(self, level: float) -> LossObjective:
        return replace(self, loss=self.loss.near(level * self.unit**self.degree))

    def judged_on(self, rows: int) -> LossObjective:
        return replace(self, loss=self.loss.judged_on(rows))

    def raw(self, Y: Array, F: Array, root: Array) -> tuple[Array, Array]:
        """y and f as the loss knows them."""
        start = like(F, self.start)
        return start + self.unit * (Y / root), start + self.unit * (F / root)

    def value(self, Y: Array, F: Array, root: Array) -> float:
        return self.total(root, self.loss.value(*self.raw(Y, F, root)))

    def residual(self, Y: Array, F: Array, root: Array) -> Array:
        return self.pull(root, self.loss.slope(*self.raw(Y, F, root)))

    def weights(self, Y: Array, F: Array, root: Array) -> Array:
        return self.bend * self.loss.curvature(*self.raw(Y, F, root))

    def terms(self, Y: Array, F: Array, root: Array) -> tuple[float, Array, Array]:
        value, slope, curvature = self.loss.terms(*self.raw(Y, F, root))
        return self.total(root, value), self.pull(root, slope), self.bend * curvature

    def total(self, root: Array, value: Array) -> float:
        return float((root * root * value).sum()) / self.unit**self.degree

    def pull(self, root: Array, slope: Array) -> Array:
        return (-0.5 * self.unit ** (1 - self.degree)) * root * slope

    @property
    def bend(self) -> float:
        return 0.5 * self.unit ** (2 - self.degree)


def bound(
    loss: Loss | None, rows: RawSource, scaling: Scaling, centred: bool, unit: bool
) -> tuple[Scaling, Objective]:
    """The objective of a loss on some rows, and the scaling whose outputs start where it says.

    They start at 0 where nothing is to be `centred`, and y keeps its unit unless that is asked for.
    None is the squared error.
    """
    if loss is None:
        checks.warn_of_units(rows.measured.y.deviation)
        return scaling.unit_target(rows.measured.y) if unit else scaling, SQUARED_ERROR
    known = [some.measured.y for some in (rows, rows.judge) if some is not None]
    loss.check(np.min([y.low for y in known], 0), np.max([y.high for y in known], 0))
    n = rows.tally()[0]
    some = rows.gather(draw(n, min(n, SAMPLE), np.random.RandomState(0))).chunk
    w = np.ones(len(some)) if some.w is None else some.w
    start = loss.start(np.asarray(some.Y, dtype=np.float64), w)
    first = loss.value(some.Y + 0 * start, 0 * some.Y + start)  # by constants
    loss = loss.near(float(np.average(first.sum(1), weights=w)))
    same = loss.link in ("identity", "sort")  # outputs have the unit of y
    s = spread(some.Y - start, w) if unit and same else 1.0
    start = start if centred else 0 * start
    scaling = replace(scaling, y_mean=start, y_scale=s)
    return scaling, LossObjective(loss, tuple(start.tolist()), s)


def spread(R: np.ndarray, w: np.ndarray) -> float:
    """A robust measure of how far targets spread about their start; 1 for constants."""
    size = np.abs(R).mean(axis=1)
    middle = weighted_quantile(size, w, 0.5)
    return float(1.4826 * middle if middle > 0 else np.average(size, weights=w)) or 1.0


def weighted_quantile(v: np.ndarray, w: np.ndarray, level: float) -> float:
    """The middle of the values below which no more, and up to which no less, than `level` lies."""
    order = np.argsort(v)
    reached = np.cumsum(w[order])
    goal = level * reached[-1]
    slack = 1e-12 * reached[-1]
    low, high = (np.searchsorted(reached, goal + e) for e in (-slack, slack))
    ends = v[order[np.minimum([low, high], len(v) - 1)]]
    return float(ends.mean())
