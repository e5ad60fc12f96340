"""lam="auto": walk the penalty down, and choose it on rows held out.

lam (‖A‖² + ‖B‖²) acts on neuron j, once balanced, as 2 lam ‖a_j‖‖b_j‖: a large penalty lets few
neurons in, and a smaller one more. So the path starts where the first neuron becomes worth its
penalty, and at each lower penalty

    grow       add neurons whose correlation with the residual exceeds lam, where there is room
    descend    a few damped steps on the penalised loss, from where the path stands
    prune      drop neurons that the penalty has switched off
    judge      the error on the held-out rows

until that error has not improved for `PATIENCE` penalties. The best penalty, its network as the
start, is then refitted on all rows. Targets are in units of their deviation here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from anmin.backends import Array
from anmin.history import Fit, Step
from anmin.solvers.levenberg import Descent, Stop, descend
from anmin.solvers.problem import Point, Problem
from anmin.solvers.relocate import CPU, hyperplanes, sample_rows
from anmin.solvers.task import Search, Task
from anmin.sources.draws import Part, random_folds
from anmin.status import Status
from anmin.sums.output import ResidualPass, residual

FACTOR = 3.0  # between consecutive penalties
LOWEST = 1e-6  # penalty at which the path ends
STEPS, TOL = 8, 1e-3  # damped steps at each penalty
ENTER = 16  # neurons that may enter at each penalty
PATIENCE = 3  # penalties without a better held-out error, ...
WAIT = 100.0  # ... once the penalty is this much below the first
PATH_SHARE = 0.7  # of the budget; the rest is for the refit on all rows
FULL_PATH = 100  # steps that a whole path may take
EXACT = 1e-6  # training error at which there is nothing left to fit
FEW = 2000  # rows below which one held-out part is not enough
FOLDS = 3
CANDIDATES = 256
ALIKE = 0.97  # cosine between neurons that are the same


@dataclass(frozen=True, slots=True)
class PathStep:
    """The network at one penalty; errors are mean squares in the units of y."""

    lam: float
    train_mse: float
    held_out_mse: float
    active: int


def walk(problem: Problem, task: Task, lam: float, until: float) -> Iterator[Point]:
    """The points of the path at lam, lam / FACTOR, …, on the rows of `problem`."""
    h, budget, rng = task.h, task.budget, task.rng
    p = problem.source.shape[1]
    descent, mu = Descent(problem, h, rng, task.ledger, rough=True), 0.1
    point = problem.at(problem.backend.zeros(p, 0))
    while lam > LOWEST and budget.used < until:
        here = replace(problem, lam=lam)
        descent = descent.on(here)
        point = grow(here, here.point(point.A, point.sums), min(h, point.A.shape[1] + ENTER), rng)
        if point.A.shape[1]:
            point, _ = descend(descent, point, budget, Stop(until, STEPS, TOL), ignore, mu)
        point = prune(here, point)
        yield point
        if point.mse < EXACT:
            return
        lam /= FACTOR


def ignore(*_: object) -> bool:
    """A listener that does not mind."""
    return False


def grow(problem: Problem, point: Point, h: int, rng: np.random.RandomState) -> Point:
    """`point` with up to h neurons: the new ones point where the residual is, each differently."""
    have = point.A.shape[1]
    W, gain = candidates(problem, point, rng)
    chosen: list[int] = []
    for i in np.flatnonzero(gain > problem.lam):
        if len(chosen) == h - have:
            break
        if not chosen or np.abs(W[:, i] @ W[:, chosen]).max() < ALIKE:
            chosen.append(int(i))
    if not chosen:
        return point
    A = problem.backend.to_numpy(point.A)
    size = np.linalg.norm(A, axis=0).mean() if have else 0.3
    return problem.at(problem.backend.asarray(np.hstack([A, size * W[:, chosen]])))


def candidates(
    problem: Problem, point: Point, rng: np.random.RandomState, turns: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Unit neurons w, and how much ‖Σ σ(x̃w) r‖/n each correlates with the residual, best first.

    They start as random hyperplanes through rows of large residual and are then turned into the
    residual's own direction on the side where they fire. A neuron pays for itself at any lam
    below its correlation.
    """
    X, Y = sample_rows(problem, rng)
    A, V = problem.backend.to_numpy(point.A), problem.backend.to_numpy(point.W)
    R = residual(CPU, X, Y, ResidualPass(A, V, problem.slope, problem.objective))
    n = X[:, 0] @ X[:, 0]
    W = hyperplanes(X, (R * R).sum(1), CANDIDATES, rng)
    for turn in range(turns + 1):
        W /= np.maximum(np.linalg.norm(W, axis=0), 1e-300)
        P = X @ W
        c = CPU.activate(P, problem.slope).T @ R / n  # (candidates, q)
        gain = np.linalg.norm(c, axis=1)
        if turn < turns:
            pull = R @ (c / np.maximum(gain, 1e-300)[:, None]).T  # (rows, candidates)
            W = X.T @ (CPU.gain(P > 0, problem.slope) * pull)
    order = np.argsort(-gain)
    return W[:, order], gain[order]


def prune(problem: Problem, point: Point, tol: float = 1e-4) -> Point:
    """`point` without the neurons that do next to nothing."""
    A, W = problem.backend.to_numpy(point.A), problem.backend.to_numpy(point.W)
    size = np.linalg.norm(A, axis=0) * np.linalg.norm(W[:-1], axis=1)
    on = problem.backend.to_numpy(point.sums.StS.diagonal())[:-1] > 0
    keep = np.flatnonzero(on & (size > tol * size.max(initial=0.0)))
    if len(keep) == len(size):
        return point
    kept = problem.backend.integers(keep)
    return problem.balance(problem.point(point.A[:, kept], point.sums.select(kept)))


@dataclass(frozen=True, slots=True)
class Choice:
    """The penalty that the held-out rows prefer, and where to start from at it."""

    lam: float
    starts: list[Array]  # one A for each held-out part
    path: list[PathStep]
    cut: bool  # for want of time, before the held-out rows had said enough


def choose_penalty(task: Task, search: Search) -> Choice:
    """Walk the path without each held-out part, and compare the errors on it."""
    problem, rng = task.problem, task.rng
    n, p, _ = problem.source.shape
    empty = problem.at(problem.backend.zeros(p, 0))
    first = float(candidates(problem, empty, rng, turns=3)[1][0]) / FACTOR
    splits = search.splits
    if splits is None:
        affordable = max(1.0, PATH_SHARE * task.budget.max_iter / FULL_PATH)
        folds = max(FOLDS if n < FEW else 1, task.n_init)
        folds = search.folds or int(min(folds, affordable))
        splits = random_folds(n, search.fraction, folds, rng)
    share = PATH_SHARE / max(len(splits), 1)
    walked = [held_out_path(task, first, share * (k + 1), *split) for k, split in enumerate(splits)]
    runs, cut = [run for run, _ in walked if run], any(short for _, short in walked)
    if not runs:  # no time at all, or nothing to explain: the mean
        return Choice(max(first, LOWEST), [empty.A], [], cut)
    length = min(len(run) for run in runs)
    errors = np.mean([[error for _, error in run[:length]] for run in runs], axis=0)
    best = int(errors.argmin())
    lams = [first / FACTOR**i for i in range(length)]
    path = [
        PathStep(
            lams[i],
            float(np.mean([run[i][0].mse for run in runs])),
            float(errors[i]),
            round(float(np.mean([run[i][0].A.shape[1] for run in runs]))),
        )
        for i in range(length)
    ]
    return Choice(lams[best], [run[best][0].A for run in runs], path, cut)


def held_out_path(
    task: Task, lam: float, until: float, train: Part, out: Part
) -> tuple[list[tuple[Point, float]], bool]:
    """Points down the path on the rows `train`, errors on the rows `out`, whether it was cut."""
    problem = task.problem
    judge, part = problem.source.part(out), replace(problem, source=problem.source.part(train))
    run: list[tuple[Point, float]] = []
    for point in walk(part, task, lam, until):
        error = judge.reduce(ResidualPass(point.A, point.W, problem.slope)) / judge.weight
        run.append((point, error))
        errors = [known for _, known in run]
        start = Step(0, point.loss, point.mse, seconds=task.budget.seconds)
        lam_here = lam / FACTOR ** (len(run) - 1)
        fit = Fit(problem.network(point), point.loss, [start], Status.INTERRUPTED, lam_here)
        task.ledger.offer(fit, error, judge)  # what an interrupt would keep
        waited = len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE
        if waited and lam_here < lam / WAIT:
            return run, False
    lowest = lam / FACTOR ** len(run) <= LOWEST
    exact = bool(run) and run[-1][0].mse < EXACT
    return run, not (lowest or exact)


def refit(problem: Problem, starts: list[Array], task: Task) -> Point:
    """The best of the starts after a short descent on all rows."""
    descent = Descent(problem, max(A.shape[1] for A in starts), task.rng, task.ledger)
    points = [problem.balance(problem.at(A)) for A in starts]
    if len(points) > 1:
        stop = Stop(steps=3 * STEPS)
        grown = [z for z in points if z.A.shape[1]]
        points += [descend(descent, z, task.budget, stop, ignore)[0] for z in grown]
    return min(points, key=lambda point: point.loss)
