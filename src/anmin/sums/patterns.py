"""Firing patterns: how often they fire, and the rows that share one.

Rows with equal firing patterns form a *cell*. Every sum of a pass is linear in the outer
products x̃x̃ᵀ and x̃(y, 1)ᵀ with coefficients that depend on the pattern alone, so a cell of any
size is replaced, exactly, by one pattern with the summed products of its rows. h hyperplanes
cut d dimensions into at most Σ_{k≤d} C(h, k) cells: 2,081 for d = 2 and h = 64, however many
rows there are.

    Rows     one pattern a row, products formed when they are asked for
    Cells    one pattern a cell, products already summed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Self

from anmin.backends import Array, Backend
from anmin.sources.batch import Batch

WORTH_IT = 4  # rows a cell, from which sorting them is cheaper than multiplying them
ROOM = 2**28  # bytes that the products of a batch may take


class Sums:
    """Adds field by field."""

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
class CountPass:
    """The counts of a pass alone."""

    A: Array  # (p, h)
    before: Array | None  # the A whose pattern the flips are counted against

    def __call__(self, backend: Backend, batch: Batch) -> Counts:
        F, fired, flips = fire(backend, batch, self.A, self.before)
        return Counts(fired, flips, float(len(F)), 0.0)


def fire(
    backend: Backend, batch: Batch, A: Array, before: Array | None,
    known: Callable[[], Array] | None = None,
) -> tuple[Array, Array, float]:  # fmt: skip
    """The pattern at A, how often each neuron fires, and how many entries differ at `before`.

    `known` gives the pattern at A where that is cheaper than a product.
    """

    def fires(at: Array) -> Array:
        return backend.fires(batch.X, backend.asarray(at))

    old = None if before is None else batch.once("F", before, lambda: fires(before))
    F = batch.once("F", A, known or (lambda: fires(A)))  # (n, h)
    fired, flips = backend.count(F, F if old is None else old)
    return F, fired, float(flips)


# ---- cells -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """Patterns and rows as they are. `T` is [Y, x̃₀]: the targets and the constant column."""

    F: Array  # (n, h) booleans
    X: Array  # (n, p)
    T: Array  # (n, q + 1)

    @property
    def width(self) -> int:
        """Numbers a row that the products take."""
        p = self.X.shape[1]
        return p * (p + 1) // 2 + p * self.T.shape[1]

    def inputs(self, backend: Backend, rows: slice) -> Array:
        """x̃_a x̃_b for a ≤ b: (p(p+1)/2, rows)."""
        return backend.pairs(self.X[rows])

    def products(self, backend: Backend, rows: slice) -> Array:
        """The same, row by row: (rows, p(p+1)/2)."""
        return backend.row_pairs(self.X[rows])

    def targets(self, rows: slice) -> Array:
        """x̃ (y, x̃₀)ᵀ, flattened: (rows, p(q+1))."""
        X, T = self.X[rows], self.T[rows]
        return (X[:, :, None] * T[:, None, :]).reshape(len(X), -1)


@dataclass(frozen=True, slots=True)
class Cells:
    """One pattern a cell, with the sums over its rows."""

    F: Array  # (cells, h) booleans
    XX: Array  # (cells, p(p+1)/2)
    XT: Array  # (cells, p(q+1))

    @property
    def width(self) -> int:
        return self.XX.shape[1] + self.XT.shape[1]

    def inputs(self, backend: Backend, rows: slice) -> Array:
        return backend.contiguous(self.XX[rows].T)

    def products(self, backend: Backend, rows: slice) -> Array:  # noqa: ARG002
        return self.XX[rows]

    def targets(self, rows: slice) -> Array:
        return self.XT[rows]


def compress(backend: Backend, rows: Rows, batch: Batch | None = None) -> tuple[Rows | Cells, int]:
    """`rows` as cells where that saves work, and the number of cells in any case.

    Rows that are those of a batch have their products formed once.
    """
    first, groups = backend.group_rows(rows.F)
    n, k = len(rows.F), len(first)
    if n < WORTH_IT * k or 16 * n * rows.width > ROOM:
        return rows, k

    def products() -> tuple[Array, Array]:
        everything = slice(0, n)
        return rows.products(backend, everything), rows.targets(everything)

    XX, XT = products() if batch is None else batch.once("products", batch.X, products)
    sums = (backend.sum_groups(V, groups, k) for V in (XX, XT))
    return Cells(rows.F[first], *sums), k
