"""What a model file remembers of the table that the model was fitted on, so that new tables fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from anmin import load_model
from anmin.cli.app import InputError, note
from anmin.cli.columns import Inputs, is_text, numbers, refuse_missing, texts_of
from anmin.cli.tables import Sheet, quoted


@dataclass(frozen=True, slots=True)
class Facts:
    """The columns of the training table, what each was used for, and how the fit went."""

    inputs: Inputs
    targets: tuple[str, ...]
    columns: tuple[str, ...]
    header: bool = True
    weight: str | None = None
    summary: dict[str, Any] = field(default_factory=dict)

    def as_extra(self) -> dict[str, Any]:
        """As JSON, for the model file."""
        table = {
            "inputs": list(self.inputs.names),
            "categories": self.inputs.categories,
            "targets": list(self.targets),
            "columns": list(self.columns),
            "header": self.header,
            "weight": self.weight,
        }
        return {"table": table, "summary": self.summary}

    @classmethod
    def of(cls, model: Any) -> "Facts":
        """From a loaded model; one that was saved from Python knows the names of its inputs."""
        extra = getattr(model, "extra_", {})
        if "table" not in extra:
            d, q = model.n_features_in_, model.n_outputs_
            inputs = tuple(map(str, getattr(model, "feature_names_in_", ())))
            named = inputs or tuple(f"x{k}" for k in range(d))
            one = q == 1 or is_classifier(model)
            targets = ("y",) if one else tuple(f"y{k}" for k in range(q))
            return cls(Inputs(named), targets, (*named, *targets), bool(inputs))
        table = extra["table"]
        try:
            return cls(
                Inputs(tuple(table["inputs"]), dict(table["categories"])),
                tuple(table["targets"]),
                tuple(table["columns"]),
                bool(table["header"]),
                table["weight"],
                dict(extra["summary"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the model file does not say what its columns are: {error}") from None

    def align(self, sheet: Sheet, by_place: bool) -> Sheet:
        """The table under the names of the training table, where it has no names itself.

        Without a header, as many columns as there are inputs are the inputs, and as many as the
        training table had are those; both in their order there. For a model whose own table had a
        header, that needs leave (`by_place`).
        """
        if sheet.header:
            return sheet
        if self.header and not by_place:
            raise InputError(
                f"{sheet.name} has no header, and the model looks for {quoted(self.inputs.names)}; "
                "--no-header takes the columns in the model's order"
            )
        have = len(sheet.columns)
        whole = {"inputs of the model": self.inputs.names, "columns of its fit": self.columns}
        for what, names in whole.items():
            if have == len(names):
                note(f"{sheet.name} has no header: its {have} columns are the {what}, in order")
                return replace(sheet, table=sheet.table.set_axis(list(names), axis=1))
        raise InputError(
            f"{sheet.name} has {have} columns and no header; expected the {len(self.inputs.names)} "
            f"inputs {quoted(self.inputs.names)}, or all {len(self.columns)} columns that the "
            "model was fitted on"
        )

    def mention_unused(self, sheet: Sheet, used: Sequence[str] = ()) -> None:
        """A note on columns that the model does not know."""
        known = {*self.columns, *self.targets, *used}
        unused = [name for name in sheet.columns if name not in known]
        if unused:
            note(f"{sheet.name}: the model does not use {quoted(unused)}")


def target_values(sheet: Sheet, targets: Sequence[str], classify: bool) -> np.ndarray:
    """The targets as numbers, (n,) or (n, q); for classification the labels."""
    require_columns(sheet, targets, "target")
    if classify:
        return labels(sheet, targets[0])
    texts = [name for name in targets if is_text(sheet.table[name])]
    if texts:
        raise InputError(
            f"the target {quoted(texts)} of {sheet.name} holds text; --classify predicts classes"
        )
    Y = numbers(sheet, targets)
    return Y[:, 0] if len(targets) == 1 else Y


def labels(sheet: Sheet, name: str) -> np.ndarray:
    """The classes of a column: texts, or whole numbers."""
    if is_text(sheet.table[name]):
        texts = texts_of(sheet.table[name])
        refuse_missing(sheet, name, texts == "")
        return texts.astype(str)
    y = numbers(sheet, [name])[:, 0]
    broken = y[y != np.round(y)]
    if len(broken):
        raise InputError(
            f"the target {name!r} of {sheet.name} holds numbers such as {broken[0]:g}, and classes "
            "are texts or whole numbers; leave --classify out to predict numbers"
        )
    return y.astype(np.int64)


def require_columns(sheet: Sheet, names: Sequence[str], role: str) -> None:
    """Refuse names that the table does not have."""
    absent = [name for name in names if name not in sheet.columns]
    if absent:
        raise InputError(
            f"{sheet.name} has no column {quoted(absent)} (given as {role}); "
            f"it has {quoted(sheet.columns, most=30)}"
        )


def open_model(path: Path) -> tuple[Any, Facts]:
    """A model from its file, and what it knows about tables."""
    if not path.is_file():
        raise InputError(f"there is no file {path}; check its name and folder")
    try:
        model = load_model(path)
    except ValueError as error:
        raise InputError(str(error)) from error
    return model, Facts.of(model)
