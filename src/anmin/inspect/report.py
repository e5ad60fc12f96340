"""The report on a fit: plain numbers and strings from the audit of its network and its history."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil, isfinite
from typing import Any

from anmin.history import Fit
from anmin.inspect.audit import audit
from anmin.inspect.report_text import SMALL, advice, as_text
from anmin.solvers.problem import Problem
from anmin.status import Status

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
    lam: float
    lam_chosen: bool  # on held-out rows

    loss: float  # at the network, on all rows
    mse: float
    explained: float | None  # share of the variance of y; None where y is constant
    floor: float | None  # least mse for the units asked for, where outputs outnumber them
    gradient_norm: float | None  # of Eq. (1) in all weights; None where it overflows
    gradient_cosine: float  # its square: the share of the loss that one weight alone could gain

    steps: int
    seconds: float
    late_gain: float  # by what share the loss fell in the last tenth of the steps

    units_asked: int
    units: int

    unknowns: int  # (d+1) h, of the hidden system M + lam I
    system_rows: int  # that it was formed on; 0 if it was not
    system_note: str  # why not
    system_rank: int | None  # of M
    system_condition: float | None  # of M + lam I; None also where it is singular
    hidden_gain: float | None  # share of the loss that the best A for this pattern and B would gain

    removed: int = 0  # units that never fired, were shrunk to nothing, or repeated another
    path_cut: bool = False  # smaller penalties would have been tried, had there been time

    @property
    def advice(self) -> tuple[str, ...]:
        """What to try next, and why; empty where nothing suggests itself."""
        return advice(self)

    def as_dict(self) -> dict[str, Any]:
        """Numbers, strings and None only: fit for JSON.

        >>> from anmin import ANMINRegressor
        >>> report = ANMINRegressor(random_state=0).fit([[0], [1], [2]], [0, 1, 2]).report()
        >>> report.as_dict()["rows"]
        3
        """
        return asdict(self) | {"advice": list(self.advice)}

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__


def report_on(problem: Problem, fit: Fit, asked: int) -> Report:
    """The report on a fit; `asked` units were allowed."""
    n, p, q = problem.source.shape
    s = problem.source.scaling.y_scale  # the problem has y/s
    found = audit(problem, fit.network.scaled(1 / s), asked)
    system = found.system
    status, message = status_of(fit, found.cosine)
    return Report(
        status=status, message=message,
        rows=n, inputs=p - 1, outputs=q,
        lam=fit.lam, lam_chosen=bool(fit.path), path_cut=fit.path_cut,
        loss=found.loss * s**2, mse=found.mse * s**2,
        explained=finite(1 - found.mse / found.total) if found.total > 0 else None,
        floor=None if found.floor is None else found.floor * s**2,
        gradient_norm=finite(found.gradient * s**1.5), gradient_cosine=found.cosine,
        steps=len(fit.history) - 1, seconds=fit.history[-1].seconds, late_gain=late_gain(fit),
        units_asked=asked, units=fit.network.A.shape[1],
        removed=fit.removed_dead + fit.removed_off + fit.removed_duplicates,
        unknowns=fit.network.A.size, system_rows=system.rows, system_note=system.note,
        system_rank=system.rank, system_condition=system.condition, hidden_gain=system.gain,
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


def late_gain(fit: Fit) -> float:
    """By what share the loss fell in the last tenth of the steps."""
    steps = fit.history
    before = min(step.loss for step in steps[: len(steps) - ceil((len(steps) - 1) / 10)])
    return 1 - fit.loss / before if before > fit.loss else 0.0
