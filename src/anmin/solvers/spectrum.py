"""XᵀX/n by its eigenvalues; where it has too many columns to be formed, by the leading ones.

    XᵀX/n ≈ QΛQᵀ + rest (I − QQᵀ)

with r columns of Q from a few sweeps of a random block through the rows, and `rest` the mean of the
eigenvalues that are left. It is exact where there are no more than r rows. What is solved with it
serves as a preconditioner, and conjugate gradients with products Xᵀ(XV) do the rest, so that
nothing of size p × p is formed.

Along a path the columns are scaled anew, and XᵀX follows from what it was (`InputProducts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from anmin.backends import Array, Backend, NumpyBackend
from anmin.sources import Batch, Source
from anmin.sums.output import InputPass

ALL_VALUES = 400  # columns up to which all eigenvalues of XᵀX are looked for, ...
RANK = 128  # ... and beyond
FORMED = 800  # columns up to which it pays to form it
SWEEPS = 1
FEW = 400  # rows that are cheap in full precision
PRODUCTS, ENOUGH = 20, 1e-4  # of conjugate gradients, and the relative residual

CPU = NumpyBackend()

Product = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class GramPass:
    """Xᵀ(XV)."""

    V: Array  # (p, k)

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        V = backend.asarray(self.V)

        def part(rows: slice) -> Array:
            return batch.X[rows].T @ (batch.X[rows] @ V)

        return backend.sum_over_blocks(part, len(batch))


@dataclass(frozen=True, slots=True)
class WideSums:
    """What can be had of the inputs and targets with p numbers an output."""

    XtX: Array  # the diagonal: (p,); its first entry is Σw
    Xt1: Array  # (p,)
    XtY: Array  # (p, q)
    YtY: float
    largest: float  # norm of a row

    def __add__(self, other: WideSums) -> WideSums:
        XtX, Xt1, XtY = self.XtX + other.XtX, self.Xt1 + other.Xt1, self.XtY + other.XtY
        return WideSums(XtX, Xt1, XtY, self.YtY + other.YtY, max(self.largest, other.largest))


class WidePass:
    """The sums of a batch, in double precision."""

    def __call__(self, backend: Backend, batch: Batch) -> WideSums:
        def part(rows: slice) -> WideSums:
            X, Y = backend.double(batch.X[rows]), backend.double(batch.Y[rows])
            squares, one = X * X, X[:, 0]
            largest = float((squares.sum(1) / one**2).max()) ** 0.5
            return WideSums(squares.sum(0), X.T @ one, X.T @ Y, float((Y * Y).sum()), largest)

        return backend.sum_over_blocks(part, len(batch))


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Eigenvalues with their vectors, and one number for all others."""

    values: np.ndarray  # (r,)
    vectors: np.ndarray  # (p, r)
    rest: float

    def solve(self, c: np.ndarray, shift: float) -> np.ndarray:
        """(QΛQᵀ + rest (I − QQᵀ) + shift)⁻¹ c."""
        inside = self.vectors.T @ c
        weight = 1 / (self.values + shift) - 1 / (self.rest + shift)
        return self.vectors @ (weight[:, None] * inside) + c / (self.rest + shift)


def leading(product: Product, p: int, trace: float, rank: int, be: Backend = CPU) -> Spectrum:
    """The `rank` largest eigenvalues of a symmetric matrix of this trace."""
    rank = min(rank, p)
    Q = be.double(np.random.RandomState(0).standard_normal((p, rank)))
    for _ in range(SWEEPS):
        Q = be.orthonormal(product(Q))
    found, V = be.eigh(Q.T @ product(Q))
    values = np.maximum(be.to_numpy(found), 0.0)
    rest = max(trace - float(values.sum()), 0.0) / max(p - rank, 1)
    return Spectrum(values, be.to_numpy(Q @ V), rest)


def conjugate_gradients(
    product: Product, c: np.ndarray, shift: float, spectrum: Spectrum
) -> np.ndarray:  # fmt: skip
    """v with (M + shift) v = c, each column for itself."""
    v = spectrum.solve(c, shift)
    r = c - product(v) - shift * v
    z = spectrum.solve(r, shift)
    d, rz, goal = z, (r * z).sum(0), ENOUGH**2 * (c * c).sum(0)
    for _ in range(PRODUCTS):
        if ((r * r).sum(0) <= goal).all():
            break
        Md = product(d) + shift * d
        step = rz / np.maximum((d * Md).sum(0), 1e-300)
        v, r = v + step * d, r - step * Md
        z = spectrum.solve(r, shift)
        rz, old = (r * z).sum(0), rz
        d = z + rz / np.maximum(old, 1e-300) * d
    return v


class CentredInputs:
    """K = XᵀX/n and c = XᵀY/n about the means, without the leading column; K as a product."""

    def __init__(self, source: Source) -> None:
        sums, be = source.reduce(WidePass()), source.backend
        XtX, Xt1, XtY = (be.to_numpy(V) for V in (sums.XtX, sums.Xt1, sums.XtY))
        self.source, self.n, self.largest = source, float(XtX[0]), sums.largest
        self.mean, self.y_mean = Xt1[1:] / self.n, XtY[0] / self.n
        self.c = XtY[1:] / self.n - np.outer(self.mean, self.y_mean)  # (p − 1, q)
        self.variance = sums.YtY / self.n - float(self.y_mean @ self.y_mean)
        self.trace = float((XtX[1:] / self.n - self.mean**2).sum())

        self.solved: dict[float, np.ndarray] = {}

    def __call__(self, V: np.ndarray) -> np.ndarray:
        """K V."""
        return self.product(self.source, V)

    def product(self, source: Source, V: np.ndarray) -> np.ndarray:
        be, padded = source.backend, np.vstack([-self.mean @ V, V])  # x̃ times this is (x − mean)V
        G = be.to_numpy(source.reduce(GramPass(be.asarray(padded)))) / self.n
        return G[1:] - np.outer(self.mean, G[0])

    @cached_property
    def spectrum(self) -> Spectrum:
        """Of many rows in single precision: it chooses a penalty, and is a preconditioner."""
        source, n = self.source, len(self.source)
        if n > FEW:
            source = source.using(source.backend.single())
        return leading(partial(self.product, source), len(self.c), self.trace, min(RANK, n))

    def ridge(self, penalty: float) -> np.ndarray:
        """(K + penalty)⁻¹ c."""
        if penalty not in self.solved:
            found = conjugate_gradients(self, self.c, penalty, self.spectrum)
            self.solved[penalty] = found
        return self.solved[penalty]


def centred_inputs(source: Source) -> CentredInputs:
    """Those of a source, which it remembers: they take many passes."""
    if "centred_inputs" not in source.__dict__:
        source.__dict__["centred_inputs"] = CentredInputs(source)
    return source.__dict__["centred_inputs"]


class InputProducts:
    """XᵀX/n of the rows that were first: summed up once, and then scaled as columns are."""

    def __init__(self, first: Source) -> None:
        self.first, self.scale = first, first.scaling.x_scale

    @cached_property
    def known(self) -> Array:
        XtX = self.first.reduce(InputPass()).XtX
        del self.first  # the rows may be many bytes
        return XtX / XtX[0, 0]

    def at(self, source: Source) -> Array:
        """That of rows like these in another scaling."""
        if (scale := source.scaling.x_scale) is self.scale:
            return self.known
        ratio = source.backend.double(np.append(1.0, self.scale / scale))
        return ratio[:, None] * self.known * ratio

    def moments(self, source: Source) -> tuple[Array, Array, float]:
        """Eigenvalues and eigenvectors, and what stands for those that are not known."""
        be, (rows, p, _) = source.backend, source.shape
        if p <= ALL_VALUES:
            values, vectors = be.eigh(self.at(source))
            return be.asarray(values * (values > 0)), be.asarray(vectors), 0.0
        found = leading_inputs(source) if p > FORMED else self.leading(source, min(RANK, rows))
        return be.asarray(found.values), be.asarray(found.vectors), found.rest

    def leading(self, source: Source, rank: int) -> Spectrum:
        XtX = self.at(source)
        trace = float(XtX.diagonal().sum())
        return leading(lambda V: XtX @ V, len(XtX), trace, rank, source.backend)


def leading_inputs(source: Source) -> Spectrum:
    """The leading eigenvalues of XᵀX/n itself, which is not formed."""
    be, (rows, p, _) = source.backend, source.shape
    squares = be.to_numpy(source.reduce(WidePass()).XtX)

    def product(V: Array) -> Array:
        return be.double(source.reduce(GramPass(V))) / squares[0]

    return leading(product, p, float(squares.sum() / squares[0]), min(RANK, rows), be)
