"""What a model file remembers of the table that the model was fitted on, so that new tables fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api import types
from sklearn.base import is_classifier

from anmin import load_model
from anmin.cli.app import InputError, TableError
from anmin.cli.measures import LABELS, Errors
from anmin.cli.roles import (
    LabelledRows,
    Roles,
    input_problems,
    require_columns,
    target_problems,
    target_values,
    with_target,
)
from anmin.cli.tables import Sheet
from anmin.cli.texts import Reading
from anmin.cli.useless import is_text
from anmin.files import require
from anmin.model_file.values import read_record

if TYPE_CHECKING:
    from anmin.base import BaseANMIN

PRINTS = 1024  # rows by which the training table is recognised


@dataclass(frozen=True, slots=True)
class FitSummary:
    """How `anmin fit` came to a model: its data, and errors on rows fitted and held out."""

    data: str
    rows_train: int
    rows_test: int
    refitted_on_all_rows: bool
    interrupted: bool
    seconds: float
    train: Errors
    test: Errors
    rivals: dict[str, Errors] = field(default_factory=dict)  # on the rows held out
    ranges: dict[str, dict[str, float]] = field(default_factory=dict)  # of the columns of numbers
    prints: str = ""  # of training rows

    @classmethod
    def from_json(cls, found: Any, targets: Sequence[str]) -> FitSummary | None:
        """From a model file, which anybody may have written; None where nothing is known."""
        if found == {}:
            return None
        summary = read_record(found, "summary", cls)
        for part in (summary.train, summary.test, *summary.rivals.values()):
            require(not part or set(part) == set(targets), "errors of other targets")
            require(all(e.keys() <= LABELS.keys() for e in part.values()), "unknown errors")
        known = all(each.keys() == {"min", "max"} for each in summary.ranges.values())
        require(known and not set(summary.prints) - set("0123456789abcdef"), "a bad summary")
        return summary

    def errors(self) -> dict[str, Errors]:
        """The errors, by the rows they were measured on."""
        n = self.rows_train + self.rows_test * self.refitted_on_all_rows
        known = {f"{n:,} rows of the fit": self.train}
        if self.rows_test:
            known = {f"{self.rows_test:,} rows held out": self.test} | known
        return known


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of the training table, what each was used for, and how the fit went."""

    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    weight: str | None = None
    reading: Reading = field(default_factory=Reading)
    summary: FitSummary | None = None

    @classmethod
    def for_rows(cls, rows: LabelledRows, roles: Roles, reading: Reading) -> Schema:
        """For a model of these rows, read in that way."""
        kinds = kinds_of(rows.X) | {
            name: "text" for name in roles.targets if rows.y.dtype.kind == "U"
        }
        how = Reading(reading.decimal, reading.missing, kinds)
        return cls(tuple(rows.X), tuple(roles.targets), roles.weight, how)

    def as_extra(self) -> dict[str, Any]:
        """As JSON, for the model file."""
        table = {
            "inputs": list(self.inputs),
            "targets": list(self.targets),
            "weight": self.weight,
            "kinds": dict(self.reading.kinds),
            "decimal": self.reading.decimal,
            "missing": list(self.reading.missing),
        }
        return {"table": table, "summary": asdict(self.summary) if self.summary else {}}

    @classmethod
    def of(cls, model: BaseANMIN) -> Schema:
        """What a model knows about tables; one that was saved from Python knows its inputs."""
        extra = getattr(model, "extra_", {})
        d, q = model.n_features_in_, 1 if is_classifier(model) else model.n_outputs_
        if "table" not in extra:
            names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(d)])
            targets = ("y",) if q == 1 else tuple(f"y{k}" for k in range(q))
            return cls(tuple(map(str, names)), targets)
        try:
            schema = cls.from_extra(extra)
            require(len(schema.inputs) == d, f"the network has {d} inputs")
            require(len(schema.targets) == q, f"the network has {q} targets")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the model file does not say what its columns are: {error!s:.100}"
            ) from None
        return schema

    @classmethod
    def from_extra(cls, extra: dict[str, Any]) -> Schema:
        """From the JSON of a model file, which anybody may have written."""
        table = extra["table"]
        require(isinstance(table, dict), "its table is no dictionary")
        require(not table.get("categories"), "it was fitted with --one-hot; fit it again")
        names, targets, weight = (
            distinct(table["inputs"]),
            distinct(table["targets"]),
            table["weight"],
        )
        require(weight is None or isinstance(weight, str), "weight must be a name")
        kinds, missing = dict(table.get("kinds", {})), list(table.get("missing", ()))
        decimal = table.get("decimal")
        known = kinds.keys() <= {*names, *targets} and set(kinds.values()) <= set(KINDS)
        require(known, "kinds of columns that it does not have")
        good = decimal in (None, ".", ",") and all(isinstance(word, str) for word in missing)
        require(good, "it is unknown how its numbers are written")
        summary = FitSummary.from_json(extra["summary"], targets)
        return cls(names, targets, weight, Reading(decimal, missing, kinds), summary)

    def table(self, sheet: Sheet) -> pd.DataFrame:
        """The inputs of a new table, in the order of the training table; or every problem."""
        require_columns(sheet, self.inputs, "the model needs it")
        if problems := input_problems(sheet, self.inputs):
            raise TableError(sheet.name, [type(p)(p.what) for p in problems])
        return sheet.table[list(self.inputs)]

    def labelled_rows(self, sheet: Sheet, classify: bool) -> LabelledRows:
        """The rows of a table, with their true targets and their weights if there are any."""
        require_columns(sheet, self.targets, "the truth")
        if problems := list(target_problems(sheet, self.targets, classify)):
            raise TableError(sheet.name, [type(p)(p.what) for p in problems])
        known = Sheet(sheet.name, with_target(sheet, self.targets), sheet.problems)
        y = target_values(known.table, self.targets, classify)
        weight = known.table[self.weight].to_numpy(float) if self.weight in known.columns else None
        return LabelledRows(self.table(known).reset_index(drop=True), y, weight)


KINDS = ("number", "text", "date")


def kinds_of(table: pd.DataFrame) -> dict[str, str]:
    """What each column holds, for reading others like it."""
    date = types.is_datetime64_any_dtype
    return {
        name: "text" if is_text(table[name]) else "date" if date(table[name]) else "number"
        for name in table
    }


def ranges_of(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Least and greatest value of each column of numbers."""
    numbers = table.select_dtypes("number")
    return {
        name: {"min": float(numbers[name].min()), "max": float(numbers[name].max())}
        for name in numbers
        if numbers[name].notna().any()
    }


# ---- recognising rows ---------------------------------------------------------------------------


def prints_of(rows: LabelledRows) -> np.ndarray:
    """A number of 64 bits for each row; the same for the same inputs and targets."""
    table = rows.X.copy()
    for k, y in enumerate(np.asarray(rows.y).reshape(len(rows.y), -1).T):
        table[("target", k)] = y
    for name in table:
        column = table[name]
        number = types.is_any_real_numeric_dtype(column) or types.is_bool_dtype(column)
        table[name] = column.astype(float) if number else column.astype(str)
    return np.asarray(pd.util.hash_pandas_object(table, index=False), dtype=np.uint64)


def fewest(prints: np.ndarray) -> str:
    """The smallest prints as text: a fair sample of rows, the same of any table that has them."""
    return "".join(f"{p:016x}" for p in np.unique(prints)[:PRINTS])


def share_seen(rows: LabelledRows, known: str) -> float:
    """The share of the rows that the training table had, of those for which that can be told."""
    sample = np.array([int(known[i : i + 16], 16) for i in range(0, len(known), 16)], np.uint64)
    if not len(sample):
        return float("nan")
    prints = prints_of(rows)
    if len(sample) >= PRINTS:
        prints = prints[prints <= sample.max()]
    return float(np.isin(prints, sample).mean()) if len(prints) else float("nan")


def distinct(names: Any) -> tuple[str, ...]:
    """The names, if they are different texts, and at least one."""
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    require(good and 0 < len(names) == len(set(names)), f"{names!r:.40} are not distinct names")
    return tuple(names)


def open_model(path: Path) -> tuple[BaseANMIN, Schema]:
    """A model from its file, and what it knows about tables."""
    if not path.is_file():
        raise InputError(f"there is no file {path}; check its name and folder")
    try:
        model = load_model(path)
    except ValueError as error:
        raise InputError(str(error)) from error
    return model, Schema.of(model)
