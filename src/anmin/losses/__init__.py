"""Losses beside the squared error: one object each, by name or with numbers of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

from anmin import checks
from anmin.losses.classes import Logistic, Softmax
from anmin.losses.counts import Gamma, Poisson
from anmin.losses.loss import Loss, LossObjective, bound
from anmin.losses.robust import AbsoluteError, Huber, Quantile

SQUARED = "squared_error"
REGRESSION: dict[str, type[Loss]] = {
    cls.name: cls for cls in (Huber, AbsoluteError, Quantile, Poisson, Gamma)
}
LOSSES: dict[str, type[Loss]] = REGRESSION | {cls.name: cls for cls in (Logistic, Softmax)}


def regression_loss(value: object, quantile: Any) -> Loss | None:
    """The loss of a regressor; None is the squared error, which needs no object."""
    if isinstance(value, Loss):
        found: Loss | None = value
    else:
        name = checks.one_of("loss", value, (SQUARED, *REGRESSION))
        levels = levels_of(quantile) if name == Quantile.name else None
        found = None if name == SQUARED else REGRESSION[name]()
        found = found if levels is None else Quantile(levels)
    if quantile is not None and (found is None or found.name != Quantile.name):
        raise ValueError(f'quantile={quantile!r} needs loss="quantile"; got loss={value!r}.')
    return found


def levels_of(quantile: Any) -> tuple[float, ...]:
    """The quantiles asked for, ascending: between 0 and 1, the median by default."""
    several = isinstance(quantile, Sequence) or hasattr(quantile, "__len__")
    levels = quantile if several else [0.5 if quantile is None else quantile]
    good = len(levels) > 0 and all(isinstance(v, Real) and 0 < float(v) < 1 for v in levels)
    if not good or any(a >= b for a, b in pairwise(levels)):
        raise ValueError(
            f"quantile must be a number between 0 and 1, or several in ascending order; "
            f"got {quantile!r}."
        )
    return tuple(map(float, levels))


__all__ = [
    "LOSSES", "SQUARED", "AbsoluteError", "Gamma", "Huber", "Logistic", "Loss", "LossObjective",
    "Poisson", "Quantile", "Softmax", "bound", "levels_of", "regression_loss",
]  # fmt: skip
