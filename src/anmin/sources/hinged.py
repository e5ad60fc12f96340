"""Rows behind an encoding with hinges, as a matrix that is never formed.

Of the hinges of an input at most one is neither 0 nor 1 on a row: those before it are 1, those
after it 0. So a row is, for each input, a place k and a part f, and with C the sums of the rows of
V before each one

    (X V)_i = Σ_j C[k_ij] + f_ij V[k_ij]          (Xᵀ U)_k = Σ_{k_i = k} f_i U_i + Σ_{k_i > k} U_i

cost the same however many hinges there are: about what `FEW` columns an input cost as a matrix,
which is formed where there are no more. Centre, scale and √w are taken care of on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anmin.backends.compiled import kernels
from anmin.encoding import Encoding

FEW = 6  # hinges an input, by trial


@dataclass(frozen=True, slots=True, eq=False)
class Hinges:
    """Where the hinges of each input stand among m columns, and how the columns are scaled."""

    input: np.ndarray  # (g,) inputs that have hinges
    first: np.ndarray  # (g,) the first column of each
    size: np.ndarray  # (g,) how many
    low: np.ndarray  # (m,)
    high: np.ndarray  # (m,)
    mean: np.ndarray  # (m,)
    scale: np.ndarray  # (m,)

    @classmethod
    def of(cls, encoding: Encoding, x_mean: np.ndarray, x_scale: np.ndarray) -> Hinges:
        d = len(encoding.centre)
        inputs, first, size = np.unique(encoding.column, return_index=True, return_counts=True)
        return cls(inputs, first, size, encoding.low, encoding.high, x_mean[d:], x_scale[d:])

    @property
    def many(self) -> bool:
        """Whether there are enough of them for tables to be quicker than the matrix."""
        return len(self.mean) > FEW * len(self.input)

    def columns(self, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Means (m,) and scales (m, 1) in the type of a product."""
        return self.mean.astype(dtype), self.scale.astype(dtype)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class HingedRows:
    """[D, hinges], all times √w; D (n, d + 1) is a matrix whose first column is √w.

    What a kernel asks of X is spelt as for an array: `X @ V`, `X.T @ U`, `X[rows]`, `X[:, 0]`.
    Anything else, such as `X * X`, forms it.
    """

    D: np.ndarray  # (n, d + 1)
    place: np.ndarray  # (n, g) whole numbers
    part: np.ndarray  # (n, g) within [0, 1]
    hinges: Hinges
    implicit = True  # never formed where products will do
    __array_ufunc__ = None  # an array before @ or * leaves the work to this class

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.D), self.D.shape[1] + len(self.hinges.mean)

    @property
    def dtype(self) -> np.dtype:
        return self.D.dtype

    @property
    def nbytes(self) -> int:
        return self.D.nbytes + self.place.nbytes + self.part.nbytes

    @property
    def T(self) -> HingedColumns:
        return HingedColumns(self)

    def __len__(self) -> int:
        return len(self.D)

    def __getitem__(self, key: Any) -> Any:
        """Some of the rows, or of the columns of D."""
        if isinstance(key, tuple):
            return self.D[key]
        return HingedRows(self.D[key], self.place[key], self.part[key], self.hinges)

    def astype(self, dtype: Any) -> HingedRows:
        if self.dtype == dtype:
            return self
        return replace(self, D=self.D.astype(dtype), part=self.part.astype(dtype))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        hinges, X = self.hinges, np.empty(self.shape, dtype=dtype or self.dtype)
        X[:, : self.D.shape[1]] = self.D
        H = X[:, self.D.shape[1] :]
        for j, first in enumerate(hinges.first):
            steps = self.place[:, j, None] + self.part[:, j, None] - np.arange(hinges.size[j])
            np.clip(steps, 0, 1, out=H[:, first : first + hinges.size[j]])
        H -= hinges.mean
        H /= hinges.scale
        H *= self.D[:, :1]
        return X

    def __mul__(self, other: Any) -> np.ndarray:
        return np.asarray(self) * np.asarray(other)

    __rmul__ = __mul__

    def __rmatmul__(self, U: np.ndarray) -> np.ndarray:
        return (self.T @ U.T).T

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        hinges, own, compiled = self.hinges, self.D.shape[1], kernels()
        dtype = np.result_type(self.dtype, V)
        if compiled is None:
            return np.asarray(self, dtype=dtype) @ V
        X, (mean, scale) = self.astype(dtype), hinges.columns(dtype)
        H, first = V[own:] / scale, V[:own].astype(dtype)
        first[0] -= mean @ H
        P = X.D @ first
        T = compiled.hinge_table(H, hinges.first, hinges.size)
        compiled.add_hinges(P, X.D[:, 0], X.place, X.part, hinges.first, T)
        return P


@dataclass(frozen=True, slots=True, eq=False)
class HingedColumns:
    """The transpose of hinged rows, of which only products are asked."""

    rows: HingedRows

    def __matmul__(self, U: Any) -> np.ndarray:
        X, hinges, compiled = self.rows, self.rows.hinges, kernels()
        U = np.asarray(U)
        dtype = np.result_type(X.dtype, U)
        if compiled is None:
            return np.asarray(X, dtype=dtype).T @ U
        if flat := U.ndim == 1:
            U = U[:, None]
        X, (mean, scale) = X.astype(dtype), hinges.columns(dtype)
        U = np.ascontiguousarray(U, dtype=dtype)
        out = np.zeros((X.shape[1], U.shape[1]), dtype=dtype)
        own, H = out[: X.D.shape[1]], out[X.D.shape[1] :]
        np.matmul(X.D.T, U, out=own)
        Z = np.zeros((len(H), 2, U.shape[1]), dtype=dtype)
        compiled.collect_hinges(U, X.D[:, 0], X.place, X.part, hinges.first, Z)
        H += compiled.spread_hinges(Z, hinges.first, hinges.size)
        H -= mean[:, None] * own[0]
        H /= scale
        return out[:, 0] if flat else out


def hinged_rows(X: np.ndarray, D: np.ndarray, hinges: Hinges) -> HingedRows:
    """Raw rows X with their dense part D, prepared."""
    place = np.empty((len(X), len(hinges.input)), dtype=np.uint8)
    part = np.empty(place.shape, dtype=D.dtype)
    for j, (first, size) in enumerate(zip(hinges.first, hinges.size, strict=True)):
        own, x = slice(first, first + size), X[:, hinges.input[j]]
        low, high = hinges.low[own], hinges.high[own]
        at = np.clip(np.searchsorted(low, x, side="right") - 1, 0, size - 1)
        place[:, j] = at
        part[:, j] = np.clip((x - low[at]) / (high[at] - low[at]), 0, 1)
    return HingedRows(D, place, part, hinges)
