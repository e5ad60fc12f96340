"""Pictures of a fitted model, in the style of scikit-learn's displays.

`XDisplay.from_estimator(model)` collects the numbers and draws them; `.plot(ax)` draws them again
elsewhere. Matplotlib is imported when something is drawn. Partial dependence needs nothing from
here: `sklearn.inspection.PartialDependenceDisplay.from_estimator(model, X, features)`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FunctionDisplay", "PathDisplay", "TrainingDisplay"]

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8C8C8C"  # for every reader's eyes


class TrainingDisplay:
    """How the fit went: the loss against time and, where recorded, log-determinant and flips.

    Parameters
    ----------
    seconds, loss, logdet, flips : arrays of one length
        One entry an iteration. `logdet` is ln|M + lam I| of the hidden system, `flips` the share of
        firing-pattern entries that changed; NaN where not recorded, and without numbers not drawn.

    Attributes
    ----------
    ax_ : Axes of the loss
    axes_ : list of all Axes
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.plotting import TrainingDisplay
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(x, np.abs(x).ravel())
    >>> TrainingDisplay.from_estimator(model).ax_.get_ylabel()
    'loss'
    """

    def __init__(self, *, seconds: Any, loss: Any, logdet: Any, flips: Any) -> None:
        self.seconds, self.loss = np.asarray(seconds, float), np.asarray(loss, float)
        self.logdet, self.flips = np.asarray(logdet, float), np.asarray(flips, float)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> TrainingDisplay:
        """Draw the history of a fitted model; keywords go to the lines."""
        found = recorded(estimator, "history_", ("seconds", "loss", "logdet", "flips"))
        return cls(**found).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> TrainingDisplay:
        """Draw into `ax`, which is divided where there are several curves, or a new figure."""
        curves = [("loss", self.loss, BLUE)]
        others = (("ln det", self.logdet, ORANGE), ("flips", self.flips, GREEN))
        curves += [curve for curve in others if np.isfinite(curve[1]).any()]
        self.axes_ = stacked(ax, len(curves))
        style: Any = {"marker": "o" if len(self.seconds) < 30 else "", "markersize": 3} | kwargs
        for axis, (name, values, colour) in zip(self.axes_, curves, strict=True):
            shown = np.where(np.isfinite(values), values, np.nan)
            axis.plot(self.seconds, shown, **{"color": colour} | style)
            axis.set_ylabel(name)
            axis.grid(alpha=0.3)
            axis.label_outer()
        self.axes_[-1].set_xlabel("seconds")
        set_scale(self.axes_[0], self.loss)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self


class PathDisplay:
    """How lam="auto" chose: errors and active units against the penalty, which falls to the right.

    Parameters
    ----------
    lam, train_mse, held_out_mse, active : arrays of one length
        One entry a penalty that was tried.
    chosen : float
        The penalty that was chosen.

    Attributes
    ----------
    ax_ : Axes of the errors
    units_ax_ : Axes of the active units, on the right
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.plotting import PathDisplay
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(x, np.abs(x).ravel())
    >>> PathDisplay.from_estimator(model).ax_.get_xlabel()
    'lam'
    """

    def __init__(
        self, *, lam: Any, train_mse: Any, held_out_mse: Any, active: Any, chosen: float
    ) -> None:
        self.lam, self.active = np.asarray(lam, float), np.asarray(active, int)
        self.train_mse = np.asarray(train_mse, float)
        self.held_out_mse = np.asarray(held_out_mse, float)
        self.chosen = chosen

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> PathDisplay:
        """Draw the path of a fitted model; keywords go to the lines of the errors."""
        found = recorded(estimator, "path_", ("lam", "train_mse", "held_out_mse", "active"))
        return cls(**found, chosen=estimator.lam_).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> PathDisplay:
        """Draw into `ax`, or a new figure."""
        (axis,) = stacked(ax, 1)
        units = axis.twinx()
        units.step(self.lam, self.active, where="mid", color=GREY, linewidth=1)
        units.set_ylabel("active units", color=GREY)
        units.set_ylim(bottom=0)
        axis.set_zorder(units.get_zorder() + 1)  # errors over units
        axis.patch.set_visible(False)
        lines = (("held out", self.held_out_mse, ORANGE), ("training", self.train_mse, BLUE))
        for label, values, colour in lines:
            style: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 3}
            axis.plot(self.lam, values, label=label, **style | kwargs)
        axis.axvline(self.chosen, color=ORANGE, linestyle=":", label=f"chosen: {self.chosen:.3g}")
        axis.set(xscale="log", xlabel="lam", ylabel="mean squared error")
        set_scale(axis, np.concatenate([self.train_mse, self.held_out_mse]))
        axis.invert_xaxis()
        axis.grid(alpha=0.3)
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="small")
        self.ax_, self.units_ax_, self.figure_ = axis, units, axis.figure
        return self


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
    >>> FunctionDisplay.from_estimator(model, x, np.abs(x).ravel()).ax_.get_xlabel()
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
        X, d = check_array(X), estimator.n_features_in_
        if d not in (1, 2) or X.shape[1] != d:
            raise ValueError(
                f"a function of 1 or 2 inputs can be drawn; the model has {d} and X {X.shape[1]}. "
                "Use sklearn.inspection.PartialDependenceDisplay for more."
            )
        if y is not None and is_classifier(estimator):
            y = np.asarray(y) == estimator.classes_[target]
        elif y is not None:
            y = np.reshape(y, (len(X), -1))[:, target]
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
            y=y,
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
        axis.plot(hinges, np.interp(hinges, x, self.values), "o", color=ORANGE, markersize=4)
        axis.set(xlabel=self.names[0], ylabel=self.names[-1])

    def _plot_map(self, axis: Axes, **kwargs: Any) -> None:
        x, y = self.grid
        filled = axis.contourf(x, y, self.values, **({"levels": 15, "cmap": "viridis"} | kwargs))
        axis.figure.colorbar(filled, ax=axis, label=self.names[-1])
        for w, bias in zip(self.weights.T, self.biases, strict=True):
            if w @ w > 0:
                foot = -bias * w / (w @ w)  # the point of the hinge nearest to the origin
                along = np.array([-w[1], w[0]]) / np.sqrt(w @ w)
                axis.axline(foot, foot + along, color="white", linewidth=0.8, alpha=0.8)
        if self.X is not None:
            axis.plot(*self.X.T, ".", color="black", markersize=2, alpha=0.4, rasterized=True)
        axis.set(xlabel=self.names[0], ylabel=self.names[1], xlim=x[[0, -1]], ylim=y[[0, -1]])


def recorded(estimator: Any, name: str, columns: Sequence[str]) -> dict[str, Any]:
    """What the fit recorded, column by column, or an error that says how to have it."""
    check_is_fitted(estimator)
    if not (records := getattr(estimator, name, [])):
        raise ValueError(f'this {type(estimator).__name__} has no {name}; fit it with lam="auto".')
    return {column: [getattr(step, column) for step in records] for column in columns}


def set_scale(axis: Axes, values: np.ndarray) -> None:
    """Logarithmic where the values are positive and far apart, else with readable numbers."""
    if values.min() > 0 and values.max() > 5 * values.min():
        axis.set_yscale("log")
    else:
        axis.ticklabel_format(axis="y", useOffset=False)


def stacked(ax: Any, n: int) -> list[Axes]:
    """Axes one above the other, of a new figure or in the place of `ax`."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=(6.4, 3.2 + 1.3 * n), layout="constrained").add_subplot()
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
