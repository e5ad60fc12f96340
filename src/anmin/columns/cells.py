"""The cells of a table, whatever holds it: a frame of pandas, polars or Arrow, or an array.

A column is read as one of three things, by its type, and by its cells where the type says nothing:

    numbers    float64, NaN for a gap; booleans are 0 and 1
    dates      seconds since 1970 as float64, NaN for a gap; of the clock that the cells show
    texts      strings, None for a gap; a number is the text that it prints as, 3.0 is "3"

None, NaN, NaT, pandas' NA and the empty text are gaps.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

TIME = r"[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?"
ISO = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:({TIME})(?:[-+]\d\d:?\d\d)?)?Z?")
DAY = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b")  # as people write it
DATES = (dt.date, np.datetime64)
EXACT = 2.0**53  # up to which whole numbers are exact
MISSING = {"NAType", "NaTType", "NoneType"}


def is_frame(X: Any) -> bool:
    """Whether X has named columns: pandas, polars, pyarrow."""
    return hasattr(X, "shape") and (hasattr(X, "columns") or hasattr(X, "column_names"))


def names_of(X: Any) -> list[str]:
    """The names of the columns, x0, x1, … where they have none."""
    if not is_frame(X):
        return [f"x{j}" for j in range(X.shape[1])]
    names = X.column_names if hasattr(X, "column_names") else X.columns
    return [name if isinstance(name, str) else f"x{name}" for name in names]


def columns_of(X: Any) -> list[Any]:
    """The columns of a frame or an array, as they are."""
    d = X.shape[1]
    if hasattr(X, "iloc"):
        return [X.iloc[:, j] for j in range(d)]
    if hasattr(X, "column_names"):  # Arrow
        return [X.column(j) for j in range(d)]
    return [X[:, j] for j in range(d)]


# ---- NumPy from any library ---------------------------------------------------------------------


def plain(column: Any) -> tuple[np.ndarray, bool]:
    """A column as an array, and whether its type is one of categories."""
    reader = READERS.get(type(column).__module__.split(".")[0])
    values, declared = (np.asarray(column), False) if reader is None else reader(column)
    if values.ndim != 1:
        raise ValueError(f"a column must have one axis; got shape {values.shape}.")
    return values, declared


def from_pandas(column: Any) -> tuple[np.ndarray, bool]:
    import pandas as pd

    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biufmM":
        return column.to_numpy(), False
    if isinstance(kind, pd.ArrowDtype):
        return from_arrow(column.array.__arrow_array__())
    if isinstance(kind, pd.DatetimeTZDtype):
        return column.dt.tz_localize(None).to_numpy(), False
    if isinstance(kind, pd.PeriodDtype):
        return column.dt.to_timestamp().to_numpy(), False
    declared = isinstance(kind, pd.CategoricalDtype)
    number = pd.api.types.is_any_real_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind)
    if isinstance(kind, pd.SparseDtype):
        return from_pandas(column.sparse.to_dense())
    if number and not declared:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        long = np.nanmax(np.abs(values), initial=0) > EXACT
        if not (long and pd.api.types.is_integer_dtype(kind)):
            return values, False
    values = np.array(column, dtype=object)
    if isinstance(kind.categories.dtype if declared else kind, pd.IntervalDtype):  # of pandas.cut
        values, declared = values.astype(str).astype(object), True
    values[np.asarray(column.isna())] = None
    return values, declared


def from_polars(column: Any) -> tuple[np.ndarray, bool]:
    import polars as pl

    kind = column.dtype
    if kind in (pl.Categorical, pl.Enum):
        return column.cast(pl.String).to_numpy(), True
    if kind == pl.Decimal:
        return column.cast(pl.Float64).to_numpy(), False
    if kind == pl.Datetime:
        column = column.dt.replace_time_zone(None)
    return column.to_numpy(), False


def from_arrow(column: Any) -> tuple[np.ndarray, bool]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    declared = pa.types.is_dictionary(kind)
    if declared:
        column = column.cast(kind.value_type)
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_timestamp(kind) and kind.tz is not None:
        column = pc.local_timestamp(column)
    arrays = isinstance(column, pa.ChunkedArray)
    return column.to_numpy() if arrays else column.to_numpy(zero_copy_only=False), declared


READERS: dict[str, Callable[[Any], tuple[np.ndarray, bool]]] = {
    "pandas": from_pandas, "polars": from_polars, "pyarrow": from_arrow,
}  # fmt: skip


# ---- what is in a column ------------------------------------------------------------------------


def is_gap(cell: Any) -> bool:
    """Whether a cell holds nothing."""
    if isinstance(cell, str):
        return not cell
    if isinstance(cell, (float, np.floating)):
        return bool(np.isnan(cell))
    return type(cell).__name__ in MISSING or (isinstance(cell, np.datetime64) and np.isnat(cell))


def kind_of(name: str, values: np.ndarray) -> str:
    """ "number", "date" or "text"; cells of another type are refused.

    >>> import numpy as np
    >>> from anmin.columns.cells import kind_of
    >>> [kind_of("a", np.array(cells)) for cells in ([1, 2], ["red"], ["2024-02-29", ""])]
    ['number', 'text', 'date']
    """
    if values.dtype.kind in "biufm":
        return "number"
    if values.dtype.kind == "M":
        return "date"
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: the column {name!r} of X is complex.")
    cells = [cell for cell in distinct_cells(values.tolist()) if not is_gap(cell)]
    kinds = set(map(type, cells))
    if all(issubclass(kind, (Real, Decimal, np.bool_)) for kind in kinds):
        return "number"
    if all(issubclass(kind, DATES) for kind in kinds):
        return "date"
    strange = [k for k in kinds if not issubclass(k, (str, bytes, Real, Decimal, np.bool_, *DATES))]
    if strange:
        raise TypeError(
            f"a cell of the column {name!r} of X is a {strange[0].__name__}, which cannot be "
            "converted; the argument must be a string, a date or a real number."
        )
    texts = all(issubclass(kind, str) for kind in kinds)
    return "date" if texts and all(map(ISO.fullmatch, cells)) else "text"


def distinct_cells(cells: list[Any]) -> Iterable[Any]:
    """The different cells, which are few among many; all of them where they cannot be compared."""
    try:
        return set(cells)
    except TypeError:
        return cells


def texts(values: np.ndarray) -> list[str | None]:
    """The cells as texts."""
    cells = values.tolist()
    if bool in set(map(type, cells)):  # True equals 1, but is another text
        return [None if is_gap(cell) else text(cell) for cell in cells]
    known = {cell: None if is_gap(cell) else text(cell) for cell in distinct_cells(cells)}
    return [known[cell] for cell in cells]


def text(cell: Any) -> str:
    """A cell as the name of its level.

    >>> from anmin.columns.cells import text
    >>> text("red"), text(3.0), text(2.5), text(True)
    ('red', '3', '2.5', 'True')
    """
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def numbers(name: str, values: np.ndarray) -> np.ndarray:
    """The cells as numbers that are finite, or gaps."""
    if values.dtype.kind == "m":
        found = values.astype("timedelta64[us]").astype(np.float64) / 1e6
        found[np.isnat(values)] = np.nan
    elif values.dtype.kind in "biuf":
        found = values.astype(np.float64)
    else:
        found = each(name, values, real, "a number")
    if np.isinf(found).any():
        raise ValueError(
            f"X contains infinity in the column {name!r}, row {int(np.isinf(found).argmax())}; "
            "numbers must be finite."
        )
    return found


def real(cell: Any) -> float:
    """A number, or a text that is one, or is true or false."""
    words = {"true": 1.0, "false": 0.0}
    return words[cell.lower()] if isinstance(cell, str) and cell.lower() in words else float(cell)


def is_number(cell: str) -> bool:
    """Whether a text is a number.

    >>> from anmin.columns.cells import is_number
    >>> is_number("-1.5e3"), is_number("1.5 kg")
    (True, False)
    """
    try:
        float(cell)
    except ValueError:
        return False
    return True


def seconds(name: str, values: np.ndarray) -> np.ndarray:
    """The cells as seconds since 1970, in whole microseconds."""
    if values.dtype.kind != "M":
        return each(name, values, moment, "a date such as 2024-02-29 or 2024-02-29 13:30")
    return moments(values)


def moments(dates: np.ndarray) -> np.ndarray:
    found = dates.astype("datetime64[us]").astype(np.int64) / 1e6
    found[np.isnat(dates)] = np.nan
    return found


def moment(cell: Any) -> float:
    if isinstance(cell, str):
        if (found := ISO.fullmatch(cell)) is None:
            raise ValueError
        cell = found[1] + (found[2] or "")  # without the zone: the clock that the cell shows
    elif isinstance(cell, dt.datetime):
        cell = cell.replace(tzinfo=None)
    elif not isinstance(cell, DATES):
        raise TypeError
    return float(moments(np.array([cell], dtype="datetime64[us]"))[0])


def each(name: str, values: np.ndarray, read: Callable[[Any], float], wanted: str) -> np.ndarray:
    """Cell after cell, or an error that names the first that cannot be read."""
    found = np.full(len(values), np.nan)
    known: dict[Any, float] = {}
    for row, cell in enumerate(values.tolist()):
        if is_gap(cell):
            continue
        try:
            if cell not in known:
                known[cell] = read(cell)
        except (TypeError, ValueError):
            raise ValueError(
                f"the column {name!r} of X holds {cell!r:.60} in row {row}, where {wanted} is "
                "expected, as in the other rows; leave the cell empty where nothing is known."
            ) from None
        found[row] = known[cell]
    return found


def chosen(names: Sequence[str], categorical: Any) -> np.ndarray | None:
    """Which columns are said to be categories, as a mask; None where their types decide."""
    if isinstance(categorical, str):
        if categorical != "from_dtype":
            raise ValueError(
                f'categorical_features must be "from_dtype", None, names, numbers or a mask of '
                f"columns; got {categorical!r}."
            )
        return None
    mask = np.zeros(len(names), dtype=bool)
    given = np.asarray([] if categorical is None else categorical)
    if given.ndim != 1:
        raise ValueError(f"categorical_features must have one axis; got shape {given.shape}.")
    if given.dtype.kind == "b":
        if given.shape != mask.shape:
            raise ValueError(
                f"categorical_features is a mask of {len(given)} columns, and X has {len(mask)}."
            )
        return given
    if given.dtype.kind in "iu" and ((given < 0) | (given >= len(mask))).any():
        raise ValueError(
            f"categorical_features must be numbers of columns from 0 to {len(mask) - 1}; got "
            f"{given.tolist()}."
        )
    if given.dtype.kind not in "iu":
        strange = [name for name in given.tolist() if name not in names]
        if strange:
            raise ValueError(f"categorical_features: X has no column {strange[0]!r}.")
        given = np.array([names.index(name) for name in given.tolist()], dtype=int)
    mask[given] = True
    return mask
