"""Loops over rows that NumPy has no call for, compiled by numba where it is installed.

They are written as plain Python; `kernels()` gives them compiled. None of them knows threads: the
backend hands each thread its share of the rows or of the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np


@cache
def kernels() -> SimpleNamespace | None:
    """The functions of this file, compiled; None where numba is not installed."""
    try:
        from numba import njit
    except ImportError:
        return None
    loops = (
        row_pairs, fill_tables, add_rows, group, count, hinge_table, add_hinges, collect_hinges,
        spread_hinges, place, add_columns, sum_columns, mixed_sums,
    )  # fmt: skip
    how = {"nogil": True, "fastmath": {"contract"}}
    try:
        compiled = [njit(cache=True, **how)(loop) for loop in loops]
    except RuntimeError:  # neither the package's folder nor the user's can be written to
        compiled = [njit(**how)(loop) for loop in loops]
    return SimpleNamespace(**{loop.__name__: loop for loop in compiled})


@cache
def compiler_clock() -> Any:
    """What hears of every compilation; None where numba is not installed, or has no such thing."""
    try:
        from numba.core.event import TimingListener, register
    except ImportError:
        return None
    listener = TimingListener()
    register("numba:compile", listener)
    return listener


def waiting_for_compiler() -> Callable[[], float]:
    """The seconds from now on for which loops are compiled, once in the life of an installation."""

    def seconds() -> float:
        clock = compiler_clock()
        return clock.duration if clock is not None and clock.done else 0.0

    before = seconds()
    return lambda: seconds() - before


def fused() -> Any:
    """Whole passes over rows, compiled; None where numba is not installed."""
    return None if kernels() is None else import_module("anmin.backends.fused")


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
    n, h = F.shape
    on, other = np.empty(h, np.uint8), np.empty(h, np.uint8)  # of as many rows as a byte counts
    flips = 0
    for start in range(0, n, 255):
        for j in range(h):
            on[j] = other[j] = 0
        for i in range(start, min(start + 255, n)):
            for j in range(h):
                on[j] += np.uint8(F[i, j])
                other[j] += np.uint8(F[i, j] != before[i, j])
        for j in range(h):
            fired[j] += on[j]
            flips += other[j]
    return flips


ROWS = 32  # whose units stay in the nearest cache, beside the tables of a few inputs


def hinge_table(V, first, size):  # type: ignore[no-untyped-def]
    """For each row k of V the sum of those before it, of the same input, and V_k: (m, 2, h)."""
    m, h = V.shape
    T = np.zeros((m, 2, h), V.dtype)
    for j in range(len(first)):
        for k in range(first[j], first[j] + size[j]):
            for a in range(h):  # not by slices, which take seconds to compile
                T[k, 1, a] = V[k, a]
                if k > first[j]:
                    T[k, 0, a] = T[k - 1, 0, a] + T[k - 1, 1, a]
    return T


def add_hinges(P, root, place, part, first, T):  # type: ignore[no-untyped-def]
    """P[i] += root_i Σ_j (T[k, 0] + part_ij T[k, 1]) at k = first_j + place_ij, four inputs a time.

    T is the `hinge_table` of V.
    """
    n, h = P.shape
    g = place.shape[1]
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        for j in range(0, g - 3, 4):
            for i in range(start, stop):
                p, q = T[first[j] + place[i, j]], T[first[j + 1] + place[i, j + 1]]
                s, t = T[first[j + 2] + place[i, j + 2]], T[first[j + 3] + place[i, j + 3]]
                e, f, u, v = part[i, j], part[i, j + 1], part[i, j + 2], part[i, j + 3]
                r, row = root[i], P[i]
                for a in range(h):
                    left = (p[0, a] + e * p[1, a]) + (q[0, a] + f * q[1, a])
                    right = (s[0, a] + u * s[1, a]) + (t[0, a] + v * t[1, a])
                    row[a] += r * (left + right)
        for j in range(g - g % 4, g):
            for i in range(start, stop):
                p, e, r, row = T[first[j] + place[i, j]], part[i, j], root[i], P[i]
                for a in range(h):
                    row[a] += r * (p[0, a] + e * p[1, a])


def collect_hinges(U, root, place, part, first, Z):  # type: ignore[no-untyped-def]
    """Add root_i U_i to Z[k, 0], and part_ij times that to Z[k, 1], at k = first_j + place_ij."""
    n, h = U.shape
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        for j in range(place.shape[1]):
            for i in range(start, stop):
                r, row, z = root[i], U[i], Z[first[j] + place[i, j]]
                f = r * part[i, j]
                for a in range(h):
                    z[0, a] += r * row[a]
                    z[1, a] += f * row[a]


def spread_hinges(Z, first, size):  # type: ignore[no-untyped-def]
    """The transpose of `add_hinges`: hinge k has Z[k, 1], and Z[l, 0] of all l after it."""
    T = Z[:, 1].copy()
    for j in range(len(first)):
        for a in range(Z.shape[2]):
            after = Z[0, 0, a] * 0
            for k in range(first[j] + size[j] - 2, first[j] - 1, -1):
                after += Z[k + 1, 0, a]
                T[k, a] += after
    return T


def add_columns(P, Xt, first, index, a):  # type: ignore[no-untyped-def]
    """P[j] += Σ_c a[c, j] Xt[index[c, j]], the columns from row `first` on."""
    h, n = P.shape
    for j in range(h):
        row = P[j]
        for c in range(len(index)):
            x, weight = Xt[index[c, j]], a[c, j]
            for i in range(n):
                row[i] += weight * x[first + i]


def sum_columns(Ut, Xt, first, index, out):  # type: ignore[no-untyped-def]
    """The transpose: out[c, j] = Σ_i Ut[j, i] Xt[index[c, j], first + i]."""
    h, n = Ut.shape
    for j in range(h):
        for c in range(len(index)):
            out[c, j] = np.dot(Ut[j], Xt[index[c, j]][first : first + n])


def place(along, odds, level):  # type: ignore[no-untyped-def]
    """For each row of `along` (k, n) the value at which a share `level` of the odds is reached.

    The values are thrown into 256 boxes between their ends, and only one box is sorted.
    """
    k, n = along.shape
    found, inside, weight = np.empty(k), np.empty(n), np.empty(n)
    total = odds.sum()
    for c in range(k):
        row, box = along[c], np.zeros(256)
        low, high = row.min(), row.max()
        unit = 255.9 / (high - low) if high > low else 0.0
        for i in range(n):
            box[int((row[i] - low) * unit)] += odds[i]
        goal, reached, b = level[c] * total, 0.0, 0
        while b < 255 and reached + box[b] < goal:
            reached += box[b]
            b += 1
        m = 0
        for i in range(n):
            if int((row[i] - low) * unit) == b:
                inside[m], weight[m] = row[i], odds[i]
                m += 1
        order = np.argsort(inside[:m])
        found[c] = high if m == 0 else inside[order[m - 1]]
        for i in order:
            reached += weight[i]
            if reached >= goal:
                found[c] = inside[i]
                break
    return found


def mixed_sums(bits, factor, out):  # type: ignore[no-untyped-def]
    """out[i] = Σ_j mixed(mixed(bits_ij) factor_j), with `mixed` of `sources/draws.py`."""
    unit = np.uint64(0x9E3779B97F4A7C15)
    for i in range(len(out)):
        total = np.uint64(0)
        for j in range(len(factor)):
            b = bits[i, j]
            b = (b ^ (b >> np.uint64(32))) * unit
            b = (b ^ (b >> np.uint64(29))) * factor[j]
            b = (b ^ (b >> np.uint64(32))) * unit
            total += b ^ (b >> np.uint64(29))
        out[i] = total
