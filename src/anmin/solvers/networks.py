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

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from anmin.history import PathStep
from anmin.moves import Conclusion, Ended, Move, Moves, Spent, Stage, Visit
from anmin.network import Network
from anmin.solvers.linear import ridge_network
from anmin.solvers.path import (
    FACTOR,
    FEW,
    PATH_SHARE,
    Run,
    first_penalty,
    held_out_parts,
    refit,
    walk,
)
from anmin.solvers.problem import Point, Problem
from anmin.solvers.shares import HeldOut, best_shares, side_by_side
from anmin.solvers.solver import Search, Solver, Start
from anmin.solvers.tidy import tidy
from anmin.solvers.together import together
from anmin.solvers.views import View
from anmin.sources import Scaling, Source
from anmin.sources.draws import Part, draw
from anmin.status import Status
from anmin.sums.output import ResidualPass

USEFUL = 0.2  # weight on the first part from which a view walks the others
PATH_ROWS, JUDGES = 8000, 4000  # rows that a path is walked on, and judged by, at most
CLEARLY = 0.9  # of the error of all others, under which ridge regression on raw inputs stands alone

T = TypeVar("T")


@dataclass(slots=True)
class ViewPath:
    """The paths of one view, one for each held-out part so far."""

    view: View
    first: float  # penalty
    runs: list[Run] = field(default_factory=list)

    @property
    def walked(self) -> list[Run]:
        return [run for run in self.runs if run.points]

    @property
    def errors(self) -> np.ndarray:
        """The mean held-out error at each penalty that all parts have come to."""
        length = min(len(run.points) for run in self.walked)
        return np.mean([run.errors[:length] for run in self.walked], axis=0)

    @property
    def best(self) -> int:
        return int(self.errors.argmin())

    def steps(self) -> list[PathStep]:
        return [
            PathStep(
                self.first / FACTOR**i,
                float(np.mean([run.points[i].mse for run in self.walked])),
                float(error),
                round(float(np.mean([run.points[i].A.shape[1] for run in self.walked]))),
            )
            for i, error in enumerate(self.errors)
        ]


@dataclass(frozen=True, slots=True)
class Member:
    """A network, and the scaling of the inputs that it acts on."""

    network: Network
    scaling: Scaling

    def on(self, scaling: Scaling) -> Network:
        """The same function of inputs with more columns, or of another scale."""
        A = np.zeros((scaling.n_inputs + 1, self.network.A.shape[1]))
        own = self.scaling.n_inputs  # the columns of an encoding without hinges come first
        A[0], ratio = self.network.A[0], scaling.x_scale[:own] / self.scaling.x_scale
        A[1 : own + 1] = self.network.A[1:] * ratio[:, None]
        return replace(self.network, A=A)


def with_networks(
    solver: Solver, problem: Problem, start: Start, search: Search
) -> Moves[Conclusion]:  # fmt: skip
    """Choose views and penalties on held-out rows, refine on all rows, and average."""
    paths = []
    for view in search.views:
        here = seen(problem, view)
        empty = here.at(here.backend.zeros(here.source.shape[1], 0))
        paths.append(ViewPath(view, first_penalty(here, empty, start.rng)))
    splits = held_out_parts(problem.source, search, solver.n_init, start.rng)
    parts = [HeldOutPart.of(problem.source, *split, start.rng) for split in splits]
    paths = yield from race(problem, paths, parts, start)
    cut = next((run.cut for path in paths for run in path.runs if run.cut), None)
    paths = [path for path in paths if path.walked]
    if not paths:
        return (yield from nothing(solver, problem, start, cut))
    shares = weigh(problem, paths, parts, alone=search.n_networks == 1)
    lead = paths[int(shares.networks.argmax())]
    status, found = yield from refined(solver, problem, paths, shares, start, search.n_networks)
    status = cut or status
    if len(found) == 1 and found[0][0] == 1.0:  # it stands alone, as it is
        return Conclusion(status, path=lead.steps(), path_cut=cut is not None)
    chosen = replace(problem, lam=lead.first / FACTOR**lead.best)
    whole, network = average(chosen, found, shares, lead.view)
    A = problem.backend.asarray(network.A)
    visit = yield Move(partial(looked_at, whole, network), whole, A, Stage("average"), "start")
    path_steps, networks = lead.steps(), max(len(found), 1)
    return Conclusion(status, visit.point, whole, path_steps, cut is not None, networks)


@dataclass(frozen=True, slots=True)
class HeldOutPart:
    """Rows to walk the path on and rows to judge it by, drawn once where there are many."""

    train: Source
    judge: Source

    @classmethod
    def of(cls, source: Source, train: Part, out: Part, rng: np.random.RandomState) -> HeldOutPart:
        return cls(few(source.part(train), PATH_ROWS, rng), few(source.part(out), JUDGES, rng))


def few(source: Source, most: int, rng: np.random.RandomState) -> Source:
    n = len(source)
    return source if n <= most else source.take(draw(n, most, rng))


def race(
    problem: Problem, paths: list[ViewPath], parts: list[HeldOutPart], start: Start
) -> Moves[list[ViewPath]]:  # fmt: skip
    """The path of every view without the first part, and of those that go on without the others."""
    share = PATH_SHARE / len(parts)
    yield from walked(problem, paths, parts[:1], start, Stage("path", "part", share))
    if len(parts) == 1:
        return paths
    paths, go_on = useful(problem, paths, parts[:1])
    yield from walked(problem, go_on, parts[1:], start, Stage("path", "part", PATH_SHARE))
    return paths


def walked(
    problem: Problem, paths: list[ViewPath], parts: list[HeldOutPart], start: Start, stage: Stage
) -> Moves[None]:  # fmt: skip
    """Walk the path of every view without each of the parts, side by side."""
    walks = [
        walk(
            replace(problem, source=part.train), part.judge, path.view, path.first, start.apart(),
            stage,
        )
        for part in parts
        for path in paths
    ]  # fmt: skip
    runs = yield from together(walks, problem.side_by_side)
    for k, run in enumerate(runs):
        paths[k % len(paths)].runs.append(run)


def useful(
    problem: Problem, paths: list[ViewPath], first: list[HeldOutPart]
) -> tuple[list[ViewPath], list[ViewPath]]:
    """The paths that the held-out rows of the first part have a use for, and those that go on.

    Where there are many rows, one part tells the best view, and that alone goes on.
    """
    paths = [path for path in paths if path.walked] or paths
    if len(paths) < 2:
        return paths, paths
    weights = weigh(problem, paths, first).networks
    least = min(USEFUL, weights.max())
    kept = [path for path, w in zip(paths, weights, strict=True) if w >= least]
    return kept, kept if len(problem.source) < FEW else [paths[int(weights.argmax())]]


def seen(problem: Problem, view: View) -> Problem:
    return replace(problem, source=problem.source.scaled(view.scaling))


# ---- shares -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of each view's networks, and of ridge regression; the rest is the mean's."""

    networks: np.ndarray
    ridge: float
    raw: bool = False  # ridge regression on inputs as they are stands alone


def weigh(
    problem: Problem, paths: list[ViewPath], parts: list[HeldOutPart], alone: bool = False
) -> Shares:
    """Shares with the least loss on the rows that are held out in turn.

    Where one model is to stand alone, the best of them has it all.
    """
    plain, widest = paths[0].view, max((path.view for path in paths), key=columns)
    judged: list[HeldOut] = []
    raw = 0.0
    for k, part in enumerate(parts):
        if any(len(path.runs) <= k or len(path.runs[k].points) <= path.best for path in paths):
            continue
        members = [member_of(problem, path, k) for path in paths]
        here = replace(problem, source=part.train.scaled(plain.scaling))
        members.append(Member(ridge_network(here), plain.scaling))
        networks = [member.on(widest.scaling) for member in members]
        side = side_by_side(problem, networks)
        judged.append(HeldOut(part.judge.scaled(widest.scaling), side))
        if plain.scaling.encoding is not None:
            raw += held_out_ridge(replace(problem, source=part.train), part.judge)
    if not judged:
        return Shares(np.eye(len(paths))[0], 0.0)
    w, error = best_shares(judged, alone)
    encoded = plain.scaling.encoding is not None
    return Shares(w[:-1], float(w[-1]), raw=encoded and raw < CLEARLY * error)


def columns(view: View) -> int:
    return view.scaling.n_inputs


def member_of(problem: Problem, path: ViewPath, k: int) -> Member:
    """The network of a path without the k-th part, at the penalty of its view."""
    run, i = path.runs[k], path.best
    return Member(problem.network(run.points[i]), run.scalings[i])


def held_out_ridge(problem: Problem, judge: Source) -> float:
    """The loss on held-out rows of ridge regression on the inputs as they are."""
    net, be = ridge_network(problem), problem.backend
    W = be.double(np.vstack([net.B, net.b0]))
    return judge.reduce(ResidualPass(be.double(net.A), W, problem.slope, problem.objective))


# ---- networks on all rows -----------------------------------------------------------------------


def refined(
    solver: Solver, problem: Problem, paths: list[ViewPath], shares: Shares, start: Start,
    n_networks: int,
) -> Moves[tuple[Status, list[tuple[float, Member]]]]:  # fmt: skip
    """The networks of the paths that have a share, refined on all rows, each with its share.

    Of the networks of a path only the best where fewer are wanted. The history is that of the
    first, whose path has the largest share.
    """
    order = [int(k) for k in (-shares.networks).argsort(kind="stable") if shares.networks[k] > 0]
    networks, weights = [], []
    for k in order:
        starts = starts_of(problem, paths[k], start)
        if n_networks < len(starts):
            starts = yield from refit(starts, start.rng, n_networks)
        weights += [float(shares.networks[k]) / len(starts)] * len(starts)
        networks += [(here, point, paths[k].view) for here, point in starts]
    walks = []
    for place, (here, point, view) in enumerate(networks):
        begin = replace(start.apart(), point=point, view=view)
        moves = watched(solver.moves(here, begin), here, point)
        walks.append(moves if place == 0 else aside(moves))
    status, members = Status.CONVERGED, []
    for (ended, best), (here, _, _) in zip(
        (yield from together(walks, problem.side_by_side)), networks, strict=True
    ):
        status = status if status is not Status.CONVERGED else ended.status
        members.append(Member(here.network(tidy(here, best).point), here.source.scaling))
    return status, list(zip(weights, members, strict=True))


def starts_of(problem: Problem, path: ViewPath, start: Start) -> list[tuple[Problem, Point]]:
    """The networks of a path as points on all rows, and a start that was given."""
    i, starts = path.best, []
    lam = path.first / FACTOR**i
    for run in path.walked:
        here = replace(problem, source=problem.source.scaled(run.scalings[i]), lam=lam)
        starts.append((here, here.balance(here.at(run.points[i].A))))
    if start.A is not None:
        here = seen(replace(problem, lam=lam), path.view)
        starts.append((here, here.at(problem.backend.asarray(start.A))))
    return starts


def aside(moves: Moves[T]) -> Moves[T]:
    """The same moves, which do not enter the history."""
    move = next(moves)
    try:
        while True:
            try:
                answer = yield replace(move, stage=replace(move.stage, rows="part"))
            except Spent as ended:
                move = moves.throw(ended)
            else:
                move = moves.send(answer)
    except StopIteration as end:
        return end.value


def watched(
    moves: Moves[Conclusion], problem: Problem, best: Point
) -> Moves[tuple[Conclusion, Point]]:  # fmt: skip
    """How moves ended, and the best point that they came to; a spent budget ends them only."""
    try:
        move = next(moves)
        while True:
            visit = yield move
            # `make` of a solver may say None
            if visit is not None and move.problem is problem:  # type: ignore[redundant-expr]
                best = min(best, visit.point, key=lambda point: point.loss)
            move = moves.send(visit)
    except StopIteration as end:
        return end.value, end.value.point or best
    except Spent as ended:
        return Conclusion(ended.status), best


def average(
    problem: Problem, found: list[tuple[float, Member]], shares: Shares, plain: View
) -> tuple[Problem, Network]:
    """One network of all: units side by side, output weights times the share of each."""
    if shares.raw:
        return problem, ridge_network(problem)
    if shares.ridge > 0:
        here = seen(problem, plain)
        found = [*found, (shares.ridge, Member(ridge_network(here), plain.scaling))]
    if not found:
        p, q = problem.source.shape[1:]
        return problem, Network(np.zeros((p, 0)), np.zeros((0, q)), np.zeros(q), problem.slope)
    scaling = max((member.scaling for _, member in found), key=lambda s: s.n_inputs)
    networks = [(weight, member.on(scaling)) for weight, member in found]
    A = np.hstack([net.A for _, net in networks])
    B = np.vstack([weight * net.B for weight, net in networks])
    b0 = np.sum([weight * net.b0 for weight, net in networks], axis=0)
    size = np.sqrt(np.linalg.norm(B, axis=1) / np.maximum(np.linalg.norm(A, axis=0), 1e-300))
    size = np.where(size > 0, size, 1.0)
    whole = replace(problem, source=problem.source.scaled(scaling))
    return whole, Network(A * size, B / size[:, None], b0, problem.slope)


def looked_at(problem: Problem, network: Network) -> Visit:
    """A network as a point, its output layer as it is."""
    be = problem.backend
    W = be.double(np.vstack([network.B, network.b0]))
    return Visit(problem.as_is(be.double(network.A), W), Status.START)


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
