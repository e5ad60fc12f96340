"""How a step or a fit ended."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a step was made; the value is the advice that goes with it."""

    START = "the start"
    SOLVED = "solved by Cholesky factorisation"
    FLOORED = (
        "the hidden system is degenerate; its eigenvalues were floored. "
        "Raise lam, use fewer hidden units, or standardise X."
    )
    REINITIALISED = "the hidden system is degenerate; A was drawn anew. Raise lam."
    STOPPED = "the hidden system is degenerate; the iteration stopped. Raise lam."
    CONVERGED = "converged: further steps and relocations gain too little."
    INTERRUPTED = "it was asked to stop; the best network so far is kept."
    STOPPED_EARLY = "the rows held out gained no more; the best network for them is kept."
    OUT_OF_TIME = "max_time was spent; the best network so far is kept."
