"""Which inputs a new unit sees, where it may see few of them.

A unit that points along w has the correlation c(w) = Σ_i σ(x̃_i w) r_i with the residual r, whose
gradient, the *pull*, is Σ_i G_i r_i x̃_i over the rows where the unit fires. From a start w

    pull ← Σ_i G_i r_i x̃_i             over all inputs
    w    ← the k largest entries of it, zero elsewhere

a few times over: each turn may drop inputs and add others. An entry that chance explains is left
out, though it be among the largest: with m starts and d inputs that have no part in r, the largest
pull is about √(2 ln md) of its standard deviation, and with u inputs, those in use already,
√(2 ln u). A unit without a pull above that does not enter.

A unit starts as a hinge on one of the inputs that by themselves, or bent at their mean, correlate
most with the residual, or as a random hyperplane in a few inputs drawn by that and by what the
network uses already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anmin.network import activate, gain
from anmin.solvers.connections import Connections
from anmin.solvers.hyperplanes import through_rows
from anmin.sources.sparse import hinge_sums, square_sums

TURNS = 3
ALIKE = 0.97  # cosine between units that are the same


@dataclass(frozen=True, slots=True)
class Wiring:
    """New units for rows X (n, p) with a residual R (n, q), beside those of a network."""

    connections: Connections
    X: np.ndarray
    R: np.ndarray
    A: np.ndarray  # (p, units) of the network
    B: np.ndarray  # (units, q)
    slope: float = 0.0

    def units(self, count: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Unit neurons, and how much each correlates with the residual: (p, count), (count,)."""
        X, R, n = self.X, self.R, self.X[:, 0] @ self.X[:, 0]
        D, within = self.seeds(count, rng)
        real = np.ones(count, dtype=bool)
        W = through_rows(X, D, (R * R).sum(1), rng)
        for turn in range(TURNS + 1):
            W /= np.maximum(np.linalg.norm(W, axis=0), 1e-300)
            P = X @ W
            c = activate(P, self.slope).T @ R / n  # (count, q)
            found = np.linalg.norm(c, axis=1)
            if turn < TURNS:
                U = gain(P > 0, self.slope) * (R @ (c / np.maximum(found, 1e-300)[:, None]).T)
                W = X.T @ U
                if within is None:
                    on, real = self.strongest(W[1:], U)
                W[1:] *= on if within is None else within
        return W, found * real

    def strongest(self, W: np.ndarray, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which k of the pulls W (d, count) exceed chance by most; the first anyway.

        Also whether any exceeds it. U (n, count) is what W = XᵀU pulls with. Its deviation is
        that of the rows where an input is not zero: three rows of a rare word prove nothing.
        """
        (d, count), k = W.shape, self.connections.most
        known = self.A[1:].any(axis=1)
        tried = np.where(known, 1 + known.sum(), d * count)
        chance = np.sqrt(2 * np.log(tried)[:, None] * square_sums(self.X, (U / self.X[:, :1]) ** 2))
        size, columns = np.abs(W) / np.maximum(chance, 1e-300), np.arange(count)
        largest = np.argpartition(-size, min(k, d - 1), axis=0)[:k]  # (k, count)
        on = np.zeros(W.shape, dtype=bool)
        on[largest, columns] = size[largest, columns] > 1
        real = on.any(axis=0)
        on[size.argmax(0), columns] = True
        return on, np.asarray(real)

    def seeds(self, count: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray | None]:
        """Normals to start from, and where each may be other than zero: (d, count)."""
        d, k, mask = len(self.A) - 1, self.connections.most, self.connections.mask
        if mask is not None:
            free = self.connections.free(self.A)
            within = mask[:, free[np.arange(count) % max(len(free), 1)]]
            return within * rng.standard_normal(within.shape), within
        score, chance = self.scores(), 2 * np.log(max(d, 2))
        single = count // 2
        order = np.argsort(-score, kind="stable")[: max(single // 2, 1)]
        D = np.zeros((d, count))
        at = np.arange(single)
        D[order[at % len(order)], at] = np.where(at // len(order) % 2, -1.0, 1.0)
        odds = np.maximum(score**2 - chance, 1e-3) + self.used() * max(score.max() ** 2, chance)
        keys = np.log(odds) + rng.gumbel(size=(count - single, d))
        sizes = rng.randint(1, k + 1, size=count - single)
        for i, (key, size) in enumerate(zip(keys, sizes, strict=True)):
            inputs = np.argpartition(-key, size - 1)[:size]
            D[inputs, single + i] = rng.standard_normal(size)
        return D, None

    def scores(self) -> np.ndarray:
        """Of each input x, the most that x, σ(x) or σ(−x) correlates with r, in deviations."""
        X, R, n = self.X, self.R, self.X[:, 0] @ self.X[:, 0]
        line = (X.T @ np.column_stack([R, X[:, 0]]))[1:]  # (d, q + 1): with R, and with 1
        power = square_sums(X, ((R / X[:, :1]) ** 2).sum(1, keepdims=True))[:, 0]
        bent, size = hinge_sums(X, R)
        best = np.zeros(len(power))
        for f, noise in ((line, power), (bent, size), (bent - line, power - size)):
            away = np.linalg.norm(f[:, :-1] - f[:, -1:] * (X[:, 0] @ R / n), axis=1)
            some = noise > 1e-12 * power.max(initial=0.0)
            best = np.maximum(best, away / np.sqrt(np.where(some, noise, np.inf)))
        return best

    def used(self) -> np.ndarray:
        """How much the network uses each input, relative to the most used: (d,)."""
        use = ((self.A[1:] * np.linalg.norm(self.B, axis=1)) ** 2).sum(1)
        return use / max(use.max(initial=0.0), 1e-300)


def first_units(
    connections: Connections, X: np.ndarray, Y: np.ndarray, h: int, slope: float,
    rng: np.random.RandomState,
) -> np.ndarray:  # fmt: skip
    """h units that point where Y is, different ones first: (p, h)."""
    none = np.zeros((X.shape[1], 0)), np.zeros((0, Y.shape[1]))
    root = X[:, :1]
    R = Y - root * (root.T @ Y) / (root.T @ root)
    W, found = Wiring(connections, X, R, *none, slope).units(max(4 * h, 64), rng)
    W = W[:, np.argsort(-found)]
    chosen = different(W, h, connections, none[0])
    rest = [i for i in range(W.shape[1]) if i not in set(chosen)]
    for i in rest:
        if len(chosen) == h:
            break
        if connections.hold(W[:, [*chosen, i]]):
            chosen.append(i)
    return W[:, chosen]


def different(
    W: np.ndarray, most: int, connections: Connections | None, A: np.ndarray
) -> list[int]:  # fmt: skip
    """The first columns of W, at most so many, that differ, and that a mask has room for by A."""
    chosen: list[int] = []
    for i in range(W.shape[1]):
        if len(chosen) == most:
            break
        if chosen and np.abs(W[:, i] @ W[:, chosen]).max() >= ALIKE:
            continue
        if connections is None or connections.hold(np.hstack([A, W[:, [*chosen, i]]])):
            chosen.append(i)
    return chosen
