"""Symmetric positive semi-definite systems: one Cholesky, or floored eigenvalues.

solve M a = c,      ln|M| and the condition number from the same factor
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, nan

import numpy as np

from anmin.backends import Array, Backend

OVERFLOW = (
    "the sums over the rows overflow: X, y, lam or init is too large in scale. "
    "Use standardize=True, and give y in larger units."
)


@dataclass(frozen=True, slots=True)
class Solution:
    """A solution of M a = c, and what the factor tells about M."""

    value: Array
    floored: bool = False  # M was degenerate; its eigenvalues were raised, or some left out
    logdet: float = nan
    condition: float = nan


def solve_spd(
    backend: Backend, M: Array, c: Array, tau: float = -inf, floor: float | None = None,
    bound: float = 0.0,
) -> Solution:  # fmt: skip
    """Solve M a = c; degenerate when M is not positive definite or ln|M| ≤ tau.

    A degenerate system is solved with its eigenvalues raised to `floor`; without a floor, in
    the least-squares sense with the eigenvalues at rounding level left out. Where no eigenvalue
    can lie below `bound`, a floor at or under it changes nothing, and the factor serves. ln|M| and
    the condition number are found when there is a tau to compare with.
    """
    L = backend.cholesky(M)
    if L is not None and tau == -inf:
        return Solution(backend.cho_solve(L, c))
    logdet = -inf if L is None else backend.logdet(L)
    if L is not None and (logdet > tau or (floor is not None and floor <= bound)):
        return Solution(backend.cho_solve(L, c), False, logdet, backend.condition(M, L))
    if not isfinite(float(M.sum())):
        raise ValueError(OVERFLOW)
    w, V = backend.eigh(M)  # ascending
    least = len(w) * backend.eps(w) * float(abs(w[-1])) if floor is None else floor
    raised = backend.where(w > least, w, least or 1.0)
    inverse = 1 / raised if floor is not None else (w > least) / raised
    value = V @ (inverse[:, None] * (V.T @ c.reshape(len(w), -1)))
    condition = inf if floor is None else float(raised[-1] / raised[0])
    return Solution(value.reshape(c.shape), True, logdet, condition)


def inverse_root(backend: Backend, M: Array, least: float) -> Array:
    """T with TᵀT = M⁻¹, up to the least jitter that makes M positive definite.

    The jitter is a multiple of the mean of the diagonal, tried from `least` on in powers of ten.
    """
    size = float(M.diagonal().sum()) / len(M)
    for jitter in 10.0 ** np.arange(round(np.log10(least)), 3):
        L = backend.cholesky(backend.shifted(M, jitter * size))
        if L is not None:
            return backend.triangular_inverse(L)
    raise ValueError(OVERFLOW)
