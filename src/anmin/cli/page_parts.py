"""Parts of the report page: its frame, pieces of HTML, and pictures.

Everything that the pieces are given is text and is escaped. A picture is an SVG element that takes
the colours and the width of the page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.metrics import confusion_matrix

from anmin.plotting import BLUE, GREY, ORANGE, outputs, plain

if TYPE_CHECKING:
    from anmin.base import BaseANMIN

INK = "#010203"  # stands for the colour of the page's text
COLOURED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
STYLE: Any = dict.fromkeys(COLOURED, INK) | {
    "axes.facecolor": "none", "axes.spines.right": False, "axes.spines.top": False,
    "figure.facecolor": "none", "font.size": 9.0, "legend.frameon": False,
    "savefig.facecolor": "none", "svg.fonttype": "none",
}  # fmt: skip
DOTS: Any = {"color": BLUE, "markersize": 3, "alpha": 0.7, "rasterized": True}
MOST_POINTS = 3000  # drawn
MOST_ROWS = 500  # averaged for partial dependence
BINS = 10


# ---- pieces of HTML -----------------------------------------------------------------------------


def whole_page(title: str, body: str) -> str:
    """The page of the template, with its title and its body."""
    template = Template(files("anmin.cli").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), body=body)


def section(name: str, title: str, *content: str) -> str:
    body = "\n".join(content)
    return f'<section id="{name}">\n<h2>{escape(title)}</h2>\n{body}\n</section>'


def text(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def gallery(*figures: str) -> str:
    """Pictures, side by side where there is room."""
    return f'<div class="gallery">{"".join(figures)}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "numbers") -> str:
    """A table of numbers or words, which scrolls where it is too wide; names come first."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    head_row = f"<thead><tr>{top}</tr></thead>" if head else ""
    return f'<div class="wide"><table class="{kind}">{head_row}<tbody>{body}</tbody></table></div>'


# ---- pictures -----------------------------------------------------------------------------------


def picture(name: str, title: str, draw: Callable[[Axes], object], height: float = 3.2) -> str:
    """An SVG figure with what `draw` draws into an Axes.

    >>> picture("line", "A line", lambda ax: ax.plot([0, 1], [0, 1]))[:17]
    '<figure><svg role'
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
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)
    return f"<figure>{svg}<figcaption>{escape(title)}</figcaption></figure>"


def sample(n: int, most: int = MOST_POINTS) -> np.ndarray:
    """The rows that are drawn."""
    return np.random.default_rng(0).permutation(n)[:most]


def draw_predicted(ax: Axes, y: np.ndarray, said: np.ndarray, name: str) -> None:
    """Predicted against true."""
    rows = sample(len(y))
    ax.plot(y[rows], said[rows], ".", **DOTS)
    ends = [min(y.min(), said.min()), max(y.max(), said.max())]
    ax.plot(ends, ends, color=ORANGE, linewidth=1)
    ax.set(xlabel=f"true {plain(name)}", ylabel="predicted")


def draw_confusion(ax: Axes, y: np.ndarray, said: np.ndarray, classes: Sequence[Any]) -> None:
    """Share of each true class (row) that is given each class (column)."""
    share = confusion_matrix(y, said, labels=classes, normalize="true")
    names = [plain(name, 14) for name in classes]
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
    if len(names) <= 12:
        for i, j in np.ndindex(*share.shape):
            ink = "white" if share[i, j] > 0.5 else "black"
            ax.text(j, i, f"{share[i, j]:.0%}", ha="center", va="center", color=ink)
    ax.set_xticks(range(len(names)), names, rotation=90 if len(names) > 6 else 0)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="predicted", ylabel="true")


def draw_reliability(ax: Axes, right: np.ndarray, confidence: np.ndarray) -> None:
    """How often the predicted class is right, against how sure the model was."""
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = [place == k for k in np.unique(place)]
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    ax.plot([confidence[b].mean() for b in bins], [right[b].mean() for b in bins], "o-", color=BLUE)
    ax.set(xlabel="probability of the predicted class", ylabel="share that is right")
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02))


def draw_dependence(ax: Axes, model: BaseANMIN, X: np.ndarray, feature: int, name: str) -> None:
    """The prediction averaged over the rows, with one input set to each of its values."""
    classes = getattr(model, "classes_", [])
    which = int(len(classes) == 2)  # the second of two classes, else the first output
    what = f"probability of {plain(classes[which])}" if len(classes) else "prediction"
    values = np.linspace(X[:, feature].min(), X[:, feature].max(), 50)
    some, means = X[sample(len(X), MOST_ROWS)], []
    for value in values:
        some[:, feature] = value
        means.append(outputs(model, some)[:, which].mean())
    ax.plot(values, means, color=BLUE)
    ax.set(xlabel=plain(name), ylabel=f"mean {what}")
    ax.grid(alpha=0.3)
