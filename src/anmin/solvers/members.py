"""Networks from the ends of penalty paths: refined on all rows, and averaged into one.

Two-layer networks side by side, each with its output weights times its share, are a two-layer
network.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from anmin.history import PathStep
from anmin.moves import Conclusion, Moves, Spent, Visit
from anmin.network import Network
from anmin.solvers.linear import ridge_network
from anmin.solvers.path import FACTOR, FINE, SAME, Run, in_single, refit, seen
from anmin.solvers.problem import Point, Problem
from anmin.solvers.solver import Solver, Start
from anmin.solvers.tidy import tidy
from anmin.solvers.together import together
from anmin.solvers.views import View
from anmin.sources import Scaling
from anmin.sources.chunk import within
from anmin.status import Status

T = TypeVar("T")
SLIGHT = 1e-5  # training error of data without noise, which is refined to the end
FALLS_ON = 0.7  # of the least error that all parts have come to, which those that go on reach
FAR = 4.0  # times the least held-out error of a part, beyond which another is left out there
IN_MEMORY = 100_000  # rows to refine networks on, where all would be read anew in each pass


def typical(errors: ArrayLike) -> np.ndarray:
    """The geometric mean over the first axis."""
    return np.exp(np.log(np.maximum(errors, np.finfo(float).tiny)).mean(0))


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
    def goes_on(self) -> bool:
        """Whether the last of them has not come to its end."""
        return not self.runs[-1].over(self.first)

    @property
    def errors(self) -> np.ndarray:
        """The geometric mean of held-out errors at each penalty that all parts have come to.

        Where they fall on, as without noise, one that ended early does not end the others, and
        however bad it is, its error does not drown theirs.
        """
        lengths = [len(run.points) for run in self.walked]
        errors = typical(
            [[run.errors[run.place(i)] for i in range(max(lengths))] for run in self.walked]
        )
        common = errors[: min(lengths)]
        return errors if errors.min() < FALLS_ON * common.min() else common

    @property
    def best(self) -> int:
        return int(self.errors.argmin())

    @property
    def noise_free(self) -> bool:
        """Whether held-out rows show next to no error, and none that the others do not."""
        train = typical([run.points[run.place(self.best)].mse for run in self.walked])
        return bool(train < SLIGHT and self.errors[self.best] < SAME * train)

    @property
    def averaged(self) -> list[Run]:
        """Those whose networks are averaged: without noise none that came to a halt far above."""
        errors = [run.errors[run.place(self.best)] for run in self.walked]
        most = FAR * min(errors) if self.noise_free else inf
        return [run for run, error in zip(self.walked, errors, strict=True) if error <= most]

    def steps(self) -> list[PathStep]:
        return [
            PathStep(
                self.first / FACTOR**i,
                float(np.mean([run.points[run.place(i)].mse for run in self.walked])),
                float(error),
                round(float(np.mean([run.points[run.place(i)].A.shape[1] for run in self.walked]))),
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
        if self.scaling.hinges is not None and self.scaling.n_inputs < scaling.n_inputs:
            return self.refined(scaling)
        A = np.zeros((scaling.n_inputs + 1, self.network.A.shape[1]))
        own = self.scaling.n_inputs  # the columns of an encoding without hinges come first
        A[0], ratio = self.network.A[0], scaling.x_scale[:own] / self.scaling.x_scale
        A[1 : own + 1] = self.network.A[1:] * ratio[:, None]
        return replace(self.network, A=A)

    def refined(self, scaling: Scaling) -> Network:
        """The same function of inputs with finer hinges."""
        own, fine = self.scaling.encoding, scaling.encoding
        assert own is not None
        assert fine is not None
        d, V = len(own.centre), self.network.A[1:] / self.scaling.x_scale[:, None]
        bias = self.network.A[0] - self.scaling.x_mean @ V
        V = np.vstack([V[:d], own.shares_in(fine) @ V[d:]])
        A = np.vstack([bias + scaling.x_mean @ V, V * scaling.x_scale[:, None]])
        return replace(self.network, A=A)


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of each view's networks, and of ridge regression; the rest is the mean's."""

    networks: np.ndarray
    ridge: float
    raw: bool = False  # ridge regression on inputs as they are stands alone


@dataclass(frozen=True, slots=True)
class Refined:
    """Networks with their shares, and how they ended."""

    status: Status
    members: list[tuple[float, Member]]
    exact: bool  # refined on all rows and in the precision of the problem, not for the most part


def refined(
    solver: Solver, problem: Problem, paths: list[ViewPath], shares: Shares, start: Start,
    n_networks: int,
) -> Moves[Refined]:  # fmt: skip
    """The networks of the paths that have a share, refined on all rows, each with its share.

    Of the networks of a path only the best where fewer are wanted. The history is that of the
    first, whose path has the largest share. Rows of a stream that there is no room for are stood
    for by a sample, but for the output layers.
    """
    whole, sampled = problem, passing(problem, paths)
    if sampled:
        problem = in_memory(problem, start.rng)
    order = [int(k) for k in (-shares.networks).argsort(kind="stable") if shares.networks[k] > 0]
    networks, weights = [], []
    for k in order:
        starts = starts_of(problem, paths[k], start)
        if n_networks < len(starts):
            starts = yield from refit(starts, start.rng, n_networks)
        weights += [float(shares.networks[k]) / len(starts)] * len(starts)
        view = paths[k].view.patient() if paths[k].noise_free else paths[k].view
        networks += [(here, point, view) for here, point in starts]
    walks = []
    for place, (here, point, view) in enumerate(networks):
        begin = replace(start.apart(), point=point, view=view)
        moves = watched(solver.moves(here, begin), here, point)
        walks.append(moves if place == 0 and not sampled else aside(moves))
    status, members, exact = Status.CONVERGED, [], not sampled
    for (ended, best), (here, _, _) in zip(
        (yield from together(walks, problem.side_by_side)), networks, strict=True
    ):
        status = status if status is not Status.CONVERGED else ended.status
        point = tidy(here, best).point
        scaling = here.source.scaling
        if not (exact := exact and not here.rough):
            there = replace(whole, source=whole.source.scaled(scaling), lam=here.lam)
            point = there.at(point.A, point.W)
        members.append(Member(whole.network(point), scaling))
    return Refined(status, list(zip(weights, members, strict=True)), exact)


def passing(problem: Problem, paths: list[ViewPath]) -> bool:
    """Whether a pass over all rows, as some view sees them, reads them anew."""
    return any(seen(problem, path.view).source.passing for path in paths)


def in_memory(problem: Problem, rng: np.random.RandomState) -> Problem:
    """The same problem on rows drawn once."""
    n, p, _ = problem.source.shape
    return problem.sample(min(n, within(IN_MEMORY, p)), rng)


def starts_of(problem: Problem, path: ViewPath, start: Start) -> list[tuple[Problem, Point]]:
    """The networks of a path as points on all rows, and a start that was given."""
    starts, lam = [], path.first / FACTOR**path.best
    for run in path.averaged:
        i = run.place(path.best)
        here = replace(problem, source=problem.source.scaled(run.scalings[i]), lam=lam)
        here = in_single(here) if run.points[i].mse > FINE else here
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
    """How moves ended, and the best point that they came to; a spent budget ends them only.

    A stage that has used its own share of it goes on to the next.
    """
    try:
        move = next(moves)
        while True:
            try:
                visit = yield move
            except Spent as ended:
                if move.stage.until >= 1:
                    raise
                move = moves.throw(ended)
                continue
            # `make` of a solver may say None
            if visit is not None and move.problem is problem:  # type: ignore[redundant-expr]
                best = min(best, visit.point, key=lambda point: point.loss)
            move = moves.send(visit)
    except StopIteration as end:
        return end.value, end.value.point or best
    except Spent as ended:
        return Conclusion(ended.status), best


def average(
    problem: Problem, found: list[tuple[float, Member]], shares: Shares, plain: View, units: float
) -> tuple[Problem, Network]:
    """One network of all: units side by side, output weights times the share of each."""
    if shares.raw:
        return problem, ridge_network(problem, units)
    if shares.ridge > 0:
        here = seen(problem, plain)
        found = [*found, (shares.ridge, Member(ridge_network(here, units), plain.scaling))]
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
