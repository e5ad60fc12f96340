"""The report page: one HTML file without links, for a phone and a desk, light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from anmin.export import cost
from anmin.html import figures, measures
from anmin.html.blocks import gallery, number, section, side_by_side, table, text
from anmin.html.style import CSS, PAGE
from anmin.plotting import FunctionDisplay, PathDisplay, TrainingDisplay
from anmin.plotting.common import outputs
from anmin.report.words import lines

LABELS = {
    "mse": "MSE", "rmse": "RMSE", "mae": "MAE", "r2": "R²", "accuracy": "accuracy",
    "log_loss": "log-loss", "inputs": "inputs", "hidden": "hidden units", "outputs": "outputs",
    "parameters": "parameters", "multiply_adds": "multiply-adds a row",
}  # fmt: skip
MOST_INPUTS = 12  # in the picture
MOST_TARGETS = 4  # whose residuals are drawn
DEPENDENCES = 3


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to judge a model on."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What a page is about: a model, what is known of its training, and rows to judge it on.

    `groups` says which inputs come from which column of the data, `errors` holds errors known
    already (a name for the rows → target → error), `making` lines about how the model was made.
    """

    model: Any
    title: str = "Report"
    rows: Rows | None = None
    groups: measures.Groups = field(default_factory=dict)
    targets: Sequence[str] = ("y",)
    errors: Mapping[str, measures.Errors] = field(default_factory=dict)
    making: Mapping[str, str] = field(default_factory=dict)


def report_page(subject: Subject) -> str:
    """The page as HTML.

    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.html import Rows, Subject, report_page
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> y = np.abs(x).ravel()
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(x, y)
    >>> page = report_page(Subject(model, "Absolute value", Rows(x, y)))
    >>> "<h1>Absolute value</h1>" in page and "permutation" in page
    True
    """
    check_is_fitted(subject.model)
    ranked, rows = importance(subject), subject.rows
    sections = [headline(subject), errors_section(subject), inputs_section(subject, ranked)]
    if rows is not None:
        sections += [
            residuals_section(subject, rows),
            dependence_section(subject, rows, ranked),
            function_section(subject, rows),
        ]
    sections += [
        side_by_side(training_section(subject), path_section(subject)),
        convergence_section(subject),
        side_by_side(cost_section(subject), making_section(subject)),
    ]
    body = "\n".join(filter(None, sections))
    return PAGE.format(title=escape(subject.title), style=CSS, body=body)


def headline(s: Subject) -> str:
    """The page in a sentence: the size of the network, and the error that counts most."""
    found = prediction_cost(s.model)
    parts = [f"{number(found[name])} {LABELS[name]}" for name in ("inputs", "hidden", "parameters")]
    known = all_errors(s)
    if known:
        rows, errors = list(known.items())[-1]
        name = "accuracy" if is_classifier(s.model) else "r2"
        parts += [f"{LABELS[name]} {number(e[name])} for {t}" for t, e in errors.items()]
        parts[-1] += f" on {rows}"
    return text(" · ".join(parts))


def all_errors(s: Subject) -> dict[str, measures.Errors]:
    """The errors that are known, and those on the rows at hand."""
    known = dict(s.errors)
    if s.rows is not None:
        X, y, weight = s.rows.X, s.rows.y, s.rows.weight
        known[f"these {len(X):,} rows"] = measures.errors(s.model, X, y, weight, s.targets)
    return known


def errors_section(s: Subject) -> str:
    known = all_errors(s)
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


def groups_of(s: Subject) -> measures.Groups:
    """The groups, or every input by itself."""
    d = s.model.n_features_in_
    names = getattr(s.model, "feature_names_in_", [f"x{k}" for k in range(d)])
    return s.groups or {str(name): [k] for k, name in enumerate(names)}


def importance(s: Subject) -> dict[str, float]:
    """The columns in order of importance: by shuffling where there are rows, else by weight."""
    groups = groups_of(s)
    if s.rows is None:
        found = measures.input_weights(s.model, groups)
    else:
        X, y, weight = s.rows.X, s.rows.y, s.rows.weight
        found = measures.permutation_importance(s.model, X, y, groups, weight)
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))


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
    bars = figures.bars(most, label)
    svg = figures.picture("inputs", "Importance of the inputs", bars, 1.0 + 0.24 * len(most))
    rows = [[name, number(value)] for name, value in most.items()]
    both = f'<div class="pair">{gallery((svg, ""))}{table(["input", label], rows)}</div>'
    return section("inputs", "Most important inputs", text(words), both)


def residuals_section(s: Subject, rows: Rows) -> str:
    said = outputs(s.model, rows.X)
    if is_classifier(s.model):
        return class_section(s.model, rows.y, said)
    Y = rows.y.reshape(len(rows.y), -1)
    shown = []
    for k, name in enumerate(s.targets[:MOST_TARGETS]):
        y, f = Y[:, k], said[:, k]
        pictures = {
            f"{name}: predicted against true": figures.predicted_against_true(y, f, name),
            f"{name}: residuals": figures.residuals_against_predicted(y, f),
            f"{name}: histogram of the residuals": figures.histogram_of_residuals(y, f),
        }
        shown += [
            (figures.picture(f"residuals-{k}-{i}", caption, draw), caption)
            for i, (caption, draw) in enumerate(pictures.items())
        ]
    return section("residuals", "Residuals", gallery(*shown))


def class_section(model: Any, y: np.ndarray, said: np.ndarray) -> str:
    """What a classifier confuses, and whether its probabilities can be believed."""
    best = model.classes_[said.argmax(axis=1)]
    pictures = {
        "Share of each true class": figures.confusion(y, best, model.classes_),
        "Reliability": figures.reliability(best == y, said.max(axis=1)),
    }
    shown = [
        (figures.picture(f"residuals-{i}", caption, draw, 3.4), caption)
        for i, (caption, draw) in enumerate(pictures.items())
    ]
    return section("residuals", "Right and wrong", gallery(*shown))


def dependence_section(s: Subject, rows: Rows, ranked: dict[str, float]) -> str:
    """Partial dependence on the most important inputs that are single numbers."""
    groups = groups_of(s)
    places = {name: groups[name][0] for name in ranked if len(groups[name]) == 1}
    varied = [name for name, k in places.items() if np.ptp(rows.X[:, k]) > 0][:DEPENDENCES]
    if not varied:
        return ""
    shown = []
    for i, name in enumerate(varied):
        draw = figures.dependence(s.model, rows.X, places[name], name)
        shown.append((figures.picture(f"dependence-{i}", f"Dependence on {name}", draw), ""))
    words = "The prediction, averaged over the rows, with one input set to each of its values."
    return section("dependence", "Partial dependence", text(words), gallery(*shown))


def function_section(s: Subject, rows: Rows) -> str:
    if s.model.n_features_in_ > 2:
        return ""
    some = figures.sample(len(rows.X))

    def draw(ax: Any) -> None:
        FunctionDisplay.from_estimator(s.model, rows.X[some], rows.y[some], ax=ax)

    words = "Between the hinges, where a hidden unit starts to fire, the function is linear."
    svg = figures.picture("function", "The function", draw)
    return section("function", "The function and its hinges", text(words), gallery((svg, "")))


def training_section(s: Subject) -> str:
    draw = partial(TrainingDisplay.from_estimator, s.model)
    svg = figures.picture("training", "Training curve", lambda ax: draw(ax=ax), 3.8)
    steps = len(s.model.history_) - 1
    words = f"{steps:,} iterations; the loss is the mean squared error plus the penalty."
    return section("training", "Training", text(words), gallery((svg, "")))


def path_section(s: Subject) -> str:
    if not s.model.path_:
        return ""
    draw = partial(PathDisplay.from_estimator, s.model)
    svg = figures.picture("path", "Penalty path", lambda ax: draw(ax=ax))
    words = "The penalty was walked down from the left, and chosen on rows held out of training."
    return section("path", "Choice of the penalty", text(words), gallery((svg, "")))


def convergence_lines(model: Any) -> list[tuple[str, str]]:
    """Label and text of every line of the report, or why there is none."""
    if model._report is None:
        return [("report", "none, as the fit was interrupted while it was made")]
    return lines(model.report())


def convergence_section(s: Subject) -> str:
    return section("convergence", "Convergence", table([], convergence_lines(s.model), "words"))


def prediction_cost(model: Any) -> dict[str, int]:
    """What a prediction takes, by name."""
    found = cost(model)
    names = ("inputs", "hidden", "outputs", "parameters", "multiply_adds")
    return {name: getattr(found, name) for name in names}


def cost_section(s: Subject) -> str:
    found = prediction_cost(s.model)
    rows = [[LABELS[name], number(value)] for name, value in found.items()]
    rows.append(["bytes in single precision", number(4 * found["parameters"])])
    return section("cost", "Cost of a prediction", table([], rows))


def making_section(s: Subject) -> str:
    changed = {
        name: repr(value)
        for name, value in s.model.get_params(deep=False).items()
        if not np.array_equal(value, type(s.model)().get_params(deep=False)[name])
    }
    settings = ", ".join(f"{name}={value}" for name, value in changed.items()) or "the defaults"
    rows = [[name, words] for name, words in s.making.items()]
    rows += [["estimator", type(s.model).__name__], ["settings", settings]]
    rows.append(["penalty lam", number(s.model.lam_)])
    return section("making", "How it was made", table([], rows, "words"))
