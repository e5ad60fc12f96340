"""The report page: one HTML file without links, for a phone and a desk, light and dark.

Everything that its pieces are given is text and is escaped. A picture is an SVG element that takes
the colours and the width of the page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anmin.cli import measures
from anmin.cli.measures import LABELS, Errors, LabelledRows, number
from anmin.export import cost
from anmin.inspect.report import lines
from anmin.plotting import BLUE, outputs, plain

if TYPE_CHECKING:
    from anmin.base import BaseANMIN
    from anmin.cli.schema import Schema

DEPENDENCES = 6  # that are shown
POINTS, MOST_ROWS = 30, 300  # of a curve, and averaged for each
INK = "#010203"  # stands for the colour of the page's text
COLOURED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
STYLE: Any = dict.fromkeys(COLOURED, INK) | {
    "axes.facecolor": "none", "axes.spines.right": False, "axes.spines.top": False,
    "figure.facecolor": "none", "font.size": 9.0, "savefig.facecolor": "none",
    "svg.fonttype": "none",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """What a page is about: a fitted model, its columns, and rows to judge it on if there are."""

    model: BaseANMIN
    schema: Schema
    rows: LabelledRows | None = None
    title: str = "Report"

    def cost(self) -> dict[str, int]:
        """What a prediction takes, by name."""
        return asdict(cost(self.model))

    def errors(self) -> dict[str, Errors]:
        """The errors that `anmin fit` measured, and those on the rows at hand."""
        known = self.schema.summary.errors() if self.schema.summary else {}
        if self.rows is not None:
            here = measures.errors(self.model, self.rows, self.schema.targets)
            known[f"these {len(self.rows.X):,} rows"] = here
        return known


def report_page(subject: Subject) -> str:
    """The page as HTML.

    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.cli.schema import Schema
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> y = np.abs(x).ravel()
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(x, y)
    >>> page = report_page(Subject(model, Schema.of(model), LabelledRows(x, y), "Absolute value"))
    >>> "<h1>Absolute value</h1>" in page and "Partial dependence" in page
    True
    """
    sections = [errors_section(subject)]
    if subject.rows is not None:
        sections.append(dependence_section(subject.model, subject.schema, subject.rows.X))
    sections.append(making_section(subject))
    template = Template(files("anmin.cli").joinpath("page.html").read_text(encoding="utf-8"))
    body = "\n".join(filter(None, sections))
    return template.substitute(title=escape(subject.title), body=body)


# ---- sections -----------------------------------------------------------------------------------


def errors_section(s: Subject) -> str:
    known = s.errors()
    if not known:
        return ""
    names = list(dict.fromkeys(k for each in known.values() for e in each.values() for k in e))
    many = len(s.schema.targets) > 1
    rows = [
        [f"{where}, {target}" if many else where]
        + [number(found.get(name, float("nan"))) for name in names]
        for where, each in known.items()
        for target, found in each.items()
    ]
    return section("errors", "Errors", table(["rows", *(LABELS[n] for n in names)], rows))


def dependence_section(model: BaseANMIN, schema: Schema, X: np.ndarray) -> str:
    """The columns of numbers that the mean prediction varies most with."""
    place, names = {name: k for k, name in enumerate(schema.inputs.encoded)}, schema.inputs.names
    curves = {
        name: dependence(model, X, place[name])
        for name in names
        if name in place and np.ptp(X[:, place[name]]) > 0
    }
    largest = sorted(curves, key=lambda name: -np.ptp(curves[name][1]))[:DEPENDENCES]
    if not largest:
        return ""
    classes = getattr(model, "classes_", [])
    what = f"probability of {plain(classes[len(classes) == 2])}" if len(classes) else "prediction"

    def draw(ax: Axes, name: str) -> None:
        ax.plot(*curves[name], color=BLUE)
        ax.set(xlabel=plain(name), ylabel=f"mean {what}")
        ax.grid(alpha=0.3)

    shown = [
        picture(f"dependence-{k}", f"Dependence on {name}", partial(draw, name=name))
        for k, name in enumerate(largest)
    ]
    words = "The prediction, averaged over the rows, with one input set to each of its values."
    gallery = f'<div class="gallery">{"".join(shown)}</div>'
    return section("dependence", "Partial dependence", text(words), gallery)


def dependence(model: BaseANMIN, X: np.ndarray, feature: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of an input, and the mean prediction over rows where it is set to each of them."""
    some = X[np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]]
    values = np.linspace(X[:, feature].min(), X[:, feature].max(), POINTS)
    grid = np.tile(some, (POINTS, 1))
    grid[:, feature] = np.repeat(values, len(some))
    which = int(len(getattr(model, "classes_", ())) == 2)  # of two classes the second
    return values, outputs(model, grid)[:, which].reshape(POINTS, -1).mean(axis=1)


def convergence_lines(model: BaseANMIN) -> list[tuple[str, str]]:
    """Label and text of every line of the report, or why there is none."""
    if model._report is None:
        return [("report", "none, as the fit was interrupted while it was made")]
    return lines(model.report())


def making_section(s: Subject) -> str:
    usual, schema = type(s.model)().get_params(deep=False), s.schema
    changed = [
        f"{name}={value!r}"
        for name, value in s.model.get_params(deep=False).items()
        if not np.array_equal(value, usual[name])
    ]
    rows: list[Sequence[str]] = [
        ["targets", ", ".join(schema.targets)],
        ["inputs", ", ".join(schema.inputs.names)],
    ]
    if (found := schema.summary) is not None:
        early = " (stopped early)" * found.interrupted
        rows += [["data", found.data], ["seconds", f"{found.seconds:.1f}{early}"]]
    rows += [
        ["estimator", type(s.model).__name__],
        ["settings", ", ".join(changed) or "the defaults"],
        ["penalty lam", number(s.model.lam_ or 0.0)],
        *([LABELS[name], number(value)] for name, value in s.cost().items()),
        *convergence_lines(s.model),
    ]
    return section("making", "How it was made", table([], rows, "words"))


# ---- pieces -------------------------------------------------------------------------------------


def section(name: str, title: str, *content: str) -> str:
    body = "\n".join(content)
    return f'<section id="{name}">\n<h2>{escape(title)}</h2>\n{body}\n</section>'


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


def picture(name: str, title: str, draw: Callable[[Axes], object]) -> str:
    """An SVG figure with what `draw` draws into an Axes.

    >>> picture("line", "A line", lambda ax: ax.plot([0, 1], [0, 1]))[:17]
    '<figure><svg role'
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6, 3.2), layout="constrained")
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
