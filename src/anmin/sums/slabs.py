"""Rows of several networks side by side, and the sums of each network over its own.

    X (m, n, p)    Y (m, n, q)    A (m, p, h)    W (m, h + 1, q)

What is shorter than the rest is filled up with zeros. A row of zeros has weight 0 and adds to no
sum. A unit of zeros has no output, so no output weights and no gradient, and stays what it is.

Networks that have few rows share a slab, one tensor that their rows are copied to; one product is
then that of them all. Networks of many rows have a slab each, the rows as they are: there is
enough to do in each, and no memory for copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from anmin.sources.batch import Batch

SLAB = 2**28  # bytes of the rows of a slab, and of what a pass makes of them


def padded(arrays: Sequence[Tensor]) -> Tensor:
    """Arrays as one, along a new first axis, filled up with zeros at their ends."""
    shapes = [array.shape for array in arrays]
    if len(set(shapes)) == 1:
        return arrays[0][None] if len(arrays) == 1 else torch.stack(list(arrays))
    whole = arrays[0].new_zeros(len(arrays), *(max(sizes) for sizes in zip(*shapes, strict=True)))
    for place, array in zip(whole, arrays, strict=True):
        place[tuple(map(slice, array.shape))] = array
    return whole


def padded_outputs(arrays: Sequence[Tensor]) -> Tensor:
    """The same for [B; b0]: the zeros stand between the units and the constant."""
    B, b0 = padded([W[:-1] for W in arrays]), torch.stack([W[-1:] for W in arrays])
    return torch.cat([B, b0], 1)


def hidden_stack(X: Tensor, P: Tensor, slope: float, dtype: torch.dtype) -> Tensor:
    """S = [σ(P), 1] with P = XA: (m, n, h + 1)."""
    m, n, h = P.shape
    S = P.new_empty(m, n, h + 1, dtype=dtype)
    S[:, :, :h] = torch.nn.functional.leaky_relu(P, slope)
    S[:, :, h] = X[:, :, 0]
    return S


@dataclass(frozen=True, slots=True)
class Slab:
    """Rows of the networks `first`, `first` + 1, … of a stack."""

    first: int
    X: Tensor  # (count, n, p); where all have the same rows these are there once
    Y: Tensor

    @classmethod
    def of(cls, first: int, batches: Sequence[Batch]) -> Slab:
        one = all(batch is batches[0] for batch in batches)
        own = batches[:1] if one else batches
        X, Y = padded([batch.X for batch in own]), padded([batch.Y for batch in own])
        return cls(first, *(V.expand(len(batches), -1, -1) for V in (X, Y)))

    def only(self, which: Sequence[int]) -> tuple[Tensor, Tensor]:
        """X and Y of those of its networks."""
        if len(which) == len(self.X) or self.X.stride(0) == 0:
            return self.X[: len(which)], self.Y[: len(which)]
        places = [k - self.first for k in which]
        return self.X[places], self.Y[places]


class Slabs:
    """The rows of a stack of networks with up to h units: the batches of each.

    Of several batches each is a slab, on whichever device it is, and their sums are added at `home`
    in the order of the rows.
    """

    def __init__(self, batches: Sequence[Sequence[Batch]], h: int, home: torch.device) -> None:
        self.batches, self.home = batches, home  # held, so that they are who they are
        widths = [bytes_in_a_pass(own, h) for own in batches]
        self.slabs: list[Slab] = []
        start = 0
        for k in range(1, len(batches) + 1):
            if k == len(batches) or (k + 1 - start) * max(widths[start : k + 1]) > SLAB:
                pieces = zip(*batches[start:k], strict=True)
                self.slabs += [Slab.of(start, piece) for piece in pieces]
                start = k
        everyone = range(len(batches))
        self.n, self.YtY = self.sums(weights_and_squares, everyone)

    def sums(
        self, part: Callable[..., tuple[Tensor, ...]], which: Sequence[int], *given: Tensor
    ) -> list[Tensor]:
        """part(X, Y, …) of the networks `which`, slab by slab; `given` is theirs, in order."""
        found: dict[int, list[Tensor]] = {}  # by the first network of a slab
        for slab in self.slabs:
            mine = [k for k in which if 0 <= k - slab.first < len(slab.X)]
            if mine:
                at, device = which.index(mine[0]), slab.X.device
                own = (V[at : at + len(mine)].to(device) for V in given)
                new = [V.to(self.home) for V in part(*slab.only(mine), *own)]
                known = found.get(slab.first)
                both = new if known is None else [U + V for U, V in zip(known, new, strict=True)]
                found[slab.first] = both
        return [torch.cat(parts) for parts in zip(*found.values(), strict=True)]

    def output(
        self, which: Sequence[int], A: Tensor, slope: float, rough: bool
    ) -> tuple[Tensor, Tensor]:
        """SᵀS and SᵀY in double precision, for the loss at A; units as in `OutputPass`."""

        def part(X: Tensor, Y: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
            X = X if rough else X.double()
            S = hidden_stack(X, X @ A.to(X.dtype), slope, torch.float64)
            return S.mT @ S, S.mT @ Y.double()

        StS, StY = self.sums(part, which, A)
        return StS, StY

    def gradient(self, A: Tensor, W: Tensor, slope: float) -> Tensor:
        """Xᵀ(G ∘ (R Bᵀ)), in the type of the rows."""

        def part(X: Tensor, Y: Tensor, A: Tensor, W: Tensor) -> tuple[Tensor]:
            A, W = A.to(X.dtype), W.to(X.dtype)
            P = X @ A
            R = Y - hidden_stack(X, P, slope, X.dtype) @ W
            return (X.mT @ (gates(P, slope) * (R @ W[:, :-1].mT)),)

        return self.sums(part, range(len(A)), A, W)[0]


def bytes_in_a_pass(batches: Sequence[Batch], h: int) -> float:
    """Of rows of one batch, and of what a pass makes of them; several share no slab."""
    if len(batches) > 1:
        return inf
    return sum(b.X.nbytes + b.Y.nbytes + 24 * h * len(b) for b in batches)


def gates(P: Tensor, slope: float) -> Tensor:
    """G = 1 where P > 0, slope elsewhere."""
    G = (P > 0).to(P.dtype)
    return G if slope == 0 else (1 - slope) * G + slope


def weights_and_squares(X: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """Σw and tr YᵀY of each network."""
    return X[:, :, 0].double().square().sum(1), Y.double().square().sum((1, 2))
