"""The report in words: a block of text, and advice.

Every piece of advice states the fact that it follows from.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anmin.inspect.report import Report

WIDTH, LABEL = 96, 14  # characters of a line, and of its label

SMALL = 1e-3  # of the loss: what could still be gained at a minimum
SINGULAR = 1e12  # condition number from which half the digits are lost
MANY = 0.1  # share of the units
PLENTY = 20  # rows a weight with which more units can be afforded
UNEXPLAINED = 0.1  # share of the variance that calls for more units
AT_FLOOR = 0.1  # distance to the floor, relative


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
    if r.system_rows and (r.system_condition or SINGULAR) >= SINGULAR:
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
            f"of the variance, and {r.rows:,} rows are plenty for {weights(r):,} weights."
        )


# ---- lines --------------------------------------------------------------------------------------


def lines(r: Report) -> list[tuple[str, str]]:
    """Label and text of every line of the report."""
    pairs = [
        ("status", f"{r.status}: {r.message}"),
        ("data", f"{r.rows:,} rows, {count(r.inputs, 'input')}, {count(r.outputs, 'output')}"),
        ("loss", loss(r)),
        ("gradient", gradient(r)),
        ("steps", f"{r.steps:,} in {r.seconds:.2f} s"),
        ("units", units(r)),
        ("hidden system", system(r)),
    ]
    return pairs + [("advice", text) for text in r.advice]


def loss(r: Report) -> str:
    penalty = f"{number(r.loss - r.mse)} for the penalty, lam = {number(r.lam)}"
    text = f"{number(r.loss)}: mean squared error {number(r.mse)} and {penalty}"
    text += " (chosen on held-out rows)" if r.lam_chosen else ""
    if r.explained is not None:
        text += f"; {percent(r.explained)} of the variance of y explained"
    if r.floor is not None:
        above = f" and the error is {percent(r.mse / r.floor - 1)} above it" if r.floor else ""
        text += f"; no {r.units_asked:,} units can go below {number(r.floor)},{above}"
    return text


def gradient(r: Report) -> str:
    norm = "too large for a number" if r.gradient_norm is None else number(r.gradient_norm)
    return (
        f"norm {norm}, largest cosine with the residual {number(r.gradient_cosine)}: "
        f"one weight alone could gain {percent(single_gain(r))} of the loss"
    )


def units(r: Report) -> str:
    text = f"{r.units:,} of {r.units_asked:,} asked for"
    return f"{text}, {r.removed:,} removed as of no use" if r.removed else text


def system(r: Report) -> str:
    if not r.system_rows or r.hidden_gain is None:
        return f"not formed: {r.system_note}"
    sample = "" if r.system_rows == r.rows else f", from {r.system_rows:,} rows"
    rank = f"{r.unknowns:,} unknowns, rank {r.system_rank:,} without lam, {condition(r)}{sample}"
    return f"{rank}; its solution would gain {percent(r.hidden_gain)} of the loss"


# ---- numbers ------------------------------------------------------------------------------------


def condition(r: Report) -> str:
    known = r.system_condition
    return "singular" if known is None else f"condition {known:.1e}"


def single_gain(r: Report) -> float:
    """The share of the loss that one weight alone could gain."""
    return r.gradient_cosine * r.gradient_cosine


def weights(r: Report) -> int:
    return r.units * (r.inputs + 1 + r.outputs) + r.outputs


def number(value: float) -> str:
    return f"{value:.4g}"


def percent(share: float) -> str:
    if 0 < share < 1e-5:
        return "less than 0.001%"
    return f"{100 * share:.2g}%" if share < 0.095 else f"{100 * share:.1f}%"


def count(k: int, what: str) -> str:
    return f"{k:,} {what}" if k == 1 else f"{k:,} {what}s"


# ---- layout -------------------------------------------------------------------------------------


def as_text(report: Report) -> str:
    """One block of text, wrapped, labels at the left."""
    rows = []
    for label, text in lines(report):
        first, *rest = wrap(text, WIDTH - LABEL)
        rows += [f"{label:<{LABEL}}{first}", *(" " * LABEL + line for line in rest)]
    return "\n".join(rows)
