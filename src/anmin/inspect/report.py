"""The report on a fit: plain numbers and strings from the audit of its network and its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from itertools import pairwise
from math import ceil, isfinite
from sys import float_info
from typing import Any

from anmin.history import Fit, Step
from anmin.inspect.report_text import SMALL, advice, as_html, as_text
from anmin.solvers.audit import Audit, audit
from anmin.solvers.problem import Problem
from anmin.status import Status

KINDS: dict[str, type | tuple[type, ...]] = {
    "str": str, "int": int, "float": (int, float), "bool": bool, "None": type(None),
}  # fmt: skip
SETTLED = "further steps gain too little, but the gradient is not small."


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
        """The report that `as_dict` wrote; names that this version does not know are left out."""
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
            is_a("str", key) and is_a("float", share) for key, share in value.items()
        )
    else:
        good = any(is_a(each, value) for each in kind.split(" | "))
    if not good:
        raise ValueError(f"{name} of a report must be {kind}, and finite; got {value!r:.60}.")
    return value


def is_a(kind: str, value: object) -> bool:
    if isinstance(value, bool):  # which is also an int to Python
        return kind == "bool"
    if isinstance(value, (int, float)) and not abs(value) <= float_info.max:
        return False
    return isinstance(value, KINDS[kind])


# ---- from a fit ---------------------------------------------------------------------------------


def report_on(problem: Problem, fit: Fit, asked: int) -> Report:
    """The report on a fit; `asked` units were allowed."""
    n, p, q = problem.source.shape
    s = problem.source.scaling.y_scale  # the problem has y/s
    found = audit(problem, fit.network.scaled(1 / s), asked)
    status, message = status_of(fit, found.cosine)
    return Report(
        status=status, message=message,
        rows=n, inputs=problem.source.scaling.n_features, outputs=q, input_spread=found.spread,
        lam=fit.lam, lam_chosen=bool(fit.path), path_cut=fit.path_cut,
        start_loss=fit.history[0].loss, loss=found.loss * s**2, mse=found.mse * s**2,
        explained=finite(1 - found.mse / found.total) if found.total > 0 else None,
        floor=None if found.floor is None else found.floor * s**2,
        gradient_norm=finite(found.gradient * s**1.5), gradient_cosine=found.cosine,
        units_asked=asked, units=fit.network.A.shape[1], removed_dead=fit.removed_dead,
        removed_off=fit.removed_off, removed_duplicates=fit.removed_duplicates,
        dead=found.dead, off=found.off, duplicates=found.duplicates, mirrored=found.mirrored,
        always_on=found.always_on,
        **of_history(fit), **of_system(found), unknowns=p * fit.network.A.shape[1],
    )  # fmt: skip


def finite(value: float) -> float | None:
    return value if isfinite(value) else None


def status_of(fit: Fit, cosine: float) -> tuple[str, str]:
    """What ended the fit, and its message: the name and the value of its `Status`.

    "converged" is said only where the gradient is small as well; else the fit has "settled".
    """
    status = fit.status
    if status is Status.CONVERGED and cosine**2 > SMALL and fit.networks == 1:
        return "settled", SETTLED
    name = "degenerate" if status is Status.STOPPED else status.name.lower().replace("_", " ")
    return name, status.value


def of_history(fit: Fit) -> dict[str, Any]:
    """How the loss fell."""
    steps = fit.history
    accepted = improvements(steps)
    flips = [step.flips for step in accepted if isfinite(step.flips)]
    before = min(step.loss for step in steps[: len(steps) - ceil((len(steps) - 1) / 10)])
    return {
        "steps": len(steps) - 1,
        "accepted": len(accepted),
        "rejected": len(steps) - 1 - len(accepted),
        "flips": flips[-1] if flips else None,
        "late_gain": 1 - fit.loss / before if before > fit.loss else 0.0,
        "seconds": steps[-1].seconds,
        "seconds_to_10_percent": first_within(steps, 1.1 * fit.loss),
        "seconds_to_1_percent": first_within(steps, 1.01 * fit.loss),
        "phases": phases(fit),
    }


def improvements(steps: list[Step]) -> list[Step]:
    """The steps after which the loss was lower than ever before."""
    best, found = steps[0].loss, []
    for step in steps[1:]:
        if step.loss < best:
            best = step.loss
            found.append(step)
    return found


def first_within(steps: list[Step], loss: float) -> float:
    return next((step.seconds for step in steps if step.loss <= loss), steps[-1].seconds)


def phases(fit: Fit) -> dict[str, float]:
    """Share of the time in each phase; before the record begins, lam is chosen."""
    steps, end = fit.history, fit.history[-1].seconds
    if not end > 0:
        return {}
    spent = {"choosing lam" if fit.path else "start": steps[0].seconds / end}
    for before, step in pairwise(steps):
        name = step.phase or "iterations"
        spent[name] = spent.get(name, 0.0) + (step.seconds - before.seconds) / end
    return spent


def of_system(found: Audit) -> dict[str, Any]:
    """The hidden system, and whether the point is a minimum for its pattern.

    It is one where the best hidden layer for this pattern and output layer gains next to nothing,
    which includes a small gradient; the output layer is the best for the hidden layer; and the
    curvature, the output layer eliminated, is nowhere negative.
    """
    system = found.system
    if system is None:
        names = ("system_rank", "system_condition", "hidden_gain", "descents", "local_minimum")
        return dict.fromkeys(names) | {"system_rows": 0, "system_note": found.unformed}
    return {
        "system_rows": system.rows,
        "system_note": "",
        "system_rank": system.rank,
        "system_condition": finite(system.condition),
        "hidden_gain": system.gain,
        "descents": system.descents,
        "local_minimum": system.gain <= SMALL >= found.cosine**2 and system.descents == 0,
    }
