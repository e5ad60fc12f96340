"""The CPU: NumPy arrays, SciPy's BLAS and LAPACK, and one thread a core.

Sums over rows are formed in blocks of `BLOCK` rows, groups of blocks by one thread, and both are
added in order. BLAS itself is held to one thread during a fit (`session`). So the number of cores
changes no bit of a sum, and a busy machine slows a fit down no more than its share. Batches are
multiples of `BLOCK`: their size changes a sum by rounding alone, and only where there are several.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import AbstractContextManager
from functools import partial, reduce
from itertools import pairwise
from operator import iadd
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from anmin import network
from anmin.backends import pair_tables
from anmin.backends.compiled import fused, kernels
from anmin.backends.protocol import WIDE, Array, Groups, Sum
from anmin.backends.threads import in_parallel, one_thread, pool, usable_cores

T = TypeVar("T")
Share = TypeVar("Share")
BLOCK = 1024  # rows that stay in the cache
GROUP = 4 * BLOCK  # rows that are summed up by one thread, at most
AHEAD = 2  # such sums that a thread makes before they are added to those of others
SUBBLOCK = {8: 256, 4: 1024}  # rows, by bytes a number: found by trial
PAIR_BYTES = 2**26  # of pairwise products held by a thread
FEW_ROWS = 512  # below which tables cost more than products
KEEP = 2**28
WORKING = 2**28
SCRATCH = 2**19  # numbers that stay in the cache while rows are prepared


class NumpyBackend:
    """Arithmetic on the CPU, the rows in one floating-point type."""

    stacks = False

    def __init__(
        self, dtype: str = "float64", threads: int | None = None, group: int = GROUP
    ) -> None:  # fmt: skip
        self.dtype = np.dtype(dtype)
        self.threads = threads  # None: one a core
        self.group = group  # rows that a thread takes at a time, at most

    @property
    def workers(self) -> int:
        return usable_cores() if self.threads is None else self.threads

    @property
    def side_by_side(self) -> int:
        return self.workers

    @property
    def working(self) -> int:
        return WORKING

    scratch = SCRATCH

    @property
    def room(self) -> int:
        return KEEP

    def batch(self, n: int, most: int) -> int:  # noqa: ARG002
        return most

    @property
    def looks_up(self) -> bool:
        return kernels() is not None

    def single(self) -> NumpyBackend:
        if self.dtype == np.float32:
            return self
        return NumpyBackend("float32", self.threads, self.group)

    def for_width(self, p: int) -> NumpyBackend:
        """Batches of very wide rows hold few blocks, and each thread takes one at a time."""
        return NumpyBackend(str(self.dtype), self.threads, BLOCK) if p > WIDE else self

    def session(self) -> AbstractContextManager[None]:
        return one_thread()

    def eps(self, array: np.ndarray) -> float:
        return float(np.finfo(array.dtype).eps)

    def asarray(self, values: npt.ArrayLike) -> np.ndarray:
        return np.ascontiguousarray(values, dtype=self.dtype)

    def double(self, values: npt.ArrayLike) -> np.ndarray:
        if hasattr(values, "implicit"):  # rows that are never formed stay as they are
            return values.astype(np.float64)  # type: ignore[union-attr]
        return np.asarray(values, dtype=np.float64)

    def integers(self, values: np.ndarray) -> np.ndarray:
        return values

    def carried(self, array: np.ndarray) -> np.ndarray:
        return array

    def to_numpy(self, array: np.ndarray) -> np.ndarray:
        return np.asarray(array, dtype=np.float64)

    def zeros(self, *shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=self.dtype)

    def empty(self, *shape: int) -> np.ndarray:
        return np.empty(shape, dtype=self.dtype)

    def shifted(self, M: np.ndarray, shift: float) -> np.ndarray:
        M = M.copy()
        M.reshape(-1)[:: len(M) + 1] += M.dtype.type(shift)
        return M

    def contiguous(self, array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array)

    def append_column(self, left: np.ndarray, column: np.ndarray) -> np.ndarray:
        return np.column_stack([left, column])

    def where(self, test: Array, yes: Array | float, no: Array | float) -> np.ndarray:
        return np.where(test, yes, no)

    # ---- rows -----------------------------------------------------------------------------

    def sum_over_blocks(self, part: Callable[[slice], Sum], n: int) -> Sum:
        """Σ part(rows): blocks are added within their group, and then the groups, in order."""

        def group(rows: slice) -> Sum:
            starts = range(rows.start, rows.stop, BLOCK)
            blocks = (slice(start, min(start + BLOCK, rows.stop)) for start in starts)
            return reduce(iadd, map(part, blocks))  # in place: a part is new

        return reduce(iadd, self.map_groups(group, n))

    def sum_over_groups(self, part: Callable[[slice], Sum], n: int) -> Sum:
        """Σ part(rows) over groups of blocks, added in order: for parts that go by blocks."""
        return reduce(iadd, self.map_groups(part, n))

    def fused(self, X: Any) -> Any:
        module = fused()
        return None if module is None else module.FusedRows.of(X)

    def one_sweep(self, X: Array, G: Array, L: Array, V: Array) -> None:
        """None: a block of rows stays in the cache for both sweeps."""

    def map_groups(self, group: Callable[[slice], Sum], n: int) -> Iterator[Sum]:
        """group(rows) for each group of blocks, computed in parallel, yielded in order.

        Several are an even number, of as many blocks but for one, so that two threads end at once.
        """
        blocks, count = -(-n // BLOCK), -(-n // self.group)
        count += count % 2 if 1 < count < blocks else 0
        edges = [min(i * blocks // max(count, 1) * BLOCK, n) for i in range(count + 1)]
        groups = [slice(*pair) for pair in pairwise(edges)]
        if len(groups) == 1 or not in_parallel(workers := self.workers):
            yield from map(group, groups)
            return
        for start in range(0, len(groups), AHEAD * workers):
            some = groups[start : start + AHEAD * workers]
            shares = [some[k::workers] for k in range(min(workers, len(some)))]
            found = shared_out(lambda share: [group(rows) for rows in share], shares, workers)
            yield from (found[k % workers][k // workers] for k in range(len(some)))

    def each_block(self, part: Callable[[slice], None], n: int) -> None:
        def share(blocks: slice) -> None:
            for start in range(blocks.start * BLOCK, min(blocks.stop * BLOCK, n), BLOCK):
                part(slice(start, min(start + BLOCK, n)))

        blocks = -(-n // BLOCK)
        if n <= self.group:  # too few to hand over
            share(slice(0, blocks))
        else:
            self.each_share(share, blocks)

    def each_group(self, part: Callable[[slice], None], n: int) -> None:
        for _ in self.map_groups(part, n):
            pass

    def each_share(self, part: Callable[[slice], None], n: int) -> None:
        """part(items) for equal shares of n items, one thread a core."""
        if n == 1 or not in_parallel(workers := self.workers):
            part(slice(0, n))
            return
        edges = np.linspace(0, n, min(workers, n) + 1).astype(int)
        shared_out(part, [slice(*pair) for pair in pairwise(edges)], workers)

    def fires(self, X: np.ndarray, A: np.ndarray) -> np.ndarray:
        F = np.empty((len(X), A.shape[1]), dtype=bool)  # (n, h)

        def part(rows: slice) -> None:
            np.greater(X[rows] @ A, 0, out=F[rows])

        self.each_block(part, len(X))
        return F

    def gain(self, F: np.ndarray, slope: float) -> np.ndarray:
        return network.gain(F, slope, self.dtype)

    def activate(self, P: np.ndarray, slope: float) -> np.ndarray:
        return network.activate(P, slope)

    # ---- products of pairs ----------------------------------------------------------------

    def pairs(self, V: np.ndarray) -> np.ndarray:
        Vt = np.ascontiguousarray(V.T)  # (m, n)
        m, n = Vt.shape
        out = np.empty((m * (m + 1) // 2, n), dtype=Vt.dtype)
        at = 0
        for j in range(m):
            np.multiply(Vt[j], Vt[j:], out=out[at : at + m - j])
            at += m - j
        return out

    def table_sums(
        self, F: np.ndarray, products: Callable[[slice], np.ndarray], slope: float
    ) -> np.ndarray | None:
        """By compiled tables; None where there is no compiler, or too few rows."""
        if len(F) < FEW_ROWS or kernels() is None:
            return None
        return pair_tables.pair_sums(F, products, slope, self.each_share)

    def row_pairs(self, V: np.ndarray) -> np.ndarray:
        out = np.empty((len(V), V.shape[1] * (V.shape[1] + 1) // 2), dtype=V.dtype)
        compiled = kernels()
        if compiled is None:
            out[:] = self.pairs(V).T
        else:
            self.each_share(lambda rows: compiled.row_pairs(V[rows], out[rows]), len(V))
        return out

    def add_product(self, total: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        total += left @ right.T  # not SciPy's gemm, whose wrapper would hold up other threads

    def subblocks(self, rows: slice, width: int) -> Iterator[slice]:
        """Pieces large enough to keep threads apart, small enough for the memory."""
        fit = PAIR_BYTES // (self.dtype.itemsize * width)
        size = max(32, min(SUBBLOCK[self.dtype.itemsize], fit))
        for start in range(rows.start, rows.stop, size):
            yield slice(start, min(start + size, rows.stop))

    # ---- cells ----------------------------------------------------------------------------

    def group_rows(self, F: np.ndarray) -> tuple[np.ndarray, Groups]:
        n, h = F.shape
        bits = np.packbits(F, axis=1)  # (n, ⌈h/8⌉)
        words = np.zeros((n, -(-h // 64) * 8), dtype=np.uint8)
        words[:, : bits.shape[1]] = bits
        codes = words.view(np.uint64)  # (n, ⌈h/64⌉)
        compiled = kernels()
        if compiled is not None:
            cell, first = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
            return first[: compiled.group(codes, cell, first)], (cell,)
        order = np.argsort(codes[:, 0]) if codes.shape[1] == 1 else np.lexsort(codes.T)
        new = np.any(codes[order[1:]] != codes[order[:-1]], axis=1)
        starts = np.concatenate(([0], np.flatnonzero(new) + 1))
        return order[starts], (order, starts)

    def sum_groups(self, V: np.ndarray, groups: Groups, k: int) -> np.ndarray:
        compiled = kernels()
        if compiled is None:
            order, starts = groups
            return np.add.reduceat(V[order], starts, axis=0)
        out = np.zeros((k, V.shape[1]), dtype=V.dtype)
        compiled.add_rows(V, *groups, out)
        return out

    def count(self, F: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, int]:
        compiled = kernels()
        if compiled is None:
            return np.count_nonzero(F, axis=0), int(np.count_nonzero(before != F))
        fired = np.zeros(F.shape[1], dtype=np.intp)
        return fired, compiled.count(F, before, fired)

    # ---- symmetric systems ----------------------------------------------------------------

    def cholesky(self, M: np.ndarray) -> np.ndarray | None:
        potrf = lapack.dpotrf if M.dtype == np.float64 else lapack.spotrf
        L, info = potrf(M, lower=1)
        return L if info == 0 and np.isfinite(L[-1, -1]) else None

    def cho_solve(self, L: np.ndarray, c: np.ndarray) -> np.ndarray:
        potrs = lapack.dpotrs if L.dtype == np.float64 else lapack.spotrs
        return potrs(L, c, lower=1)[0].reshape(c.shape)

    def triangular_inverse(self, L: np.ndarray) -> np.ndarray:
        trtri = lapack.dtrtri if L.dtype == np.float64 else lapack.strtri
        return trtri(L, lower=1)[0]

    def logdet(self, L: np.ndarray) -> float:
        return 2.0 * float(np.log(np.diagonal(L).astype(np.float64)).sum())

    def condition(self, M: np.ndarray, L: np.ndarray) -> float:
        pocon = lapack.dpocon if L.dtype == np.float64 else lapack.spocon
        norm = float(np.abs(M).sum(axis=0).max())
        rcond = float(pocon(L, norm, uplo="L")[0])
        return 1.0 / rcond if rcond > 0 else np.inf

    def eigh(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.linalg.eigh(M)  # not SciPy's, which would hold up other threads

    def orthonormal(self, V: np.ndarray) -> np.ndarray:
        return np.linalg.qr(V)[0]


def shared_out(part: Callable[[Share], T], shares: list[Share], workers: int) -> list[T]:
    """part(share) of each: the first here, each of the others in a thread.

    Overflow is handled there as here. None is left at work, whatever happens to another.
    """
    job = partial(as_here, np.geterr(), part)
    others = [pool(workers, os.getpid()).submit(job, share) for share in shares[1:]]
    try:
        return [part(shares[0]), *(other.result() for other in others)]
    finally:
        wait(others)


def as_here(handled: Any, part: Callable[[Share], T], share: Share) -> T:
    with np.errstate(**handled):
        return part(share)
