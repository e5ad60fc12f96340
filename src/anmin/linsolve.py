"""Symmetric positive semi-definite systems: one Cholesky, or floored eigenvalues.

solve M a = c,      ln|M| and the condition number from the same factor
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, nan

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear, nnls

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


def solve_signed(M: np.ndarray, c: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """w of least wᵀMw − 2cᵀw with signs_j w_j ≥ 0, column by column of c; a sign of 0 is free.

    With the free ones first and M = LLᵀ, their rows of Lᵀw − L⁻¹c are made zero whatever the others
    are. So the others are non-negative least squares with a block of Lᵀ.

    >>> import numpy as np
    >>> from anmin.linsolve import solve_signed
    >>> solve_signed(np.eye(3), np.array([[1.0], [-1.0], [-1.0]]), np.array([1, 1, 0])).ravel()
    array([ 1.,  0., -1.])
    """
    order = np.argsort(signs != 0, kind="stable")
    f, s = int((signs == 0).sum()), signs[order]
    unit = 1 / np.sqrt(np.maximum(M.diagonal()[order], 1e-300))  # so that no unit is a small one
    L = cholesky_of(M[np.ix_(order, order)] * np.outer(unit, unit))
    b = solve_triangular(L, unit[:, None] * c[order], lower=True)  # (m, q)
    w = np.zeros_like(b)
    for k in range(b.shape[1] if f < len(s) else 0):
        size = float(np.linalg.norm(b[f:, k])) or 1.0
        w[f:, k] = size * s[f:] * non_negative(L[f:, f:].T * s[f:], b[f:, k] / size)
    w[:f] = solve_triangular(L[:f, :f], b[:f] - L[f:, :f].T @ w[f:], lower=True, trans="T")
    found = np.empty_like(w)
    found[order] = unit[:, None] * w
    return found


def non_negative(V: np.ndarray, b: np.ndarray) -> np.ndarray:
    """w ≥ 0 of least ‖Vw − b‖."""
    try:
        return nnls(V, b, maxiter=30 * len(V))[0]
    except RuntimeError:  # rounding decides between columns that are alike, and it goes round
        return np.maximum(lsq_linear(V, b, (0, inf)).x, 0.0)


def cholesky_of(M: np.ndarray) -> np.ndarray:
    """The lower factor of M, up to the least jitter that makes M positive definite."""
    if not np.isfinite(M.sum()):
        raise ValueError(OVERFLOW)
    for jitter in (0.0, *10.0 ** np.arange(-14, 1)):
        try:
            return np.linalg.cholesky(M + jitter * np.eye(len(M)))
        except np.linalg.LinAlgError:  # not positive definite: a little more
            continue
    raise ValueError(OVERFLOW)
