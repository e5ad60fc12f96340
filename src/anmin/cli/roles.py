"""What the columns of a training table are for: inputs, targets, weights; and which are of no use.

All that is wrong with a table is found before it is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api import types

from anmin.cli.app import Flaw, InputError, TableError, did_you_mean, note, quoted
from anmin.cli.tables import Sheet
from anmin.cli.useless import by_reason, doubts, is_text, useless

LARGEST = 1e150  # whose square is still a number
MOST_CLASSES = 100


@dataclass(frozen=True, slots=True)
class Roles:
    """What the user says about the columns."""

    targets: Sequence[str]
    weight: str | None = None
    features: Sequence[str] = ()
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    classify: bool = False


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows to fit or to judge a model: inputs, true targets, and weights if there are any."""

    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None = None

    def part(self, chosen: np.ndarray) -> LabelledRows:
        weight = None if self.weight is None else self.weight[chosen]
        return LabelledRows(self.X.iloc[chosen], self.y[chosen], weight)


def assign(sheet: Sheet, roles: Roles) -> tuple[LabelledRows, bool]:
    """The rows to fit, and whether the target is a class; or every problem there is."""
    check_names(sheet, roles)
    taken = {*roles.targets, *roles.drop, *([roles.weight] if roles.weight else [])}
    names = [name for name in dict.fromkeys(roles.features or sheet.columns) if name not in taken]
    texts = [name for name in roles.targets if roles.classify or is_class(sheet.table[name])]
    if both := [name for name in roles.targets if name in roles.drop]:
        raise InputError(f"--target and --drop both name {quoted(both)}")
    if texts and len(roles.targets) > 1:
        raise InputError(f"classes are predicted for one target alone, and {texts[0]!r} is a class")
    weights = [roles.weight] if roles.weight else []
    problems = [*target_problems(sheet, roles.targets, bool(texts))]
    problems += input_problems(sheet, names) + input_problems(sheet, weights)
    problems += [flaw for name in weights for flaw in weight_problems(name, sheet.table[name])]
    if problems:
        raise TableError(sheet.name, problems)
    table = with_target(sheet, roles.targets)
    y = target_values(table, roles.targets, bool(texts))
    if len(y) < 2:
        raise InputError(
            f"{sheet.name} has one row with a target alone, which says nothing of others"
        )
    if texts:
        say_classes(sheet.name, roles.targets[0], y)
    elif y.ndim == 1 and (y == y[0]).all():
        note(f"{roles.targets[0]!r} is {y[0]:g} in every row, and so is every prediction")
    weight = table[roles.weight].to_numpy(float) if roles.weight else None
    wanted = {*roles.keep, *roles.features}
    left_out = useless(table, names, y, wanted)
    chosen = [name for name in names if name not in left_out]
    if not chosen:
        raise InputError(f"no column of {sheet.name} is left as an input")
    for why, columns in by_reason(left_out).items():
        note(f"left out, as they {why}: {quoted(columns)}; --keep NAME takes one in")
    for doubt in doubts(table[[name for name in chosen if name not in wanted]], y):
        note(doubt)
    return LabelledRows(table[chosen].reset_index(drop=True), y, weight), bool(texts)


def check_names(sheet: Sheet, roles: Roles) -> None:
    """Refuse names that the table does not have, and a question without a target."""
    if not roles.targets:
        choice = quoted(sheet.columns, 30)
        raise InputError(f"which column is to be predicted? --target NAME, of {choice}")
    if len(set(roles.targets)) < len(roles.targets):
        raise InputError(f"--target names a column twice: {quoted(roles.targets)}")
    weight = [] if roles.weight is None else [roles.weight]
    for option in ("target", "features", "drop", "keep"):
        names = getattr(roles, "targets" if option == "target" else option)
        require_columns(sheet, names, f"--{option}")
    require_columns(sheet, weight, "--weight")


def require_columns(sheet: Sheet, names: Sequence[str], role: str) -> None:
    """Refuse names that the table does not have."""
    if absent := [name for name in names if name not in sheet.columns]:
        raise InputError(
            f"{sheet.name} has no column {quoted(absent)} ({role})"
            f"{did_you_mean(absent[0], sheet.columns) or '; it has ' + quoted(sheet.columns, 30)}"
        )


# ---- targets ------------------------------------------------------------------------------------


def is_class(column: pd.Series) -> bool:
    """Whether a target is a class: a text, or true and false."""
    return is_text(column) or isinstance(column.dtype, pd.CategoricalDtype) or (
        types.is_bool_dtype(column.dtype)
    )  # fmt: skip


def target_problems(sheet: Sheet, targets: Sequence[str], classes: bool) -> Iterable[Flaw]:
    """What is wrong with the targets; no other column can take their place."""
    for name in targets:
        column = sheet.table[name]
        if name in sheet.problems:
            problem = sheet.problems[name]
            yield Flaw(problem.what, () if "--drop" in problem.remedy else problem.remedy)
        elif types.is_datetime64_any_dtype(column):
            yield Flaw(f"the target {name!r} is a date, and only numbers and classes are predicted")
        elif classes and is_text(column) and column.nunique() > min(MOST_CLASSES, len(column) / 2):
            what = f"the target {name!r} has {column.nunique()} different texts"
            yield Flaw(f"{what}, and classes are few; the first is {column.dropna().iloc[0]!r}")
        elif classes and types.is_float_dtype(column) and (column.dropna() % 1 != 0).any():
            broken = column[column % 1 > 0].iloc[0]
            what = f"the target {name!r} holds numbers such as {broken:g}, and classes are texts or"
            yield Flaw(f"{what} whole numbers; leave --classify out to predict numbers")
        elif not classes:
            yield from (Flaw(problem.what) for problem in input_problems(sheet, [name]))


def weight_problems(name: str, column: pd.Series) -> Iterable[Flaw]:
    """What is wrong with weights."""
    if not types.is_any_real_numeric_dtype(column.dtype):
        yield Flaw(f"the weight {name!r} holds {column.iloc[0]!r}, and weights are numbers")
    elif column.isna().any():
        yield Flaw(f"the weight {name!r} is not known in every row")
    elif (column < 0).any():
        yield Flaw(f"the weight {name!r} is negative in row {int((column < 0).argmax()) + 1}")
    elif not (column > 0).any():
        yield Flaw(f"the weight {name!r} is 0 in every row")


def with_target(sheet: Sheet, targets: Sequence[str]) -> pd.DataFrame:
    """The rows that have a target; others are counted."""
    table = sheet.table
    known = table[list(targets)].notna().all(axis=1)
    if not known.all():
        note(
            f"{(~known).sum():,} of {len(table):,} rows have no {quoted(targets)} and are left out"
        )
    if not known.any():
        raise InputError(f"no row of {sheet.name} has a value of {quoted(targets)}")
    return table[known]


def target_values(table: pd.DataFrame, targets: Sequence[str], classes: bool) -> np.ndarray:
    """The targets as numbers, (n,) or (n, q); for classification the labels."""
    if not classes:
        Y = table[list(targets)].to_numpy(float)
        return Y[:, 0] if len(targets) == 1 else Y
    column = table[targets[0]]
    if is_text(column):
        return column.astype(str).to_numpy(object).astype(str)
    return column.to_numpy(bool if types.is_bool_dtype(column.dtype) else np.int64)


def say_classes(name: str, target: str, y: np.ndarray) -> None:
    """Say that classes are predicted, and which; one alone is refused."""
    labels, count = np.unique(y, return_counts=True)
    if len(labels) < 2:
        raise InputError(
            f"the target {target!r} of {name} has one class alone, {labels[:1].tolist()[0]!r}"
        )
    shown = ", ".join(f"{label} ({n:,})" for label, n in zip(labels[:8], count[:8], strict=True))
    more = f" and {len(labels) - 8} more" * (len(labels) > 8)
    note(f"{target!r} is a class, one of {len(labels)}: {shown}{more}")


# ---- inputs -------------------------------------------------------------------------------------


def input_problems(sheet: Sheet, names: Iterable[str]) -> list[Flaw]:
    """What is wrong with columns, and how to do without it."""
    found = []
    for name in names:
        column = sheet.table[name]
        if name in sheet.problems:
            found.append(sheet.problems[name])
        elif not usable(column):
            found.append(Flaw(f"{name!r} holds {column.dtype}", ("--drop", name)))
        elif types.is_any_real_numeric_dtype(column.dtype):
            large = np.flatnonzero(np.abs(column.to_numpy(float, na_value=np.nan)) > LARGEST)
            if len(large):
                what = f"{name!r} holds {column.iloc[large[0]]:g} in row {large[0] + 1}"
                found.append(Flaw(f"{what}, larger than {LARGEST:g}", ("--drop", name)))
    return found


def usable(column: pd.Series) -> bool:
    """Whether a column holds numbers, truth values, dates or texts."""
    kind = column.dtype
    known = (types.is_any_real_numeric_dtype, types.is_bool_dtype, types.is_datetime64_any_dtype)
    return any(is_kind(kind) for is_kind in known) or is_class(column)
