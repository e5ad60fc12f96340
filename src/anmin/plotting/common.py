"""What the displays share."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8C8C8C"  # for every reader's eyes


def fitted(estimator: Any, name: str) -> list[Any]:
    """What the fit recorded, or an error that says how to have it."""
    check_is_fitted(estimator)
    records = getattr(estimator, name, [])
    if not records:
        remedy = 'fit with lam="auto" and solver="varpro"' if name == "path_" else "fit it again"
        raise ValueError(f"this {type(estimator).__name__} has no {name}; {remedy}.")
    return list(records)


def spans_decades(values: np.ndarray) -> bool:
    """Whether the values are positive and far enough apart for a logarithmic axis."""
    return bool(values.min() > 0 and values.max() > 5 * values.min())


def stacked(ax: Any, n: int) -> list[Axes]:
    """Axes one above the other, of a new figure or in the place of `ax`."""
    if ax is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(6.4, 3.2 + 1.3 * n), layout="constrained")
        ax = figure.add_subplot()
    if n == 1:
        return [ax]
    ax.set_axis_off()
    spec = ax.get_subplotspec().subgridspec(n, 1, height_ratios=[2.0] + [1.0] * (n - 1))
    first = ax.figure.add_subplot(spec[0])
    return [first, *(ax.figure.add_subplot(spec[k], sharex=first) for k in range(1, n))]


def outputs(estimator: Any, X: np.ndarray) -> np.ndarray:
    """What the model says for X: (n, q), for a classifier the probabilities."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # it is a grid
        values = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)
    return np.asarray(values).reshape(len(values), -1)


def plain(name: Any, most: int = 30) -> str:
    """A name for a picture: not too long, and a dollar sign is no mathematics.

    >>> print(plain("price in $"))
    price in \\$
    """
    name = str(name)
    return (name if len(name) <= most else name[: most - 1] + "…").replace("$", r"\$")
