"""The report page: one HTML file without links, for a phone and a desk, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from anmin.cli import measures
from anmin.cli import page_parts as parts
from anmin.cli.measures import LABELS, LabelledRows, number, prediction_cost
from anmin.cli.page_parts import gallery, picture, section, side_by_side, table, text
from anmin.inspect.report_text import lines
from anmin.plotting import FunctionDisplay, PathDisplay, TrainingDisplay
from anmin.plotting.function import outputs

if TYPE_CHECKING:
    from anmin.base import BaseANMIN

MOST_INPUTS = 12  # in the picture
MOST_TARGETS = 4  # whose residuals are drawn
DEPENDENCES = 3


@dataclass(frozen=True, slots=True)
class Subject:
    """What a page is about: a model, what is known of its training, and rows to judge it on.

    `groups` says which inputs come from which column of the data, `errors` holds errors known
    already (a name for the rows → target → error), `making` lines about how the model was made.
    """

    model: BaseANMIN
    title: str = "Report"
    rows: LabelledRows | None = None
    groups: measures.Groups = field(default_factory=dict)
    targets: Sequence[str] = ("y",)
    errors: Mapping[str, measures.Errors] = field(default_factory=dict)
    making: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> measures.Groups:
        """The groups, or every input by itself."""
        d = self.model.n_features_in_
        names = getattr(self.model, "feature_names_in_", [f"x{k}" for k in range(d)])
        return self.groups or {str(name): [k] for k, name in enumerate(names)}

    def all_errors(self) -> dict[str, measures.Errors]:
        """The errors that are known, and those on the rows at hand."""
        known = dict(self.errors)
        if self.rows is not None:
            found = measures.errors(self.model, self.rows, self.targets)
            known[f"these {len(self.rows.X):,} rows"] = found
        return known

    def importance(self) -> dict[str, float]:
        """The columns in order of importance: by shuffling where there are rows, else by weight."""
        if self.rows is None:
            found = measures.input_weights(self.model, self.columns)
        else:
            found = measures.permutation_importance(self.model, self.rows, self.columns)
        return dict(sorted(found.items(), key=lambda entry: -entry[1]))


def report_page(subject: Subject) -> str:
    """The page as HTML.

    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> y = np.abs(x).ravel()
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(x, y)
    >>> page = report_page(Subject(model, "Absolute value", LabelledRows(x, y)))
    >>> "<h1>Absolute value</h1>" in page and "permutation" in page
    True
    """
    check_is_fitted(subject.model)
    ranked, rows, known = subject.importance(), subject.rows, subject.all_errors()
    sections = [headline(subject, known), errors_section(subject, known)]
    sections.append(inputs_section(subject, ranked))
    if rows is not None:
        sections += [
            residuals_section(subject, rows),
            dependence_section(subject, rows, ranked),
            function_section(subject, rows),
        ]
    sections += [
        side_by_side(training_section(subject.model), path_section(subject.model)),
        section("convergence", "Convergence", table([], convergence_lines(subject.model), "words")),
        side_by_side(cost_section(subject.model), making_section(subject)),
    ]
    body = "\n".join(filter(None, sections))
    return parts.PAGE.format(title=escape(subject.title), style=parts.CSS, body=body)


def headline(s: Subject, known: Mapping[str, measures.Errors]) -> str:
    """The page in a sentence: the size of the network, and the error that counts most."""
    found = prediction_cost(s.model)
    words = [f"{number(found[name])} {LABELS[name]}" for name in ("inputs", "hidden", "parameters")]
    if known:
        rows, errors = list(known.items())[-1]
        name = "accuracy" if is_classifier(s.model) else "r2"
        words += [
            f"{LABELS[name]} {number(e[name])} for {t}" for t, e in errors.items() if name in e
        ]
        words[-1] += f" on {rows}"
    return text(" · ".join(words))


def errors_section(s: Subject, known: Mapping[str, measures.Errors]) -> str:
    if not known:
        return ""
    names = list(dict.fromkeys(k for each in known.values() for e in each.values() for k in e))
    many = len(s.targets) > 1
    rows = [
        [f"{where}, {target}" if many else where]
        + [number(found.get(name, float("nan"))) for name in names]
        for where, each in known.items()
        for target, found in each.items()
    ]
    return section("errors", "Errors", table(["rows", *(LABELS[n] for n in names)], rows))


def inputs_section(s: Subject, found: dict[str, float]) -> str:
    most = dict(list(found.items())[:MOST_INPUTS])
    if s.rows is None:
        label = "share of the weights"
        words = "By weight alone: |A| ‖B‖ summed over the hidden units, inputs standardised."
    else:
        label = f"fall of {'accuracy' if is_classifier(s.model) else 'R²'}"
        words = "By permutation: how much the score falls when a column is shuffled."
    rest = len(found) - len(most)
    words += f" The {MOST_INPUTS} largest are drawn; {rest} more are not." if rest else ""
    draw = partial(parts.draw_bars, shares=most, label=label)
    svg = picture("inputs", "Importance of the inputs", draw, 1.0 + 0.24 * len(most))
    rows = [[name, number(value)] for name, value in most.items()]
    both = f'<div class="pair">{gallery(svg)}{table(["input", label], rows)}</div>'
    return section("inputs", "Most important inputs", text(words), both)


def residuals_section(s: Subject, rows: LabelledRows) -> str:
    said = outputs(s.model, rows.X)
    if is_classifier(s.model):
        return class_section(s.model, rows.y, said)
    Y = rows.y.reshape(len(rows.y), -1)
    shown = []
    for k, name in enumerate(s.targets[:MOST_TARGETS]):
        y, f = Y[:, k], said[:, k]
        pictures = {
            f"{name}: predicted against true": partial(
                parts.draw_predicted, y=y, said=f, name=name
            ),
            f"{name}: residuals": partial(parts.draw_residuals, y=y, said=f),
            f"{name}: histogram of the residuals": partial(parts.draw_histogram, y=y, said=f),
        }
        for i, (caption, draw) in enumerate(pictures.items()):
            shown.append(picture(f"residuals-{k}-{i}", caption, draw, caption=caption))
    return section("residuals", "Residuals", gallery(*shown))


def class_section(model: BaseANMIN, y: np.ndarray, said: np.ndarray) -> str:
    """What a classifier confuses, and whether its probabilities can be believed."""
    best, sure = model.classes_[said.argmax(axis=1)], said.max(axis=1)
    confusion = partial(parts.draw_confusion, y=y, said=best, classes=model.classes_)
    reliability = partial(parts.draw_reliability, right=best == y, confidence=sure)
    shares, trust = "Share of each true class", "Reliability"
    shown = (
        picture("residuals-0", shares, confusion, 3.4, shares),
        picture("residuals-1", trust, reliability, 3.4, trust),
    )
    return section("residuals", "Right and wrong", gallery(*shown))


def dependence_section(s: Subject, rows: LabelledRows, ranked: dict[str, float]) -> str:
    """Partial dependence on the most important inputs that are single numbers."""
    places = {name: s.columns[name][0] for name in ranked if len(s.columns[name]) == 1}
    varied = [name for name, k in places.items() if np.ptp(rows.X[:, k]) > 0][:DEPENDENCES]
    if not varied:
        return ""
    shown = []
    for i, name in enumerate(varied):
        draw = partial(
            parts.draw_dependence, model=s.model, X=rows.X, feature=places[name], name=name
        )
        shown.append(picture(f"dependence-{i}", f"Dependence on {name}", draw))
    words = "The prediction, averaged over the rows, with one input set to each of its values."
    return section("dependence", "Partial dependence", text(words), gallery(*shown))


def function_section(s: Subject, rows: LabelledRows) -> str:
    if s.model.n_features_in_ > 2:
        return ""
    some = parts.sample(len(rows.X))
    draw = partial(FunctionDisplay.from_estimator, s.model, rows.X[some], rows.y[some])
    words = "Between the hinges, where a hidden unit starts to fire, the function is linear."
    return display_section("function", "The function and its hinges", words, draw)


def training_section(model: BaseANMIN) -> str:
    draw = partial(TrainingDisplay.from_estimator, model)
    steps = len(model.history_) - 1
    words = f"{steps:,} iterations; the loss is the mean squared error plus the penalty."
    return display_section("training", "Training", words, draw, 3.8)


def path_section(model: BaseANMIN) -> str:
    if not model.path_:
        return ""
    draw = partial(PathDisplay.from_estimator, model)
    words = "The penalty was walked down from the left, and chosen on rows held out of training."
    return display_section("path", "Choice of the penalty", words, draw)


def display_section(
    name: str, title: str, words: str, draw: Callable[..., object], height: float = 3.2
) -> str:
    svg = picture(name, title, lambda ax: draw(ax=ax), height)
    return section(name, title, text(words), gallery(svg))


def convergence_lines(model: BaseANMIN) -> list[tuple[str, str]]:
    """Label and text of every line of the report, or why there is none."""
    if model._report is None:
        return [("report", "none, as the fit was interrupted while it was made")]
    return lines(model.report())


def cost_section(model: BaseANMIN) -> str:
    found = prediction_cost(model)
    rows = [[LABELS[name], number(value)] for name, value in found.items()]
    rows.append(["bytes in single precision", number(4 * found["parameters"])])
    return section("cost", "Cost of a prediction", table([], rows))


def making_section(s: Subject) -> str:
    usual = type(s.model)().get_params(deep=False)
    changed = [
        f"{name}={value!r}"
        for name, value in s.model.get_params(deep=False).items()
        if not np.array_equal(value, usual[name])
    ]
    rows = [[name, words] for name, words in s.making.items()]
    rows += [
        ["estimator", type(s.model).__name__],
        ["settings", ", ".join(changed) or "the defaults"],
        ["penalty lam", number(s.model.lam_ or 0.0)],
    ]
    return section("making", "How it was made", table([], rows, "words"))
