"""Pair sums by tables.

Wanted are Σ_i G_ij G_il v_i for all pairs of neurons, with G_ij = 1 where neuron j fires on row i
and `slope` elsewhere. Take the neurons in groups of four. For two groups the coefficients of row i
depend on eight bits alone, so its v_i is *added* to one of 256 rows of a table, and the sixteen
pairs between the groups are small combinations of the table's rows:

    T[c] = Σ over rows i with pattern c of v_i                  one addition for 16 pairs
    Σ_i G_ij G_il v_i = Σ_c w_j(c) w_l(c) T[c]                  w(c) ∈ {slope, 1}

The same idea as cells, eight neurons at a time, so it never fails to pay. Rows are added in their
order by one thread a table: the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from anmin.backends.compiled import fill_tables, kernels

BITS = 4  # neurons a group
CODES = 1 << BITS
STRIP = 4096  # rows whose products are formed at a time
COLUMNS = 128  # of v at a time: a table then fits the second-level cache


def group_codes(F: np.ndarray) -> np.ndarray:
    """The pattern of each group of four neurons as a number below 16: (groups, n)."""
    packed = np.packbits(F, axis=1, bitorder="little").T  # (⌈h/8⌉, n)
    codes = np.empty((2 * len(packed), len(F)), dtype=np.uint8)
    codes[0::2], codes[1::2] = packed & (CODES - 1), packed >> BITS
    return codes[: -(-F.shape[1] // BITS)]


@cache
def places(h: int) -> np.ndarray:
    """Where in the 16 sums of each table the pair (j, k) of neurons, j ≤ k, stands."""
    groups = -(-h // BITS)
    table = np.zeros((groups, groups), dtype=np.intp)
    table[np.triu_indices(groups)] = np.arange(groups * (groups + 1) // 2)
    j, k = np.triu_indices(h)
    return (table[j // BITS, k // BITS] * BITS + j % BITS) * BITS + k % BITS


def expand(T: np.ndarray, slope: float) -> np.ndarray:
    """Tables (t, 256, m) → sums over the pairs of their neurons (16 t, m)."""
    fires = (np.arange(CODES) >> np.arange(BITS)[:, None]) & 1  # (4, 16)
    w = np.where(fires, 1.0, slope).astype(T.dtype)
    t, _, m = T.shape
    half = w @ T.reshape(t, CODES, CODES * m)  # (t, 4, 16 m)
    return (w @ half.reshape(t, BITS, CODES, m)).reshape(t * BITS * BITS, m)


def pair_sums(
    F: np.ndarray,
    products: Callable[[slice], np.ndarray],
    slope: float,
    in_threads: Callable[[Callable[[slice], None], int], None],
) -> np.ndarray:
    """Σ_i G_ij G_il v_i for all j ≤ l: (h(h+1)/2, m); `products(rows)` gives v as (rows, m)."""
    compiled = kernels()
    fill = fill_tables if compiled is None else compiled.fill_tables
    codes = group_codes(F)
    pairs = len(codes) * (len(codes) + 1) // 2
    tables: list[np.ndarray] = []
    for start in range(0, len(F), STRIP):
        V = products(slice(start, min(start + STRIP, len(F))))  # (rows, m)
        here = np.ascontiguousarray(codes[:, start : start + STRIP])
        parts = [V[:, at : at + COLUMNS] for at in range(0, V.shape[1], COLUMNS)]
        tables = tables or [np.zeros((pairs, CODES**2, U.shape[1]), U.dtype) for U in parts]
        for U, T in zip(parts, tables, strict=True):
            add = partial(share, fill, here, np.ascontiguousarray(U), T)
            in_threads(add, pairs)
    return np.hstack([expand(T, slope)[places(F.shape[1])] for T in tables])


def share(fill: Callable, codes: np.ndarray, V: np.ndarray, T: np.ndarray, some: slice) -> None:
    """Add the rows V to some of the tables."""
    first, second = np.triu_indices(len(codes))
    fill(codes, first[some], second[some], V, T[some])
