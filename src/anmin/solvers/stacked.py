"""Damped steps of several networks as one computation, on tensors with a leading axis.

A GPU waits for Python most of the time while it works on one small network, and hardly longer for
sixteen. So steps that networks side by side want to take are taken at once: what `levenberg.py`,
`curvature.py` and `problem.py` say of one network is said here of m of them,

    X (m, n, p)    A (m, p, h)    W (m, h + 1, q)    lam, mu, loss (m,)

each with rows, penalty and damping of its own. Python hears of all at a time, in one small vector
for each damping that is tried. Conjugate gradients end when the last network has arrived; who came
before stands still.

A step on the way of which a system is not positive definite, or a loss loses its digits, is made
alone instead, with the care that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from anmin.moves import Visit
from anmin.solvers.curvatures import Curvatures, CurvedRows, Layers, Record, curved
from anmin.solvers.levenberg import FACTOR, LEAST, MOST, DampedStep
from anmin.solvers.problem import CANCELLED, EVENINGS, SETTLED, Point
from anmin.sources.batch import Batch
from anmin.sums.output import OutputStats
from anmin.sums.patterns import Counts
from anmin.sums.slabs import Slabs, padded, padded_outputs


class Stacks:
    """Makes steps of one kind as one. Rows that were stacked are known until others are."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, ...], StackedRows] = {}

    def visits(self, steps: Sequence[DampedStep]) -> list[Visit]:
        """What steps come to, which are all of some kind."""
        found: dict[int, Visit] = {}
        known, self.known = self.known, {}
        for places in stacks_of(steps):
            some = [steps[k] for k in places]
            own = [batches_of(step) for step in some]
            key = tuple(id(batch) for batches in own for batch in batches)
            rows = self.known[key] = known.get(key) or StackedRows(some, own)
            for k, visit in zip(places, taken(some, rows), strict=True):
                found[k] = visit or steps[k].alone()
        return [found[k] for k in range(len(steps))]


def stacks_of(steps: Sequence[DampedStep]) -> Iterator[list[int]]:
    """The places of steps of one kind, as many at a time as there is memory for."""
    kinds: dict[object, list[int]] = {}
    for k, step in enumerate(steps):
        kinds.setdefault(step.kind, []).append(k)
    for places in kinds.values():
        sizes = [bytes_on_the_way(steps[k]) for k in places]
        count = max(1, steps[places[0]].descent.problem.backend.working // max(sizes))
        yield from (places[k : k + count] for k in range(0, len(places), count))


def bytes_on_the_way(step: DampedStep) -> int:
    """What the curvature of a network takes: X, G, Q, and S twice; Z and H, if they are formed."""
    (n, p, _), h = step.descent.rows.source.shape, step.point.A.shape[1]
    matrix = h * p * (n + 3 * h * p) if step.descent.forms_matrix(step.point) else 0
    return 8 * (n * (p + 4 * (h + 1)) + matrix)


def batches_of(step: DampedStep) -> list[Batch]:
    """All rows of a network, and last those that its curvature is measured on."""
    descent = step.descent
    return [*descent.problem.source.batches(), *descent.rows.source.batches()]


class StackedRows:
    """The rows of some networks: all of each, and those that curvature is measured on."""

    def __init__(self, steps: Sequence[DampedStep], batches: Sequence[list[Batch]]) -> None:
        h, home = max(step.point.A.shape[1] for step in steps), steps[0].point.A.device
        self.slabs = Slabs([whole for *whole, _ in batches], h, home)
        some = [curved for *_, curved in batches]
        self.curved = CurvedRows(some, [step.descent.rows for step in steps])


@dataclass(frozen=True, slots=True)
class Points(Record):
    """Hidden layers with the output layers that are best for them."""

    A: Tensor  # (m, p, h)
    W: Tensor  # (m, h + 1, q)
    loss: Tensor  # (m,)
    mse: Tensor
    StS: Tensor
    StY: Tensor
    odd: Tensor  # booleans: it is to be looked at alone

    def replaced(self, where: Tensor, other: Points) -> Points:
        """Those of the other where so said: (m,)."""
        pairs = zip(self.tensors(), other.tensors(), strict=True)
        return Points(*(torch.where(where.view(-1, *[1] * (U.ndim - 1)), V, U) for U, V in pairs))

    def outputs(self, k: int, h: int) -> tuple[Tensor, Tensor, Tensor]:
        """W, SᵀS and SᵀY of a network, without the units that it was filled up with."""
        W, StS, StY = self.W[k], self.StS[k], self.StY[k]
        if h + 1 < len(W):
            W, StS, StY = (torch.cat([V[:h], V[-1:]]) for V in (W, StS, StY))
            StS = torch.cat([StS[:, :h], StS[:, -1:]], 1)
        return W.contiguous(), StS, StY

    def put(self, which: Sequence[int], other: Points) -> None:
        """Let those of the other be the ones at some places."""
        for U, V in zip(self.tensors(), other.tensors(), strict=True):
            U[which] = V


@dataclass(frozen=True, slots=True)
class Terms(Record):
    """What Eq. (1) holds fixed of each network, but its rows."""

    lam: Tensor  # (m,)
    idle: Tensor  # (m, h + 1): 1 for the units of zeros that a network is filled up with
    n: Tensor  # (m,)
    YtY: Tensor

    def points(self, A: Tensor, StS: Tensor, StY: Tensor) -> Points:
        """The best output layers for A from the sums at A."""
        n, shift = self.n[:, None, None], torch.diag_embed(self.lam[:, None] + self.idle)
        L, failed = torch.linalg.cholesky_ex(StS / n + shift)
        W = torch.cholesky_solve(StY / n, L)
        left = (self.YtY - (W * (2 * StY - StS @ W)).sum((1, 2))).clamp(min=0)
        odd = (failed != 0) | ~(left > CANCELLED * self.YtY)
        mse = left / self.n
        loss = mse + self.lam * (A.square().sum((1, 2)) + W.square().sum((1, 2)))
        return Points(A, W, loss, mse, StS, StY, odd)

    def balance(self, points: Points) -> Points:
        """a_j → s a_j, b_j → b_j / s with equal norms, as often as that lowers the penalty."""
        going = ~points.odd
        for _ in range(EVENINGS):
            norm_a, norm_b = points.A.norm(dim=1), points.W[:, :-1].norm(dim=2)  # (m, h)
            live = (norm_a > 0) & (norm_b > 1e-6 * norm_b.amax(1, keepdim=True))
            s = torch.where(live, (norm_b / norm_a).sqrt(), 1.0)
            t = torch.cat([s, torch.ones_like(s[:, :1])], 1)[:, :, None]  # (m, h + 1, 1)
            other = self.points(points.A * s[:, None], t * points.StS * t.mT, t * points.StY)
            gain = points.loss - other.loss
            better = going & (gain >= 0)
            points = points.replaced(better, other)
            going = better & (gain > SETTLED * points.loss)
            if not going.any():
                break
        return points


def taken(steps: Sequence[DampedStep], rows: StackedRows) -> list[Visit | None]:
    """What steps of one kind come to; None for one that has to be made alone."""
    descent, points = steps[0].descent, [step.point for step in steps]
    A, W = padded([point.A for point in points]), padded_outputs([point.W for point in points])
    before = padded([step.point.A if step.before is None else step.before for step in steps])
    units = [point.A.shape[1] for point in points]
    idle = A.new_tensor([[0.0] * h + [1.0] * (max(units) - h) + [0.0] for h in units])
    lam = A.new_tensor([step.descent.problem.lam for step in steps])
    slabs, slope = rows.slabs, descent.problem.slope
    terms = Terms(lam, idle, slabs.n, slabs.YtY)
    g = slabs.gradient(A, W, slope) / slabs.n[:, None, None] - lam[:, None, None] * A
    here = curved(rows.curved, Layers(A, W, before, lam, idle), slope)
    formed = descent.forms_matrix(points[0])
    curvature = here.matrices() if formed else here.products(rows.curved)
    search = Dampings(steps, slabs)
    best = terms.balance(search.run(terms, curvature, A, g))
    norm = g.square().sum((1, 2)).sqrt()
    numbers = torch.stack([best.loss, best.mse, best.odd, norm, here.flips], 1)
    numbers = torch.cat([numbers, here.fired], 1).cpu()  # waits for all that was asked for
    return [search.visit(k, best, numbers[k]) for k in range(len(steps))]


class Dampings:
    """For each network the first damping that helps, raised faster and faster while none does.

    Before it is raised, shorter steps that conjugate gradients came by are tried (`search`).
    """

    def __init__(self, steps: Sequence[DampedStep], slabs: Slabs) -> None:
        self.steps, self.slabs, m = steps, slabs, len(steps)
        self.mu, self.grow = [step.mu for step in steps], [FACTOR] * m
        self.next = [step.mu for step in steps]  # where the damping of the next step begins
        self.helped, self.odd = [False] * m, [False] * m

    def run(self, terms: Terms, curvature: Curvatures, A: Tensor, g: Tensor) -> Points:
        """The points come to, which mean nothing for networks that no damping helps."""
        problem, todo, live = self.steps[0].descent.problem, [*range(len(A))], 1 - terms.idle
        found: Points | None = None
        while todo:
            mu = curvature.D.new_tensor([self.mu[k] for k in todo])[:, None, None]
            V, way = curvature.solve(g, mu)
            shorter = False
            while todo:
                there = A + (live[:, None, :-1] * V).to(problem.backend.dtype)
                sums = self.slabs.output(todo, there, problem.slope, problem.rough)
                new = terms.points(there, *sums)
                if found is None:
                    found = new
                else:
                    found.put(todo, new)
                left = self.judge(todo, new, shorter, last=not way)
                if len(left) < len(todo):
                    terms, curvature = terms.only(left), curvature.only(left)
                    A, g, live, way = A[left], g[left], live[left], [U[left] for U in way]
                    todo = [todo[i] for i in left]
                if not way:
                    break
                V, shorter = way.pop(), True
        assert found is not None
        return found

    def judge(self, todo: Sequence[int], new: Points, shorter: bool, last: bool) -> list[int]:
        """Take notice of what a step came to; the places of those that go on to another.

        After the last of a damping that is raised.
        """
        left = []
        for i, (loss, odd) in enumerate(torch.stack([new.loss, new.odd], 1).tolist()):
            k = todo[i]
            self.odd[k] = bool(odd)
            self.helped[k] = not odd and loss < self.steps[k].point.loss
            if not self.odd[k] and not self.helped[k]:
                if last:
                    self.mu[k], self.grow[k] = self.mu[k] * self.grow[k], self.grow[k] * 1.5
                if self.mu[k] < MOST:
                    left.append(i)
            elif shorter:
                self.next[k] = FACTOR**2 * self.mu[k]
            else:
                self.next[k] = self.mu[k] / (FACTOR if self.grow[k] == FACTOR else 1.0)
        return left

    def visit(self, k: int, best: Points, numbers: Tensor) -> Visit | None:
        """What a step came to: its point, or the one that it started from; None if it is odd."""
        step, h = self.steps[k], self.steps[k].point.A.shape[1]
        loss, mse, odd, norm, flips = numbers[:5].tolist()
        if self.odd[k] or (odd and self.helped[k]):
            return None
        point, mu = step.point, self.next[k] if self.helped[k] else step.mu
        if self.helped[k]:
            A, (W, StS, StY) = best.A[k, :, :h].contiguous(), best.outputs(k, h)
            point = Point(A, W, loss, mse, OutputStats(point.sums.n, StS, StY, point.sums.YtY))
        counts = Counts(numbers[5 : 5 + h], flips, float(len(step.descent.rows.source)), 0.0)
        facts = {"damping": max(mu, LEAST), "gradient": norm, "stuck": float(not self.helped[k])}
        return Visit(point, counts=counts, facts=facts)
