"""Outputs that are linear in their weights, under any convex loss: Newton's method.

    minimise over W:  Φ(W) = 1/n Σ ℓ(y, SW) + Σ penalty ∘ W ∘ W

Each turn solves (SᵀVS/n + penalty) D = SᵀR/n − penalty ∘ W, one small system an output, and goes
along D until Φ has fallen: iteratively reweighted least squares that is never the worse for a turn.
Where outputs act on each other (softmax) V is the diagonal of the curvature.
"""

from __future__ import annotations

from collections.abc import Callable

from anmin.backends import Array, Backend
from anmin.linsolve import solve_spd
from anmin.sums.output import WorkingStats

TURNS = 12
HALVINGS = 12
ENOUGH = 1e-3  # of the fall that the slope promises
SETTLED = 1e-6  # of Φ: a promised fall that is not worth a pass


def minimise(
    backend: Backend, sums_at: Callable[[Array], WorkingStats], W: Array, penalty: Array | float
) -> tuple[Array, WorkingStats]:
    """The W of least Φ from a given one, and the sums there."""
    here = sums_at(W)
    phi = total(here, W, penalty)
    for _ in range(TURNS):
        D, gain = newton_step(backend, here, W, penalty)
        if not gain > SETTLED * phi:
            break
        step = 1.0
        for _ in range(HALVINGS):
            new = backend.contiguous(W + step * D)
            there = sums_at(new)
            found = total(there, new, penalty)
            if found < phi - ENOUGH * step * gain:
                break
            step *= shorter(phi, found, step * gain)
        else:
            break
        W, here, phi = new, there, found
    return W, here


def newton_step(
    backend: Backend, sums: WorkingStats, W: Array, penalty: Array | float
) -> tuple[Array, float]:
    """D, and how far Φ would fall along it if it were quadratic."""
    g = sums.StR / sums.n - penalty * W  # (m, q)
    D = 0 * g
    ridge = (penalty + D)[:, 0]
    for k in range(g.shape[1]):
        K = sums.StVS[k] / sums.n
        K.reshape(-1)[:: len(K) + 1] += ridge
        D[:, k] = solve_spd(backend, K, g[:, k : k + 1]).value[:, 0]
    return D, float((D * g).sum())


def total(sums: WorkingStats, W: Array, penalty: Array | float) -> float:
    """Φ(W)."""
    return sums.value / sums.n + float((penalty * W * W).sum())


def shorter(phi: float, found: float, slope: float) -> float:
    """By how much to shorten a step: to the least of the parabola through what is known."""
    bend = found - phi + 2 * slope
    best = slope / bend if bend > 0 else 0.1  # also where `found` is not a number
    return min(max(best, 0.1), 0.5)
