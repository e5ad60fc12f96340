"""The sums of a firing pattern where each unit sees inputs of its own.

With X_j (n, m) the inputs of unit j, z_i = (G_i1 x_i1, …, G_ih x_ih) has m h entries. Units share
no outer products, so that ZᵀZ is a plain product of the rows Z; m h is small, that is the point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anmin.backends import Array, Backend
from anmin.sources.batch import Batch
from anmin.sums.output import NetworkPass, entry_weights, hidden_outputs
from anmin.sums.patterns import Counts, Sums, fire


@dataclass(frozen=True, slots=True)
class GatheredStats(Sums):
    """What `PatternStats` says of a pattern, not packed."""

    n: float  # Σw
    ZtZ: Array  # (h m, h m)
    ZtS: Array  # (h m, h + 1)
    StS: Array  # (h + 1, h + 1)
    counts: Counts | int = 0


@dataclass(frozen=True, slots=True)
class GatheredPass:
    """The kernel of a full pass over rows of which each unit sees some columns."""

    a: Array  # (m, h)
    slope: float
    before: Array | None = None  # the weights whose pattern the flips are counted against
    weigh: NetworkPass | None = None  # where a loss that is not quadratic weighs the rows

    def __call__(self, backend: Backend, batch: Batch) -> GatheredStats:
        v = None if self.weigh is None else entry_weights(backend, batch, self.weigh) ** 0.5

        def part(rows: slice) -> GatheredStats:
            X = batch.X[rows]
            P = X @ self.a
            S = hidden_outputs(backend, X, P, self.slope)
            Z = X.gathered() * backend.gain(P > 0, self.slope)[:, :, None]  # type: ignore[attr-defined]
            Z = Z.reshape(len(Z), -1)
            if v is not None:
                S, Z = S * v[rows], Z * v[rows]
            return GatheredStats(float(S[:, -1] @ S[:, -1]), Z.T @ Z, Z.T @ S, S.T @ S)

        F, fired, flips = fire(backend, batch, self.a, self.before)
        counts = Counts(fired, flips, float(len(F)), 0.0)
        return replace(backend.sum_over_blocks(part, len(batch)), counts=counts)


class OwnInputsPass:
    """X_jᵀ X_j of every unit: (h, m, m)."""

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        def part(rows: slice) -> Array:
            X = batch.X[rows].gathered().swapaxes(0, 1)  # type: ignore[attr-defined]
            return X.swapaxes(1, 2) @ X

        return backend.sum_over_blocks(part, len(batch))
