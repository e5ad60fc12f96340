"""Random rows, by their number, and folds that keep copies of a row together.

Draws depend on the number of rows and on the seed, folds also on which rows are equal, never on how
the rows are stored or cut into chunks. Up to `TABLE` rows folds come from a shuffled table of
groups, where a group is a row with its copies: held out they say nothing about new rows while
a copy stays among the others, and a row that comes twice is to count as a row of weight two.
But where equal X come with different Y, as in a table of few levels, equal rows are chance: held
out together they would leave their X to rows of other Y alone, and each is a group of its own.
Beyond it no table is made: a draw repeats until it has enough different numbers, and the fold of a
row is read off its content.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse

from anmin.backends.compiled import kernels
from anmin.sources.chunk import within

if TYPE_CHECKING:
    from anmin.sources.chunk import Chunk

TABLE = 2**20
BLOCK = 512  # rows whose keys are made at a time


class Keep(Protocol):
    """Which rows belong to a part."""

    def __call__(self, first: int, chunk: Chunk) -> np.ndarray:
        """Places in the chunk of those among its rows, the first of which has number `first`."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The rows that a source has beside its own, to judge on; none of its own."""

    def __call__(self, first: int, chunk: Chunk) -> np.ndarray:  # noqa: ARG002
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


def keys(chunk: Chunk, seed: int = 0) -> np.ndarray:
    """64 random bits for each row: the same for equal X and Y, else others.

    >>> import numpy as np
    >>> from anmin.sources.chunk import Chunk
    >>> from anmin.sources.draws import keys
    >>> a, b, c = keys(Chunk(np.array([[1.0, 0.0], [1.0, -0.0], [0.0, 1.0]]), np.zeros((3, 1))))
    >>> bool(a == b), bool(a == c)
    (True, False)
    """
    x, y = input_and_target_sums(chunk, seed)
    return mixed(x + y)


def row_and_input_keys(chunk: Chunk) -> np.ndarray:
    """The keys of the rows, and those of X alone: (n, 2)."""
    x, y = input_and_target_sums(chunk)
    return np.column_stack([mixed(x + y), mixed(x)])


def input_and_target_sums(chunk: Chunk, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random bits for X and for Y, each row's: sums over their columns, of which zeros are none."""
    d, q = chunk.width
    factor = np.random.Philox(key=seed).random_raw(d + q) | np.uint64(1)
    sums = sparse_sums if issparse(chunk.X) else dense_sums
    return sums(chunk.X, factor[:d]), sums(chunk.Y, factor[d:])


def dense_sums(V: np.ndarray, factor: np.ndarray) -> np.ndarray:
    found, compiled = np.zeros(len(V), dtype=np.uint64), kernels()
    size = within(BLOCK, 8 * V.shape[1])
    for i in range(0, len(V) if V.shape[1] else 0, size):
        block, total = V[i : i + size], found[i : i + size]
        bits = np.add(block, 0.0, dtype=np.float64, order="C").view(np.uint64)  # −0 is 0
        if compiled is None:
            total[:] = mixed(mixed(bits) * factor).sum(axis=1)
        else:
            compiled.mixed_sums(bits, factor, total)
    return found


def sparse_sums(S: Any, factor: np.ndarray) -> np.ndarray:
    S = csr_array(S, dtype=np.float64)
    bits = mixed(mixed((S.data + 0.0).view(np.uint64)) * factor[S.indices])
    found = np.zeros(S.shape[0], dtype=np.uint64)
    np.add.at(found, np.repeat(np.arange(len(found)), np.diff(S.indptr)), bits)
    return found


def mixed(bits: np.ndarray) -> np.ndarray:
    """Every bit of the result depends on all bits, and different numbers stay different."""
    bits = bits ^ (bits >> np.uint64(32))
    bits *= np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / golden ratio
    bits ^= bits >> np.uint64(29)
    return bits


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows of these numbers, in order; one that comes twice counts twice."""

    rows: np.ndarray

    def __call__(self, first: int, chunk: Chunk) -> np.ndarray:
        begin, end = np.searchsorted(self.rows, [first, first + len(chunk)])
        return self.rows[begin:end] - first


@dataclass(frozen=True, slots=True)
class Fold:
    """The k-th share of all rows, or all but it, by the keys of the rows."""

    seed: int
    share: float
    k: int
    inside: bool

    def __call__(self, first: int, chunk: Chunk) -> np.ndarray:  # noqa: ARG002
        u = keys(chunk, self.seed) / 2.0**64
        return np.flatnonzero((np.floor(u / self.share) == self.k) == self.inside)


def rule(part: Part) -> Keep:
    """A part as a rule."""
    return Chosen(np.sort(part)) if isinstance(part, np.ndarray) else part


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows together with their copies; `of_row` is None where the rows are too many for a table."""

    count: int
    of_row: np.ndarray | None

    @classmethod
    def of(cls, keys: np.ndarray, inputs: np.ndarray | None = None) -> Groups:
        """Groups of equal keys, numbered in the order in which they first come.

        Rows whose inputs, by keys of their own, come in different rows are groups of their own.
        """
        ordered, each = np.sort(keys), np.arange(len(keys))
        if (ordered[1:] != ordered[:-1]).all():  # as in most tables
            return cls(len(keys), each)
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        if inputs is not None:
            x = np.unique(inputs, return_inverse=True)[1]
            chance = np.bincount(x[first])[x] > 1
            if chance.any():
                group = np.where(chance, len(first) + each, group)
                _, first, group = np.unique(group, return_index=True, return_inverse=True)
        return cls(len(first), np.argsort(np.argsort(first))[group])

    def folds(
        self, share: float, folds: int, rng: np.random.RandomState
    ) -> list[tuple[Part, Part]]:  # fmt: skip
        """Up to `folds` times another share of the rows held out: the others, and those.

        >>> import numpy as np
        >>> from anmin.sources.draws import Groups
        >>> [(train, out)] = Groups.of(np.arange(10)).folds(0.2, 1, np.random.RandomState(0))
        >>> len(train), len(out)
        (8, 2)
        """
        m = self.count
        if self.of_row is None:
            seed, most = int(rng.randint(2**31)), max(1, int(1 / share))
            return [
                (Fold(seed, share, k, False), Fold(seed, share, k, True))
                for k in range(min(folds, most))
            ]
        size = max(1, min(round(share * m), m - 1))
        part = np.empty(m, dtype=int)
        part[rng.permutation(m)] = np.arange(m) // size
        folds, part = min(folds, part.max() + 1 if m > 1 else 0), part[self.of_row]
        return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(folds)]
