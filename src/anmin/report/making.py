"""A report from a fit: the audit of its network, and the history."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, isfinite
from typing import Any

from anmin.history import Budget, Fit, Step
from anmin.report.facts import Report
from anmin.report.words import SMALL
from anmin.solvers.audit import Audit, audit
from anmin.solvers.problem import Problem
from anmin.status import Status

MESSAGES = {
    "converged": "further steps gain too little, and the gradient is small.",
    "settled": "further steps gain too little, but the gradient is not small.",
    "out of time": "max_time was spent; the best network so far is kept.",
    "out of iterations": "max_iter was reached; the best network so far is kept.",
    "interrupted": "it was asked to stop; the best network so far is kept.",
    "stopped early": "the rows held out gained no more; the best network for them is kept.",
    "degenerate": "the hidden system is degenerate, and the iteration stopped.",
    "finished": "all iterations were made.",
}


def report_on(problem: Problem, fit: Fit, asked: int, budget: Budget) -> Report:
    """The report on a fit in the units of its problem; `asked` units were allowed."""
    found = audit(problem, fit, asked)
    n, p, q = problem.source.shape
    s = problem.source.scaling.y_scale  # losses are in y/s so far
    status = status_of(fit, budget, found.cosine)
    lam = problem.lam if fit.lam is None else fit.lam
    return Report(
        status=status, message=MESSAGES[status],
        rows=n, inputs=p - 1, outputs=q, input_spread=found.spread,
        lam=lam * s, lam_chosen=bool(fit.path), path_cut=fit.path_cut,
        start_loss=fit.history[0].loss * s**2, loss=found.loss * s**2, mse=found.mse * s**2,
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


def status_of(fit: Fit, budget: Budget, cosine: float) -> str:
    """One word or two; "converged" only where the gradient is small as well."""
    if fit.status is Status.CONVERGED:
        return "converged" if cosine**2 <= SMALL else "settled"
    if fit.status is Status.OUT_OF_TIME:
        return "out of iterations" if budget.iterations >= budget.max_iter else "out of time"
    known = {
        Status.INTERRUPTED: "interrupted",
        Status.STOPPED_EARLY: "stopped early",
        Status.STOPPED: "degenerate",
    }
    return known.get(fit.status, "finished")


def of_history(fit: Fit) -> dict[str, Any]:
    """How the loss fell."""
    steps = fit.history
    end, accepted = steps[-1].seconds, improvements(steps)
    flips = [step.flips for step in accepted if isfinite(step.flips)]
    before = min(step.loss for step in steps[: len(steps) - ceil((len(steps) - 1) / 10)])
    return {
        "steps": len(steps) - 1,
        "accepted": len(accepted),
        "rejected": len(steps) - 1 - len(accepted),
        "flips": flips[-1] if flips else None,
        "late_gain": 1 - fit.loss / before if before > fit.loss else 0.0,
        "seconds": end,
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
