"""Parameters and records as plain JSON, and back.

A parameter is null, true, false, a number or a text as it is; anything else is an object with one
tag: {"float": "-inf"}, {"dict": [[key, value], …]}, {"solver": name, "parameters": {…}} or
{"RandomState": [words, position, has_gauss, gauss]}. Records become a list of columns and a list
of rows, with null for NaN and text for infinities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from math import isfinite, isinf, isnan, nan
from numbers import Integral, Real
from typing import Any

import numpy as np

from anmin.model_file.container import Facts, ModelFileError, require
from anmin.solvers import Algorithm1, VarPro
from anmin.status import Status

SOLVERS = {cls.__name__: cls for cls in (Algorithm1, VarPro)}


class NotKeptError(TypeError):
    """A parameter that has no safe representation."""


def encode(value: Any) -> Any:
    """A parameter as JSON, or NotKeptError.

    >>> from anmin.model_file.values import encode
    >>> encode(0.5), encode({"a": 2.0}), encode(float("inf"))
    (0.5, {'dict': [['a', 2.0]]}, {'float': 'inf'})
    """
    if isinstance(value, dict):
        return {"dict": [[encode_scalar(k), encode_scalar(v)] for k, v in value.items()]}
    if isinstance(value, np.random.RandomState):
        _, words, *rest = value.get_state(legacy=True)
        return {"RandomState": [np.asarray(words).tolist(), *map(float, rest)]}
    if type(value) in SOLVERS.values():
        options = {name: encode_scalar(v) for name, v in value.get_params(deep=False).items()}
        return {"solver": type(value).__name__, "parameters": options}
    return encode_scalar(value)


def encode_scalar(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if isfinite(value) else {"float": str(float(value))}
    raise NotKeptError(f"{type(value).__name__} has no place in a model file")


def decode(value: Any) -> Any:
    """The parameter that `encode` wrote, or ModelFileError.

    >>> from anmin.model_file.values import decode, encode
    >>> from anmin.solvers import Algorithm1
    >>> decode(encode(Algorithm1(keep="last")))
    Algorithm1(keep='last')
    """
    if not isinstance(value, dict):
        return decode_scalar(value)
    if value.keys() == {"dict"}:
        pairs = value["dict"]
        good = isinstance(pairs, list) and all(isinstance(p, list) and len(p) == 2 for p in pairs)
        require(good, "a bad dictionary among its parameters")
        return {decode_scalar(k): decode_scalar(v) for k, v in pairs}
    if value.keys() == {"RandomState"}:
        return random_state(value["RandomState"])
    if value.keys() == {"solver", "parameters"}:
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
    good = isinstance(name, str) and name in SOLVERS and isinstance(options, dict)
    require(good, "its solver is unknown here; update anmin")
    cls: Any = SOLVERS[name]
    require(options.keys() <= set(cls._get_param_names()), "its solver has unknown parameters")
    return cls(**{key: decode_scalar(value) for key, value in options.items()})


def random_state(state: Any) -> np.random.RandomState:
    """A generator that continues where the saved one stood."""
    require(isinstance(state, list) and len(state) == 4, "a bad random state")
    words, position, has_gauss, gauss = state
    good = isinstance(words, list) and len(words) == 624
    good = good and all(type(word) is int and 0 <= word < 2**32 for word in words)
    good = good and all(type(number) in (int, float) for number in state[1:])
    require(good and 0 <= position <= 624 and has_gauss in (0, 1), "a bad random state")
    rng = np.random.RandomState()
    words = np.array(words, dtype=np.uint32)
    rng.set_state(("MT19937", words, int(position), int(has_gauss), float(gauss)))
    return rng


# ---- records ------------------------------------------------------------------------------


def table(records: list[Any], kind: Any) -> Facts:
    """Records as the names of their columns, and rows."""
    names = [field.name for field in fields(kind)]
    rows = [[plain(getattr(record, name)) for name in names] for record in records]
    return {"columns": names, "rows": rows}


def plain(value: Any) -> Any:
    """A value of a record as JSON."""
    if isinstance(value, Status):
        return value.name
    if isinstance(value, (bool, int, str)):
        return value
    value = float(value)
    return None if isnan(value) else str(value) if isinf(value) else value


def read_table(facts: Facts, name: str, kind: Any) -> list[Any]:
    """The records that `table` wrote under a name, or ModelFileError."""
    entry = facts.get(name)
    require(isinstance(entry, dict) and entry.keys() == {"columns", "rows"}, f"a bad {name}")
    columns, rows = entry["columns"], entry["rows"]  # type: ignore[index]
    types = {field.name: READERS[str(field.type)] for field in fields(kind)}
    known = isinstance(columns, list) and all(isinstance(c, str) and c in types for c in columns)
    require(known and isinstance(rows, list), f"its {name} is unknown here; update anmin")
    records = []
    for row in rows:
        require(isinstance(row, list) and len(row) == len(columns), f"a bad row in its {name}")
        values = {column: types[column](v) for column, v in zip(columns, row, strict=True)}
        try:
            records.append(kind(**values))
        except TypeError as error:
            raise ModelFileError(f"a column is missing in its {name}") from error
    return records


def read_float(value: Any) -> float:
    if value is None:
        return nan
    good = type(value) in (int, float) or value in ("inf", "-inf")
    require(good, "a number in its records is none")
    return float(value)


def read_int(value: Any) -> int:
    require(type(value) is int, "a count in its records is none")
    return value


def read_text(value: Any) -> str:
    require(isinstance(value, str), "a text in its records is none")
    return value


def read_status(value: Any) -> Status:
    require(isinstance(value, str) and value in Status.__members__, "a status is unknown here")
    return Status[value]


READERS: dict[str, Callable[[Any], Any]] = {
    "float": read_float, "int": read_int, "str": read_text, "Status": read_status,
}  # fmt: skip


def number(facts: Facts, name: str) -> float:
    """A finite number among the facts."""
    value = facts.get(name)
    require(type(value) in (int, float), f"its {name} is no number")
    return float(value)  # type: ignore[arg-type]
