"""The function that a network of one or two inputs computes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_is_fitted

from anmin.plotting.curves import BLUE, GREY, ORANGE, stacked

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class FunctionDisplay:
    """The function of one or two inputs, with its hinges: where a hidden unit starts to fire.

    Between hinges the function is linear (with slope 0 or not), so they show how the network is
    built: points on the curve for one input, lines in the plane for two.

    Parameters
    ----------
    grid : list of one or two arrays
        The values of each input at which the function is drawn.
    values : array (len(grid[0]),) or (len(grid[1]), len(grid[0]))
        The function there.
    weights, biases : arrays (d, h), (h,)
        The hidden layer for raw inputs.
    X, y : data to draw, or None
    names : names of the inputs, and of the output

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.plotting import FunctionDisplay
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(x, np.abs(x).ravel())
    >>> display = FunctionDisplay.from_estimator(model, x, np.abs(x).ravel())
    >>> display.ax_.get_xlabel()
    'x0'
    """

    def __init__(
        self, *, grid: Sequence[Any], values: Any, weights: Any, biases: Any,
        X: Any = None, y: Any = None, names: Sequence[str] = ("x0", "x1", "y"),
    ) -> None:  # fmt: skip
        self.grid, self.values = [np.asarray(axis, float) for axis in grid], np.asarray(values)
        self.weights, self.biases = np.asarray(weights, float), np.asarray(biases, float)
        self.X, self.y, self.names = X, y, tuple(names)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, target: int = 0, resolution: int = 200,
        ax: Any = None, **kwargs: Any,
    ) -> FunctionDisplay:  # fmt: skip
        """Draw output `target` over the range of X; keywords go to the curve or the contours.

        For a classifier that is the probability of class number `target`.
        """
        check_is_fitted(estimator)
        X = check_array(X)
        d = estimator.n_features_in_
        if d not in (1, 2) or X.shape[1] != d:
            raise ValueError(
                f"a function of 1 or 2 inputs can be drawn; the model has {d} and X {X.shape[1]}. "
                "Use sklearn.inspection.PartialDependenceDisplay for more."
            )
        low, high = X.min(axis=0), X.max(axis=0)
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        grid = list(np.linspace(low - margin, high + margin, resolution).T)
        mesh = np.stack(np.meshgrid(*grid), axis=-1)  # (…, d)
        names = getattr(estimator, "feature_names_in_", [f"x{k}" for k in range(d)])
        return cls(
            grid=grid,
            values=outputs(estimator, mesh.reshape(-1, d))[:, target].reshape(mesh.shape[:-1]),
            weights=estimator.coefs_[0],
            biases=estimator.intercepts_[0],
            X=X,
            y=shown_target(estimator, y, target),
            names=[*map(plain, names), "probability" if is_classifier(estimator) else "y"],
        ).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> FunctionDisplay:
        """Draw into `ax`, or a new figure."""
        (axis,) = stacked(ax, 1)
        draw = self._plot_curve if len(self.grid) == 1 else self._plot_map
        draw(axis, **kwargs)
        self.ax_, self.figure_ = axis, axis.figure
        return self

    def _plot_curve(self, axis: Axes, **kwargs: Any) -> None:
        (x,) = self.grid
        if self.X is not None and self.y is not None:
            axis.plot(self.X[:, 0], self.y, ".", color=GREY, markersize=3, rasterized=True)
        axis.plot(x, self.values, **({"color": BLUE} | kwargs))
        w = self.weights[0]
        hinges = -self.biases[w != 0] / w[w != 0]
        hinges = hinges[(hinges > x[0]) & (hinges < x[-1])]
        for hinge in hinges:
            axis.axvline(hinge, color=ORANGE, linewidth=0.5, alpha=0.5, zorder=0)
        axis.plot(hinges, np.interp(hinges, x, self.values), "o", color=ORANGE, markersize=4)
        axis.set(xlabel=self.names[0], ylabel=self.names[-1])

    def _plot_map(self, axis: Axes, **kwargs: Any) -> None:
        x, y = self.grid
        style: dict[str, Any] = {"levels": 15, "cmap": "viridis"} | kwargs
        filled = axis.contourf(x, y, self.values, **style)
        axis.figure.colorbar(filled, ax=axis, label=self.names[-1])
        for w, bias in zip(self.weights.T, self.biases, strict=True):
            if w @ w > 0:
                foot = -bias * w / (w @ w)  # the point of the hinge nearest to the origin
                along = np.array([-w[1], w[0]]) / np.sqrt(w @ w)
                axis.axline(foot, foot + along, color="white", linewidth=0.8, alpha=0.8)
        if self.X is not None:
            axis.plot(*self.X.T, ".", color="black", markersize=2, alpha=0.4, rasterized=True)
        axis.set(xlabel=self.names[0], ylabel=self.names[1], xlim=x[[0, -1]], ylim=y[[0, -1]])


def shown_target(estimator: Any, y: Any, target: int) -> np.ndarray | None:
    """The column of y that belongs to the output, classes as 0 and 1."""
    if y is None:
        return None
    y = np.asarray(y)
    if is_classifier(estimator):
        return (y == estimator.classes_[target]).astype(float)
    return y.reshape(len(y), -1)[:, target]


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
