"""Removing units that do nothing: the same predictions on the rows from a smaller network.

    dead          no output on any row: it never fires (slope 0), or its weights are zero
    switched off  the penalty has shrunk it: its part of the outputs is below `OFF` of y, in root
                  mean square over the rows
    duplicate     a_l = c a_j with c > 0, to `SAME`. Since σ(ct) = cσ(t), one unit does the work
                  of both, with b_j + c b_l

A merged unit is balanced, ‖a‖ = ‖b‖, so that the penalty cannot rise. The output layer is then
solved anew, which cannot make things worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anmin.network import Network
from anmin.solvers.problem import Point, Problem

OFF = 1e-8  # of the root mean square of y
SAME = 1e-6  # distance between unit directions a_j / ‖a_j‖
ROUNDING = 1e-9  # of the loss


@dataclass(frozen=True, slots=True)
class Tidy:
    """A point without idle units, and how many of each kind went."""

    point: Point
    dead: int = 0
    off: int = 0
    duplicates: int = 0


def tidy(problem: Problem, point: Point) -> Tidy:
    """`point` without dead, switched-off and duplicate units; it is never the worse for it.

    >>> import numpy as np
    >>> from anmin.backends import get_backend
    >>> from anmin.solvers import Problem
    >>> from anmin.solvers.tidy import tidy
    >>> from anmin.sources import ArraySource, Scaling
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> source = ArraySource(x, abs(x), None, Scaling.identity(1, 1), get_backend(), 50)
    >>> problem = Problem(source, lam=1e-3)
    >>> A = np.array([[0, 0, -2.0, 0], [1, -1, 1, 3]])  # |x|, one that never fires, a repeat
    >>> found = tidy(problem, problem.at(A))
    >>> found.point.A.shape[1], found.dead, found.duplicates
    (2, 1, 1)
    """
    net = problem.network(point)
    power = problem.backend.to_numpy(point.sums.StS).diagonal()[:-1]  # Σ_i S_ij²
    dead = power == 0
    part = np.sqrt(power) * np.linalg.norm(net.B, axis=1)
    off = ~dead & (part <= OFF * point.sums.YtY**0.5)
    groups = alike(net.A, np.flatnonzero(~dead & ~off))
    if len(groups) == len(power):
        return Tidy(point)
    less = merged(net, groups)
    W = problem.backend.double(np.vstack([less.B, less.b0]))
    smaller = problem.at(problem.backend.asarray(less.A), W)
    if smaller.loss > point.loss * (1 + ROUNDING):
        return Tidy(point)  # a system so close to singular that solving it anew is no gain
    smaller = replace(smaller, loss=min(smaller.loss, point.loss))
    repeats = sum(len(group) - 1 for group in groups)
    return Tidy(smaller, int(dead.sum()), int(off.sum()), repeats)


def alike(A: np.ndarray, units: np.ndarray) -> list[np.ndarray]:
    """`units` in groups whose columns of A point the same way."""
    V = A[:, units] / np.linalg.norm(A[:, units], axis=0)  # (p, k)
    near = V.T @ V > 1 - SAME
    free = np.ones(len(units), dtype=bool)
    groups = []
    for j in range(len(units)):
        if free[j]:
            others = np.flatnonzero(near[j] & free)
            same = others[np.linalg.norm(V[:, others] - V[:, [j]], axis=0) <= SAME]
            free[same] = False
            groups.append(units[same])
    return groups


def merged(net: Network, groups: list[np.ndarray]) -> Network:
    """The network with one unit a group, and no others."""
    A, B = np.empty((len(net.A), len(groups))), np.empty((len(groups), net.B.shape[1]))
    for k, group in enumerate(groups):
        A[:, k], B[k] = one_for_all(net.A[:, group], net.B[group])
    return Network(A, B, net.b0, net.slope)


def one_for_all(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The unit a, b that does the work of units of one direction u.

    Unit l puts out ‖a_l‖σ(x̃u)b_l, all of them σ(x̃u)β with β = Σ ‖a_l‖ b_l; balanced, ‖a‖² = ‖β‖.
    """
    if A.shape[1] == 1:
        return A[:, 0], B[0]
    size = np.linalg.norm(A, axis=0)
    work = size * np.linalg.norm(B, axis=1)
    u = (A / size) @ (work / work.sum())  # where rounding has parted them, by what each does
    beta = size @ B
    root = float(np.linalg.norm(beta)) ** 0.5 or 1.0
    return root * u, beta / root
