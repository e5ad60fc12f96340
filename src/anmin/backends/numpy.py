"""The CPU: NumPy arrays, SciPy's BLAS and LAPACK, and one thread a core.

Sums over rows are formed in blocks of `BLOCK` rows, each block by one thread, and the blocks are
added in order. BLAS itself is held to one thread during a fit (`session`), but for systems large
enough to gain from more. So neither the number of cores nor the size of a batch (a multiple of
`BLOCK`) changes a single bit of a sum, and a busy machine slows a fit down no more than its share.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import pairwise
from threading import current_thread
from typing import Any

import numpy as np
from scipy.linalg import eigh, lapack
from threadpoolctl import ThreadpoolController

from anmin.backends import tables
from anmin.backends.compiled import kernels

BLOCK = 1024
SUBBLOCK = {8: 256, 4: 1024}  # rows, by bytes a number: found by trial
PAIR_BYTES = 2**26  # of pairwise products held by a thread
LARGE = 2048  # unknowns from which LAPACK gets all cores
FEW_ROWS = 512  # below which tables cost more than products
THREADS = "anmin-rows"  # the name of those that share the rows
KEEP = 2**28
WORKING = 2**28


def usable_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001, a fork needs its own
    """Threads that stay: starting them takes longer than a thin pass over a block."""
    return ThreadPoolExecutor(workers, THREADS)


def in_parallel(workers: int) -> bool:
    """Whether to share work out: not from within one of the threads that do it."""
    return workers > 1 and not current_thread().name.startswith(THREADS)


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()


def _all_cores(n: int) -> AbstractContextManager:
    """All cores for LAPACK on a system of n unknowns, if it is large."""
    return _threadpools().limit(limits=usable_cores()) if n >= LARGE else nullcontext()


class NumpyBackend:
    """Arithmetic on the CPU in one floating-point type."""

    def __init__(self, dtype: str = "float64") -> None:
        self.dtype = np.dtype(dtype)

    @property
    def eps(self) -> float:
        return float(np.finfo(self.dtype).eps)

    @property
    def working(self) -> int:
        """Bytes that a batch and what is computed from it may take."""
        return WORKING

    @property
    def room(self) -> int:
        """Bytes of prepared rows that may be kept beside the input."""
        return KEEP

    def single(self) -> NumpyBackend:
        """The same device in single precision."""
        return NumpyBackend("float32")

    def session(self) -> AbstractContextManager:
        """Hold BLAS to one thread: rows are shared out among threads here."""
        return _threadpools().limit(limits=1, user_api="blas")

    def asarray(self, values: Any) -> np.ndarray:
        return np.ascontiguousarray(values, dtype=self.dtype)

    def double(self, values: Any) -> np.ndarray:
        """Raw values in full precision, whatever the arithmetic of the fit."""
        return np.asarray(values, dtype=np.float64)

    def integers(self, values: np.ndarray) -> np.ndarray:
        return values

    def to_numpy(self, array: np.ndarray) -> np.ndarray:
        return np.asarray(array, dtype=np.float64)

    def zeros(self, *shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=self.dtype)

    def empty(self, *shape: int) -> np.ndarray:
        return np.empty(shape, dtype=self.dtype)

    def shifted(self, M: np.ndarray, shift: float) -> np.ndarray:
        """M + shift I, a copy."""
        M = M.copy()
        M.reshape(-1)[:: len(M) + 1] += self.dtype.type(shift)
        return M

    def contiguous(self, array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array)

    def append_column(self, left: np.ndarray, column: np.ndarray) -> np.ndarray:
        return np.column_stack([left, column])

    def where(self, test: np.ndarray, yes: Any, no: Any) -> np.ndarray:
        return np.where(test, yes, no)

    # ---- rows -----------------------------------------------------------------------------

    def sum_over_blocks(self, part: Callable[[slice], Any], n: int) -> Any:
        """Σ part(rows) over consecutive blocks of rows, in their order.

        `part` returns something that adds; it runs in one thread a core.
        """
        total = None
        for value in self.map_blocks(part, n):
            if total is None:
                total = value
            else:
                total += value
        return total

    def map_blocks(self, part: Callable[[slice], Any], n: int) -> Iterator[Any]:
        """part(rows) for each block of rows, computed in parallel, yielded in order."""
        blocks = [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]
        workers = usable_cores()
        if len(blocks) == 1 or not in_parallel(workers):
            yield from map(part, blocks)
            return
        pool = _pool(workers, os.getpid())
        waiting = [pool.submit(part, block) for block in blocks[:workers]]
        for block in blocks[workers:]:
            yield waiting.pop(0).result()
            waiting.append(pool.submit(part, block))
        yield from (job.result() for job in waiting)

    def each_block(self, part: Callable[[slice], None], n: int) -> None:
        """part(rows) for each block of rows, for what it writes."""
        for _ in self.map_blocks(part, n):
            pass

    def each_share(self, part: Callable[[slice], None], n: int) -> None:
        """part(items) for equal shares of n items, one thread a core."""
        workers = usable_cores()
        if n == 1 or not in_parallel(workers):
            part(slice(0, n))
            return
        edges = np.linspace(0, n, min(workers, n) + 1).astype(int)
        list(_pool(workers, os.getpid()).map(part, [slice(*pair) for pair in pairwise(edges)]))

    def fires(self, X: np.ndarray, A: np.ndarray) -> np.ndarray:
        """F = 1[X A > 0], as booleans."""
        F = np.empty((len(X), A.shape[1]), dtype=bool)  # (n, h)

        def part(rows: slice) -> None:
            np.greater(X[rows] @ A, 0, out=F[rows])

        self.each_block(part, len(X))
        return F

    def gain(self, F: np.ndarray, slope: float) -> np.ndarray:
        """G = (1 − slope) F + slope."""
        return F.astype(self.dtype) if slope == 0 else np.where(F, self.dtype.type(1), slope)

    def activate(self, P: np.ndarray, slope: float) -> np.ndarray:
        """σ(P) = max(P, slope · P)."""
        return np.maximum(P, 0 if slope == 0 else slope * P)

    # ---- products of pairs ----------------------------------------------------------------

    def pairs(self, V: np.ndarray) -> np.ndarray:
        """The products V_ij V_il of all pairs of columns j ≤ l: (n, m) → (m(m+1)/2, n)."""
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
        """Pair sums by compiled tables; None where there is no compiler, or too few rows."""
        if len(F) < FEW_ROWS or kernels() is None:
            return None
        return tables.pair_sums(F, products, slope, self.each_share)

    def row_pairs(self, V: np.ndarray) -> np.ndarray:
        """The same products, row by row: (n, m) → (n, m(m+1)/2)."""
        out = np.empty((len(V), V.shape[1] * (V.shape[1] + 1) // 2), dtype=V.dtype)
        compiled = kernels()
        if compiled is None:
            out[:] = self.pairs(V).T
        else:
            self.each_share(lambda rows: compiled.row_pairs(V[rows], out[rows]), len(V))
        return out

    def add_product(self, total: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        """total += left @ right.T; not SciPy's gemm, whose wrapper would hold up other threads."""
        total += left @ right.T

    def subblocks(self, rows: slice, width: int) -> Iterator[slice]:
        """`rows` in pieces: large enough to keep threads apart, small enough for the memory."""
        fit = PAIR_BYTES // (self.dtype.itemsize * width)
        size = max(32, min(SUBBLOCK[self.dtype.itemsize], fit))
        for start in range(rows.start, rows.stop, size):
            yield slice(start, min(start + size, rows.stop))

    # ---- cells ----------------------------------------------------------------------------

    def group_rows(self, F: np.ndarray) -> tuple[np.ndarray, Any]:
        """Equal rows of a boolean matrix: one of each kind, and the grouping for `sum_groups`."""
        n, h = F.shape
        bits = np.packbits(F, axis=1)  # (n, ⌈h/8⌉)
        words = np.zeros((n, -(-h // 64) * 8), dtype=np.uint8)
        words[:, : bits.shape[1]] = bits
        codes = words.view(np.uint64)  # (n, ⌈h/64⌉)
        compiled = kernels()
        if compiled is not None:
            cell, first = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
            return first[: compiled.group(codes, cell, first)], cell
        order = np.argsort(codes[:, 0]) if codes.shape[1] == 1 else np.lexsort(codes.T)
        new = np.any(codes[order[1:]] != codes[order[:-1]], axis=1)
        starts = np.concatenate(([0], np.flatnonzero(new) + 1))
        return order[starts], (order, starts)

    def sum_groups(self, V: np.ndarray, groups: Any, k: int) -> np.ndarray:
        """Σ of the rows of V over each of the k groups found by `group_rows`: (k, m)."""
        compiled = kernels()
        if compiled is None:
            order, starts = groups
            return np.add.reduceat(V[order], starts, axis=0)
        out = np.zeros((k, V.shape[1]), dtype=V.dtype)
        compiled.add_rows(V, groups, out)
        return out

    def count(self, F: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, int]:
        """How often each column of F is on, and how many entries differ from `before`."""
        compiled = kernels()
        if compiled is None:
            return np.count_nonzero(F, axis=0), int(np.count_nonzero(before != F))
        fired = np.zeros(F.shape[1], dtype=np.intp)
        return fired, compiled.count(F, before, fired)

    # ---- symmetric systems ----------------------------------------------------------------

    def cholesky(self, M: np.ndarray) -> np.ndarray | None:
        """The lower factor of M, or None where M is not positive definite."""
        potrf = lapack.dpotrf if M.dtype == np.float64 else lapack.spotrf
        with _all_cores(len(M)):
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
        """An estimate of the condition number of M in the 1-norm, from its factor."""
        pocon = lapack.dpocon if L.dtype == np.float64 else lapack.spocon
        norm = float(np.abs(M).sum(axis=0).max())
        rcond = float(pocon(L, norm, uplo="L")[0])
        return 1.0 / rcond if rcond > 0 else np.inf

    def eigh(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with _all_cores(len(M)):
            return eigh(M, driver="evd")
