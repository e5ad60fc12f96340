"""The report page: the verdict, where the model fails, what it relies on, how it answers.

Everything that the pieces of the page are given is text and is escaped. Solver facts come last, and
folded away.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from anmin.cli.findings import LEVELS, Findings, is_date, short
from anmin.cli.measures import LABELS, number, percent, shown
from anmin.cli.pieces import dot_axes, picture, table, text, tidy_axes
from anmin.cli.subject import Subject
from anmin.inspect.report import lines
from anmin.plotting import BLUE, GREY, ORANGE, plain

if TYPE_CHECKING:
    from anmin.base import BaseANMIN

IMPORTANT, DEPENDENCES, SHOWN_INPUTS, PAIRS = 12, 6, 4, 5  # that are shown
STRONG = 0.01  # share of a pair of columns that is worth a word
DOTS = 1500


def report_page(subject: Subject) -> str:
    """The page as HTML.

    >>> import numpy as np, pandas as pd
    >>> from anmin import ANMINRegressor
    >>> from anmin.cli.roles import LabelledRows
    >>> from anmin.cli.schema import Schema
    >>> X = pd.DataFrame({"x": np.linspace(-1, 1, 60)})
    >>> y = np.abs(X["x"].to_numpy())
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(X, y)
    >>> page = report_page(Subject(model, Schema.of(model), LabelledRows(X, y), "Absolute value"))
    >>> "<h1>Absolute value</h1>" in page and "What it relies on" in page
    True
    """
    sections = [verdict_section(subject)]
    if subject.findings is not None:
        found = subject.findings
        sections += [failure_section(subject, found), shuffle_section(found)]
        sections += [dependence_section(found), residual_section(subject, found)]
    else:
        sections.append(gradient_section(subject))
    sections.append(making_section(subject))
    template = Template(files("anmin.cli").joinpath("page.html").read_text(encoding="utf-8"))
    body = "\n".join(filter(None, sections))
    return template.substitute(title=escape(subject.title), body=body)


def section(name: str, title: str, *content: str) -> str:
    body = "\n".join(content)
    return f'<section id="{name}">\n<h2>{escape(title)}</h2>\n{body}\n</section>'


# ---- how good, and where not --------------------------------------------------------------------


def verdict_section(s: Subject) -> str:
    """The verdict in words, then the errors of the model and of its rivals."""
    known, found = s.errors(), s.schema.summary
    if not known:
        return ""
    if found is not None:
        held_out = f"{found.rows_test:,} rows held out"
        beside = {f"{who}, {held_out}": each for who, each in found.rivals.items()}
        ours = {f"this network, {where}": each for where, each in known.items()}
        known = {k: v for k, v in ours.items() if held_out in k} | beside | ours
    every = [name for each in known.values() for e in each.values() for name in e]
    names = [name for name in dict.fromkeys(every) if name not in ("edge", "mse")]
    many = len(s.schema.targets) > 1
    rows = [
        [f"{where}, {target}" if many else where]
        + [shown(name, errors.get(name, float("nan"))) for name in names]
        for where, each in known.items()
        for target, errors in each.items()
    ]
    said = [f'<p class="verdict">{escape(sentence)}</p>' for sentence in s.verdict()]
    return section("verdict", "Verdict", *said, table(["", *(LABELS[n] for n in names)], rows))


def failure_section(s: Subject, found: Findings) -> str:
    """Groups of rows with a larger error, rows outside the training range, the worst rows."""
    name = "log-loss" if found.classes else "RMSE"
    parts = []
    if groups := found.weak_groups():
        head = ["rows where", "rows", name, "× all"]
        rows = [[g.name, f"{g.rows:,}", number(g.error), f"{g.times:.1f}"] for g in groups]
        parts += [text("The error is clearly larger for these rows:"), table(head, rows)]
    else:
        parts.append(text("No text, range or gap of one column has a clearly larger error."))
    known = s.schema.summary
    if known is not None and (outside := found.outside(known.ranges)):
        head = ["column", "range in training", "rows outside", name, "× all"]
        rows = [[g.name, r, f"{g.rows:,}", number(g.error), f"{g.times:.1f}"] for r, g in outside]
        parts += [text("Rows outside the range that the model was fitted on:"), table(head, rows)]
    parts += [text("The worst rows:"), worst_table(s, found)]
    return section("failures", "Where it fails", *parts)


def worst_table(s: Subject, found: Findings) -> str:
    """The rows of the largest loss: truth, prediction, and the inputs that count most."""
    shown = list(found.importance)[:SHOWN_INPUTS]
    classes = getattr(found.model, "classes_", None)
    rows = []
    for i in found.worst_rows():
        truth, said = np.atleast_1d(found.rows.y[i]), found.said[i]
        if classes is not None:
            best = said.argmax()
            cells = [str(truth[0]), f"{classes[best]} ({said[best]:.0%})"]
        else:
            cells = [", ".join(map(number, truth.astype(float))), ", ".join(map(number, said))]
        rows.append([f"{i + 1:,}", *cells, *(cell(found.rows.X[name].iloc[i]) for name in shown)])
    return table(["row", s.schema.targets[0] if len(s.schema.targets) == 1 else "truth",
                  "predicted", *shown], rows)  # fmt: skip


def cell(value: object) -> str:
    """A value of a table for a reader."""
    if pd.isna(value):
        return "missing"
    return short(value) if isinstance(value, (int, float, np.number, pd.Timestamp)) else str(value)


# ---- what it relies on, and how it answers ------------------------------------------------------


def shuffle_section(found: Findings) -> str:
    """What the error on the rows at hand says of the columns, and which act together."""
    words = "How much the error grows when the values of one column are shuffled among the rows."
    grows = "growth of the " + ("log-loss" if found.classes else "RMSE")
    known = hasattr(found.model, "feature_importances_")  # not where the fit was interrupted
    every = found.model.interactions(found.rows.X) if known else []
    strong = [pair for pair in every if pair.share > STRONG]
    pairs = [[f"{plain(a)} and {plain(b)}", percent(share)] for a, b, share in strong[:PAIRS]]
    more = [text("Columns that act together, and their share of what varies in the prediction:"),
            table(["columns", "share"], pairs)] if pairs else []  # fmt: skip
    return importance_section(found.importance, words, grows, *more)


def gradient_section(s: Subject) -> str:
    """What the network itself says of the columns."""
    words = "How much the prediction changes with each column, to first order, relative to all."
    return importance_section(s.importances(), words, "share")


def importance_section(found: dict[str, float], words: str, label: str, *more: str) -> str:
    """Bars for the columns that count most."""
    top = {name: value for name, value in list(found.items())[:IMPORTANT] if value > 0}
    if not top:
        return ""

    def draw(ax: Axes) -> None:
        names = list(top)[::-1]
        place = np.arange(len(names))
        ax.barh(place, [top[name] for name in names], color=BLUE)
        ax.set(xlabel=label)
        tidy_axes(ax)
        ax.set_yticks(place, [plain(name, 24) for name in names])

    height = 0.6 + 0.24 * len(top)
    drawing = picture("importance", "Importance of the columns", draw, height)
    return section("importance", "What it relies on", text(words), drawing, *more)


def dependence_section(found: Findings) -> str:
    """The columns that count most, and the mean prediction for each of their values."""
    X = found.rows.X
    shown = [name for name in found.importance if X[name].nunique() > 1][:DEPENDENCES]
    if not shown:
        return ""
    classes = getattr(found.model, "classes_", [])
    what = (
        f"share of {plain(classes[int(len(classes) == 2)], 16)}" if len(classes) else "prediction"
    )

    def draw(ax: Axes, name: str) -> None:
        values, means = found.dependence(name)
        if pd.api.types.is_numeric_dtype(values) or is_date(values):
            ax.plot(values.to_numpy(), means, "o-" if len(values) <= LEVELS else "-", color=BLUE)
            ax.set(xlabel=plain(name), ylabel=f"mean {what}")
            tidy_axes(ax)
        else:
            dot_axes(ax, [plain(v, 18) for v in values], means)
            ax.set(xlabel=f"mean {what}")

    drawn = [
        picture(f"dependence-{k}", f"Dependence on {name}", partial(draw, name=name))
        for k, name in enumerate(shown)
    ]
    words = "The prediction, averaged over the rows, with one column set to each of its values."
    gallery = f'<div class="gallery">{"".join(drawn)}</div>'
    return section("dependence", "How it answers", text(words), gallery)


def residual_section(s: Subject, found: Findings) -> str:
    """Truth against prediction, and the residuals; of classes how often each is taken for which."""
    if found.classes:
        labels = [str(label) for label in found.model.classes_]
        best = found.model.classes_[found.said.argmax(axis=1)]
        counts = pd.crosstab(found.rows.y.astype(str), best.astype(str))
        if len(labels) > 12:
            return ""
        rows = [[f"is {a}", *(f"{counts.get(b, {}).get(a, 0):,}" for b in labels)] for a in labels]
        return section("residuals", "Taken for", table(["", *labels], rows))
    Y, drawn = found.rows.y.reshape(len(found.said), -1), []
    some = np.random.default_rng(0).permutation(len(Y))[:DOTS]

    def scatter(ax: Axes, k: int) -> None:
        ends = [
            min(Y[:, k].min(), found.said[:, k].min()),
            max(Y[:, k].max(), found.said[:, k].max()),
        ]
        ax.plot(ends, ends, color=GREY, linewidth=1)
        ax.plot(found.said[some, k], Y[some, k], ".", color=BLUE, markersize=3, alpha=0.5)
        ax.set(xlabel="predicted", ylabel=plain(s.schema.targets[k]))
        tidy_axes(ax)

    def histogram(ax: Axes, k: int) -> None:
        ax.hist(Y[:, k] - found.said[:, k], bins=40, color=ORANGE)
        ax.set(xlabel=f"{plain(s.schema.targets[k])}: truth minus prediction", ylabel="rows")
        tidy_axes(ax)

    for k, target in enumerate(s.schema.targets[:DEPENDENCES]):
        title = f"{target}: truth and prediction"
        drawn.append(picture(f"truth-{k}", title, partial(scatter, k=k)))
        drawn.append(picture(f"residual-{k}", f"{target}: residuals", partial(histogram, k=k)))
    return section("residuals", "Residuals", f'<div class="gallery">{"".join(drawn)}</div>')


# ---- how it was made ----------------------------------------------------------------------------


def convergence_lines(model: BaseANMIN) -> list[tuple[str, str]]:
    """Label and text of every line of the report, or why there is none."""
    if model._report is None:
        return [("report", "none, as the fit was interrupted while it was made")]
    return lines(model.report())


def making_section(s: Subject) -> str:
    """Columns, settings and solver facts, folded away."""
    usual, schema = type(s.model)().get_params(deep=False), s.schema
    changed = [
        f"{name}={value!r}"
        for name, value in s.model.get_params(deep=False).items()
        if not np.array_equal(value, usual[name])
    ]
    rows: list[Sequence[str]] = [
        ["targets", ", ".join(schema.targets)],
        ["inputs", ", ".join(schema.inputs)],
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
    summary, facts = "<summary>Settings and solver</summary>", table([], rows, "words")
    folded = f"<details>{summary}{facts}</details>"
    return section("making", "How it was made", folded)
