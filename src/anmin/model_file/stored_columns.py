"""The columns of a table in a model file: facts as JSON, means of the target as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anmin.columns import (
    PARTS,
    CategoryColumn,
    CodeColumn,
    Column,
    Columns,
    DateColumn,
    NumberColumn,
)
from anmin.columns.cells import is_number
from anmin.files import Arrays, Facts, natural, require

FURTHEST = 1e12  # seconds from 1970 that a date may lie


def column_facts(columns: Columns | None, arrays: Arrays) -> Facts:
    """The facts of columns, where there are some; their arrays go to `arrays`."""
    if columns is None:
        return {}
    found = []
    for j, column in enumerate(columns.columns):
        entry: Facts = {"kind": KIND[type(column)], "name": column.name, "gaps": column.gaps}
        number, category = parts_of(column)
        if category is not None:
            levels = list(category.levels)
            entry |= {"levels": levels, "single": category.single, "pooled": category.pooled}
            if category.means.size:
                arrays[means_name(j)] = category.means
        if number is not None:
            entry["neutral"] = number.neutral
        if isinstance(column, DateColumn):
            entry["parts"] = list(column.parts)
        found.append(entry)
    return {"columns": found}


def parts_of(column: Column) -> tuple[NumberColumn | DateColumn | None, CategoryColumn | None]:
    """A column as a number and as a category."""
    if isinstance(column, CodeColumn):
        return column.number, column.category
    return (None, column) if isinstance(column, CategoryColumn) else (column, None)


def means_name(j: int) -> str:
    return f"column_{j}_means"


def read_columns(facts: Facts, arrays: Arrays, d: int) -> Columns | None:
    """The columns of a file, which make the d inputs of its network; None where it has none."""
    if "columns" not in facts:
        return None
    entries: Any = facts["columns"]
    require(isinstance(entries, list) and len(entries) > 0, "its columns are not a list")
    columns = Columns(tuple(read_column(entry, j, arrays) for j, entry in enumerate(entries)))
    names = [column.name for column in columns.columns]
    require(len(set(names)) == len(names), "two of its columns have one name")
    same = facts.get("feature_names") in ([], names)
    require(same, "the names of its columns are not those of its inputs")
    made = len(columns.origin)
    require(made == d, f"its columns make {made} inputs and its network has {d}")
    return columns


def read_column(entry: Any, j: int, arrays: Arrays) -> Column:
    """One column, or ModelFileError."""
    good = isinstance(entry, dict) and isinstance(entry.get("kind"), str)
    require(good and entry["kind"] in FIELDS, "a column is of a kind unknown here")
    kind = entry["kind"]
    require(entry.keys() == {"kind", "name", "gaps"} | FIELDS[kind], "a column is incomplete")
    require(isinstance(entry["name"], str), "a column has no name")
    require(isinstance(entry["gaps"], bool), "a column does not say whether it had gaps")
    return READ[kind](entry, j, arrays)


def read_number(entry: Facts, *_: Any) -> NumberColumn:
    return NumberColumn(entry["name"], neutral(entry), entry["gaps"])


def neutral(entry: Facts) -> float:
    require(type(entry["neutral"]) in (int, float), "a column has no neutral value")
    return float(entry["neutral"])


def read_date(entry: Facts, *_: Any) -> DateColumn:
    parts, at = distinct_texts(entry["parts"]), neutral(entry)
    require(set(parts) <= set(PARTS), "a date has a part unknown here")
    require(abs(at) <= FURTHEST, "a date is out of range")
    return DateColumn(entry["name"], at, parts, entry["gaps"])


def read_category(entry: Facts, j: int, arrays: Arrays) -> CategoryColumn:
    levels, single, pooled = distinct_texts(entry["levels"]), entry["single"], entry["pooled"]
    require(natural(single) and single <= len(levels), "a column has more inputs than levels")
    require(isinstance(pooled, bool), "a column does not say whether levels share an input")
    means = arrays.pop(means_name(j), np.empty((len(levels) + 2, 0)))
    good = means.ndim == 2 and len(means) == len(levels) + 2
    require(good, "the means of a column do not go with its levels")
    return CategoryColumn(entry["name"], levels, single, pooled, entry["gaps"], means)


def read_code(entry: Facts, j: int, arrays: Arrays) -> CodeColumn:
    category = read_category(entry, j, arrays)
    good = not category.gaps and all(map(is_number, category.levels))
    require(good, "the levels of a code are not numbers")
    return CodeColumn(read_number(entry), category)


def distinct_texts(found: Any) -> tuple[str, ...]:
    good = isinstance(found, list) and all(isinstance(each, str) and each for each in found)
    require(good and len(set(found)) == len(found), "the levels of a column are not distinct texts")
    return tuple(found)


KIND: dict[type, str] = {
    NumberColumn: "number", DateColumn: "date", CategoryColumn: "category", CodeColumn: "code",
}  # fmt: skip
FIELDS = {
    "number": {"neutral"}, "date": {"neutral", "parts"},
    "category": {"levels", "single", "pooled"}, "code": {"neutral", "levels", "single", "pooled"},
}  # fmt: skip
READ: dict[str, Callable[..., Column]] = {
    "number": read_number, "date": read_date, "category": read_category, "code": read_code,
}  # fmt: skip
