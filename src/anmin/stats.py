"""The sums of one pass over the rows.

With F = 1[XA > 0], G = (1 − slope)F + slope and z_i = G_i ⊗ x̃_i (neuron-major), a `PatternPass`
collects

    ZᵀZ   Zᵀ1   ZᵀY   tr YᵀY   Yᵀ1   n

None of them depends on the output layer, so one pass at A serves the output layer at A, the
loss, and the next hidden system. They add: batches, threads and machines are one mechanism.

ZᵀZ is kept packed. Its p×p block for neurons j and l is U_jl = Σ_i G_ij G_il x̃_i x̃_iᵀ, which is
symmetric and equal to U_lj; only j ≤ l and a ≤ b are stored, and all of them come from one
product of two thin matrices of pairwise products, a quarter of the work of forming ZᵀZ:

    packed[(j,l), (a,b)] = Σ_i (G_ij G_il) (x̃_ia x̃_ib)

With numba on the CPU they come from tables instead (`backends/tables.py`), a sixteenth of it.

An `OutputPass` collects only what the output layer and the loss need: SᵀS and SᵀY for
S = [σ(XA), 1]. A row of weight w enters as √w(x̃, y), with its pattern unchanged; "1" is then
the column √w.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Self

import numpy as np

from anmin.backends import Array, Backend
from anmin.cells import Cells, Rows, compress
from anmin.sources.batch import Batch


class Sums:
    """Adds field by field; in place where `+=` is asked for."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True, slots=True)
class Counts(Sums):
    """What a history record wants to know of the patterns."""

    fired: Array  # rows that each neuron fires on: (h,)
    flips: float  # pattern entries that differ from the pattern before
    rows: float  # patterns seen
    cells: float  # different ones, counted batch by batch

    @property
    def flip_share(self) -> float:
        return self.flips / (self.rows * len(self.fired))

    @property
    def dead(self) -> int:
        return int((self.fired == 0).sum())

    def scalars(self) -> dict[str, float]:
        return {"flips": self.flips, "rows": self.rows, "cells": self.cells}


@dataclass(frozen=True, slots=True)
class PatternStats(Sums):
    """The sums of a full pass."""

    n: float  # Σw
    ZtZ: Array  # packed: (h(h+1)/2, p(p+1)/2)
    Zt1: Array  # (h, p)
    ZtY: Array  # (h, p, q)
    YtY: float
    Yt1: Array  # (q,)
    counts: Counts

    @property
    def shape(self) -> tuple[int, int, int]:
        """h, p, q."""
        return self.ZtY.shape


@dataclass(frozen=True, slots=True)
class PatternPass:
    """The kernel of a full pass: a batch of rows in, its PatternStats out."""

    A: Array  # (p, h)
    slope: float
    before: Array | None = None  # the A whose pattern the flips are counted against

    def __call__(self, backend: Backend, batch: Batch) -> PatternStats:
        X, Y = batch.X, batch.Y
        F, fired, flips = fire(backend, batch, self.A, self.before)  # (n, h)
        T = backend.append_column(Y, X[:, 0])  # (n, q + 1)
        patterns, cells = compress(backend, Rows(F, X, T))
        ZtZ, ZtT = gram(backend, patterns, self.slope)
        h, p, q = F.shape[1], X.shape[1], Y.shape[1]
        ZtT = ZtT.reshape(h, p, q + 1)
        return PatternStats(
            n=float(T[:, q] @ T[:, q]),
            ZtZ=ZtZ, Zt1=ZtT[:, :, q], ZtY=ZtT[:, :, :q],
            YtY=float((Y * Y).sum()), Yt1=Y.T @ T[:, q],
            counts=Counts(fired, flips, float(len(F)), float(cells)),
        )  # fmt: skip


def fire(
    backend: Backend, batch: Batch, A: Array, before: Array | None
) -> tuple[Array, Array, float]:
    """The pattern at A, how often each neuron fires, and how many entries differ at `before`."""
    old = None
    if before is not None:
        old = batch.once("F", before, lambda: backend.fires(batch.X, before))
    F = batch.once("F", A, lambda: backend.fires(batch.X, A))
    fired, flips = backend.count(F, F if old is None else old)
    return F, fired, float(flips)


@dataclass(frozen=True, slots=True)
class CountPass:
    """The counts of a pass alone."""

    A: Array
    before: Array | None

    def __call__(self, backend: Backend, batch: Batch) -> Counts:
        F, fired, flips = fire(backend, batch, self.A, self.before)
        return Counts(fired, flips, float(len(F)), 0.0)


def gram(backend: Backend, patterns: Rows | Cells, slope: float) -> tuple[Array, Array]:
    """Packed ZᵀZ, and Zᵀ[Y, 1] as (h, p(q+1))."""

    def products(rows: slice) -> Array:
        return patterns.products(backend, rows)

    def with_targets(rows: slice) -> Array:
        return backend.gain(patterns.F[rows], slope).T @ patterns.targets(rows)

    ZtZ = backend.table_sums(patterns.F, products, slope)
    if ZtZ is None:
        ZtZ = product_sums(backend, patterns, slope)
    return ZtZ, backend.sum_over_blocks(with_targets, len(patterns.F))


def product_sums(backend: Backend, patterns: Rows | Cells, slope: float) -> Array:
    """Packed ZᵀZ as products of the two matrices of pairs."""
    h = patterns.F.shape[1]
    width = h * (h + 1) // 2 + patterns.width

    def part(rows: slice) -> Array:
        total: Any = None
        for some in backend.subblocks(rows, width):
            GG = backend.pairs(backend.gain(patterns.F[some], slope))  # (h(h+1)/2, k)
            XX = patterns.inputs(backend, some)  # (p(p+1)/2, k)
            if total is None:
                total = backend.zeros(len(GG), len(XX))
            backend.add_product(total, GG, XX)
        return total

    return backend.sum_over_blocks(part, len(patterns.F))


@cache
def pair_index(m: int) -> np.ndarray:
    """Where the pair (j, k) stands in packed order: an (m, m) table, flattened."""
    index = np.empty((m, m), dtype=np.intp)
    first, second = np.triu_indices(m)
    index[first, second] = index[second, first] = np.arange(len(first))
    return index.ravel()


def unpack(backend: Backend, stats: PatternStats) -> Array:
    """ZᵀZ as an array of shape (h, p, h, p): entry [j, a, l, b] is U_jl[a, b]."""
    h, p, _ = stats.shape
    neurons, inputs = (backend.integers(pair_index(m)) for m in (h, p))
    return stats.ZtZ[neurons][:, inputs].reshape(h, h, p, p).swapaxes(1, 2)


@dataclass(frozen=True, slots=True)
class OutputStats(Sums):
    """What the output layer and the loss need."""

    n: float
    StS: Array  # (h + 1, h + 1)
    StY: Array  # (h + 1, q)
    YtY: float

    def select(self, units: Array) -> OutputStats:
        """The sums with some of the hidden units only."""
        with_constant = [*(int(j) for j in units), len(self.StS) - 1]
        StS = self.StS[with_constant][:, with_constant]
        return OutputStats(self.n, StS, self.StY[with_constant], self.YtY)

    def scaled(self, s: Array) -> OutputStats:
        """The sums with hidden unit j multiplied by s_j > 0."""
        StS, StY = self.StS * 1, self.StY * 1
        StS[:-1] *= s[:, None]
        StS[:, :-1] *= s
        StY[:-1] *= s[:, None]
        return OutputStats(self.n, StS, StY, self.YtY)


@dataclass(frozen=True, slots=True)
class OutputPass:
    """The kernel of a thin pass, for the loss at a trial A."""

    A: Array  # (p, h)
    slope: float

    def __call__(self, backend: Backend, batch: Batch) -> OutputStats:
        def part(rows: slice) -> OutputStats:
            X, Y = batch.X[rows], batch.Y[rows]
            S = backend.append_column(backend.activate(X @ self.A, self.slope), X[:, 0])
            return OutputStats(float(X[:, 0] @ X[:, 0]), S.T @ S, S.T @ Y, float((Y * Y).sum()))

        return backend.sum_over_blocks(part, len(batch))


@dataclass(frozen=True, slots=True)
class ResidualPass:
    """The squared residual over a batch, without cancellation."""

    A: Array
    W: Array  # [B; b0]
    slope: float

    def __call__(self, backend: Backend, batch: Batch) -> float:
        def part(rows: slice) -> float:
            R = residual(backend, batch.X[rows], batch.Y[rows], self)
            return float((R * R).sum())

        return backend.sum_over_blocks(part, len(batch))


@dataclass(frozen=True, slots=True)
class GradientPass:
    """Xᵀ(G ∘ (R Bᵀ)) with R = Y − S W: half the descent direction of the data term, times n."""

    A: Array  # (p, h)
    W: Array  # [B; b0]
    slope: float

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        Bt = self.W[:-1].T

        def part(rows: slice) -> Array:
            X = batch.X[rows]
            P = X @ self.A  # (k, h)
            S = backend.activate(P, self.slope)
            R = batch.Y[rows] - S @ self.W[:-1] - X[:, :1] * self.W[-1]
            return X.T @ (backend.gain(P > 0, self.slope) * (R @ Bt))

        return backend.sum_over_blocks(part, len(batch))


def residual(backend: Backend, X: Array, Y: Array, at: ResidualPass) -> Array:
    """R = Y − σ(XA)B − b0: (n, q)."""
    return Y - backend.activate(X @ at.A, at.slope) @ at.W[:-1] - X[:, :1] * at.W[-1]
