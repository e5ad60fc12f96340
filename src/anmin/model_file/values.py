"""Parameters and records as plain JSON, and back.

A parameter is null, true, false, a number or a string as it is; anything else is an object with one
tag: {"float": "-inf"}, {"list": […]}, {"dict": [[key, value], …]}, {"loss": name, "numbers": {…}}
or {"solver": name, "parameters": {…}}. Records become a list of columns and a list of rows, with
null for NaN and strings for infinities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import Enum
from math import isfinite, isinf, isnan, nan
from numbers import Integral, Real
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from anmin.files import Facts, ModelFileError, require
from anmin.losses import LOSSES, Loss
from anmin.solvers import SOLVERS

Record = TypeVar("Record")
MOST_NESTED = 16  # levels of what a user keeps beside a model


def encode(value: Any) -> Any:
    """A parameter as JSON, or TypeError where it has no safe form."""
    if isinstance(value, dict):
        return {"dict": [[encode_scalar(k), encode_scalar(v)] for k, v in value.items()]}
    if type(value) in SOLVERS.values() and hasattr(value, "get_params"):
        options = {name: encode_scalar(v) for name, v in value.get_params(deep=False).items()}
        return {"solver": type(value).__name__, "parameters": options}
    if isinstance(value, Loss):
        return encode_loss(value)["loss_function"]
    if isinstance(value, (list, tuple, np.ndarray)):
        return {"list": [encode_scalar(each) for each in np.asarray(value).tolist()]}
    return encode_scalar(value)


def encode_loss(loss: Loss | None) -> Facts:
    """A loss as a fact; none for the squared error. TypeError where a file cannot hold it."""
    if loss is None:
        return {}
    if LOSSES.get(loss.name) is not type(loss):
        raise TypeError(
            f"{type(loss).__name__} is a loss that model files do not know; "
            "put it into anmin.losses.LOSSES under its name first, and again before loading."
        )
    numbers = {name: encode(value) for name, value in loss.numbers().items()}
    return {"loss_function": {"loss": loss.name, "numbers": numbers}}


def decode_loss(entry: Any) -> Loss:
    """The loss that `encode_loss` wrote, or ModelFileError."""
    good = isinstance(entry, dict) and entry.keys() == {"loss", "numbers"}
    require(good and isinstance(entry["numbers"], dict), "a bad loss")
    name, given = entry["loss"], entry["numbers"]
    require(isinstance(name, str) and name in LOSSES, f"its loss {name!r:.40} is unknown here")
    cls = LOSSES[name]
    known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    require(given.keys() <= known, "its loss has unknown numbers")
    found = {key: decode(value) for key, value in given.items()}
    found = {key: tuple(v) if isinstance(v, list) else v for key, v in found.items()}
    return cls(**found)


def encode_scalar(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if isfinite(value) else {"float": str(float(value))}
    raise TypeError(f"{type(value).__name__} has no place in a model file")


def decode(value: Any) -> Any:
    """The parameter that `encode` wrote, or ModelFileError."""
    tags = value.keys() if isinstance(value, dict) else None
    if tags == {"dict"}:
        pairs = value["dict"]
        good = isinstance(pairs, list) and all(isinstance(p, list) and len(p) == 2 for p in pairs)
        require(good, "a bad dictionary among its parameters")
        return {decode_scalar(k): decode_scalar(v) for k, v in pairs}
    if tags == {"list"}:
        require(isinstance(value["list"], list), "a bad list among its parameters")
        return [decode_scalar(v) for v in value["list"]]
    if tags == {"loss", "numbers"}:
        return decode_loss(value)
    if tags == {"RandomState"}:  # in files of older versions
        return None
    if tags == {"solver", "parameters"}:
        return solver(value["solver"], value["parameters"])
    return decode_scalar(value)


def decode_scalar(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    good = isinstance(value, dict) and value.keys() == {"float"}
    require(good and value["float"] in ("inf", "-inf", "nan"), "a parameter cannot be read")
    return float(value["float"])


def solver(name: Any, options: Any) -> Any:
    """A solver object from its class's name and parameters."""
    known: dict[str, Any] = {cls.__name__: cls for cls in SOLVERS.values()}
    require(isinstance(name, str) and isinstance(options, dict), "a bad solver")
    missing = f"its solver {name!r:.40} is unknown here; put it into anmin.solvers.SOLVERS first"
    require(name in known, f"{missing}, or update anmin")
    cls = known[name]
    require(options.keys() <= set(cls._get_param_names()), "its solver has unknown parameters")
    try:
        return cls(**{key: decode_scalar(value) for key, value in options.items()})
    except TypeError as error:
        raise ModelFileError(f"its solver cannot be made: {error!s:.100}") from error


def check_extra(extra: Any, levels: int = MOST_NESTED) -> None:
    """Refuse what a user keeps beside a model unless it is a JSON object of sensible depth."""
    require(levels > 0, f"its extra is nested more than {MOST_NESTED} levels deep")
    require(levels < MOST_NESTED or isinstance(extra, Mapping), "its extra is not a dictionary")
    if isinstance(extra, str):
        whole = extra.isascii() or not any("\ud800" <= c <= "\udfff" for c in extra)
        require(whole, "a string in its extra is not valid Unicode")
    elif isinstance(extra, (Mapping, list, tuple)):
        for each in [*extra, *extra.values()] if isinstance(extra, Mapping) else extra:
            check_extra(each, levels - 1)


# ---- records ------------------------------------------------------------------------------


def table(records: Sequence[Any], kind: Any) -> Facts:
    """Records as the names of their columns, and rows."""
    names = [field.name for field in fields(kind)]
    rows = [[plain(getattr(record, name)) for name in names] for record in records]
    return {"columns": names, "rows": rows}


def plain(value: Any) -> Any:
    """A value of a record as JSON."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (bool, int, str)):
        return value
    value = float(value)
    return None if isnan(value) else str(value) if isinf(value) else value


def read_table(facts: Facts, name: str, kind: type[Record]) -> list[Record]:
    """The records that `table` wrote under a name, or ModelFileError; strange columns are left."""
    entry: Any = facts.get(name)
    require(isinstance(entry, dict) and entry.keys() == {"columns", "rows"}, f"a bad {name}")
    columns, rows = entry["columns"], entry["rows"]
    good = isinstance(columns, list) and all(isinstance(column, str) for column in columns)
    require(good and isinstance(rows, list), f"a bad {name}")
    good = all(isinstance(row, list) and len(row) == len(columns) for row in rows)
    require(good, f"a bad row in its {name}")
    return [read_record(dict(zip(columns, row, strict=True)), name, kind) for row in rows]


def read_record(values: Any, name: str, kind: type[Record]) -> Record:
    """A record from a dictionary, or ModelFileError; names that it does not have are left out."""
    require(isinstance(values, dict), f"a bad {name}")
    types = get_type_hints(kind)
    known = {k: read(types[k], v, f"{k} in its {name}") for k, v in values.items() if k in types}
    try:
        return kind(**known)
    except TypeError as error:
        raise ModelFileError(f"a value is missing in its {name}") from error


def read(kind: Any, value: Any, what: str) -> Any:
    """A value of a record, of the type that its field has."""
    if isinstance(kind, UnionType):  # with None
        return None if value is None else read(get_args(kind)[0], value, what)
    if get_origin(kind) is dict:
        require(isinstance(value, dict), f"{what} is not a dictionary")
        return {key: read(get_args(kind)[1], each, what) for key, each in value.items()}
    if kind is float:
        good = type(value) in (int, float) or value in (None, "inf", "-inf")
        require(good, f"{what} is not a number")
        return nan if value is None else float(value)
    if issubclass(kind, Enum):
        good = isinstance(value, str) and value in kind.__members__
        require(good, f"{what} is {value!r:.40}, which is unknown here; update anmin")
        return kind[value]
    require(type(value) is kind, f"{what} is not of type {kind.__name__}")
    return value


def number(facts: Facts, name: str) -> float:
    """A finite number among the facts."""
    value: Any = facts.get(name)
    require(type(value) in (int, float), f"its {name} is not a number")
    return float(value)


def read_importances(model: Any, found: Any, d: int) -> None:
    """Set the importances of d inputs, which older files and interrupted fits do not have."""
    if found is None or found == []:
        return
    good = isinstance(found, list) and len(found) == d
    good = good and all(type(v) in (int, float) and v >= 0 for v in found)
    require(good, f"its importances are not {d} numbers")
    model.feature_importances_ = np.array(found, dtype=np.float64)
