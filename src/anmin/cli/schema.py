"""What a model file remembers of the table that the model was fitted on, so that new tables fit."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier

from anmin import load_model
from anmin.cli.app import InputError
from anmin.cli.columns import Inputs, numbers, target_values
from anmin.cli.measures import LABELS, Errors, LabelledRows
from anmin.cli.tables import Sheet
from anmin.files import require
from anmin.model_file.values import read_record

if TYPE_CHECKING:
    from anmin.base import BaseANMIN


@dataclass(frozen=True, slots=True)
class FitSummary:
    """How `anmin fit` came to a model: its data, and the errors on rows fitted and held out."""

    data: str
    rows_train: int
    rows_test: int
    refitted_on_all_rows: bool
    interrupted: bool
    seconds: float
    train: Errors
    test: Errors

    @classmethod
    def from_json(cls, found: Any, targets: Sequence[str]) -> "FitSummary | None":
        """From a model file, which anybody may have written; None where nothing is known."""
        if found == {}:
            return None
        summary = read_record(found, "summary", cls)
        for part in (summary.train, summary.test):
            require(not part or set(part) == set(targets), "errors of other targets")
            require(all(e.keys() <= LABELS.keys() for e in part.values()), "unknown errors")
        return summary

    def errors(self) -> dict[str, Errors]:
        """The errors, by the rows they were measured on."""
        n = self.rows_train + self.rows_test * self.refitted_on_all_rows
        known = {f"{n:,} rows of the fit": self.train}
        if self.rows_test:
            known[f"{self.rows_test:,} rows held out"] = self.test
        return known


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of the training table, what each was used for, and how the fit went."""

    inputs: Inputs
    targets: tuple[str, ...]
    weight: str | None = None
    summary: FitSummary | None = None

    def as_extra(self) -> dict[str, Any]:
        """As JSON, for the model file."""
        table = {
            "inputs": list(self.inputs.names),
            "categories": self.inputs.categories,
            "targets": list(self.targets),
            "weight": self.weight,
        }
        return {"table": table, "summary": asdict(self.summary) if self.summary else {}}

    @classmethod
    def of(cls, model: "BaseANMIN") -> "Schema":
        """From a loaded model; one that was saved from Python knows the names of its inputs."""
        extra = getattr(model, "extra_", {})
        d, q = model.n_features_in_, 1 if is_classifier(model) else model.n_outputs_
        if "table" not in extra:
            names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(d)])
            targets = ("y",) if q == 1 else tuple(f"y{k}" for k in range(q))
            return cls(Inputs(tuple(map(str, names))), targets)
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
        table = extra["table"]
        names, weight = distinct(table["inputs"]), table["weight"]
        found = dict(table["categories"])
        inputs = Inputs(names, {name: list(distinct(texts)) for name, texts in found.items()})
        require(found.keys() <= set(names), "categories of a column that is no input")
        distinct(inputs.encoded)
        require(weight is None or isinstance(weight, str), "weight must be a name")
        targets = distinct(table["targets"])
        return cls(inputs, targets, weight, FitSummary.from_json(extra["summary"], targets))

    def labelled_rows(self, sheet: Sheet, classify: bool) -> LabelledRows:
        """The rows of a table, with their true targets and their weights if there are any."""
        y = target_values(sheet, self.targets, classify)
        weighted = [name for name in sheet.columns if name == self.weight]
        weight = numbers(sheet, weighted)[:, 0] if weighted else None
        return LabelledRows(self.inputs.encode(sheet).to_numpy(), y, weight)


def distinct(names: Any) -> tuple[str, ...]:
    """The names, if they are different texts, and at least one."""
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    require(good and 0 < len(names) == len(set(names)), f"{names!r:.40} are not distinct names")
    return tuple(names)


def open_model(path: Path) -> tuple["BaseANMIN", Schema]:
    """A model from its file, and what it knows about tables."""
    if not path.is_file():
        raise InputError(f"there is no file {path}; check its name and folder")
    try:
        model = load_model(path)
    except ValueError as error:
        raise InputError(str(error)) from error
    return model, Schema.of(model)
