"""What a model file remembers of the table that the model was fitted on, so that new tables fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier

from anmin import load_model
from anmin.cli import tables
from anmin.cli.app import InputError, note
from anmin.cli.columns import Inputs
from anmin.cli.measures import LABELS
from anmin.cli.tables import Sheet, quoted

if TYPE_CHECKING:
    from anmin.base import BaseANMIN

SUMMARY = {
    "data": str, "rows_train": int, "rows_test": int, "refitted_on_all_rows": bool,
    "interrupted": bool, "seconds": float, "train": dict, "test": dict,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Schema:
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
    def of(cls, model: "BaseANMIN") -> "Schema":
        """From a loaded model; one that was saved from Python knows the names of its inputs."""
        extra = getattr(model, "extra_", {})
        d, q = model.n_features_in_, 1 if is_classifier(model) else model.n_outputs_
        if "table" not in extra:
            inputs = tuple(map(str, getattr(model, "feature_names_in_", ())))
            named = inputs or tuple(f"x{k}" for k in range(d))
            targets = ("y",) if q == 1 else tuple(f"y{k}" for k in range(q))
            return cls(Inputs(named), targets, (*named, *targets), bool(inputs))
        try:
            schema = cls.from_extra(extra)
            require(len(schema.inputs.encoded) == d, f"the network has {d} inputs")
            require(len(schema.targets) == q, f"the network has {q} targets")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the model file does not say what its columns are: {error!s:.100}"
            ) from None
        return schema

    @classmethod
    def from_extra(cls, extra: dict[str, Any]) -> "Schema":
        """From the JSON of a model file, which anybody may have written."""
        table, summary = extra["table"], extra["summary"]
        inputs, header, weight = names(table["inputs"]), table["header"], table["weight"]
        categories = {name: list(names(texts)) for name, texts in dict(table["categories"]).items()}
        require(categories.keys() <= set(inputs), "categories of a column that is no input")
        require(isinstance(header, bool), "header must be true or false")
        require(weight is None or isinstance(weight, str), "weight must be a name")
        targets = names(table["targets"])
        check_summary(summary, targets)
        encoded = Inputs(inputs, categories)
        names(encoded.encoded)
        return cls(encoded, targets, names(table["columns"]), header, weight, summary)

    def read(self, source: str, header: bool | None) -> Sheet:
        """A table, under the names of the training table where it has no names itself.

        Without a header, as many columns as there are inputs are the inputs, and as many as the
        training table had are those; both in their order there. For a model whose own table had a
        header, that must be asked for, by `header` False.
        """
        sheet = tables.read(source, header, self.inputs.categories)
        if sheet.header:
            return sheet
        if self.header and header is not False:
            raise InputError(
                f"{sheet.name} has no header, and the model looks for {quoted(self.inputs.names)}; "
                "--no-header takes the columns in the model's order"
            )
        have = len(sheet.columns)
        whole = {"inputs of the model": self.inputs.names, "columns of its fit": self.columns}
        for what, columns in whole.items():
            if have == len(columns):
                note(f"{sheet.name} has no header: its {have} columns are the {what}, in order")
                return replace(sheet, table=sheet.table.set_axis(list(columns), axis=1))
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


def check_summary(summary: Any, targets: Sequence[str]) -> None:
    """Refuse what `anmin fit` would not have written; nothing at all is fine."""
    require(isinstance(summary, dict), "summary must be a dictionary")
    for key, kind in SUMMARY.items() if summary else ():
        value = summary[key]
        good = type(value) in (int, float) if kind is float else type(value) is kind
        require(good, f"{key} of its summary is {value!r:.40}")
    for part in ("train", "test") if summary else ():
        require(not summary[part] or set(summary[part]) == set(targets), "errors of other targets")
        for found in summary[part].values():
            good = isinstance(found, dict) and found.keys() <= LABELS.keys()
            require(good and all(type(v) in (int, float) for v in found.values()), "strange errors")


def require(good: bool, complaint: str) -> None:
    if not good:
        raise ValueError(complaint)


def names(values: Any) -> tuple[str, ...]:
    """Distinct texts, and at least one."""
    good = isinstance(values, list) and all(isinstance(value, str) for value in values)
    require(good and 0 < len(values) == len(set(values)), f"{values!r:.40} are not distinct names")
    return tuple(values)


def open_model(path: Path) -> tuple["BaseANMIN", Schema]:
    """A model from its file, and what it knows about tables."""
    if not path.is_file():
        raise InputError(f"there is no file {path}; check its name and folder")
    try:
        model = load_model(path)
    except ValueError as error:
        raise InputError(str(error)) from error
    return model, Schema.of(model)
