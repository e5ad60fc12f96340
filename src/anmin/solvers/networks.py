"""Several networks that are one.

For each view of the inputs, and without each part of the rows in turn, the penalty path gives a
network. All views race on the first part; those that its held-out rows have a use for walk the
others too. Every network is then refined on all rows, and they are averaged: two-layer networks
side by side, each with its output weights times its share, are a two-layer network.

The shares are those with the least error on the held-out rows, ≥ 0 and with sum one, together with
the mean and with ridge regression. So what is returned is, on rows that it has not seen, hardly
ever worse than the simplest model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np

from anmin.moves import Conclusion, Ended, Move, Moves, Stage
from anmin.network import Network
from anmin.solvers.linear import ridge_network, trend
from anmin.solvers.members import Member, Shares, ViewPath, average, looked_at, refined
from anmin.solvers.path import (
    FACTOR,
    FEW,
    LEG,
    PATH_SHARE,
    first_penalty,
    held_out_parts,
    seen,
    walk,
)
from anmin.solvers.problem import Problem, judging
from anmin.solvers.relocate import SAMPLE
from anmin.solvers.shares import HeldOut, best_shares, side_by_side
from anmin.solvers.solver import Search, Solver, Start
from anmin.solvers.together import together
from anmin.solvers.views import View
from anmin.sources import Source
from anmin.sources.chunk import within
from anmin.sources.draws import Part, draw
from anmin.status import Status
from anmin.sums.output import ResidualPass

USEFUL = 0.2  # weight on the first part from which a view walks the others
PATH_ROWS, JUDGES = 8000, 4000  # rows that a path is walked on, and judged by, at most
FIRST_LEG = 9  # penalties after which views that are behind drop out of the race
BEHIND = 1.3  # times the least held-out error so far
CLEARLY = 0.9  # of the error of all others, under which ridge regression on raw inputs stands alone


def with_networks(
    solver: Solver, problem: Problem, start: Start, search: Search
) -> Moves[Conclusion]:  # fmt: skip
    """Choose views and penalties on held-out rows, refine on all rows, and average."""
    paths, sample = [], replace(problem, source=few(problem.source, SAMPLE, start.rng))
    for view in search.views:
        here = seen(sample, view)
        begin = here.at(trend(here, start.h * view.trend))
        paths.append(ViewPath(view, first_penalty(here, begin, start.rng)))
    splits = held_out_parts(problem.source, search, solver.n_init, start.rng)
    parts = [HeldOutPart.of(problem.source, *split, start.rng) for split in splits]
    paths = yield from race(problem, paths, parts, start)
    cut = next((run.cut for path in paths for run in path.runs if run.cut), None)
    paths = [path for path in paths if path.walked]
    if not paths:
        return (yield from nothing(solver, problem, start, cut))
    doubt = cut is None and start.A is None  # a path that was cut says too little of its networks
    dear = not problem.objective.least_squares  # a matrix of all columns for each output
    plain = search.views[0] if dear else paths[0].view
    judges = parts[:1] if dear and cut is not None else parts
    shares = weigh(problem, paths, judges, search.n_networks == 1, doubt, plain)
    lead = paths[int(shares.networks.argmax())]
    if shares.raw:
        shares = replace(shares, networks=0 * shares.networks)
    ended = yield from refined(solver, problem, paths, shares, start, search.n_networks)
    status, found = cut or ended.status, ended.members
    if len(found) == 1 and found[0][0] == 1.0 and ended.exact:  # it stands alone, as it is
        return Conclusion(status, path=lead.steps(), path_cut=cut is not None)
    chosen = replace(problem, lam=lead.first / FACTOR**lead.best)
    units = start.h if search.n_networks == 1 else inf
    whole, network = average(chosen, found, shares, plain if dear else lead.view, units)
    A = problem.backend.asarray(network.A)
    visit = yield Move(partial(looked_at, whole, network), whole, A, Stage("average"), "start")
    return Conclusion(status, visit.point, whole, lead.steps(), cut is not None, len(found))


@dataclass(frozen=True, slots=True)
class HeldOutPart:
    """Rows to walk the path on and rows to judge it by, drawn once where there are many."""

    train: Source
    judge: Source

    @classmethod
    def of(cls, source: Source, train: Part, out: Part, rng: np.random.RandomState) -> HeldOutPart:
        return cls(few_of(source, train, PATH_ROWS, rng), few_of(source, out, JUDGES, rng))


def few(source: Source, most: int, rng: np.random.RandomState) -> Source:
    n, most = len(source), within(most, source.shape[1])
    if n <= most and not source.passing:
        return source
    return source.take(draw(n, min(n, most), rng))


def few_of(source: Source, part: Part, most: int, rng: np.random.RandomState) -> Source:
    """The same of a part of the rows, of which no more is copied."""
    if isinstance(part, np.ndarray) and len(part) > within(most, source.shape[1]):
        rows = draw(len(part), within(most, source.shape[1]), rng)
        return source.take(part[rows])
    return few(source.part(part), most, rng)


def race(
    problem: Problem, paths: list[ViewPath], parts: list[HeldOutPart], start: Start
) -> Moves[list[ViewPath]]:  # fmt: skip
    """The path of every view without the first part, and of those that go on without the others.

    Views that have fallen behind on the first part are not walked to their end.
    """
    if not parts:
        return paths
    stage = Stage("path", "part", PATH_SHARE / len(parts))
    going, most = paths, FIRST_LEG if len(paths) > 1 else inf
    while going:
        yield from walk_all(problem, going, {0: parts[0]}, start, stage, most)
        least = min(path.runs[0].least for path in paths)
        going = [path for path in going if path.goes_on and path.runs[0].may_win(BEHIND * least)]
        most += LEG
    if len(parts) == 1:
        return paths
    paths, go_on = useful(problem, paths, parts[:1])
    others = dict(enumerate(parts[1:], 1))
    yield from walk_all(problem, go_on, others, start, replace(stage, until=PATH_SHARE))
    return paths


def walk_all(
    problem: Problem, paths: list[ViewPath], parts: dict[int, HeldOutPart], start: Start,
    stage: Stage, most: float = inf,
) -> Moves[None]:  # fmt: skip
    """Walk the path of every view without each of the parts, side by side.

    Where there are many rows, the first part tells where the best penalty is.
    """
    many, walks = len(problem.source) >= FEW, []
    for k, part in parts.items():
        here = replace(problem, source=part.train)
        for path in paths:
            end = path.best + 1 if k and path.walked and many else most
            run = path.runs[k] if k < len(path.runs) else None
            begin = start.apart()
            walks.append(walk(here, part.judge, path.view, path.first, begin, stage, end, run))
    runs = iter((yield from together(walks, problem.side_by_side)))
    for k in parts:
        for path in paths:
            path.runs[k : k + 1] = [next(runs)]


def useful(
    problem: Problem, paths: list[ViewPath], first: list[HeldOutPart]
) -> tuple[list[ViewPath], list[ViewPath]]:
    """The paths that the held-out rows of the first part have a use for, and those that go on.

    Where there are many rows, one part tells the best view, and that alone goes on; of few it tells
    too little, and all do.
    """
    paths = [path for path in paths if path.walked] or paths
    if len(paths) < 2 or len(problem.source) < FEW:
        return paths, paths
    weights = weigh(problem, paths, first, doubt=False).networks
    least = min(USEFUL, weights.max())
    kept = [path for path, w in zip(paths, weights, strict=True) if w >= least]
    return kept, [paths[int(weights.argmax())]]


def weigh(
    problem: Problem, paths: list[ViewPath], parts: list[HeldOutPart], alone: bool = False,
    doubt: bool = True, plain: View | None = None,
) -> Shares:  # fmt: skip
    """Shares with the least loss on the rows that are held out in turn.

    Where one model is to stand alone, the best of them has it all.
    """
    plain, widest = plain or paths[0].view, max((path.view for path in paths), key=columns)
    judged: list[HeldOut] = []
    raw: list[float] = []
    for k, part in enumerate(parts):
        if any(len(path.runs) <= k or not path.runs[k].points for path in paths):
            continue
        members = [member_of(problem, path, k) for path in paths]
        here = replace(problem, source=part.train.scaled(plain.scaling))
        members.append(Member(simplest(here), plain.scaling))
        networks = [member.on(widest.scaling) for member in members]
        side = side_by_side(problem, networks)
        side = replace(side, objective=judging(problem.objective, part.judge))
        judged.append(HeldOut(part.judge.scaled(widest.scaling), side))
        if plain.scaling.encoding is not None:
            raw.append(held_out_ridge(replace(problem, source=part.train), part.judge))
    if not judged:
        return Shares(np.eye(len(paths))[0], 0.0)
    w = best_shares(judged, alone, doubt)
    ridge = float(w[-1]) if problem.connections is None else 0.0
    return Shares(w[:-1], ridge, raw=bool(raw) and clearly_better(raw, judged, w))


def clearly_better(raw: list[float], judged: list[HeldOut], w: np.ndarray) -> bool:
    """Whether errors are below those of the shares w, in the geometric mean over the parts.

    With heavy tails one row rules the sum of them, whichever part it is in.
    """
    others = [part.loss(w) for part in judged]
    tiny = np.finfo(float).tiny
    return bool(np.log(np.add(raw, tiny) / np.add(others, tiny)).mean() < np.log(CLEARLY))


def simplest(problem: Problem) -> Network:
    """What networks must be better than: ridge regression, or the mean with few connections."""
    if problem.connections is None:
        return ridge_network(problem)
    p, q = problem.source.shape[1:]
    return Network(np.zeros((p, 0)), np.zeros((0, q)), np.zeros(q), problem.slope)


def columns(view: View) -> int:
    return view.scaling.n_inputs


def member_of(problem: Problem, path: ViewPath, k: int) -> Member:
    """The network of a path without the k-th part, at the penalty of its view."""
    run = path.runs[k]
    i = run.place(path.best)
    return Member(problem.network(run.points[i]), run.scalings[i])


def held_out_ridge(problem: Problem, judge: Source) -> float:
    """The loss on held-out rows of ridge regression on the inputs as they are."""
    net, be = ridge_network(problem), problem.backend
    W = be.double(np.vstack([net.B, net.b0]))
    by = judging(problem.objective, judge)
    return judge.reduce(ResidualPass(be.double(net.A), W, problem.slope, by))


def nothing(
    solver: Solver, problem: Problem, start: Start, cut: Status | None
) -> Moves[Conclusion]:  # fmt: skip
    """No unit entered any path: the mean, or what a given start comes to."""
    A = problem.backend.zeros(problem.source.shape[1], 0) if start.A is None else start.A
    point = problem.at(problem.backend.asarray(A))
    try:
        end = yield from solver.moves(problem, replace(start, point=point))
    except Ended as ended:
        end = Conclusion(ended.status)
    status = end.status if cut is None else Status.NOTHING_FITTED
    return replace(end, path_cut=cut is not None, status=status)
