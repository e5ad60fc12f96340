"""Random rows, by their number.

Draws and folds depend on the number of rows and on the seed, never on how the rows are stored or
cut into chunks. Up to `TABLE` rows they come from a shuffled table of numbers; beyond it no
table is made: a draw repeats until it has enough different numbers, and the fold of row i is
read off the i-th output of a counter-based generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

TABLE = 2**20


class Keep(Protocol):
    """Which rows belong to a part."""

    def __call__(self, first: int, n: int) -> np.ndarray:
        """Places, from 0 to n − 1, of those among the n rows from number `first` on."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The rows that a source has beside its own, to judge on; none of its own."""

    def __call__(self, first: int, n: int) -> np.ndarray:  # noqa: ARG002
        return np.empty(0, dtype=np.int64)


Part = np.ndarray | Keep  # row numbers, or a rule for them


def draw(n: int, k: int, rng: np.random.RandomState) -> np.ndarray:
    """k of the numbers below n, all different, in order; memory grows with k alone.

    >>> import numpy as np
    >>> from anmin.sources.draws import draw
    >>> draw(10**12, 3, np.random.RandomState(0)) < 10**12
    array([ True,  True,  True])
    """
    if n <= TABLE:
        return np.sort(rng.choice(n, k, replace=False))
    if 2 * k > n:
        return np.delete(np.arange(n), draw(n, n - k, rng))
    drawn = np.empty(0, dtype=np.int64)
    while True:
        drawn = np.concatenate([drawn, rng.randint(n, size=k, dtype=np.int64)])
        first = np.sort(np.unique(drawn, return_index=True)[1])  # of each number's draws
        if len(first) >= k:
            return np.sort(drawn[first[:k]])


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows of these numbers, in order; one that comes twice counts twice."""

    rows: np.ndarray

    def __call__(self, first: int, n: int) -> np.ndarray:
        begin, end = np.searchsorted(self.rows, [first, first + n])
        return self.rows[begin:end] - first


@dataclass(frozen=True, slots=True)
class Fold:
    """The k-th share of all rows, or all but it: row i by the i-th output of a generator."""

    seed: int
    share: float
    k: int
    inside: bool

    def __call__(self, first: int, n: int) -> np.ndarray:
        stream = np.random.Philox(key=self.seed)
        stream.advance(first // 4)  # four outputs a count
        u = stream.random_raw(n + first % 4)[first % 4 :] / 2.0**64
        return np.flatnonzero((np.floor(u / self.share) == self.k) == self.inside)


def rule(part: Part) -> Keep:
    """A part as a rule."""
    return Chosen(np.sort(part)) if isinstance(part, np.ndarray) else part


def random_folds(
    n: int, share: float, folds: int, rng: np.random.RandomState
) -> list[tuple[Part, Part]]:
    """Up to `folds` times another share of the rows held out: the others, and those.

    >>> import numpy as np
    >>> from anmin.sources.draws import random_folds
    >>> [(train, out)] = random_folds(10, 0.2, 1, np.random.RandomState(0))
    >>> len(train), len(out)
    (8, 2)
    """
    if n > TABLE:
        seed, most = int(rng.randint(2**31)), max(1, int(1 / share))
        return [
            (Fold(seed, share, k, False), Fold(seed, share, k, True))
            for k in range(min(folds, most))
        ]
    size = max(1, min(round(share * n), n - 1))
    part = np.empty(n, dtype=int)
    part[rng.permutation(n)] = np.arange(n) // size
    folds = min(folds, part.max() + 1 if n > 1 else 0)
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(folds)]
