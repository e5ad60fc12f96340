"""lam="auto": walk the penalty down, and choose it on rows held out.

lam (‖A‖² + ‖B‖²) acts on neuron j, once balanced, as 2 lam ‖a_j‖‖b_j‖: a large penalty lets few
neurons in, and a smaller one more. So the path starts where the first neuron becomes worth its
penalty, and at each lower penalty

    grow       add neurons whose correlation with the residual exceeds lam, where there is room
    descend    a few damped steps on the penalised loss, from where the path stands
    prune      drop neurons that the penalty has switched off
    judge      the error on the held-out rows

until that error has not improved by `GAIN` for `PATIENCE` penalties. At some of them the inputs are
scaled by their relevance (`views.py`). Targets are in units of their deviation here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

import numpy as np

from anmin.moves import Move, Moves, Spent, Stage, Visit
from anmin.objective import Objective
from anmin.solvers.hyperplanes import hyperplanes
from anmin.solvers.levenberg import Descent, Stop, descend
from anmin.solvers.planting import rules_on
from anmin.solvers.problem import Point, Problem, judging
from anmin.solvers.relocate import CPU, sample_rows
from anmin.solvers.solver import Search, Splits, Start
from anmin.solvers.views import View
from anmin.solvers.wiring import Wiring, different
from anmin.sources import Scaling, Source
from anmin.starts import Rules
from anmin.status import Status
from anmin.sums.output import ResidualPass, residual

FACTOR = 3.0  # between consecutive penalties
LOWEST = 1e-11  # penalty at which the path ends
TOL = 1e-3  # gain of the damped steps at a penalty that is too little
ENTER = 16  # neurons that may enter at each penalty
PATIENCE = 2  # penalties without a better held-out error, ...
GAIN = 0.01  # ... by this share of it, ...
WAIT = 100.0  # ... once the penalty is this much below the first
PATH_SHARE = 0.7  # of the budget; the rest is for the refit on all rows
FULL_PATH = 100  # steps that a whole path may take
EXACT = 1e-12  # training error at which there is nothing left to fit
FEW = 2000  # rows below which one held-out part is not enough
FOLDS = 3
REFIT = 24  # damped steps of the networks of all parts, of which the best go on
RESCALED = (2, 3, 4, 5, 6, 8)  # penalties before which the inputs are scaled by their relevance
CANDIDATES = 256
WIDE = 2000  # inputs from which fewer of them are looked at


def grow(
    problem: Problem, point: Point, h: int, rng: np.random.RandomState, rules: Rules | None = None
) -> Point:  # fmt: skip
    """`point` with up to h neurons: the new ones point where the residual is, each differently."""
    A, have = problem.backend.to_numpy(point.A), point.A.shape[1]
    if have >= h:
        return point
    W, gain = candidates(problem, point, rng, rules=rules)
    W = W[:, gain > problem.lam]  # best first
    chosen = different(W, h - have, problem.connections, A)
    if not chosen:
        return point
    size = np.linalg.norm(A, axis=0).mean() if have else 0.3
    A, new = np.hstack([A, size * W[:, chosen]]), np.zeros((len(chosen), point.W.shape[1]))
    before = problem.backend.to_numpy(point.W)
    W = problem.backend.double(np.vstack([before[:-1], new, before[-1:]]))
    return problem.at(problem.backend.asarray(A), W)


def candidates(
    problem: Problem, point: Point, rng: np.random.RandomState, turns: int = 1,
    rules: Rules | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Unit neurons w, and how much ‖Σ σ(x̃w) r‖/n each correlates with the residual, best first.

    They start as random hyperplanes through rows of large residual and are then turned into the
    residual's own direction on the side where they fire. A neuron pays for itself at any lam
    below its correlation. The rules of trees compete as they are.
    """
    problem = problem.near(point)
    X, Y = sample_rows(problem, rng)
    A, V = problem.backend.to_numpy(point.A), problem.backend.to_numpy(point.W)
    R = residual(CPU, X, Y, ResidualPass(A, V, problem.slope, problem.objective))
    if problem.connections is not None:
        wiring = Wiring(problem.connections, X, R, A, V[:-1], problem.slope)
        W, gain = wiring.units(CANDIDATES if len(A) < WIDE else CANDIDATES // 4, rng)
        order = np.argsort(-gain)
        return W[:, order], gain[order]
    n = X[:, 0] @ X[:, 0]
    W = hyperplanes(X, (R * R).sum(1), CANDIDATES, rng)
    lean = None
    for turn in range(turns + 1):
        W = problem.obeying(W, lean)
        W /= np.maximum(np.linalg.norm(W, axis=0), 1e-300)
        P = X @ W
        c = CPU.activate(P, problem.slope).T @ R / n  # (candidates, q)
        gain = np.linalg.norm(c, axis=1)
        if turn < turns:
            pull = R @ (c / np.maximum(gain, 1e-300)[:, None]).T  # (rows, candidates)
            W, lean = X.T @ (CPU.gain(P > 0, problem.slope) * pull), c.sum(1)
    if rules is not None:
        T = rules.units(problem.source.scaling)
        T /= np.maximum(np.linalg.norm(T, axis=0), 1e-300)
        W, c = np.hstack([W, T]), np.vstack([c, CPU.activate(X @ T, problem.slope).T @ R / n])
    gain = np.linalg.norm(problem.of_use(W, c), axis=1)
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
    sums, W = point.sums.select(kept), point.W[[*map(int, keep), -1]]
    return problem.balance(problem.point(point.A[:, kept], sums, W))


@dataclass(slots=True)
class Run:
    """The path without one held-out part: point, scaling and held-out error at each penalty."""

    by: Objective  # what it is judged by
    points: list[Point] = field(default_factory=list)
    scalings: list[Scaling] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    cut: Status | None = None  # the budget that was spent before it came to its end

    def done(self, lam: float, first: float) -> bool:
        """Whether there is nothing left to fit, or the held-out error no longer falls."""
        best, waited = inf, 0
        for error in self.errors:
            waited = 0 if error < (1 - GAIN) * best else waited + 1
            best = min(best, error)
        return self.points[-1].mse < EXACT or (waited >= PATIENCE and lam < first / WAIT)


def first_penalty(problem: Problem, empty: Point, rng: np.random.RandomState) -> float:
    """Where the path begins, from a network without units: the first is just worth its penalty."""
    return float(candidates(problem, empty, rng, turns=3)[1][0]) / FACTOR


def held_out_parts(
    source: Source, search: Search, n_init: int, rng: np.random.RandomState
) -> Splits:  # fmt: skip
    """The splits that were given, or as many random ones as the rows call for and can be afforded.

    Copies of a row stay together, and count once.
    """
    if search.splits is not None:
        return [*search.splits]
    affordable = max(1.0, PATH_SHARE * search.max_iter / FULL_PATH)
    groups = source.raw.groups()
    wanted = max(FOLDS if groups.count < FEW else 1, n_init, search.n_networks)
    folds = search.folds or int(min(wanted, affordable))
    return groups.folds(search.fraction, folds, rng)


def walk(
    part: Problem, judge: Source, view: View, lam: float, start: Start, stage: Stage,
    most: float = inf,
) -> Moves[Run]:  # fmt: skip
    """The path at lam, lam / FACTOR, … on the rows of `part`, judged on others; `most` of them."""
    run = Run(judging(part.objective, judge))
    first, s = lam, np.ones(view.scaling.n_inputs)
    part, judge = rescaled(part, judge, view.stretched(s))
    rules = None if view.trees is None else rules_on(part, view.trees, start.rng)
    descent = Descent(part, start.h, start.rng, rough=True)
    point = part.at(part.backend.zeros(part.source.shape[1], 0))
    try:
        while lam > LOWEST:
            if len(run.points) in RESCALED and view.power and point.A.shape[1]:
                old, s = s, view.relevance(*layers(part, point), s)
                part, judge = rescaled(part, judge, view.stretched(s))
                A = part.backend.double(np.append(1.0, old / s)[:, None]) * point.A
                point = part.point(A, point.sums, point.W)
                descent = Descent(part, start.h, start.rng, rough=True)
            here = replace(part, lam=lam)
            room = min(start.h, point.A.shape[1] + ENTER)
            point = here.point(point.A, point.sums, point.W)
            point = grow(here, point, room, start.rng, rules)
            if point.A.shape[1]:
                stop = Stop(view.steps, TOL)
                point = yield from descend(descent.on(here), point, stop, stage, mu=0.1)
            point = prune(here, point)
            yield from enter(run, here, judge, point, stage)
            if run.done(lam, first) or len(run.points) >= most:
                break
            lam /= FACTOR
    except Spent as ended:
        run.cut = ended.status
        reached = point if ended.visit is None else ended.visit.point
        if reached is not point or (point.A.shape[1] and not run.points):
            yield from enter(run, here, judge, prune(here, reached), stage)
    return run


def rescaled(part: Problem, judge: Source, scaling: Scaling) -> tuple[Problem, Source]:
    return replace(part, source=part.source.scaled(scaling)), judge.scaled(scaling)


def layers(problem: Problem, point: Point) -> tuple[np.ndarray, np.ndarray]:
    """A and B."""
    return problem.backend.to_numpy(point.A), problem.backend.to_numpy(point.W)[:-1]


def enter(run: Run, problem: Problem, judge: Source, point: Point, stage: Stage) -> Moves[None]:
    """Judge a point on the held-out rows, and note both."""
    look = partial(judged, replace(problem, objective=run.by), judge, point)
    visit = yield Move(look, problem, point.A, stage, "look")
    run.points.append(point)
    run.scalings.append(problem.source.scaling)
    run.errors.append(visit.facts["held_out_mse"])


def judged(problem: Problem, judge: Source, point: Point) -> Visit:
    """A point of the path, with its error on the held-out rows."""
    at = ResidualPass(point.A, point.W, problem.slope, problem.objective)
    error = judge.reduce(at) / judge.weight
    return Visit(point, facts={"held_out_mse": error})


def refit(
    starts: list[tuple[Problem, Point]], rng: np.random.RandomState, n: int
) -> Moves[list[tuple[Problem, Point]]]:
    """The best n of the starts, after a short descent of each on all rows."""
    found = list(starts)
    try:
        for problem, point in starts:
            if point.A.shape[1]:
                descent = Descent(problem, point.A.shape[1], rng)
                stop, stage = Stop(REFIT), Stage("refit", "part")
                found.append((problem, (yield from descend(descent, point, stop, stage))))
    except Spent as ended:
        found += [] if ended.visit is None else [(problem, ended.visit.point)]
    return sorted(found, key=lambda start: start[1].loss)[:n]
