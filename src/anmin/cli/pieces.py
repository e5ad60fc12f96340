"""Pieces of a page: words, tables, and pictures that take the colours and the width of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import dates, ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anmin.plotting import BLUE, ORANGE

INK = "#010203"  # stands for the colour of the page's text
COLOURED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
STYLE: Any = dict.fromkeys(COLOURED, INK) | {
    "axes.facecolor": "none", "axes.spines.right": False, "axes.spines.top": False,
    "figure.facecolor": "none", "font.size": 9.0, "savefig.facecolor": "none",
    "svg.fonttype": "none",
}  # fmt: skip
TICKS = 4  # on an axis, so that their labels keep apart


def text(words: str) -> str:
    return f"<p>{escape(words)}</p>"


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


def tidy_axes(ax: Axes) -> None:
    """Few ticks with short labels."""
    ax.set_axisbelow(True)
    ax.grid(alpha=0.3)
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_locator(), dates.AutoDateLocator):
            axis.set_major_locator(ticker.LinearLocator(TICKS))
            axis.set_major_formatter(dates.DateFormatter("%Y-%m-%d"))
        else:
            axis.set_major_locator(ticker.MaxNLocator(TICKS))
            low, high = axis.get_view_interval()
            show = partial(short_number, span=abs(high - low))
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _, show=show: show(value)))


def short_number(value: float, span: float) -> str:
    """A number for an axis that has this length, with the digits that tell its ticks apart.

    >>> short_number(1250000, 1e6), short_number(0.05, 0.1), short_number(2016.5, 2)
    ('1.25M', '0.05', '2016.5')
    """
    if abs(value) >= 1e6:
        size, letter = (1e9, "G") if abs(value) >= 1e9 else (1e6, "M")
        return f"{value / size:g}{letter}"
    if abs(value) >= 1e4:
        return f"{value:,.0f}"
    digits = 1 - int(np.floor(np.log10(span))) if span > 0 else 3
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if 0 < digits < 6 else f"{value:.4g}"


def dot_axes(ax: Axes, names: Sequence[str], values: np.ndarray) -> None:
    """A dot for each name, one below the other."""
    place = np.arange(len(names))[::-1]
    ax.plot(values, place, "o", color=BLUE)
    tidy_axes(ax)
    ax.set_yticks(place, names)
    ax.margins(y=0.1)


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
    svg = svg.replace(ORANGE.lower(), "var(--orange)")
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)
    return f"<figure>{svg}<figcaption>{escape(title)}</figcaption></figure>"
