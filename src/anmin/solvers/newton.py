"""Outputs that are linear in their weights, under any convex loss: Newton's method.

    minimise over W:  Φ(W) = 1/n Σ ℓ(y, SW) + Σ penalty ∘ W ∘ W

Each turn solves (SᵀVS/n + penalty) D = SᵀR/n − penalty ∘ W, one small system an output, and goes
along D until Φ has fallen: iteratively reweighted least squares that is never the worse for a turn.
Where outputs act on each other (softmax) V is the diagonal of the curvature, and the last few steps
tell what it leaves out: the limited-memory method of Broyden, Fletcher, Goldfarb and Shanno, which
starts from the inverse of that diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from anmin.backends import Array, Backend
from anmin.linsolve import inverse_root, solve_signed
from anmin.sums.output import WorkingStats

HALVINGS = 12
JITTER = 1e-13  # of the mean diagonal of a matrix
ENOUGH = 1e-3  # of the fall that the slope promises
MEMORY, AFRESH = 8, 8  # steps that are remembered; turns after which the matrices are formed anew


SumsAt = Callable[[Array, bool], WorkingStats]  # of a W; whether SᵀVS is wanted


@dataclass(frozen=True, slots=True)
class Care:
    """Turns, and the promised fall, as a share of Φ, that is not worth a pass."""

    turns: int
    settled: float


FIRST, NEXT = Care(30, 1e-5), Care(6, 1e-5)  # from nothing; from a W that is near, for now
LAST = Care(60, 1e-9)  # for a result


def minimise(
    backend: Backend, sums_at: SumsAt, W: Array, penalty: Array | float, care: Care,
    signs: np.ndarray | None = None,
) -> tuple[Array, WorkingStats]:  # fmt: skip
    """The W of least Φ from a given one, and the sums there; rows of W may have to be of a sign.

    With one output the matrix is formed anew in each turn. Of several, which may act on each other
    in ways that it does not know, those of the first turn will do for a while.
    """
    if signs is not None:
        W = W * (W * backend.double(signs)[:, None] >= 0)
    here, one, steps = sums_at(W, True), W.shape[1] == 1, Steps()
    phi, StVS = total(here, W, penalty), here.StVS
    toward = solver(backend, here, W, penalty, signs)
    for turn in range(care.turns):
        g = here.StR / here.n - penalty * W  # (m, q)
        D = steps.corrected(g, partial(toward, W))
        gain = float((D * g).sum())  # the fall of Φ along D if it were quadratic
        if not gain > care.settled * phi:
            break
        step, anew = 1.0, one or turn % AFRESH == AFRESH - 1
        for _ in range(HALVINGS):
            new = backend.contiguous(W + step * D)
            there = sums_at(new, anew)
            found = total(there, new, penalty)
            if found < phi - ENOUGH * step * gain:
                break
            step *= shorter(phi, found, step * gain)
        else:
            break
        if not one and signs is None:  # a correction might leave the signs
            steps.note(new - W, g - there.StR / there.n + penalty * new)
        W, here, phi = new, there, found
        if anew:
            toward, StVS = solver(backend, here, W, penalty, signs), here.StVS
    return W, replace(here, StVS=StVS)


@dataclass(slots=True)
class Steps:
    """The last few steps s, and by how much −½∇Φ fell along each: what curvature is truly like."""

    kept: list[tuple[Array, Array, float]] = field(default_factory=list)

    def note(self, s: Array, fall: Array) -> None:
        along = float((s * fall).sum())
        if along > 0:
            self.kept = [*self.kept[1 - MEMORY :], (s, fall, along)]

    def corrected(self, g: Array, solve: Callable[[Array], Array]) -> Array:
        """`solve(g)`, changed by as much as the steps say that it errs along them."""
        shares = []
        for s, fall, along in reversed(self.kept):
            shares.append(float((s * g).sum()) / along)
            g = g - shares[-1] * fall
        D = solve(g)
        for s, fall, along in self.kept:
            D = D + (shares.pop() - float((fall * D).sum()) / along) * s
        return D


def solver(
    backend: Backend, sums: WorkingStats, W: Array, penalty: Array | float,
    signs: np.ndarray | None,
) -> Callable[[Array, Array], Array]:  # fmt: skip
    """W, g ↦ D of least Σ_k D_kᵀ(SᵀVS/n + penalty)D_k − 2 gᵀD, W + D of the signs asked for."""
    roots, ridge = sums.StVS * 0, (penalty + 0 * W)[:, 0]
    for k in range(len(roots)):
        K = sums.StVS[k] / sums.n
        K.reshape(-1)[:: len(K) + 1] += ridge
        roots[k] = inverse_root(backend, K, JITTER) if signs is None else K
    if signs is None:  # T_k with T_kᵀT_k = K⁻¹
        return lambda _, g: (roots.swapaxes(1, 2) @ (roots @ g.T[:, :, None]))[:, :, 0].T
    Ks = backend.to_numpy(roots)

    def toward(W: Array, g: Array) -> Array:
        pairs = zip(Ks, backend.to_numpy(W).T, backend.to_numpy(g).T, strict=True)
        best = [solve_signed(K, (K @ w + v)[:, None], signs) for K, w, v in pairs]
        return backend.double(np.hstack(best)) - W

    return toward


def total(sums: WorkingStats, W: Array, penalty: Array | float) -> float:
    """Φ(W)."""
    return sums.value / sums.n + float((penalty * W * W).sum())


def shorter(phi: float, found: float, slope: float) -> float:
    """By how much to shorten a step: to the least of the parabola through what is known."""
    bend = found - phi + 2 * slope
    best = slope / bend if bend > 0 else 0.1  # also where `found` is not a number
    return min(max(best, 0.1), 0.5)
