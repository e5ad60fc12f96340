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
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PathDisplay", "TrainingDisplay"]

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#8C8C8C"  # for every reader's eyes


class TrainingDisplay:
    """How the fit went: the loss against time, and before it the choice of the penalty.

    While lam="auto" walks the penalty down there is no loss on all rows yet, but an error on rows
    held out, in the same units; both are drawn. The walk is most of the time of a fit.

    Parameters
    ----------
    seconds, loss : arrays of one length
        One entry an iteration on all rows.
    path_seconds, held_out : arrays of one length
        One entry a penalty that was tried; none without a path.

    Attributes
    ----------
    ax_ : Axes
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

    def __init__(
        self, *, seconds: Any, loss: Any, path_seconds: Any = (), held_out: Any = ()
    ) -> None:
        self.seconds, self.loss = np.asarray(seconds, float), np.asarray(loss, float)
        self.path_seconds = np.asarray(path_seconds, float)
        self.held_out = np.asarray(held_out, float)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> TrainingDisplay:
        """Draw the history of a fitted model; keywords go to the lines."""
        found = recorded(estimator, "history_", ("seconds", "loss"))
        path = [step for step in estimator.path_ if step.seconds == step.seconds]
        walked = {
            "path_seconds": [step.seconds for step in path],
            "held_out": [step.held_out_mse for step in path],
        }
        return cls(**found, **walked).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> TrainingDisplay:
        """Draw into `ax`, or a new figure."""
        axis = ax or new_axes()
        marker = "o" if len(self.seconds) < 30 else ""
        style: Any = {"color": BLUE, "marker": marker, "markersize": 3}
        axis.plot(self.seconds, self.loss, label="loss, all rows", **style | kwargs)
        if len(self.held_out):
            style = {"color": ORANGE, "marker": "o", "markersize": 3}
            label = "error, rows held out, as the penalty falls"
            axis.plot(self.path_seconds, self.held_out, label=label, **style | kwargs)
            axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize="small")
        axis.set(xlabel="seconds", ylabel="loss")
        axis.grid(alpha=0.3)
        set_scale(axis, np.concatenate([self.loss, self.held_out]))
        self.ax_, self.figure_ = axis, axis.figure
        return self


class PathDisplay:
    """How lam="auto" chose: errors and active units against the penalty, which falls to the right.

    Parameters
    ----------
    lam, train_mse, held_out_mse, active : arrays of one length
        One entry a penalty that was tried.
    chosen : float
        The penalty that was chosen.
    measure : str
        What the errors are.

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
        self, *, lam: Any, train_mse: Any, held_out_mse: Any, active: Any, chosen: float,
        measure: str = "mean squared error",
    ) -> None:  # fmt: skip
        self.lam, self.active = np.asarray(lam, float), np.asarray(active, int)
        self.train_mse = np.asarray(train_mse, float)
        self.held_out_mse = np.asarray(held_out_mse, float)
        self.chosen, self.measure = chosen, measure

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> PathDisplay:
        """Draw the path of a fitted model; keywords go to the lines of the errors."""
        found = recorded(estimator, "path_", ("lam", "train_mse", "held_out_mse", "active"))
        if estimator._report is not None:
            found["measure"] = estimator._report.measure
        return cls(**found, chosen=estimator.lam_).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> PathDisplay:
        """Draw into `ax`, or a new figure."""
        axis = ax or new_axes()
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
        axis.set(xscale="log", xlabel="lam", ylabel=self.measure)
        set_scale(axis, np.concatenate([self.train_mse, self.held_out_mse]))
        axis.invert_xaxis()
        axis.grid(alpha=0.3)
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="small")
        self.ax_, self.units_ax_, self.figure_ = axis, units, axis.figure
        return self


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


def new_axes() -> Axes:
    """Axes of a new figure."""
    import matplotlib.pyplot as plt

    return plt.figure(layout="constrained").add_subplot()


def outputs(estimator: Any, X: np.ndarray) -> np.ndarray:
    """What the model says for X: (n, q), for a classifier the probabilities."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (does not have valid|has) feature names")  # a grid
        values = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)
    return np.asarray(values).reshape(len(values), -1)


def plain(name: Any, most: int = 30) -> str:
    """A name for a picture: not too long, and a dollar sign is no mathematics.

    >>> print(plain("price in $"))
    price in \\$
    """
    name = str(name)
    return (name if len(name) <= most else name[: most - 1] + "…").replace("$", r"\$")
