"""The report page: one HTML file without links, for a phone and a desk, light and dark."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier

from anmin.cli import measures
from anmin.cli import page_parts as parts
from anmin.cli.measures import LABELS, Errors, LabelledRows, number
from anmin.cli.page_parts import gallery, picture, section, table, text
from anmin.export import cost
from anmin.inspect.report_text import lines
from anmin.plotting import PathDisplay, TrainingDisplay, outputs

if TYPE_CHECKING:
    from anmin.base import BaseANMIN
    from anmin.cli.schema import Schema

MOST_INPUTS = 12  # in the table
MOST_TARGETS = 4  # whose residuals are drawn
DEPENDENCES = 3


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
        known, found = {}, self.schema.summary
        if found is not None:
            n = found.rows_train + found.rows_test * found.refitted_on_all_rows
            known[f"{n:,} rows of the fit"] = found.train
            if found.rows_test:
                known[f"{found.rows_test:,} rows held out"] = found.test
        if self.rows is not None:
            here = measures.errors(self.model, self.rows, self.schema.targets)
            known[f"these {len(self.rows.X):,} rows"] = here
        return known

    def groups(self) -> dict[str, list[int]]:
        """For each column the places of the inputs that come from it."""
        inputs = self.schema.inputs
        place = {name: k for k, name in enumerate(inputs.encoded)}
        return {name: [place[each] for each in inputs.inputs_of(name)] for name in inputs.names}

    def importance(self) -> dict[str, float]:
        """The columns in order of importance: by shuffling where there are rows, else by weight."""
        if self.rows is None:
            found = measures.input_weights(self.model, self.groups())
        else:
            found = measures.permutation_importance(self.model, self.rows, self.groups())
        return dict(sorted(found.items(), key=lambda entry: -entry[1]))


def report_page(subject: Subject) -> str:
    """The page as HTML.

    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.cli.schema import Schema
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> y = np.abs(x).ravel()
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(x, y)
    >>> page = report_page(Subject(model, Schema.of(model), LabelledRows(x, y), "Absolute value"))
    >>> "<h1>Absolute value</h1>" in page and "permutation" in page
    True
    """
    ranked, rows, known = subject.importance(), subject.rows, subject.errors()
    sections = [errors_section(subject, known), inputs_section(subject, ranked)]
    if rows is not None:
        sections += [residuals_section(subject, rows), dependence_section(subject, rows, ranked)]
    sections += [
        training_section(subject.model),
        path_section(subject.model),
        section("convergence", "Convergence", table([], convergence_lines(subject.model), "words")),
        making_section(subject),
    ]
    return parts.whole_page(subject.title, "\n".join(filter(None, sections)))


def errors_section(s: Subject, known: dict[str, Errors]) -> str:
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


def inputs_section(s: Subject, found: dict[str, float]) -> str:
    most = list(found.items())[:MOST_INPUTS]
    if s.rows is None:
        label = "share of the weights"
        words = "By weight alone: |A| ‖B‖ summed over the hidden units, inputs standardised."
    else:
        label = f"fall of {'accuracy' if is_classifier(s.model) else 'R²'}"
        words = "By permutation: how much the score falls when a column is shuffled."
    rest = len(found) - len(most)
    words += f" The {MOST_INPUTS} largest are shown; {rest} more are not." if rest else ""
    rows = [[name, number(value)] for name, value in most]
    return section("inputs", "Most important inputs", text(words), table(["input", label], rows))


def residuals_section(s: Subject, rows: LabelledRows) -> str:
    said = outputs(s.model, rows.X)
    if is_classifier(s.model):
        return class_section(s.model, rows.y, said)
    Y, shown = rows.y.reshape(len(rows.y), -1), []
    for k, name in enumerate(s.schema.targets[:MOST_TARGETS]):
        draw = partial(parts.draw_predicted, y=Y[:, k], said=said[:, k], name=name)
        shown.append(picture(f"residuals-{k}", f"{name}: predicted against true", draw))
    return section("residuals", "Predictions", gallery(*shown))


def class_section(model: BaseANMIN, y: np.ndarray, said: np.ndarray) -> str:
    """What a classifier confuses, and whether its probabilities can be believed."""
    best, sure = model.classes_[said.argmax(axis=1)], said.max(axis=1)
    confusion = partial(parts.draw_confusion, y=y, said=best, classes=model.classes_)
    reliability = partial(parts.draw_reliability, right=best == y, confidence=sure)
    shown = (
        picture("confusion", "Share of each true class", confusion, 3.4),
        picture("reliability", "Reliability", reliability, 3.4),
    )
    return section("residuals", "Right and wrong", gallery(*shown))


def dependence_section(s: Subject, rows: LabelledRows, ranked: dict[str, float]) -> str:
    """Partial dependence on the most important inputs that are single numbers."""
    groups = s.groups()
    places = {name: groups[name][0] for name in ranked if len(groups[name]) == 1}
    varied = [name for name, k in places.items() if np.ptp(rows.X[:, k]) > 0][:DEPENDENCES]
    if not varied:
        return ""
    shown = []
    for name in varied:
        k = places[name]
        draw = partial(parts.draw_dependence, model=s.model, X=rows.X, feature=k, name=name)
        shown.append(picture(f"dependence-{k}", f"Dependence on {name}", draw))
    words = "The prediction, averaged over the rows, with one input set to each of its values."
    return section("dependence", "Partial dependence", text(words), gallery(*shown))


def training_section(model: BaseANMIN) -> str:
    steps = len(model.history_) - 1
    words = f"{steps:,} iterations; the loss is the mean squared error plus the penalty."
    svg = picture("training", words, lambda ax: TrainingDisplay.from_estimator(model, ax=ax), 3.8)
    return section("training", "Training", gallery(svg))


def path_section(model: BaseANMIN) -> str:
    if not model.path_:
        return ""
    words = "The penalty was walked down from the left, and chosen on rows held out of training."
    svg = picture("path", words, lambda ax: PathDisplay.from_estimator(model, ax=ax))
    return section("path", "Choice of the penalty", gallery(svg))


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
    rows = [["targets", ", ".join(schema.targets)], ["inputs", ", ".join(schema.inputs.names)]]
    if (found := schema.summary) is not None:
        early = " (stopped early)" * found.interrupted
        rows += [["data", found.data], ["seconds", f"{found.seconds:.1f}{early}"]]
    rows += [
        ["estimator", type(s.model).__name__],
        ["settings", ", ".join(changed) or "the defaults"],
        ["penalty lam", number(s.model.lam_ or 0.0)],
        *([LABELS[name], number(value)] for name, value in s.cost().items()),
    ]
    return section("making", "How it was made", table([], rows, "words"))
