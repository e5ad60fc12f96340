"""How a step was made, and how a fit ended: one member a meaning, its value the advice."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """A step is a START, SOLVED, FLOORED or REINITIALISED; the others end a fit.

    >>> from anmin.status import Status
    >>> Status.OUT_OF_TIME.value
    'max_time was spent; the best network so far is kept.'
    """

    START = "the start"
    SOLVED = "the system was solved."
    FLOORED = (
        "the hidden system is degenerate; its eigenvalues were floored. "
        "Raise lam, use fewer hidden units, or standardise X."
    )
    REINITIALISED = "the hidden system is degenerate; A was drawn anew. Raise lam."
    STOPPED = "the hidden system is degenerate, and the iteration stopped. Raise lam."
    FINISHED = "all iterations were made."
    CONVERGED = "further steps and relocations gain too little."
    INTERRUPTED = "it was asked to stop; the best network so far is kept."
    STOPPED_EARLY = "the rows held out gained no more; the best network for them is kept."
    OUT_OF_TIME = "max_time was spent; the best network so far is kept."
    OUT_OF_ITERATIONS = "max_iter was reached; the best network so far is kept."
    NOTHING_FITTED = (
        "the budget was spent before anything was fitted, and the prediction is a constant. "
        "Raise max_time or max_iter, or give a number for lam."
    )
