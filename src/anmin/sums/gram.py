"""The sums of a full pass: all that a firing pattern knows of the rows.

With F = 1[XA > 0], G = (1 − slope)F + slope and z_i = G_i ⊗ x̃_i (neuron-major), a `PatternPass`
collects

    ZᵀZ   Zᵀ1   ZᵀY   tr YᵀY   Yᵀ1   n

None of them depends on the output layer, so one pass at A serves the output layer at A, the
loss, and the next hidden system.

ZᵀZ is kept packed. Its p×p block for neurons j and l is U_jl = Σ_i G_ij G_il x̃_i x̃_iᵀ, which is
symmetric and equal to U_lj; only j ≤ l and a ≤ b are stored, and all of them come from one
product of two thin matrices of pairwise products, a quarter of the work of forming ZᵀZ:

    packed[(j,l), (a,b)] = Σ_i (G_ij G_il) (x̃_ia x̃_ib)

With numba on the CPU they come from tables instead (`backends/pair_tables.py`), a sixteenth of it.

At the A of the pattern σ(x̃a_j) = z_jᵀa_j, so that the sums of S = [σ(XA), 1] follow:

    (ZᵀS)_jl = U_jl a_l      (SᵀS)_jl = a_jᵀ U_jl a_l      (SᵀY)_j = a_jᵀ (ZᵀY)_j

A row of weight w enters as √w(x̃, y), with its pattern unchanged; "1" is then the column √w. So
with the weights of a loss that is not quadratic, and n is then the sum of w times those.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from anmin.backends import Array, Backend
from anmin.sources.batch import Batch
from anmin.sums.output import NetworkPass, OutputStats, entry_weights
from anmin.sums.patterns import Cells, Counts, Rows, Sums, compress, fire


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
    weigh: NetworkPass | None = None  # where a loss that is not quadratic weighs the rows
    targets: bool = True  # whether ZᵀY is asked for, which costs the most where outputs are many

    def __call__(self, backend: Backend, batch: Batch) -> PatternStats:
        X, Y = backend.asarray(batch.X), batch.Y if self.targets else batch.Y[:, :0]
        F, fired, flips = fire(backend, batch, self.A, self.before)  # (n, h)
        if self.weigh is not None:  # of one output: rows of other weights, of the same pattern
            v = entry_weights(backend, batch, self.weigh) ** 0.5  # (n, 1)
            X, Y = X * v, Y * v
        T = backend.append_column(Y, X[:, 0])  # (n, q + 1)
        as_given = self.weigh is None and self.targets
        patterns, cells = compress(backend, Rows(F, X, T), batch if as_given else None)
        ZtZ, ZtT = gram(backend, patterns, self.slope)
        h, p, q = F.shape[1], X.shape[1], Y.shape[1]
        ZtT = ZtT.reshape(h, p, q + 1)
        return PatternStats(
            n=float(T[:, q] @ T[:, q]),
            ZtZ=ZtZ, Zt1=ZtT[:, :, q], ZtY=ZtT[:, :, :q],
            YtY=float((Y * Y).sum()), Yt1=Y.T @ T[:, q],
            counts=Counts(fired, flips, float(len(F)), float(cells)),
        )  # fmt: skip


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
        total: Array | None = None
        for some in backend.subblocks(rows, width):
            GG = backend.pairs(backend.gain(patterns.F[some], slope))  # (h(h+1)/2, k)
            XX = patterns.inputs(backend, some)  # (p(p+1)/2, k)
            if total is None:
                total = backend.zeros(len(GG), len(XX))
            backend.add_product(total, GG, XX)
        assert total is not None  # a block has rows
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


def output_blocks(backend: Backend, stats: PatternStats, U: Array, A: Array) -> tuple[Array, Array]:
    """ZᵀS (h, p, h + 1) and SᵀS (h + 1, h + 1), from ZᵀZ unpacked and the A of its pattern."""
    h, p, _ = stats.shape
    a = backend.asarray(A).T  # (h, p)
    ZtS, StS = backend.zeros(h, p, h + 1), backend.zeros(h + 1, h + 1)
    ZtS[:, :, :h], ZtS[:, :, h] = (U * a).sum(-1), stats.Zt1
    StS[:h] = (a[:, :, None] * ZtS).sum(1)
    StS[h, :h], StS[h, h] = StS[:h, h], stats.n
    return ZtS, StS


def output_sums(backend: Backend, stats: PatternStats, U: Array, A: Array) -> OutputStats:
    """SᵀS and SᵀY without a pass, from ZᵀZ unpacked and the A of its pattern."""
    h, _, q = stats.shape
    StY = backend.zeros(h + 1, q)
    StY[:h] = (backend.asarray(A).T[:, :, None] * stats.ZtY).sum(1)
    StY[h] = stats.Yt1
    return OutputStats(stats.n, output_blocks(backend, stats, U, A)[1], StY, stats.YtY)
