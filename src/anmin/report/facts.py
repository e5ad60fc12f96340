"""The report as plain numbers and strings, so that it can be kept in any file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from sys import float_info
from typing import Any

from anmin.report.words import advice, as_html, as_text

KINDS: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool}


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a fit came to. `print(model.report())` says it in words, with advice.

    Losses are those of Eq. (1) in the units of y. None stands for what was not measured.

    Examples
    --------
    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> x = np.linspace(-1, 1, 100)[:, None]
    >>> model = ANMINRegressor(n_hidden=4, lam=1e-4, random_state=0).fit(x, np.abs(x).ravel())
    >>> report = model.report()
    >>> report.status, report.units <= 4, report.explained > 0.99
    ('converged', True, True)
    """

    status: str  # "converged", "settled", "out of time", "stopped early", …
    message: str  # the same in a sentence

    rows: int
    inputs: int
    outputs: int
    input_spread: float  # the largest input over the least deviation of one; 1 if standardised
    lam: float
    lam_chosen: bool  # on held-out rows

    start_loss: float  # where the history begins
    loss: float  # at the network, on all rows
    mse: float
    explained: float | None  # share of the variance of y; None where y is constant
    floor: float | None  # least mse for the units asked for, where outputs outnumber them
    gradient_norm: float | None  # of Eq. (1) in all weights; None where it overflows
    gradient_cosine: float  # its square: the share of the loss that one weight alone could gain

    steps: int
    accepted: int  # steps that gave the best network so far
    rejected: int  # steps that did not
    flips: float | None  # share of the pattern that changed in the last accepted step
    late_gain: float  # by what share the loss fell in the last tenth of the steps
    seconds: float
    seconds_to_10_percent: float  # until the loss was within 10 % of the final one
    seconds_to_1_percent: float
    phases: dict[str, float]  # share of the time in each

    units_asked: int
    units: int
    removed_dead: int  # fired on no row
    removed_off: int  # shrunk to nothing by the penalty
    removed_duplicates: int  # the same as another up to a factor
    dead: int  # such units that are still there
    off: int
    duplicates: int  # units within 1 % of another on the rows, but for scale
    mirrored: int  # the same with the opposite sign: they fire on opposite sides
    always_on: int  # fire on every row: linear

    unknowns: int  # (d+1) h, of the hidden system M + lam I
    system_rows: int  # that it was formed on; 0 if it was not
    system_note: str  # why not
    system_rank: int | None  # of M
    system_condition: float | None  # of M + lam I; None also where it is singular
    hidden_gain: float | None  # share of the loss that the best A for this pattern and B would gain
    descents: int | None  # directions of negative curvature for this pattern
    local_minimum: bool | None  # for this pattern

    path_cut: bool = False  # smaller penalties would have been tried, had there been time

    @property
    def advice(self) -> tuple[str, ...]:
        """What to try next, and why; empty where nothing suggests itself."""
        return advice(self)

    def as_dict(self) -> dict[str, Any]:
        """Numbers, strings and None only: fit for JSON.

        >>> import json
        >>> from anmin import ANMINRegressor
        >>> report = ANMINRegressor(random_state=0).fit([[0], [1], [2]], [0, 1, 2]).report()
        >>> type(report).from_dict(json.loads(json.dumps(report.as_dict()))) == report
        True
        """
        return asdict(self) | {"advice": list(self.advice)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Report:
        """The report that `as_dict` wrote, also in another version; strange names are left out."""
        known = [f for f in fields(cls) if f.name in values or f.default is MISSING]
        return cls(**{f.name: checked(f.name, str(f.type), values) for f in known})

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self)


def checked(name: str, kind: str, values: Mapping[str, Any]) -> Any:
    """values[name] if it is of that kind, and finite if it is a number."""
    if name not in values:
        raise ValueError(f"a report needs {name!r}, which is missing.")
    value = values[name]
    if kind.startswith("dict"):
        good = isinstance(value, dict) and all(
            isinstance(key, str) and is_plain(share, float) for key, share in value.items()
        )
    else:
        plain, _, rest = kind.partition(" | ")
        good = (value is None and rest == "None") or is_plain(value, KINDS[plain])
    if not good:
        raise ValueError(f"{name} of a report must be {kind}, and finite; got {value!r}.")
    return value


def is_plain(value: Any, kind: Any) -> bool:
    if isinstance(value, bool) or kind in (bool, str):
        return isinstance(value, bool if kind is bool else str)
    number = isinstance(value, (int, float) if kind is float else kind)
    return number and abs(value) <= float_info.max
