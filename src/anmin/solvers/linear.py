"""A linear model as a network, so that no fit need be worse than ridge regression.

One always-on neuron carries one linear function of the inputs. With h ≥ min(d, q) neurons all of
ridge regression fits in, and with fewer the best rank-h part of it: reduced-rank regression.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
from scipy.linalg import eigh, solve

from anmin.backends import WIDE, Array
from anmin.linsolve import OVERFLOW, solve_signed
from anmin.network import Network
from anmin.solvers.glm import chosen_linear_model, linear_model
from anmin.solvers.newton import FIRST
from anmin.solvers.problem import Problem
from anmin.solvers.relocate import sample_rows
from anmin.solvers.spectrum import centred_inputs
from anmin.sums.output import InputPass, InputSums

PENALTIES = np.logspace(-8, 2, 31)  # of the mean eigenvalue, that ridge regression chooses from
CANCELLED = 1e-10
TREND, SHARE = 0.1, 8  # penalty of ridge regression for it; units of which one may be for it
INSIDE = 1e-3  # share of the rows beyond a hinge that stands just inside them


def linear_start(problem: Problem, h: int) -> Array:
    """A hidden layer of always-on neurons that spans ridge or reduced-rank regression."""
    D, largest = linear_directions(problem, h)
    D[0] = 1.01 * largest  # on for every row
    return problem.backend.asarray(np.pad(D, ((0, 0), (0, h - D.shape[1]))))


def trend(problem: Problem, h: int) -> Array:
    """A unit for each main direction of ridge regression, on for a sample of rows; few of h units.

    Paths begin with them: a trend that rules y would take many, and hide what matters beside it.
    """
    be, (_, p, q), k = problem.backend, problem.source.shape, h // SHARE
    free = problem.connections is None and problem.input_signs is None and p <= WIDE
    if not (k and free and problem.objective.least_squares):
        return be.zeros(p, 0)
    inputs = problem.source.scaled(problem.source.scaling.without_hinges())  # which have no part
    plain = replace(problem, source=inputs, lam=TREND)
    D = directions(plain, inputs.reduce(InputPass()), min(k, q))
    X = sample_rows(plain, np.random.RandomState(0))[0]
    D[0] = -(X @ D / X[:, :1]).min(axis=0)
    return be.asarray(np.pad(D, ((0, p - len(D)), (0, 0))))


def ridge_network(problem: Problem, units: float = inf) -> Network:
    """Ridge regression, its penalty by generalised cross-validation, as a network.

    With so few `units` that they do not suffice for all x, it is that for rows like these.

    Of a loss that is not quadratic, the linear model of that loss.

    With XᵀX = QΛQᵀ over the centred inputs the error of a penalty is ‖Y − XC‖² / (1 − df/n)²,
    df = 1 + Σ λ / (λ + penalty), but for many degrees (`freedom`). The mean is not penalised.
    """
    if problem.source.shape[1] > WIDE:
        return wide_ridge(problem, units)
    sums = problem.source.reduce(InputPass())
    if not problem.objective.least_squares:
        C = chosen_linear_model(problem, PENALTIES)
        return as_network(problem, C[1:], C[0], units, sums.largest)
    XtX, XtY = (problem.backend.to_numpy(V) for V in (sums.XtX, sums.XtY))
    n, mean, y_mean = XtX[0, 0], XtX[0, 1:] / XtX[0, 0], XtY[0] / XtX[0, 0]
    K, c = XtX[1:, 1:] - n * np.outer(mean, mean), XtY[1:] - n * np.outer(mean, y_mean)
    values, Q = eigh(K, driver="evd")
    values, c = np.maximum(values, 1e-12 * values.max(initial=0.0) + 1e-300), Q.T @ c
    rows, variance = problem.source.shape[0], sums.YtY - n * float(y_mean @ y_mean)
    best, C, least = np.inf, np.zeros_like(c), 0.0
    for penalty in PENALTIES * values.mean():
        inverse = 1 / (values + penalty)
        B = inverse[:, None] * c
        left = variance - float(((2 * c - values[:, None] * B) * B).sum())
        df = 1 + float((values * inverse).sum())
        error = max(left, 0.0) / freedom(df / rows) ** 2
        if error < best:
            best, C, least = error, B, penalty
    C = Q @ C
    if problem.input_signs is not None:
        C = solve_signed(K + least * np.eye(len(K)), Q @ c, problem.input_signs[1:])
    return as_network(problem, C, y_mean - mean @ C, units, sums.largest)


def freedom(spent: float) -> float:
    """What is left of the rows after degrees of freedom, a share `spent` of them.

    Those beyond half of the rows count three times, since with as many columns as rows noise can
    be fitted by any of them; a little is left all the same: y may be exact.
    """
    return max(1 - spent - 2 * max(spent - 0.5, 0.0), 0.1 * (1 - spent), 1e-9)


def wide_ridge(problem: Problem, units: float) -> Network:
    """The same where XᵀX has too many columns to be formed; the mean for another loss.

    Generalised cross-validation then takes the eigenvalues that are not known to be equal.
    """
    inputs = centred_inputs(problem.source)
    if not problem.objective.least_squares or problem.input_signs is not None:
        return as_network(problem, 0 * inputs.c, 0 * inputs.y_mean, units, inputs.largest)
    found, rows, p = inputs.spectrum, len(problem.source), len(inputs.c)
    inside = found.vectors.T @ inputs.c
    others = max(min(rows - 1, p) - len(found.values), 0)  # eigenvalues that are not known
    outside = max(float((inputs.c**2).sum() - (inside**2).sum()), 0.0) if others else 0.0
    values = np.append(found.values, found.rest * (p - len(found.values)) / max(others, 1))
    count = np.append(np.ones(len(found.values)), others)
    c = np.append((inside**2).sum(1), outside)

    def error(penalty: float) -> float:
        inverse = 1 / (values + penalty)
        left = inputs.variance - float((c * inverse * (2 - values * inverse)).sum())
        df = 1 + float((count * values * inverse).sum())
        lost = CANCELLED * inputs.variance  # digits of a difference
        return max(left, lost) / freedom(df / rows) ** 2

    C = inputs.ridge(min(PENALTIES * inputs.trace / p, key=error))
    return as_network(problem, C, inputs.y_mean - inputs.mean @ C, units, inputs.largest)


def as_network(
    problem: Problem, C: np.ndarray, c0: np.ndarray, units: float = inf, largest: float = 0.0
) -> Network:
    """xC + c0 for every x, however far: σ(u) − σ(−u) = (1 + slope) u, two units a direction.

    With fewer units one a direction, always on for rows no longer than `largest`.
    """
    if problem.input_signs is None:
        U, size, V = np.linalg.svd(C, full_matrices=False)  # (d, k), (k,), (k, q)
    else:  # a direction an output, and no rounding that could change a sign
        size, V = np.linalg.norm(C, axis=0), np.eye(C.shape[1])
        U = C / np.maximum(size, 1e-300)
    if 2 * len(size) > units:
        bias, B = 1.01 * largest, size[:, None] * V
        A = np.vstack([np.full(len(size), bias), U])
        return Network(A, B, c0 - bias * B.sum(0), problem.slope)
    A, B = np.vstack([np.zeros(len(size)), U]), size[:, None] * V / (1 + problem.slope)
    return Network(np.hstack([A, -A]), np.vstack([B, -B]), c0, problem.slope)


def with_linear(problem: Problem, A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """A with its first neurons replaced by those of the linear model, for a start.

    Where they are all neurons there are, none of them could ever move: with every neuron always on
    the gradient is zero. Their hinges then stand just inside the rows X.
    """
    h = A.shape[1]
    D, largest = linear_directions(problem, h)
    k = D.shape[1]
    A = A.copy()
    A[:, :k] = D
    A[0, :k] = 1.01 * largest if k < h else -np.quantile(X @ D / X[:, :1], INSIDE, axis=0)
    return A


def linear_directions(problem: Problem, h: int) -> tuple[np.ndarray, float]:
    """Unit directions, at most h, that span the linear model, and the largest norm of a row."""
    if problem.source.shape[1] > WIDE:
        return wide_directions(problem, h)
    sums = problem.source.reduce(InputPass())
    return directions(problem, sums, h), sums.largest


def directions(problem: Problem, sums: InputSums, h: int) -> np.ndarray:
    """The same from the sums over the inputs."""
    n = float(sums.XtX[0, 0])
    K, c = (problem.backend.to_numpy(V) / n for V in (sums.XtX, sums.XtY))
    if not np.isfinite(K.sum() + (c * c).sum()):
        raise ValueError(OVERFLOW)
    p = len(c)
    penalty = problem.lam + 1e-10 * np.trace(K) / p
    if problem.objective.least_squares:
        C = solve(K + penalty * np.eye(p), c, assume_a="pos")  # (p, q)
    else:
        C = linear_model(problem, np.full(p, penalty), FIRST)
    return main_directions(C, C.T @ K @ C, h)


def wide_directions(problem: Problem, h: int) -> tuple[np.ndarray, float]:
    """The same where XᵀX has too many columns to be formed; none for another loss."""
    inputs = centred_inputs(problem.source)
    if not np.isfinite(inputs.trace + (inputs.c**2).sum()):
        raise ValueError(OVERFLOW)
    if not problem.objective.least_squares:
        return np.zeros((len(inputs.c) + 1, 0)), inputs.largest
    penalty = problem.lam + 1e-10 * inputs.trace / len(inputs.c)
    C = inputs.ridge(penalty)
    return main_directions(np.vstack([0 * C[:1], C]), C.T @ inputs(C), h), inputs.largest


def main_directions(C: np.ndarray, scatter: np.ndarray, h: int) -> np.ndarray:
    """Unit directions of the fitted values XC, which scatter like this, at most h."""
    p, q = C.shape
    k = min(h, p - 1, q)
    _, V = eigh(scatter, subset_by_index=[q - k, q - 1])  # directions of the fitted values
    D = C @ V  # (p, k)
    D[0] = 0
    norms = np.linalg.norm(D, axis=0)
    D = D[:, norms > 0] / norms[norms > 0]
    largest = D[np.abs(D).argmax(axis=0), np.arange(D.shape[1])]
    return D * np.sign(largest)  # so that rounding does not choose the sign
