"""lam="auto": walk the penalty down, and choose it on rows held out.

lam (‖A‖² + ‖B‖²) acts on neuron j, once balanced, as 2 lam ‖a_j‖‖b_j‖: a large penalty lets few
neurons in, and a smaller one more. So the path starts from the linear trend, where the first neuron
beside it becomes worth its penalty, and at each lower penalty

    grow       add neurons whose correlation with the residual exceeds lam, where there is room
    descend    a few damped steps on the penalised loss, from where the path stands
    prune      drop neurons that the penalty has switched off
    judge      the error on the held-out rows

until that error has not improved by `GAIN` for `PATIENCE` penalties, or, without noise, to the end
of the path. At some of them the inputs are scaled by their relevance (`views.py`). Targets are in
units of their deviation here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from anmin.backends import Backend
from anmin.moves import Move, Moves, Spent, Stage, Visit
from anmin.objective import Objective
from anmin.solvers.hyperplanes import hyperplanes, hyperplanes_on_device
from anmin.solvers.levenberg import SMALL, Descent, Stop, descend
from anmin.solvers.linear import trend
from anmin.solvers.planting import rules_on
from anmin.solvers.problem import Point, Problem, judging
from anmin.solvers.relocate import CPU, sample_batch, sample_rows
from anmin.solvers.solver import Search, Splits, Start
from anmin.solvers.spectrum import FORMED, InputProducts
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
STEEP = 0.9  # of the held-out error at the last one, under which there may be more of them in all
PATIENCE = 2  # penalties without a better held-out error, ...
GAIN = 0.01  # ... by this share of it, ...
WAIT = 100.0  # ... once the penalty is this much below the first
FAINT, SAME = 1e-3, 2.0  # training error without noise, and that on held-out rows over it
LEG = 3  # penalties in which the error of a path that may still win falls ...
FALLING = 0.5  # ... to less than this share
PATH_SHARE = 0.7  # of the budget; the rest is for the refit on all rows
FULL_PATH = 100  # steps that a whole path may take
EXACT = 1e-12  # training error at which there is nothing left to fit
FINE = 1e-6  # training error below which single precision will not do
FEW = 2000  # rows below which one held-out part is not enough
FOLDS = 3
PARTS = 5  # networks for which parts may be as large as they are asked for; for more they are small
REFIT = 24  # damped steps of the networks of all parts, of which the best go on
RESCALED = (2, 3, 4, 5, 6, 8)  # penalties before which the inputs are scaled by their relevance
CANDIDATES = 128
WIRED = 256  # of units with few connections, which are harder to find, ...
MANY = 2000  # ... but for so many inputs


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
    if problem.backend.stacks and problem.input_signs is None and rules is None:
        return candidates_on_device(problem, point, rng, turns)
    X, Y = sample_rows(problem, rng)
    A, V = problem.backend.to_numpy(point.A), problem.backend.to_numpy(point.W)
    R = residual(CPU, X, Y, ResidualPass(A, V, problem.slope, problem.objective))
    if problem.connections is not None:
        wiring = Wiring(problem.connections, X, R, A, V[:-1], problem.slope)
        W, gain = wiring.units(WIRED if len(A) < MANY else WIRED // 4, rng)
        return best_first(W, gain)
    be = CPU.single() if problem.rough else CPU
    n, odds, X, R = X[:, 0] @ X[:, 0], (R * R).sum(1), X.astype(be.dtype), R.astype(be.dtype)
    W = hyperplanes(X, odds, CANDIDATES, rng)
    lean = None
    for turn in range(turns + 1):
        W = problem.obeying(W, lean)
        W /= np.maximum(np.linalg.norm(W, axis=0), 1e-300)
        P = X @ W
        c = be.activate(P, problem.slope).T @ R / n  # (candidates, q)
        gain = np.linalg.norm(c, axis=1)
        if turn < turns:
            pull = R @ (c / np.maximum(gain, 1e-300)[:, None]).T  # (rows, candidates)
            W, lean = X.T @ (be.gain(P > 0, problem.slope) * pull), c.sum(1)
    if rules is not None:
        T = rules.units(problem.source.scaling)
        T /= np.maximum(np.linalg.norm(T, axis=0), 1e-300)
        W, c = np.hstack([W, T]), np.vstack([c, be.activate(X @ T, problem.slope).T @ R / n])
    gain = np.linalg.norm(problem.of_use(W, c), axis=1)
    return best_first(W, gain)


def best_first(W: np.ndarray, gain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-gain)
    return W[:, order], gain[order]


def candidates_on_device(
    problem: Problem, point: Point, rng: np.random.RandomState, turns: int
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The same on tensors, where the rows are: nothing of their size travels."""
    be, slope, batch = problem.backend, problem.slope, sample_batch(problem, rng)
    at = ResidualPass(point.A, point.W, slope, problem.objective)
    X: Any = batch.X
    R = residual(be, be.double(X), be.double(batch.Y), at)
    W = hyperplanes_on_device(be, X, (R * R).sum(1), CANDIDATES, rng)
    n, R = X[:, 0] @ X[:, 0], be.asarray(R)
    for turn in range(turns + 1):
        W = W / W.norm(dim=0).clamp(min=1e-30)
        P = X @ W
        c: Any = be.activate(P, slope).T @ R / n  # (candidates, q)
        gain = c.norm(dim=1)
        if turn < turns:
            pull = R @ (c / gain.clamp(min=1e-30)[:, None]).T  # (rows, candidates)
            W = X.T @ (be.gain(P > 0, slope) * pull)
    return best_first(be.to_numpy(W), be.to_numpy(gain))


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
    s: np.ndarray  # the scale of each column
    units: int  # that there may be
    points: list[Point] = field(default_factory=list)
    scalings: list[Scaling] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    cut: Status | None = None  # the budget that was spent before it came to its end
    begin: int = 0  # units, some of which are the trend from which it begins; 0: none is
    products: InputProducts | None = None  # of the rows that curvature was measured on first

    @property
    def mse(self) -> float:
        return self.points[-1].mse if self.points else inf

    @property
    def least(self) -> float:
        return min(self.errors, default=inf)

    def place(self, i: int) -> int:
        """That of penalty i, or of the last one that it came to."""
        return min(i, len(self.points) - 1)

    def over(self, first: float) -> bool:
        """Whether there is nothing left to fit, or the held-out error no longer falls.

        Without noise it may stand still for a while, and then fall on.
        """
        best, waited, k = inf, 0, len(self.errors)
        for error in self.errors:
            waited = 0 if error < (1 - GAIN) * best else waited + 1
            best = min(best, error)
        settled = waited >= PATIENCE and FACTOR ** (k - 1) > WAIT and not self.noise_free
        return settled or self.mse < EXACT or first / FACTOR**k <= LOWEST or self.cut is not None

    @property
    def noise_free(self) -> bool:
        """Whether held-out rows show next to no error, and none that the others do not."""
        return self.mse < FAINT and self.errors[-1] < SAME * self.mse

    def may_win(self, error: float) -> bool:
        """Whether it has come to this error, or is likely to: without noise it falls and falls."""
        falls = len(self.errors) > LEG and self.errors[-1] < FALLING * self.errors[-1 - LEG]
        return self.least <= error or falls or self.noise_free

    def room(self, h: int) -> int:
        """Units for the next penalty: more, up to h, where all are in use and the error falls."""
        have = self.points[-1].A.shape[1] if self.points else 0
        falls = len(self.errors) > 1 and self.errors[-1] < STEEP * self.errors[-2]
        if falls and have > self.units - ENTER // 2:
            self.units = min(self.units + ENTER, h)
        return min(self.units, have + ENTER)

    def scale(self, view: View, backend: Backend) -> np.ndarray:
        """That of each column for the next penalty: by relevance, at some of them."""
        if not (len(self.points) in RESCALED and view.power and self.points[-1].A.shape[1]):
            return self.s
        A, W = (backend.to_numpy(V) for V in (self.points[-1].A, self.points[-1].W))
        return view.relevance(A, W[:-1], self.s)


def first_penalty(problem: Problem, begin: Point, rng: np.random.RandomState) -> float:
    """That of a path which begins there: the first unit beside is just worth it."""
    return float(candidates(problem, begin, rng, turns=3)[1][0]) / FACTOR


def held_out_parts(
    source: Source, search: Search, n_init: int, rng: np.random.RandomState
) -> Splits:  # fmt: skip
    """The splits that were given, or as many random ones as the rows call for and can be afforded.

    Copies of a row stay together, and count once. Parts are apart: of many each is small.
    """
    if search.splits is not None:
        return [*search.splits]
    affordable = max(1.0, PATH_SHARE * search.max_iter / FULL_PATH)
    groups = source.raw.groups()
    wanted = max(FOLDS if groups.count < FEW else 1, n_init, search.n_networks)
    folds = search.folds or int(min(wanted, affordable))
    share = search.fraction
    if search.n_networks > PARTS:
        share = min(share, max(groups.count // folds, 1) / groups.count)
    return groups.folds(share, folds, rng)


def walk(
    part: Problem, judge: Source, view: View, first: float, start: Start, stage: Stage,
    most: float = inf, run: Run | None = None,
) -> Moves[Run]:  # fmt: skip
    """The path at first, first / FACTOR, … on the rows of `part`, judged on others; `most` of them.

    A run that is given goes on from where it stands.
    """
    begin, ones = start.h * view.trend, np.ones(view.scaling.n_inputs)
    run = run or Run(judging(part.objective, judge), ones, start.first or start.h, begin=begin)
    rules = None if view.trees is None else rules_on(seen(part, view), view.trees, start.rng)
    ground: Ground | None = None
    try:
        while not run.over(first) and len(run.points) < most:
            s, rough = run.scale(view, part.backend), run.mse > FINE
            if ground is None or s is not run.s or rough is not ground.rough:
                scaling = view.stretched(s)
                ground = Ground.of(part, judge.scaled(scaling), scaling, run, s, rough, start)
            here = replace(ground.problem, lam=first / FACTOR ** len(run.points))
            point = here.point(ground.point.A, ground.point.sums, ground.point.W)
            point = grow(here, point, run.room(start.h), start.rng, rules)
            if point.A.shape[1]:
                stop = Stop(view.steps, TOL)
                point = yield from descend(ground.descent.on(here), point, stop, stage, mu=0.1)
            point = ground.point = prune(here, point)
            yield from enter(run, here, ground.judge, point, stage)
    except Spent as ended:
        assert ground is not None
        run.cut = ended.status
        reached = point if ended.visit is None else ended.visit.point
        if reached is not point or (point.A.shape[1] and not run.points):
            yield from enter(run, here, ground.judge, prune(here, reached), stage)
    return run


@dataclass(slots=True)
class Ground:
    """What a walk stands on until columns are scaled anew, or need more digits."""

    problem: Problem
    judge: Source
    descent: Descent
    point: Point
    rough: bool

    @classmethod
    def of(
        cls, part: Problem, judge: Source, scaling: Scaling, run: Run, s: np.ndarray, rough: bool,
        start: Start,
    ) -> Ground:  # fmt: skip
        """The last point of a run, with columns of scale s instead of its own from now on."""
        here = replace(part, source=part.source.scaled(scaling))
        here = in_single(here) if rough else here
        if run.points:
            A, W = run.points[-1].A, run.points[-1].W
            A = here.backend.double(np.append(1.0, run.s / s)[:, None]) * A
        else:
            A, W = trend(here, run.begin), None
        run.s = s
        descent = Descent(here, start.h, start.rng, rough=True, products=run.products)
        run.products = descent.rows.products if len(run.s) < FORMED else None
        return cls(here, judge, descent, here.at(here.backend.asarray(A), W), rough)


def in_single(problem: Problem) -> Problem:
    """The problem in single precision, where rows are many: output layers are exact even so."""
    if not problem.objective.least_squares or len(problem.source) <= SMALL:
        return problem
    return replace(problem, source=problem.source.using(problem.backend.single()), rough=True)


def seen(problem: Problem, view: View) -> Problem:
    return replace(problem, source=problem.source.scaled(view.scaling))


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
    # Some come to the same minimum: which is better by its last digits is chance.
    return sorted(found, key=lambda start: float(f"{start[1].loss:.9g}"))[:n]
