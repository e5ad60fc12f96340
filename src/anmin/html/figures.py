"""Pictures of the report page, each an SVG element that takes the page's colours and width."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.inspection import PartialDependenceDisplay
from sklearn.metrics import confusion_matrix

from anmin.plotting.common import BLUE, GREY, ORANGE, plain

INK = "#010203"  # stands for the colour of the page's text
STYLE: Any = {
    **dict.fromkeys(
        ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], INK
    ),
    "axes.facecolor": "none",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "font.size": 9.0,
    "legend.frameon": False,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
}
MOST_POINTS = 3000  # drawn
MOST_ROWS = 500  # averaged for partial dependence
BINS = 10


def picture(name: str, title: str, draw: Callable[[Any], Any], height: float = 3.2) -> str:
    """An SVG element with what `draw` draws into an Axes.

    >>> picture("line", "A line", lambda ax: ax.plot([0, 1], [0, 1])).startswith("<svg role")
    True
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6, height), layout="constrained")
        draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", dpi=160)
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{name}-", svg)  # unique on the page
    svg = svg.replace(INK, "currentColor").replace(BLUE.lower(), "var(--blue)")
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)


def bars(shares: Mapping[str, float], label: str) -> Callable[[Axes], None]:
    """Horizontal bars, the largest on top."""

    def draw(ax: Axes) -> None:
        names = [plain(name, 22) for name in shares]
        ax.barh(range(len(names)), list(shares.values()), color=BLUE)
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlabel(label)
        ax.grid(axis="x", alpha=0.3)

    return draw


def sample(n: int) -> np.ndarray:
    """The rows that are drawn."""
    return np.random.default_rng(0).permutation(n)[:MOST_POINTS]


def predicted_against_true(y: np.ndarray, said: np.ndarray, name: str) -> Callable[[Axes], None]:
    rows = sample(len(y))

    def draw(ax: Axes) -> None:
        ax.plot(y[rows], said[rows], ".", color=BLUE, markersize=3, alpha=0.7, rasterized=True)
        ends = [min(y.min(), said.min()), max(y.max(), said.max())]
        ax.plot(ends, ends, color=ORANGE, linewidth=1)
        ax.set(xlabel=f"true {plain(name)}", ylabel="predicted")

    return draw


def residuals_against_predicted(y: np.ndarray, said: np.ndarray) -> Callable[[Axes], None]:
    rows = sample(len(y))

    def draw(ax: Axes) -> None:
        gap = (y - said)[rows]
        ax.plot(said[rows], gap, ".", color=BLUE, markersize=3, alpha=0.7, rasterized=True)
        ax.axhline(0, color=ORANGE, linewidth=1)
        ax.set(xlabel="predicted", ylabel="true − predicted")

    return draw


def histogram_of_residuals(y: np.ndarray, said: np.ndarray) -> Callable[[Axes], None]:
    def draw(ax: Axes) -> None:
        ax.hist(y - said, bins=40, color=BLUE)
        ax.axvline(0, color=ORANGE, linewidth=1)
        ax.set(xlabel="true − predicted", ylabel="rows")

    return draw


def confusion(y: np.ndarray, said: np.ndarray, classes: Sequence[Any]) -> Callable[[Axes], None]:
    """Share of each true class (row) that is given each class (column)."""
    share = confusion_matrix(y, said, labels=classes, normalize="true")
    names = [plain(name, 14) for name in classes]

    def draw(ax: Axes) -> None:
        ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
        if len(names) <= 12:
            for i, j in np.ndindex(*share.shape):
                ink = "white" if share[i, j] > 0.5 else "black"
                ax.text(j, i, f"{share[i, j]:.0%}", ha="center", va="center", color=ink)
        ax.set_xticks(range(len(names)), names, rotation=90 if len(names) > 6 else 0)
        ax.set_yticks(range(len(names)), names)
        ax.set(xlabel="predicted", ylabel="true")

    return draw


def reliability(right: np.ndarray, confidence: np.ndarray) -> Callable[[Axes], None]:
    """How often the predicted class is right, against how sure the model was."""
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    filled = np.unique(place)
    sure = [confidence[place == k].mean() for k in filled]
    often = [right[place == k].mean() for k in filled]

    def draw(ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1)
        ax.plot(sure, often, "o-", color=BLUE)
        ax.set(xlabel="probability of the predicted class", ylabel="share that is right")
        ax.set(xlim=(0, 1.02), ylim=(0, 1.02))

    return draw


def dependence(model: Any, X: np.ndarray, feature: int, name: str) -> Callable[[Axes], None]:
    """The prediction averaged over the rows, with one input set to each of its values."""
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    classes = getattr(model, "classes_", [])
    if len(classes) > 2:
        target, what = classes[0], f"probability of {plain(classes[0])}"
    elif len(classes):
        target, what = None, f"probability of {plain(classes[1])}"
    else:
        target, what = 0 if model.n_outputs_ > 1 else None, "prediction"

    def draw(ax: Axes) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            warnings.filterwarnings("ignore", "Attempting to set identical")  # a constant
            shown = PartialDependenceDisplay.from_estimator(
                model, X[rows], [feature], target=target, ax=ax, grid_resolution=50,
                line_kw={"color": BLUE}, response_method="auto",
            )  # fmt: skip
        (axis,) = shown.axes_.ravel()
        for ticks in axis.collections:  # the deciles
            ticks.set_color(GREY)
        axis.set(xlabel=plain(name), ylabel=f"mean {what}")
        axis.grid(alpha=0.3)

    return draw
