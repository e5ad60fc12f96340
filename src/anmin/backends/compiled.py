"""Loops over rows that NumPy has no call for, compiled by numba where it is installed.

They are written as plain Python; `kernels()` gives them compiled. None of them knows threads: the
backend hands each thread its share of the rows or of the tables.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np


@cache
def kernels() -> SimpleNamespace | None:
    """The functions of this file, compiled; None where numba is not installed."""
    try:
        from numba import njit
    except ImportError:
        return None
    loops = (row_pairs, fill_tables, add_rows, group, count)
    try:
        compiled = [njit(nogil=True, cache=True)(loop) for loop in loops]
    except RuntimeError:  # neither the package's folder nor the user's can be written to
        compiled = [njit(nogil=True)(loop) for loop in loops]
    return SimpleNamespace(**{loop.__name__: loop for loop in compiled})


def row_pairs(X, out):  # type: ignore[no-untyped-def]
    """The products X_ia X_ib for a ≤ b, row by row: (n, p) → (n, p(p+1)/2)."""
    for i in range(X.shape[0]):
        x, at = X[i], 0
        for a in range(X.shape[1]):
            for b in range(a, X.shape[1]):
                out[i, at] = x[a] * x[b]
                at += 1


def fill_tables(codes, first, second, V, T):  # type: ignore[no-untyped-def]
    """T[t, c] += V[i] for every row i, c the joint code of its groups first[t] and second[t]."""
    for t in range(len(first)):
        left, right, table = codes[first[t]], codes[second[t]], T[t]
        for i in range(V.shape[0]):
            total, v = table[np.uint64(16) * np.uint64(left[i]) + np.uint64(right[i])], V[i]
            for a in range(V.shape[1]):
                total[a] += v[a]


def add_rows(V, cell, out):  # type: ignore[no-untyped-def]
    """out[cell[i]] += V[i] for every row i."""
    for i in range(V.shape[0]):
        total, v = out[cell[i]], V[i]
        for a in range(V.shape[1]):
            total[a] += v[a]


def group(words, cell, first):  # type: ignore[no-untyped-def]
    """Number equal rows of `words` (n, m) alike, in the order they turn up, by hashing.

    `cell` (n,) gets the numbers, `first` (n,) the row where each turned up; returns how many.
    """
    n, m = words.shape
    size = 16
    while size < 2 * n:
        size *= 2
    slots, mask = np.full(size, -1, np.int64), np.uint64(size - 1)
    found = 0
    for i in range(n):
        key = np.uint64(0)
        for k in range(m):
            key = (key ^ words[i, k]) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        at = key & mask
        while True:
            c = slots[at]
            if c < 0:
                slots[at], first[found], cell[i] = found, i, found
                found += 1
                break
            same = True
            for k in range(m):
                same = same and words[first[c], k] == words[i, k]
            if same:
                cell[i] = c
                break
            at = (at + np.uint64(1)) & mask
    return found


def count(F, before, fired):  # type: ignore[no-untyped-def]
    """Add to `fired` how often each column of F is on; return how often `before` differs."""
    flips = 0
    for i in range(F.shape[0]):
        row, old = F[i], before[i]
        for j in range(F.shape[1]):
            fired[j] += row[j]
            flips += row[j] != old[j]
    return flips
