"""Linear models under any convex loss: F = XC, one system an output in each turn (`newton.py`).

Their penalty is walked down without some of the rows, in turn, and chosen by the loss on those.
Generalised cross-validation, which does for least squares, fails where classes can be told apart:
there the loss falls to nothing as the penalty does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anmin.solvers.newton import FIRST, LAST, Care, minimise
from anmin.solvers.problem import Problem, judging

EVERY = 2  # of the penalties that ridge regression chooses from are tried
MUCH = 1.1  # times the least loss, from where lighter penalties are not looked at
SHARE, FOLDS, FEW = 0.2, 3, 2000  # rows held out, how often, and above how many rows only once


def linear_model(problem: Problem, penalty: np.ndarray, care: Care = LAST) -> np.ndarray:
    """C (p, q) of least Σ ℓ(y, XC)/n + Σ penalty ∘ C ∘ C; the penalty is one for each row of C."""
    be = problem.backend
    C = be.double(np.zeros((len(penalty), problem.source.shape[2])))
    column = be.double(penalty)[:, None]
    signs, sums_at = problem.input_signs, problem.working_sums(None)
    return be.to_numpy(minimise(be, sums_at, C, column, care, signs)[0])


def chosen_linear_model(problem: Problem, penalties: np.ndarray) -> np.ndarray:
    """The same with the mean not penalised, and the penalty on all else chosen by held-out rows.

    `penalties` ascend, and are relative to the mean eigenvalue of XᵀVX/n without a model.
    """
    p, q = problem.source.shape[1:]
    first = problem.working_sums(None)(problem.backend.double(np.zeros((p, q))), True)
    K = problem.backend.to_numpy(first.StVS.sum(0)) / (q * first.n)
    scale = float(centred(K).trace()) / max(p - 1, 1)
    tried = penalties[::-EVERY] * scale
    groups, rng = problem.source.raw.groups(), np.random.RandomState(0)
    folds = groups.folds(SHARE, FOLDS if groups.count < FEW else 1, rng)
    errors = np.zeros(len(tried))
    for train, out in folds:
        part, judge = (replace(problem, source=problem.source.part(r)) for r in (train, out))
        errors += held_out_errors(part, judge, tried)
    best = tried[int(errors.argmin())] if folds else tried[0]
    return linear_model(problem, np.append(0.0, np.full(p - 1, best)))


def held_out_errors(part: Problem, judge: Problem, penalties: np.ndarray) -> np.ndarray:
    """The loss on other rows at each penalty, the heaviest first; infinite where it has risen."""
    be, errors = part.backend, np.full(len(penalties), np.inf)
    C = be.double(np.zeros(part.source.shape[1:]))
    judge = replace(judge, objective=judging(judge.objective, judge.source))
    sums_at, on_others = part.working_sums(None), judge.working_sums(None)
    for i, penalty in enumerate(penalties):
        column = be.double(np.append(0.0, np.full(len(C) - 1, penalty)))[:, None]
        C, _ = minimise(be, sums_at, C, column, FIRST, part.input_signs)
        errors[i] = on_others(C, False).value
        if errors[i] > MUCH * errors.min():
            break
    return errors


def centred(K: np.ndarray) -> np.ndarray:
    """XᵀVX without its first row and column, and less what the mean explains."""
    return K[1:, 1:] - np.outer(K[0, 1:], K[0, 1:]) / K[0, 0]
