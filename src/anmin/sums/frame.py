"""The sums of a product with the Gauss–Newton matrix: thin passes that never form it.

With U = (G∘XV)L how the outputs change along V, and Q an orthonormal frame of S,

    QᵀU        what the output layer would take up of it
    Xᵀ(G ∘ ((U − Q QᵀU) Lᵀ))                               H V
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from anmin.backends import Array, Backend
from anmin.sources.batch import Batch
from anmin.sums.output import NetworkPass, entry_weights, hidden_outputs
from anmin.sums.patterns import Counts, Sums, fire


@dataclass(frozen=True, eq=False)
class Frame:
    """What stays fixed while H is multiplied: pattern, output layer, root of the projector.

    With weights it has a root for each output, and the projector is put together by who asks.
    """

    A: Array
    slope: float
    root: Array | None  # (h + 1, h + 1); with weights (q, h + 1, h + 1)
    L: Array  # (h, r) with LLᵀ = BBᵀ / n, r the lesser of h and q; with weights q
    at: NetworkPass | None = None  # where the loss weighs the rows

    def on(self, backend: Backend, batch: Batch) -> tuple[Array, Array]:
        """G (n, h) and Q (n, h + 1), whose columns are an orthonormal frame of S (if projected).

        With weights Q is S itself.
        """

        def compute() -> tuple[Array, Array]:
            h = self.A.shape[1]
            G, Q = backend.empty(len(batch), h), backend.empty(len(batch), h + 1)
            if (rows := self.fused(backend, batch)) is not None:
                A = rows.weights(self.A)
                part_of = partial(rows.fire, A=A, slope=self.slope, root=self.root, G=G, Q=Q)
                backend.each_group(part_of, len(batch))
                return G, Q

            def part(rows: slice) -> None:
                X = batch.X[rows]
                P = X @ self.A
                G[rows] = backend.gain(P > 0, self.slope)
                if self.at is not None:
                    Q[rows] = hidden_outputs(backend, X, P, self.slope)
                elif self.root is not None:
                    Q[rows] = hidden_outputs(backend, X, P, self.slope) @ self.root.T

            backend.each_block(part, len(batch))
            return G, Q

        return batch.once("frame", self, compute)

    def fused(self, backend: Backend, batch: Batch) -> Any:
        """The rows as compiled passes see them, where these know all that is asked for."""
        return backend.fused(batch.X) if self.at is None and self.root is not None else None

    def weights(self, backend: Backend, batch: Batch) -> Array | None:
        """Of every output of every row, where the loss has them: (n, q)."""
        at = self.at
        if at is None:
            return None
        return batch.once("weights", self, lambda: entry_weights(backend, batch, at))

    def change(self, backend: Backend, batch: Batch, V: Array) -> tuple[Array, Array | None]:
        """(G ∘ XV) L: how the outputs change along V, the output layer held: (n, r).

        Times the weights, where there are any. Also what Q has of it, where that is known.
        """

        def compute() -> tuple[Array, Array | None]:
            G, Q = self.on(backend, batch)
            weights = self.weights(backend, batch)
            U = backend.empty(len(batch), self.L.shape[1])
            if (rows := self.fused(backend, batch)) is not None:
                part_of = partial(rows.change, V=rows.weights(V), G=G, L=self.L, Q=Q, U=U)
                return U, backend.sum_over_groups(part_of, len(batch))

            def part(rows: slice) -> None:
                P = batch.X[rows] @ V
                P *= G[rows]
                U[rows] = P @ self.L if weights is None else weights[rows] * (P @ self.L)

            backend.each_block(part, len(batch))
            return U, None

        return batch.once("change", V, compute)


@dataclass(frozen=True, slots=True)
class Firing(Sums):
    GtG: Array  # Σ w_i G_ij G_il
    counts: Counts


@dataclass(frozen=True, slots=True)
class FiringPass:
    """How often neurons fire together, and the counts for the history."""

    frame: Frame
    before: Array | None

    def __call__(self, backend: Backend, batch: Batch) -> Firing:
        G, _ = self.frame.on(backend, batch)
        known = lambda: self.frame.slope < G  # noqa: E731
        F, fired, flips = fire(backend, batch, self.frame.A, self.before, known)
        counts = Counts(fired, flips, float(len(F)), 0.0)
        w = batch.X[:, :1]
        if (V := self.frame.weights(backend, batch)) is not None:
            size = (self.frame.L**2).sum(0)  # of each output's weights
            w = w * (V @ size / size.sum())[:, None] ** 0.5

        def part(rows: slice) -> Array:
            wG = w[rows] * G[rows]
            return wG.T @ wG

        return Firing(backend.sum_over_blocks(part, len(G)), counts)


@dataclass(frozen=True, slots=True)
class ExplainedPass:
    """Qᵀ (G∘XV)L: what S explains of it, in its own frame."""

    frame: Frame
    V: Array

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        U, known = self.frame.change(backend, batch, self.V)
        if known is not None:
            return known * 1  # sums are added to it
        _, Q = self.frame.on(backend, batch)
        return backend.sum_over_blocks(lambda rows: Q[rows].T @ U[rows], len(batch))


@dataclass(frozen=True, slots=True)
class ProductPass:
    """Xᵀ(G ∘ ((U − Q Qᵀ U) Lᵀ)) with U = (G∘XV)L."""

    frame: Frame
    V: Array
    explained: Array | None  # QᵀU

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        G, Q = self.frame.on(backend, batch)
        if self.explained is None and self.frame.at is None:
            whole = backend.one_sweep(batch.X, G, self.frame.L, self.V)
            if whole is not None:
                return whole
        U, _ = self.frame.change(backend, batch, self.V)
        weights = self.frame.weights(backend, batch)
        Lt = self.frame.L.T  # (r, h)
        column = len(Lt) == 1  # then it can wait until the sum is formed
        if (fused := self.frame.fused(backend, batch)) is not None:
            part_of = partial(fused.back, G=G, Q=Q, E=self.explained, U=U, Lt=Lt)
            total = backend.sum_over_groups(part_of, len(batch))
            return total * Lt if column else total

        def part(rows: slice) -> Array:
            left = U[rows]
            if self.explained is not None:
                taken = Q[rows] @ self.explained
                left = left - (taken if weights is None else weights[rows] * taken)
            return batch.X[rows].T @ (G[rows] * (left if column else left @ Lt))

        total = backend.sum_over_blocks(part, len(batch))
        return total * Lt if column else total
