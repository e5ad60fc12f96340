"""Columns that cannot help, or help too well.

A column is left out, and named, where it only counts rows, has one value, names each row by a text
of its own, or copies the target. Others are doubtful: they are used, and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
from pandas.api import types
from scipy.stats import rankdata

UNIQUE = 0.9  # share of different texts above which a column names the rows
FEW_ROWS = 20  # in which different texts prove nothing
IDENTIFIER = re.compile(
    r"(.*[ _.-])?(id|idx|index|key|rownames?|row|nr|no|uuid)|unnamed: 0|#", re.IGNORECASE
)
NEAR = 0.999  # correlation that only a copy has
EXACT = 1e-9  # of the target's range, for a copy
NINES = re.compile("-?9{2,}|-1")  # that people write for a gap


def is_text(column: pd.Series) -> bool:
    """Whether a column holds texts."""
    kind = column.dtype
    kind = kind.categories.dtype if isinstance(kind, pd.CategoricalDtype) else kind
    return bool(types.is_string_dtype(kind) or types.is_object_dtype(kind))


def useless(
    table: pd.DataFrame, names: Iterable[str], y: np.ndarray, kept: set[str]
) -> dict[str, str]:
    """Columns that cannot help, or help too well, and why; none that the user wants.

    Where nothing else would be left, only those of one value are.
    """
    names = list(names)
    reasons = {name: reason(name, table[name], y) for name in names if name not in kept}
    found = {name: why for name, why in reasons.items() if why}
    if len(found) == len(names):
        return {name: why for name, why in found.items() if "value" in why}
    return found


def reason(name: str, column: pd.Series, y: np.ndarray) -> str:
    """Why a column is of no use; an empty text where it is of some."""
    given = column.dropna()
    different = given.nunique()
    if not different:
        return "have no value"
    if different == 1 and len(given) == len(column):
        return "have one value alone"
    if is_text(column):
        if len(given) >= FEW_ROWS and different > UNIQUE * len(given):
            return "name each row by a text of its own"
    elif counts_rows(name, column):
        return "only count rows"
    return "copy the target" if copies(column, y) else ""


def counts_rows(name: str, column: pd.Series) -> bool:
    """Whether whole numbers go up by one from 0 or 1, or are all different and called a key."""
    if not types.is_integer_dtype(column.dtype) or len(column) < 3 or column.isna().any():
        return False
    x = column.to_numpy(np.int64)
    in_order = x[0] in (0, 1) and bool((np.diff(x) == 1).all())
    return in_order or (bool(IDENTIFIER.fullmatch(name)) and bool(column.is_unique))


def copies(column: pd.Series, y: np.ndarray) -> bool:
    """Whether a column is the target in other words or units."""
    if y.ndim > 1:
        return any(copies(column, y[:, k]) for k in range(y.shape[1]))
    if column.isna().any() or len(column) < 3 or (y == y[0]).all():
        return False
    if y.dtype.kind != "f":  # classes: one value for each, and each in one
        pairs = pd.DataFrame({"value": pd.factorize(column)[0], "label": pd.factorize(y)[0]})
        sizes = pairs["value"].nunique(), pairs["label"].nunique(), len(pairs.drop_duplicates())
        return len(set(sizes)) == 1
    if not types.is_any_real_numeric_dtype(column.dtype) or column.nunique() < 3:
        return False
    x = column.to_numpy(float)
    x, scale = (x - x.mean()) / np.ptp(x), np.ptp(y)
    miss = (y - y.mean()) - x * (x @ (y - y.mean())) / (x @ x)
    return bool(np.abs(miss).max() <= EXACT * scale)


def nearly_copies(column: pd.Series, y: np.ndarray) -> bool:
    """Whether a straight line from one column, or from its ranks, misses next to nothing."""
    if y.dtype.kind != "f" or y.ndim > 1 or not types.is_any_real_numeric_dtype(column.dtype):
        return False
    known = column.notna().to_numpy()
    x, z = column.to_numpy(float, na_value=np.nan)[known], y[known]
    if len(x) < FEW_ROWS or np.ptp(x) == 0 or np.ptp(z) == 0:
        return False
    lines = (x, z), (rankdata(x), rankdata(z))
    return max(abs(np.corrcoef(*line)[0, 1]) for line in lines) > NEAR


def stands_for_gap(column: pd.Series) -> float | None:
    """A value such as -999 or 9999 that occurs twice or more, far from all others."""
    if not types.is_any_real_numeric_dtype(column.dtype):
        return None
    values = np.unique(column.dropna().to_numpy(float))
    for end, rest in ((values[:1], values[1:]), (values[-1:], values[:-1])):
        if len(rest) > 2 and NINES.fullmatch(f"{end[0]:g}") and (column == end[0]).sum() > 1:
            away = min(abs(end[0] - rest[0]), abs(end[0] - rest[-1]))
            if away > 2 * np.ptp(rest):
                return float(end[0])
    return None


def doubts(table: pd.DataFrame, y: np.ndarray) -> Iterator[str]:
    """What a user should know of columns that are used."""
    for name in table:
        if nearly_copies(table[name], y):
            yield f"{name!r} tells almost all of the target; --drop it if it is known only later"
        if (value := stands_for_gap(table[name])) is not None:
            what = f"{name!r} holds {value:g}, far from its other values"
            yield f"{what}; --missing {value:g} if that stands for no value"


def by_reason(left_out: dict[str, str]) -> dict[str, list[str]]:
    """Columns for each reason."""
    return {why: [n for n, w in left_out.items() if w == why] for why in left_out.values()}
