"""From the columns of a table to the inputs and targets of a network.

Numbers and booleans are taken as they are. A text column becomes one 0/1 input for each of its
categories, `colour=red`, when that is asked for; the categories are those of the training table, in
alphabetical order. A missing value, or a text where a number is expected, is an error which names
the column and the row.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from pandas.api import types

from anmin.cli.app import InputError, note
from anmin.cli.tables import Sheet, is_number, quoted

MOST_CATEGORIES = 200
MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "none", "-nan", "<na>")  # among numbers
LARGEST = 1e150  # whose square is still a number


@dataclass(frozen=True, slots=True)
class Inputs:
    """The columns that a network reads, and the categories of those that hold text."""

    names: tuple[str, ...]
    categories: dict[str, list[str]] = field(default_factory=dict)

    def inputs_of(self, name: str) -> list[str]:
        """Names of the network's inputs that come from a column."""
        return [f"{name}={text}" for text in self.categories.get(name, ())] or [name]

    @property
    def encoded(self) -> list[str]:
        """Names of the network's inputs, in order."""
        return [each for name in self.names for each in self.inputs_of(name)]

    def encode(self, sheet: Sheet) -> pd.DataFrame:
        """The network's inputs for each row, all numbers."""
        require_columns(sheet, self.names, "the model needs it")
        columns: dict[str, np.ndarray] = {}
        for name in self.names:
            if name in self.categories:
                columns |= one_hot(sheet, name, self.categories[name])
            else:
                columns[name] = numbers(sheet, [name])[:, 0]
        return pd.DataFrame(columns)


def choose_inputs(sheet: Sheet, names: Iterable[str], encode_text: bool) -> Inputs:
    """The inputs that these columns give; text is encoded only when that is asked for."""
    names = tuple(dict.fromkeys(names))
    if not names:
        raise InputError(f"no column of {sheet.name} is left as an input")
    texts = [name for name in names if is_text(sheet.table[name])]
    if texts and not encode_text:
        raise InputError(
            f"{describe_text(sheet, texts)}. Inputs must be numbers: encode text with --one-hot, "
            f"or leave it out with --drop {texts[0]!r}"
        )
    inputs = Inputs(names, {name: categories(sheet, name) for name in texts})
    if twice := sorted({name for name in inputs.encoded if inputs.encoded.count(name) > 1}):
        raise InputError(
            f"two inputs would be called {quoted(twice)}: a column has the name that --one-hot "
            "gives to a category of another. Rename it."
        )
    return inputs


def categories(sheet: Sheet, name: str) -> list[str]:
    """The different texts of a column, in alphabetical order."""
    found = sorted(set(complete_texts(sheet, name)))
    if len(found) > MOST_CATEGORIES:
        raise InputError(
            f"the column {name!r} of {sheet.name} has {len(found)} different texts, more than "
            f"{MOST_CATEGORIES}; leave it out with --drop {name!r}, or merge some of them"
        )
    return found


def one_hot(sheet: Sheet, name: str, known: list[str]) -> dict[str, np.ndarray]:
    """A 0/1 input for each known category; a row of another one is zero in all of them."""
    texts = complete_texts(sheet, name)
    strange = np.flatnonzero(~pd.Series(texts).isin(known))
    if len(strange):
        note(
            f"the column {name!r} of {sheet.name} has categories unknown to the model in "
            f"{len(strange):,} rows, the first {texts[strange[0]]!r} in row {strange[0] + 1}; "
            "they count as none"
        )
    return {f"{name}={text}": (texts == text).astype(float) for text in known}


def target_values(sheet: Sheet, targets: Sequence[str], classify: bool) -> np.ndarray:
    """The targets as numbers, (n,) or (n, q); for classification the labels."""
    require_columns(sheet, targets, "--target")
    if classify:
        return labels(sheet, targets[0])
    if texts := [name for name in targets if is_text(sheet.table[name])]:
        raise InputError(
            f"the target {quoted(texts)} of {sheet.name} holds text; --classify predicts classes"
        )
    Y = numbers(sheet, targets)
    return Y[:, 0] if len(targets) == 1 else Y


def labels(sheet: Sheet, name: str) -> np.ndarray:
    """The classes of a column: texts, or whole numbers."""
    if is_text(sheet.table[name]):
        return complete_texts(sheet, name).astype(str)
    y = numbers(sheet, [name])[:, 0]
    broken = y[(y != np.round(y)) | (np.abs(y) > 2**53)]
    if len(broken):
        raise InputError(
            f"the target {name!r} of {sheet.name} holds numbers such as {broken[0]:g}, and classes "
            "are texts or whole numbers; leave --classify out to predict numbers"
        )
    return y.astype(np.int64)


def require_columns(sheet: Sheet, names: Sequence[str], role: str) -> None:
    """Refuse names that the table does not have."""
    if absent := [name for name in names if name not in sheet.columns]:
        raise InputError(
            f"{sheet.name} has no column {quoted(absent)} ({role}); "
            f"it has {quoted(sheet.columns, most=30)}"
        )


# ---- one column ---------------------------------------------------------------------------------


def numbers(sheet: Sheet, names: Collection[str]) -> np.ndarray:
    """Columns as one matrix (rows, columns) of numbers whose squares are finite."""
    X = np.empty((len(sheet.table), len(names)))
    for k, name in enumerate(names):
        column = sheet.table[name]
        values = as_numbers(column)
        if values is None:
            what = f"the column {name!r} of {sheet.name} holds {column.dtype}"
            what = describe_text(sheet, [name]) if holds_texts(column) else what
            raise InputError(f"{what}, where numbers are needed")
        refuse_missing(sheet, name, np.isnan(values))
        large = np.flatnonzero(np.abs(values) > LARGEST)
        if len(large):
            value = values[large[0]]
            what = "is infinite" if np.isinf(value) else f"holds {value:g}, more than {LARGEST:g},"
            raise InputError(
                f"the column {name!r} of {sheet.name} {what} in row {large[0] + 1}; "
                "correct or remove the row"
            )
        X[:, k] = values
    return X


def as_numbers(column: pd.Series) -> np.ndarray | None:
    """The column as floats with NaN for missing values, or None where it is something else.

    >>> as_numbers(pd.Series(["1", "NA", "2.5"]))
    array([1. , nan, 2.5])
    >>> as_numbers(pd.Series(["1", "red"])) is None
    True
    """
    if types.is_any_real_numeric_dtype(column.dtype) or types.is_bool_dtype(column.dtype):
        return column.to_numpy(dtype=float, na_value=np.nan)
    if not holds_texts(column):
        return None
    texts = pd.Series(texts_of(column)).str.lower()
    missing = texts.isin(MISSING)
    words = texts.replace({"true": "1", "false": "0"})
    found = pd.to_numeric(words.where(~missing), errors="coerce")
    return None if (found.isna() & ~missing).any() else found.to_numpy(dtype=float)


def holds_texts(column: pd.Series) -> bool:
    """Whether the values are texts, or Python objects such as those that stand for numbers."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    return bool(types.is_string_dtype(kind) or types.is_object_dtype(kind))


def is_text(column: pd.Series) -> bool:
    """Whether the values are texts that are not all numbers."""
    return holds_texts(column) and as_numbers(column) is None


def describe_text(sheet: Sheet, names: list[str]) -> str:
    """Which columns hold text, and where the first is in each."""
    examples = []
    for name in names:
        texts = texts_of(sheet.table[name])
        row = next((i for i, text in enumerate(texts) if text and not is_number(text)), 0)
        examples.append(f"{name!r} ({texts[row]!r} in row {row + 1})")
    return f"{sheet.name} has text in the column{'s' * (len(names) > 1)} {', '.join(examples)}"


def texts_of(column: pd.Series) -> np.ndarray:
    """The column as texts without surrounding blanks, a missing value as ""."""
    texts = column.astype(object).where(column.notna(), "")
    return np.array([str(text).strip() for text in texts], dtype=object)


def complete_texts(sheet: Sheet, name: str) -> np.ndarray:
    """The column as texts, none of them missing."""
    texts = texts_of(sheet.table[name])
    refuse_missing(sheet, name, texts == "")
    return texts


def refuse_missing(sheet: Sheet, name: str, missing: np.ndarray) -> None:
    rows = np.flatnonzero(missing)
    if len(rows):
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        raise InputError(
            f"the column {name!r} of {sheet.name} has no value in row {rows[0] + 1}{more}; "
            "fill it in, or remove the row"
        )
