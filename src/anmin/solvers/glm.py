"""Linear models under any convex loss: F = XC, one system an output in each turn.

Near C the loss is quadratic, value − 2 D·XᵀR + DᵀXᵀVX D (`newton.py`). Its penalty is chosen as
that of ridge regression is, by generalised cross-validation on that quadratic, in each turn anew.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from anmin.solvers.newton import LAST, Care, minimise
from anmin.solvers.problem import Problem
from anmin.sums.output import WorkingStats

TURNS = 10
HALVINGS = 6
SETTLED = 1e-4  # of the loss


def linear_model(problem: Problem, penalty: np.ndarray, care: Care = LAST) -> np.ndarray:
    """C (p, q) of least Σ ℓ(y, XC)/n + Σ penalty ∘ C ∘ C; the penalty is one for each row of C."""
    be = problem.backend
    C = be.double(np.zeros((len(penalty), problem.source.shape[2])))
    column = be.double(penalty)[:, None]
    return be.to_numpy(minimise(be, problem.working_sums(None), C, column, care)[0])


def chosen_linear_model(problem: Problem, penalties: np.ndarray) -> np.ndarray:
    """The same with the mean not penalised, and the penalty on all else chosen by the rows."""
    be = problem.backend
    C = np.zeros((problem.source.shape[1], problem.source.shape[2]))
    sums_at = problem.working_sums(None)
    here = sums_at(be.double(C), True)
    for _ in range(TURNS):
        new, value = cross_validated(problem, here, C, penalties)
        step = 1.0
        for _ in range(HALVINGS):
            trial = C + step * (new - C)
            there = sums_at(be.double(trial), True)
            if there.value < here.value or there.value < 1.5 * value:
                break
            step /= 2
        else:
            break
        change, C, here = abs(here.value - there.value), trial, there
        if change <= SETTLED * here.value:
            break
    return C


def cross_validated(
    problem: Problem, sums: WorkingStats, C: np.ndarray, penalties: np.ndarray
) -> tuple[np.ndarray, float]:
    """The C of the penalty with the least value / (1 − df/rows)², and that value of the quadratic.

    With the mean eliminated, K = QΛQᵀ for each output, df = 1 + Σ λ / (λ + penalty), their mean.
    """
    K, g = (problem.backend.to_numpy(V) for V in (sums.StVS, sums.StR))
    rows = problem.source.shape[0]
    parts = [Centred(K[k], K[k] @ C[:, k] + g[:, k]) for k in range(len(K))]
    scale = np.mean([part.values.mean() for part in parts])
    best, chosen, least = np.inf, C, sums.value
    for penalty in penalties * scale:
        new = np.column_stack([part.solution(penalty) for part in parts])
        D = new - C
        value = sums.value + float(np.einsum("kab,ak,bk->", K, D, D) - 2 * (D * g).sum())
        df = float(np.mean([part.degrees(penalty) for part in parts]))
        error = max(value, 0.0) / max(1 - df / rows, 1e-9) ** 2
        if error < best:
            best, chosen, least = error, new, value
    return chosen, least


class Centred:
    """Kx = c with the first unknown eliminated, for any penalty on the others."""

    def __init__(self, K: np.ndarray, c: np.ndarray) -> None:
        self.mean, self.level = K[0, 1:] / K[0, 0], c[0] / K[0, 0]
        values, self.Q = eigh(K[1:, 1:] - K[0, 0] * np.outer(self.mean, self.mean))
        self.values = np.maximum(values, 1e-12 * values.max(initial=0.0) + 1e-300)
        self.c = self.Q.T @ (c[1:] - K[0, 0] * self.mean * self.level)

    def solution(self, penalty: float) -> np.ndarray:
        x = self.Q @ (self.c / (self.values + penalty))
        return np.append(self.level - self.mean @ x, x)

    def degrees(self, penalty: float) -> float:
        return 1 + float((self.values / (self.values + penalty)).sum())
