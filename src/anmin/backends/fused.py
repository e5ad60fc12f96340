"""Whole passes over rows, compiled: gate, products and sums in one, with no Python in between.

Rows are [D, hinges] as `sources/hinged.py` has them; a plain matrix is D alone. Loops take a few
hundred rows at a time, so that what they make of them stays in the cache, and let other threads run
meanwhile. They spell sums out, as operators on arrays take seconds to compile. This file needs
numba; `compiled.py` asks for it where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from anmin.backends import compiled

BLOCK = 512  # rows
Weights = tuple[np.ndarray, np.ndarray]  # what meets the dense part, and a table for the hinges


def loop(function: Callable) -> Callable:
    """A function compiled at its first call, and kept on the disk where that can be."""
    how = {"nogil": True, "fastmath": {"contract"}}
    try:
        return njit(cache=True, **how)(function)
    except RuntimeError:
        return njit(**how)(function)


hinge_table, add_hinges = loop(compiled.hinge_table), loop(compiled.add_hinges)
collect_hinges, spread_hinges = loop(compiled.collect_hinges), loop(compiled.spread_hinges)


@dataclass(frozen=True, slots=True)
class FusedRows:
    """What the loops see of X: its dense part, and where its hinges stand."""

    D: np.ndarray  # (n, d + 1)
    place: np.ndarray  # (n, g)
    part: np.ndarray  # (n, g)
    first: np.ndarray  # (g,)
    size: np.ndarray  # (g,)
    mean: np.ndarray  # (m,)
    scale: np.ndarray  # (m, 1)

    @classmethod
    def of(cls, X: Any) -> FusedRows | None:
        """Those of a matrix or of hinged rows; None for rows of another kind.

        Only in single precision: what is exact is rare, and loops for it would take as long again
        to compile.
        """
        if getattr(X, "dtype", None) != np.float32:
            return None
        if hasattr(X, "hinges"):
            mean, scale = X.hinges.columns(X.dtype)
            return cls(X.D, X.place, X.part, X.hinges.first, X.hinges.size, mean, scale)
        if not (isinstance(X, np.ndarray) and X.flags.c_contiguous):
            return None
        none, where = np.empty((len(X), 0), X.dtype), np.empty(0, np.intp)
        place = none.astype(np.uint8)
        return cls(X, place, none, where, where, none[:0].reshape(0), none[:0].reshape(0, 1))

    def at(self, rows: slice) -> tuple[np.ndarray, ...]:
        return self.D[rows], self.place[rows], self.part[rows], self.first

    def weights(self, V: np.ndarray) -> Weights:
        """V as X V needs it."""
        own = self.D.shape[1]
        H, first = V[own:] / self.scale, np.array(V[:own], dtype=self.D.dtype, order="C")
        first[0] -= self.mean @ H
        return first, hinge_table(np.ascontiguousarray(H, self.D.dtype), self.first, self.size)

    def fire(
        self, rows: slice, A: Weights, slope: float, root: np.ndarray, G: np.ndarray, Q: np.ndarray
    ) -> None:  # fmt: skip
        """Fill in G, the gate of XA, and Q, [σ(XA), √w] in another frame."""
        fire(*self.at(rows), *A, slope, root, G[rows], Q[rows])

    def change(
        self, rows: slice, V: Weights, G: np.ndarray, L: np.ndarray, Q: np.ndarray, U: np.ndarray
    ) -> np.ndarray:
        """Fill in U = (G ∘ XV)L; QᵀU."""
        return change(*self.at(rows), *V, G[rows], L, Q[rows], U[rows])

    def back(
        self, rows: slice, G: np.ndarray, Q: np.ndarray, E: np.ndarray, U: np.ndarray,
        Lt: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Xᵀ(G ∘ ((U − QE)Lᵀ)); of one column L is left to the caller."""
        total = self.sums(G.shape[1])
        back(*self.at(rows), G[rows], Q[rows], E, U[rows], Lt, *total)
        return self.columns(*total)

    def descent(
        self, rows: slice, A: Weights, Y: np.ndarray, W: np.ndarray, slope: float
    ) -> np.ndarray:
        """Xᵀ(G ∘ (RBᵀ)) with R = Y − [σ(XA), √w]W."""
        total = self.sums(len(W) - 1)
        descent(*self.at(rows), *A, Y[rows], W, slope, *total)
        return self.columns(*total)

    def output(
        self, rows: slice, A: Weights, Y: np.ndarray, slope: float
    ) -> tuple[float, np.ndarray, np.ndarray, float]:
        """n, SᵀS, SᵀY and tr YᵀY with S = [σ(XA), √w], summed in double precision."""
        Y = Y[rows].astype(np.float64)
        S = np.empty((len(Y), A[0].shape[1] + 1))
        outputs(*self.at(rows), *A, slope, S)
        StS = S.T @ S  # which NumPy knows to be symmetric: half of the work
        return float(StS[-1, -1]), StS, S.T @ Y, float((Y * Y).sum())

    def sums(self, h: int) -> tuple[np.ndarray, np.ndarray]:
        """Where Xᵀ U is summed up, for U of h columns."""
        D = self.D
        return np.zeros((D.shape[1], h), D.dtype), np.zeros((len(self.mean), 2, h), D.dtype)

    def columns(self, own: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Xᵀ U from the sums."""
        H = spread_hinges(Z, self.first, self.size)
        H -= self.mean[:, None] * own[0]
        return np.vstack([own, H / self.scale])


@loop
def units(D, place, part, first, V, T, P):  # type: ignore[no-untyped-def]
    """P = X V."""
    np.dot(D, V, P)
    if place.shape[1]:
        add_hinges(P, D[:, 0], place, part, first, T)


@loop
def hidden(P, root, off, S):  # type: ignore[no-untyped-def]
    """S = [σ(P), √w], in the type of S."""
    n, h = P.shape
    for i in range(n):
        for j in range(h):
            x = P[i, j]
            S[i, j] = x if x > 0 else off * x
        S[i, h] = root[i]


@loop
def add(total, some):  # type: ignore[no-untyped-def]
    for i in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[i, j] += some[i, j]


@loop
def subtract_from(V, some):  # type: ignore[no-untyped-def]
    """some = V − some."""
    for i in range(some.shape[0]):
        for j in range(some.shape[1]):
            some[i, j] = V[i, j] - some[i, j]


@loop
def multiply(P, G):  # type: ignore[no-untyped-def]
    """P = P ∘ G."""
    for i in range(P.shape[0]):
        for j in range(P.shape[1]):
            P[i, j] *= G[i, j]


@loop
def add_back(D, place, part, first, M, out, Z):  # type: ignore[no-untyped-def]
    """Xᵀ M, added to the sums."""
    add(out, np.dot(D.T, M))
    if place.shape[1]:
        collect_hinges(M, D[:, 0], place, part, first, Z)


@loop
def fire(D, place, part, first, V, T, slope, root, G, Q):  # type: ignore[no-untyped-def]
    """G = gate of X V, and Q = [σ(X V), √w] rootᵀ."""
    n, h = G.shape
    P, S = np.empty((BLOCK, h), D.dtype), np.empty((BLOCK, h + 1), D.dtype)
    one, off = D.dtype.type(1), D.dtype.type(slope)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        k = stop - start
        units(D[start:stop], place[start:stop], part[start:stop], first, V, T, P[:k])
        for i in range(k):
            for j in range(h):
                x = P[i, j]
                g = one if x > 0 else off
                G[start + i, j] = g
                S[i, j] = g * x
            S[i, h] = D[start + i, 0]
        np.dot(S[:k], root.T, Q[start:stop])


@loop
def change(D, place, part, first, V, T, G, L, Q, U):  # type: ignore[no-untyped-def]
    """U = (G ∘ X V) L, and what Q has of it: QᵀU."""
    n, h = G.shape
    P, E = np.empty((BLOCK, h), D.dtype), np.zeros((Q.shape[1], L.shape[1]), D.dtype)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        k = stop - start
        units(D[start:stop], place[start:stop], part[start:stop], first, V, T, P[:k])
        multiply(P[:k], G[start:stop])
        np.dot(P[:k], L, U[start:stop])
        add(E, np.dot(Q[start:stop].T, U[start:stop]))
    return E


@loop
def back(D, place, part, first, G, Q, E, U, Lt, out, Z):  # type: ignore[no-untyped-def]
    """Xᵀ(G ∘ ((U − Q E) Lᵀ)), added to the sums; of one column L is left to the caller."""
    n, h = G.shape
    M = np.empty((BLOCK, h), D.dtype)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        k = stop - start
        left = np.dot(Q[start:stop], E)
        subtract_from(U[start:stop], left)
        if len(Lt) == 1:
            for i in range(k):
                for j in range(h):
                    M[i, j] = G[start + i, j] * left[i, 0]
        else:
            np.dot(left, Lt, M[:k])
            multiply(M[:k], G[start:stop])
        add_back(D[start:stop], place[start:stop], part[start:stop], first, M[:k], out, Z)


@loop
def descent(D, place, part, first, V, T, Y, W, slope, out, Z):  # type: ignore[no-untyped-def]
    """Xᵀ(G ∘ (R Bᵀ)) with R = Y − [σ(X V), √w] W, added to the sums."""
    n, h = len(D), V.shape[1]
    P, S = np.empty((BLOCK, h), D.dtype), np.empty((BLOCK, h + 1), D.dtype)
    M, Bt = np.empty((BLOCK, h), D.dtype), np.ascontiguousarray(W[:h].T)
    one, off = D.dtype.type(1), D.dtype.type(slope)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        k = stop - start
        units(D[start:stop], place[start:stop], part[start:stop], first, V, T, P[:k])
        hidden(P[:k], D[start:stop, 0], off, S)
        R = np.dot(S[:k], W)
        subtract_from(Y[start:stop], R)
        np.dot(R, Bt, M[:k])
        for i in range(k):
            for j in range(h):
                M[i, j] *= one if P[i, j] > 0 else off
        add_back(D[start:stop], place[start:stop], part[start:stop], first, M[:k], out, Z)


@loop
def outputs(D, place, part, first, V, T, slope, S):  # type: ignore[no-untyped-def]
    """S = [σ(X V), √w], in double precision."""
    n, h = len(D), V.shape[1]
    P, off = np.empty((BLOCK, h), D.dtype), D.dtype.type(slope)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        k = stop - start
        units(D[start:stop], place[start:stop], part[start:stop], first, V, T, P[:k])
        hidden(P[:k], D[start:stop, 0], off, S[start:stop])
