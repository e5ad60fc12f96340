"""A table as people have it, made a matrix of numbers: text, gaps, dates, booleans.

    frame ─▶ Columns.matrix ─▶ (encoding: hinges) ─▶ standardised ─▶ network

`Columns` is fitted once, to the training rows, and is plain data: names, levels, numbers. Each
column of the frame becomes one or more inputs; `made` are their names, `origin` the column that
each comes from. A table of numbers without gaps needs no `Columns`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from anmin.columns.cells import (
    DAY,
    EXACT,
    chosen,
    columns_of,
    is_frame,
    is_number,
    kind_of,
    names_of,
    numbers,
    plain,
    seconds,
    texts,
)
from anmin.columns.codes import is_code, may_be_code
from anmin.columns.kinds import (
    PARTS,
    CategoryColumn,
    CodeColumn,
    Column,
    DateColumn,
    NumberColumn,
    calendar,
    places,
)
from anmin.columns.target_means import MOST_OUTPUTS, Targets, folds

__all__ = [
    "PARTS", "CategoryColumn", "CodeColumn", "Column", "Columns", "DateColumn", "NumberColumn",
    "Table",
]  # fmt: skip

MOST_SINGLE = 128  # levels of a column that have an input of their own
LEAST_ROWS = 5  # of such a level
FEW_LEVELS = 4  # up to which means of the target say nothing new


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a frame or an array, and what each is: number, date, category or code."""

    names: Sequence[str]
    columns: Sequence[Any]
    kinds: Sequence[str]
    plain: np.ndarray | None = None  # what it is where no column is a code, but all are numbers
    named: bool = True  # a frame, not an array, of which codes are not looked for

    @classmethod
    def of(cls, X: Any, categorical: Any = "from_dtype") -> Table | None:
        """X where it is more than numbers without gaps, else None.

        >>> import numpy as np
        >>> from anmin.columns import Table
        >>> Table.of(np.zeros((3, 2))) is None
        True
        >>> Table.of(np.array([[1, "a"], [None, "b"]], dtype=object)).kinds
        ['number', 'category']
        """
        if isinstance(X, (list, tuple)):
            X = as_array(X)
        frame = is_frame(X)
        array = isinstance(X, np.ndarray) and X.dtype.kind in "biufOUS"
        if not (frame or array) or len(X.shape) != 2 or 0 in X.shape:
            return None  # for others to refuse
        names = names_of(X)
        mask = chosen(names, categorical)
        said = mask is not None and mask.any()
        if not said and not frame and X.dtype.kind in "biuf" and not np.isnan(X.min()):
            return None
        columns = columns_of(X)
        found = [read(name, column) for name, column in zip(names, columns, strict=True)]
        kinds, special = [kind for kind, _, _ in found], any(more for _, _, more in found)
        for j, (kind, declared, _) in enumerate(found):
            if (declared and mask is None) or (mask is not None and mask[j]):
                kinds[j] = "category"
            elif kind == "text" and mask is not None:
                raise ValueError(
                    f"the column {names[j]!r} of X holds text and is not among "
                    'categorical_features; add it, or use categorical_features="from_dtype".'
                )
            elif kind == "text":
                kinds[j] = "category"
        if not special and all(kind == "number" for kind in kinds):
            return None
        return cls(names, columns, kinds, named=frame)

    @classmethod
    def of_numbers(cls, X: Any, plain: np.ndarray) -> Table | None:
        """A frame of numbers `plain` (n, d), if some of its columns may be codes; else None."""
        if not is_frame(X) or issparse(plain) or not any(may_be_code(x) for x in plain.T):
            return None
        return cls(names_of(X), columns_of(X), ["number"] * plain.shape[1], plain)

    def with_codes(self, Y: np.ndarray, weight: np.ndarray | None) -> Table:
        """The same, where numbers whose single values tell more of Y (n, q) are codes."""
        if not self.named:
            return self
        w = np.ones(len(Y)) if weight is None else weight
        kinds = [
            "code" if kind == "number" and is_code(numbers(name, plain(column)[0]), Y, w) else kind
            for name, column, kind in zip(self.names, self.columns, self.kinds, strict=True)
        ]
        return replace(self, kinds=kinds)


def warn_of_long(X: Any) -> None:
    """Say so where whole numbers of a frame are too long for the digits of a float."""
    for name, column in zip(names_of(X), columns_of(X), strict=True):
        if getattr(getattr(column, "dtype", None), "kind", "O") not in "iu":
            continue
        if np.abs(plain(column)[0].astype(np.float64)).max() > EXACT:
            warnings.warn(
                f"The column {name!r} of X holds whole numbers beyond 2^53, of which only the "
                "first 15 digits count; if they are names, say so by categorical_features.",
                UserWarning,
                stacklevel=2,
            )


def as_array(X: Any) -> Any:
    """Lists as an array, of objects where some are text."""
    try:
        found = np.asarray(X)
    except ValueError:  # ragged
        return X
    return np.asarray(X, dtype=object) if found.dtype.kind in "US" else found


def read(name: str, column: Any) -> tuple[str, bool, bool]:
    """What a column is, whether its type says categories, and whether a number is more than that.

    That is one with gaps, and a duration.
    """
    values, declared = plain(column)
    kind = kind_of(name, values)
    if kind != "number":
        return kind, declared, False
    return kind, declared, values.dtype.kind == "m" or bool(np.isnan(numbers(name, values)).any())


@dataclass(frozen=True, slots=True)
class Columns:
    """How each column of a table becomes inputs of a network."""

    columns: tuple[Column, ...]

    @classmethod
    def fit(
        cls, table: Table, Y: np.ndarray, weight: np.ndarray | None, groups: Any = None
    ) -> tuple[Columns, np.ndarray]:
        """From the rows of a table with targets Y (n, q): and the matrix for these rows.

        Rows of one group are left out together where means of the target are taken.

        >>> import numpy as np
        >>> from anmin.columns import Columns, Table
        >>> table = Table.of(np.array([[1, "a"], [None, "b"], [3, "a"]], dtype=object))
        >>> columns, X = Columns.fit(table, np.zeros((3, 1)), None)
        >>> columns.made
        ['x0', 'x0 is missing', 'x1=b']
        """
        w = np.ones(len(Y)) if weight is None else weight
        targets = Targets(Y, w, folds(len(Y), groups), groups is not None)
        made = [
            fit_column(*each, targets)
            for each in zip(table.names, table.columns, table.kinds, strict=True)
        ]
        blocks = [block for _, block in made]
        if not sum(block.shape[1] for block in blocks):
            raise ValueError(
                "no column of X says anything about other rows: every text of it is nearly unique."
            )
        return cls(tuple(column for column, _ in made)), np.hstack(blocks)

    @property
    def made(self) -> list[str]:
        """The names of the inputs that are made."""
        return [name for column in self.columns for name in column.made]

    @property
    def origin(self) -> np.ndarray:
        """The column that each made input comes from."""
        sizes = [len(column.made) for column in self.columns]
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def n_numbers(self) -> int:
        """Numbers that are kept: neutral values, places of levels, means of the target."""
        categories = [c.category if isinstance(c, CodeColumn) else c for c in self.columns]
        kept = [
            len(c.levels) + 2 + c.means.size if isinstance(c, CategoryColumn) else 1
            for c in categories
        ]
        return sum(kept) + sum(isinstance(c, CodeColumn) for c in self.columns)

    def matrix(self, X: Any) -> np.ndarray:
        """The made inputs for the rows of a frame or an array with the same columns: (n, d′)."""
        X = as_array(X) if isinstance(X, (list, tuple)) else X
        pairs = zip(self.columns, columns_of(X), strict=True)
        return np.hstack([column.block(cells) for column, cells in pairs])


def fit_column(name: str, column: Any, kind: str, targets: Targets) -> tuple[Column, np.ndarray]:
    """A column and its inputs for the training rows."""
    if kind == "category":
        category, block = fit_category(name, column, targets)
        if category.levels and not category.single and plain(column)[0].dtype.kind not in "biuf":
            warn_of_written(name, category.levels)
        return category, block
    values = plain(column)[0]
    x = seconds(name, values) if kind == "date" else numbers(name, values)
    counts = targets.weight > 0
    gaps = bool(np.isnan(x[counts]).any())
    neutral = float(np.nanmedian(x[counts])) if not np.isnan(x[counts]).all() else 0.0
    found: Column = NumberColumn(name, neutral, gaps)
    if kind == "code":
        category, block = fit_category(name, x, targets)
        number = NumberColumn(name, neutral)
        return CodeColumn(number, category), np.hstack([number.block(column), block])
    if kind == "date":
        parts = calendar(x[counts & ~np.isnan(x)])
        varying = tuple(part for part in PARTS if len(parts[part]) and np.ptp(parts[part]) > 0)
        found = DateColumn(name, neutral, varying if varying or gaps else PARTS[:1], gaps)
    return found, found.block(column)


def fit_category(name: str, column: Any, targets: Targets) -> tuple[CategoryColumn, np.ndarray]:
    """The levels, which of them have an input of their own, and means of the target."""
    cells, counts, q = texts(plain(column)[0]), targets.weight > 0, targets.Y.shape[1]
    known = sorted({cell for cell, some in zip(cells, counts, strict=True) if some and cell})
    count = np.bincount(places(cells, tuple(known))[counts], minlength=len(known) + 2)
    order = np.argsort(-count[: len(known)], kind="stable")[:MOST_SINGLE]
    own = {known[k] for k in order if count[k] >= LEAST_ROWS} if len(known) > 2 else set(known)
    rare = [level for level in known if level not in own]
    with_means = (len(known) > FEW_LEVELS or len(rare) > 1) and 0 < q <= MOST_OUTPUTS
    levels = (*(level for level in known if level in own), *(rare if with_means else ()))
    gaps, pooled = bool(count[-1]), bool(rare) and bool(own or count[-1])
    place, m = places(cells, levels), len(levels)
    means = np.empty((m + 2, 0))
    if with_means:
        means = targets.means(place, m + 2)
    found = CategoryColumn(name, levels, len(own), pooled, gaps, means)
    block = found.rows(place)
    if with_means:
        crossed = (place >= len(own)) & (place < m) | targets.grouped
        block[crossed, block.shape[1] - q :] = targets.cross_fitted(place, m + 2)[crossed]
    return found, block


def warn_of_written(name: str, levels: Sequence[str]) -> None:
    """Say so where texts, hardly one of them twice, are numbers or dates."""
    for what, written, remedy in (
        ("numbers", is_number, "floats (astype(float))"),
        ("dates", DAY.match, "dates (pandas.to_datetime)"),
    ):
        if all(map(written, levels)):
            warnings.warn(
                f"The column {name!r} of X holds {what} written as texts, {len(levels):,} "
                f"different ones, and is taken as categories, which says little; give {remedy}.",
                UserWarning,
                stacklevel=2,
            )
