"""Sums that add field by field, and the counts of firing patterns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

from anmin.backends import Array, Backend
from anmin.sources.batch import Batch


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
    backend: Backend, batch: Batch, A: Array, before: Array | None
) -> tuple[Array, Array, float]:
    """The pattern at A, how often each neuron fires, and how many entries differ at `before`."""

    def pattern(at: Array) -> Array:
        return batch.once("F", at, lambda: backend.fires(batch.X, backend.asarray(at)))

    old = None if before is None else pattern(before)
    F = pattern(A)  # (n, h)
    fired, flips = backend.count(F, F if old is None else old)
    return F, fired, float(flips)
