"""The report on a fit: plain numbers and strings from the audit of its network and its history.

Every piece of advice states the fact that it follows from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import ceil, isfinite
from textwrap import wrap
from typing import Any

import numpy as np

from anmin.history import Fit
from anmin.inspect.audit import audit
from anmin.solvers.problem import Problem
from anmin.status import Status

WIDTH, LABEL = 96, 14  # characters of a line, and of its label

SMALL = 1e-3  # of the loss: what could still be gained at a minimum
SINGULAR = 1e12  # condition number from which half the digits are lost
MANY = 0.1  # share of the units
PLENTY = 20  # rows a weight with which more units can be afforded
UNEXPLAINED = 0.1  # share of the variance that calls for more units
AT_FLOOR = 0.1  # distance to the floor, relative
SQUARES = "mean squared error"
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
    measure: str = SQUARES  # what `mse` is: of another loss its mean
    path_cut: bool = False  # smaller penalties would have been tried, had there been time
    passes: int = 0  # over files or batches, the report's own included

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


# ---- from a fit ---------------------------------------------------------------------------------


def report_on(problem: Problem, fit: Fit, asked: int, measure: str = SQUARES) -> Report:
    """The report on a fit; `asked` units were allowed, and `measure` names its data term."""
    n, _, q = problem.source.shape
    worth = problem.units
    objective = problem.objective.near(fit.history[-1].mse / worth.loss)
    found = audit(replace(problem, objective=objective), fit.network.scaled(1 / worth.y), asked)
    system = found.system
    status, message = status_of(fit, found.cosine)
    return Report(
        status=status, message=message,
        rows=n, inputs=problem.source.scaling.n_features, outputs=q,
        lam=fit.lam, lam_chosen=bool(fit.path), path_cut=fit.path_cut,
        loss=found.loss * worth.loss, mse=found.mse * worth.loss,
        explained=finite(1 - found.mse / found.total) if found.total > 0 else None,
        floor=None if found.floor is None else found.floor * worth.loss,
        gradient_norm=finite(found.gradient * worth.gradient), gradient_cosine=found.cosine,
        steps=len(fit.history) - 1, seconds=fit.history[-1].seconds, late_gain=late_gain(fit),
        units_asked=asked, units=fit.network.A.shape[1],
        removed=fit.removed_dead + fit.removed_off + fit.removed_duplicates,
        unknowns=unknowns(problem, fit.network.A), system_rows=system.rows, system_note=system.note,
        system_rank=system.rank, system_condition=system.condition, hidden_gain=system.gain,
        measure=measure, passes=problem.source.raw.passes,
    )  # fmt: skip


def unknowns(problem: Problem, A: np.ndarray) -> int:
    """Hidden weights, those of connections that there are."""
    return A.size if problem.connections is None else int(np.count_nonzero(A))


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


# ---- advice -------------------------------------------------------------------------------------


def advice(report: Report) -> tuple[str, ...]:
    """What to try next, from the facts alone.

    >>> from anmin import ANMINRegressor
    >>> model = ANMINRegressor(4, lam=0.0, max_iter=0, random_state=0)
    >>> report = model.fit([[0], [1], [2], [5]], [0, 1, 4, 9]).report()
    >>> any("lam" in line for line in report.advice)
    True
    """
    return (*on_time(report), *on_penalty(report), *on_units(report))


def on_time(r: Report) -> Iterator[str]:
    if r.path_cut:
        yield (
            f"Give it more time: it ran out while penalties below lam = {number(r.lam)} were still "
            "to be judged, so the network may be plainer than the data call for."
        )
    stopped = r.status in ("out of time", "out of iterations", "interrupted", "nothing fitted")
    if stopped and max(r.late_gain, single_gain(r)) > SMALL:
        budget = "max_iter" if r.status == "out of iterations" else "max_time"
        why = f"the loss still fell by {percent(r.late_gain)} in the last tenth of the steps"
        if r.late_gain <= SMALL:
            why = f"one weight alone could still gain {percent(single_gain(r))} of the loss"
        yield f"Give it more time ({budget}): {why}."
    if r.status == "settled":
        yield (
            "Lower tol, or raise lam: steps gained too little to go on, but the gradient is not "
            f"small (one weight alone could gain {percent(single_gain(r))} of the loss)."
        )


def on_penalty(r: Report) -> Iterator[str]:
    formed = r.system_rows and r.system_rank is not None
    if formed and (r.system_condition or SINGULAR) >= SINGULAR:
        what = "is singular" if r.system_condition is None else f"has {condition(r)}"
        yield (
            f"Raise lam: the hidden system {what}, rank {r.system_rank:,} of {r.unknowns:,}, so "
            "rounding decides some of the weights."
        )
    if not r.lam_chosen and weights(r) > r.rows * r.outputs:
        yield (
            'Raise lam, use fewer units, or let lam="auto" choose on held-out rows: '
            f"{weights(r):,} weights for {r.rows * r.outputs:,} targets can fit noise."
        )


def on_units(r: Report) -> Iterator[str]:
    if not r.lam_chosen and r.removed > MANY * r.units_asked:  # a choice of lam is one of units too
        yield (
            f"Fewer units will do: {r.removed:,} of {r.units_asked:,} were of no use and removed; "
            f"n_hidden={max(r.units, 1)} is enough."
        )
    explained = 1.0 if r.explained is None else r.explained
    full = 0 < r.units == r.units_asked and r.rows >= PLENTY * weights(r)
    if r.floor is not None and r.mse <= (1 + AT_FLOOR) * r.floor:
        yield (
            f"Use more units: {r.units_asked:,} cannot bring the mean squared error of "
            f"{r.outputs:,} outputs below {number(r.floor)}, and it is {number(r.mse)}."
        )
    elif full and explained < 1 - UNEXPLAINED:
        yield (
            f"More units may help: all {r.units:,} are in use, they explain {percent(explained)} "
            f"of the variance or loss, and {r.rows:,} rows are plenty for {weights(r):,} weights."
        )


# ---- lines --------------------------------------------------------------------------------------


def lines(r: Report) -> list[tuple[str, str]]:
    """Label and text of every line of the report."""
    pairs = [
        ("status", f"{r.status}: {r.message}"),
        ("data", data(r)),
        ("loss", loss(r)),
        ("gradient", gradient(r)),
        ("steps", f"{r.steps:,}{' after the path' * r.lam_chosen}; {r.seconds:.2f} s in all"),
        ("units", units(r)),
        ("hidden system", system(r)),
    ]
    return pairs + [("advice", text) for text in r.advice]


def data(r: Report) -> str:
    text = f"{r.rows:,} rows; inputs: {r.inputs:,}; outputs: {r.outputs:,}"
    return f"{text}; read {r.passes:,} times" if r.passes else text


def loss(r: Report) -> str:
    penalty = f"{number(r.loss - r.mse)} for the penalty, lam = {number(r.lam)}"
    text = f"{number(r.loss)}: {r.measure} {number(r.mse)} and {penalty}"
    text += " (chosen on held-out rows)" if r.lam_chosen else ""
    if r.explained is not None:
        whole = "variance of y" if r.measure == SQUARES else "loss of a constant"
        text += f"; {percent(r.explained)} of the {whole} explained"
    if r.floor is not None:
        text += f"; the error of {r.units_asked:,} units is at least {number(r.floor)}"
    return text


def gradient(r: Report) -> str:
    norm = "too large for a number" if r.gradient_norm is None else number(r.gradient_norm)
    return (
        f"norm {norm}, largest cosine with the residual {number(r.gradient_cosine)}: "
        f"one weight alone could gain {percent(single_gain(r))} of the loss"
    )


def units(r: Report) -> str:
    text = f"{r.units:,} of {r.units_asked:,} asked for"
    if r.units > r.units_asked:
        text = f"{r.units:,}, of networks of up to {r.units_asked:,} each"
    return f"{text}, {r.removed:,} removed as of no use" if r.removed else text


def system(r: Report) -> str:
    if not r.system_rows or r.system_rank is None or r.hidden_gain is None:
        return f"not formed: {r.system_note}"
    sample = "" if r.system_rows == r.rows else f", from {r.system_rows:,} rows"
    rank = f"{r.unknowns:,} unknowns, rank {r.system_rank:,} without lam, {condition(r)}{sample}"
    return f"{rank}; its solution would gain {percent(r.hidden_gain)} of the loss"


def condition(r: Report) -> str:
    known = r.system_condition
    return "singular" if known is None else f"condition {known:.1e}"


def single_gain(r: Report) -> float:
    """The share of the loss that one weight alone could gain."""
    return r.gradient_cosine * r.gradient_cosine


def weights(r: Report) -> int:
    return r.unknowns + (r.units + 1) * r.outputs


def number(value: float) -> str:
    return f"{value:.4g}"


def percent(share: float) -> str:
    if 0 < share < 1e-5:
        return "less than 0.001%"
    return f"{100 * share:.2g}%" if share < 0.095 else f"{100 * share:.1f}%"


def as_text(report: Report) -> str:
    """One block of text, wrapped, labels at the left."""
    rows = []
    for label, text in lines(report):
        first, *rest = wrap(text, WIDTH - LABEL)
        rows += [f"{label:<{LABEL}}{first}", *(" " * LABEL + line for line in rest)]
    return "\n".join(rows)
