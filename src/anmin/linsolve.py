"""Symmetric positive semi-definite systems: one Cholesky, or floored eigenvalues.

solve M a = c,   ln|M| and the condition number from the same factor
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf, isfinite, nan

from anmin.backends import Array, Backend


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


@dataclass(frozen=True, slots=True)
class Solution:
    """A solution of M a = c, and what the factor tells about M."""

    value: Array
    status: Status
    logdet: float = nan
    condition: float = nan


def solve_spd(
    backend: Backend, M: Array, c: Array, tau: float = -inf, floor: float | None = None,
    least: float = 0.0,
) -> Solution:  # fmt: skip
    """Solve M a = c; degenerate when M is not positive definite or ln|M| ≤ tau.

    A degenerate system is solved with its eigenvalues raised to `floor`; without a floor, in
    the least-squares sense with the eigenvalues at rounding level left out. Where no eigenvalue
    can lie below `least`, a floor at or under it changes nothing, and the factor serves. ln|M| and
    the condition number are found when there is a tau to compare with.
    """
    L = backend.cholesky(M)
    if L is not None and tau == -inf:
        return Solution(backend.cho_solve(L, c), Status.SOLVED)
    logdet = -inf if L is None else backend.logdet(L)
    if L is not None and (logdet > tau or (floor is not None and floor <= least)):
        return Solution(backend.cho_solve(L, c), Status.SOLVED, logdet, backend.condition(M, L))
    if not isfinite(float(M.sum())):
        raise ValueError(
            "the sums over the rows overflow: X or y is too large in scale. "
            "Use standardize=True, and give y in larger units."
        )
    w, V = backend.eigh(M)  # ascending
    if floor is None:
        tiny = len(w) * backend.eps * abs(w[-1])
        inverse = backend.where(w > tiny, 1 / backend.where(w > tiny, w, 1.0), 0.0)
        return Solution(V @ (inverse[:, None] * (V.T @ c)), Status.FLOORED, logdet, inf)
    w = backend.where(w > floor, w, floor)
    return Solution(V @ ((V.T @ c) / w), Status.FLOORED, logdet, float(w[-1] / w[0]))
