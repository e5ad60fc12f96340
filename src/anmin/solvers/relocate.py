"""Moving neurons that are of little use to where the error is large."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from anmin.backends import Backend, NumpyBackend
from anmin.linsolve import inverse_root
from anmin.network import activate
from anmin.objective import SQUARED_ERROR
from anmin.solvers.hyperplanes import hyperplanes, hyperplanes_on_device
from anmin.solvers.problem import Point, Problem
from anmin.solvers.wiring import Wiring, first_units
from anmin.sources import Batch
from anmin.sources.chunk import within
from anmin.sources.draws import draw

CPU = NumpyBackend()
CANDIDATES = 20
SAMPLE = 4000
LEAST = 1e-3  # of the largest weight of a row


def random_start(problem: Problem, h: int, rng: np.random.RandomState) -> np.ndarray:
    """Hyperplanes through random rows; with few connections, units that point where y is."""
    X, Y = sample_rows(problem, rng)
    if problem.connections is not None:
        return first_units(problem.connections, X, Y, h, problem.slope, rng)
    return hyperplanes(X, X[:, 0] ** 2, h, rng)


def sample_rows(problem: Problem, rng: np.random.RandomState, be: Backend = CPU) -> tuple[Any, Any]:
    """Some rows in double precision, on the CPU or where the arithmetic is."""
    batch, home = sample_batch(problem, rng), problem.backend
    X, Y = batch.X, batch.Y
    if be is not home:
        X, Y = X if hasattr(X, "implicit") else home.to_numpy(X), home.to_numpy(Y)
    return be.double(X), be.double(Y)


def sample_batch(problem: Problem, rng: np.random.RandomState) -> Batch:
    """Some rows drawn at random, or all of few, where the arithmetic is."""
    n, p, _ = problem.source.shape
    most = within(SAMPLE, p)
    return problem.source.rows(np.arange(n) if n <= most else draw(n, most, rng))


def working_rows(problem: Problem, point: Point, X: Any, Y: Any) -> tuple[Any, Any, Any]:
    """Rows on which least squares stands for the loss near a point: √v x̃ and √v (f + r/v).

    v is the weight of a row, in the mean over its outputs and kept away from zero. Also what turns
    a residual there into that which draws neurons: √v where outliers are to be let be.
    """
    if problem.objective.least_squares:
        return X, Y, 1.0
    problem = problem.near(point)
    A, W = (problem.backend.to_numpy(V) for V in (point.A, point.W))
    F, root = np.column_stack([activate(X @ A, problem.slope), X[:, 0]]) @ W, X[:, :1]
    _, R, V = problem.objective.terms(Y, F, root)
    v = V.mean(1, keepdims=True)
    v = np.maximum(v, LEAST * v.max())
    draws = v**0.5 if problem.objective.bounded else 1.0
    return X * v**0.5, v**0.5 * (F + R / v), draws  # X first: it may not be an array


def usefulness(problem: Problem, point: Point) -> np.ndarray:
    """Rise of the loss if neuron j is removed and the rest of the output layer refitted.

    It is ‖b_j‖² / (K⁻¹)_jj with K = SᵀS/n + lam I.
    """
    StS, W = problem.backend.to_numpy(point.sums.StS), problem.backend.to_numpy(point.W)
    K = StS / point.sums.n + problem.lam * np.eye(len(W))
    scale = np.sqrt(K.diagonal() + 1e-300)
    T = inverse_root(CPU, K / np.outer(scale, scale), 1e-10)
    return ((W**2).sum(1) * scale**2 / (T * T).sum(0))[:-1]  # (K⁻¹)_jj = (TᵀT)_jj / scale_j²


def choose(problem: Problem, point: Point, k: int, rng: np.random.RandomState) -> np.ndarray:
    """k neurons, the less useful the likelier."""
    use = usefulness(problem, point)
    odds = 1 / (use + 1e-2 * use.mean() + 1e-300)
    return rng.choice(len(use), k, replace=False, p=odds / odds.sum())


def relocate(
    problem: Problem, point: Point, drop: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """A with the neurons `drop`, one after the other, at the best of a few random hyperplanes.

    Each goes through rows drawn by their squared residual, and is judged by how much of the
    residual it would explain beyond the other neurons. Under a loss whose slopes are bounded the
    residual is what a row pulls with, so that an outlier draws no more neurons than others.
    """
    squares = problem.objective.least_squares and problem.input_signs is None
    be: Backend = problem.backend if problem.backend.stacks and squares else CPU
    X, Y, draws = working_rows(problem, point, *sample_rows(problem, rng, be))
    through: Any = hyperplanes if be is CPU else partial(hyperplanes_on_device, be)
    A, W = (be.double(problem.backend.to_numpy(V)) * 1 for V in (point.A, point.W))
    stay = be.integers(np.delete(np.arange(A.shape[1]), drop))
    S = be.append_column(be.activate(X @ A[:, stay], problem.slope), X[:, 0])
    for i, j in enumerate(drop):
        Q = S @ inverse_root(be, S.T @ S, 1e-8).T  # an orthonormal frame of S
        R = SQUARED_ERROR.residual(Y, Q @ (Q.T @ Y), X[:, :1])
        odds = ((draws * R) ** 2).sum(1)
        if problem.connections is None:
            C = through(X, odds + 1e-12 * odds.mean() + 1e-300, CANDIDATES, rng)
            C = problem.obeying(C)
        else:
            rest = np.delete(A, drop[i:], axis=1), np.delete(W[:-1], drop[i:], axis=0)
            wiring = Wiring(problem.connections, X, R, *rest, problem.slope)
            C, _ = wiring.units(CANDIDATES, rng)
        Z = be.activate(X @ C, problem.slope)
        ZtZ = (Z * Z).sum(0) + 1e-300
        left = ZtZ - ((Q.T @ Z) ** 2).sum(0)  # not yet spanned by S
        gain = (problem.of_use(C, Z.T @ R) ** 2).sum(1)
        best = (gain / be.where(left > 1e-3 * ZtZ, left, 1e-3 * ZtZ)).argmax()
        size = float((A[:, j] ** 2).sum()) ** 0.5 or 1.0
        A[:, j] = size * C[:, best] / (C[:, best] ** 2).sum() ** 0.5
        S = be.append_column(S, Z[:, best])
    return be.to_numpy(A)
