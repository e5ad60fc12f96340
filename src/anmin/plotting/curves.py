"""How a fit went, and how its penalty was chosen; and what all displays share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8C8C8C"  # for every reader's eyes


class TrainingDisplay:
    """How the fit went: the loss against time and, where recorded, log-determinant and flips.

    Parameters
    ----------
    seconds, loss, logdet, flips : arrays of one length
        One entry an iteration. `logdet` is ln|M + lam I| of the hidden system, `flips` the share of
        firing-pattern entries that changed; NaN where not recorded. A row without any number is
        not drawn.

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
    >>> display = TrainingDisplay.from_estimator(model)
    >>> display.ax_.get_ylabel()
    'loss'
    """

    def __init__(self, *, seconds: Any, loss: Any, logdet: Any, flips: Any) -> None:
        self.seconds, self.loss = np.asarray(seconds, float), np.asarray(loss, float)
        self.logdet, self.flips = np.asarray(logdet, float), np.asarray(flips, float)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> TrainingDisplay:
        """Draw the history of a fitted model; keywords go to the lines."""
        steps = fitted(estimator, "history_")
        names = ("seconds", "loss", "logdet", "flips")
        facts = {name: [getattr(step, name) for step in steps] for name in names}
        return cls(**facts).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> TrainingDisplay:
        """Draw into `ax`, which is divided where there are several curves, or a new figure."""
        curves = {"loss": (self.loss, BLUE)}
        for name, values, colour in (("ln det", self.logdet, ORANGE), ("flips", self.flips, GREEN)):
            if np.isfinite(values).any():
                curves[name] = (values, colour)
        self.axes_ = stacked(ax, len(curves))
        marker = "o" if len(self.seconds) < 30 else ""
        for axis, (name, (values, colour)) in zip(self.axes_, curves.items(), strict=True):
            shown = np.where(np.isfinite(values), values, np.nan)
            style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3} | kwargs
            axis.plot(self.seconds, shown, **style)
            axis.set_ylabel(name)
            axis.grid(alpha=0.3)
            axis.label_outer()
        self.axes_[-1].set_xlabel("seconds")
        if spans_decades(self.loss):
            self.axes_[0].set_yscale("log")
        else:
            self.axes_[0].ticklabel_format(axis="y", useOffset=False)  # losses that can be read
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
    >>> display = PathDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
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
        path = fitted(estimator, "path_")
        names = ("lam", "train_mse", "held_out_mse", "active")
        facts: dict[str, Any] = {name: [getattr(step, name) for step in path] for name in names}
        return cls(**facts, chosen=estimator.lam_).plot(ax, **kwargs)

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
            style: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 3} | kwargs
            axis.plot(self.lam, values, label=label, **style)
        axis.axvline(self.chosen, color=ORANGE, linestyle=":", label=f"chosen: {self.chosen:.3g}")
        axis.set(xscale="log", xlabel="lam", ylabel="mean squared error")
        if spans_decades(np.concatenate([self.train_mse, self.held_out_mse])):
            axis.set_yscale("log")
        axis.invert_xaxis()
        axis.grid(alpha=0.3)
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="small")
        self.ax_, self.units_ax_, self.figure_ = axis, units, axis.figure
        return self


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
