"""Rows of a SciPy sparse matrix S, standardised and never made dense.

With V′ = V / scale the centre is taken care of after the product, not before it:

    Z = (S − mean) / scale          Z V = S V′ − mean V′
    X = [√w, √w Z]                  X V = √w (V_0 + Z V_1…)       Xᵀ U = [√w U; Zᵀ(√w U)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse


@dataclass(frozen=True, slots=True, eq=False)
class Standardised:
    """(S − mean) / scale as a matrix of which products are asked."""

    S: Any  # (n, d) in compressed rows
    mean: np.ndarray  # (d,)
    scale: np.ndarray  # (d,)

    @property
    def shape(self) -> tuple[int, int]:
        return self.S.shape

    def __len__(self) -> int:
        return self.S.shape[0]

    def __getitem__(self, rows: Any) -> Standardised:
        return replace(self, S=self.S[rows])

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        V = V / self.scale.astype(V.dtype)[:, None]
        return self.S @ V - self.mean.astype(V.dtype) @ V

    def transposed(self, U: np.ndarray) -> np.ndarray:
        """Zᵀ U."""
        mean, scale = (v.astype(U.dtype)[:, None] for v in (self.mean, self.scale))
        return (self.S.T @ U - mean * U.sum(0)) / scale

    def toarray(self) -> np.ndarray:
        return (self.S.toarray() - self.mean) / self.scale


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """[1, Z], all times √w, spelt as an array where a kernel asks: `X @ V`, `X.T @ U`, `X[:, 0]`.

    Anything else, such as `X * X`, is refused.
    """

    Z: Standardised
    root: np.ndarray  # (n,): √w
    implicit = True
    __array_ufunc__ = None  # an array before @ leaves the work to this class

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.root), self.Z.shape[1] + 1

    @property
    def dtype(self) -> np.dtype:
        return self.root.dtype

    @property
    def nbytes(self) -> int:
        S = self.Z.S
        return S.data.nbytes + S.indices.nbytes + S.indptr.nbytes + self.root.nbytes

    @property
    def pieces(self) -> tuple[np.ndarray, ...]:
        """All that tells these rows from others, but their scaling."""
        S = self.Z.S
        return S.data, S.indices, S.indptr, self.root

    @property
    def T(self) -> SparseColumns:
        return SparseColumns(self)

    def __len__(self) -> int:
        return len(self.root)

    def __getitem__(self, key: Any) -> Any:
        """Some of the rows; or, as X[:, 0] and X[:, :1], √w."""
        if isinstance(key, tuple):
            return self.root[:, None][key]
        return SparseRows(self.Z[key], self.root[key])

    def astype(self, dtype: Any) -> SparseRows:
        if self.dtype == dtype:
            return self
        S = self.Z.S.astype(dtype)
        return SparseRows(replace(self.Z, S=S), self.root.astype(dtype))

    def __mul__(self, column: np.ndarray) -> SparseRows:
        """The rows times a column (n, 1)."""
        return replace(self, root=self.root * column[:, 0])

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self.root[:, None] * (self.Z @ V[1:] + V[0])


@dataclass(frozen=True, slots=True, eq=False)
class SparseColumns:
    """The transpose of sparse rows, of which only products are asked."""

    rows: SparseRows

    def __matmul__(self, U: np.ndarray) -> np.ndarray:
        U = self.rows.root[:, None] * U
        return np.vstack([U.sum(0), self.rows.Z.transposed(U)])


def sparse_rows(
    S: Any, mean: np.ndarray, scale: np.ndarray, weight: np.ndarray | None, dtype: Any
) -> SparseRows:
    """Raw rows S, prepared."""
    root = np.ones(S.shape[0]) if weight is None else np.sqrt(weight)
    return SparseRows(Standardised(S.astype(dtype), mean, scale), root.astype(dtype))


def made_dense(X: Any) -> np.ndarray:
    """A few columns of X as an array."""
    return X.toarray() if issparse(X) else np.ascontiguousarray(X)


def square_sums(X: Any, V: np.ndarray) -> np.ndarray:
    """Σ w x_j² V for the inputs j of rows X, each by itself: (n, m) → (d, m)."""
    if not isinstance(X, SparseRows):
        return (X[:, 1:] ** 2).T @ V
    Z, V, mean = X.Z, (X.root**2)[:, None] * V, X.Z.mean[:, None]
    squares = Z.S.power(2).T @ V - mean * (2 * (Z.S.T @ V) - mean * V.sum(0))
    return np.maximum(squares, 0) / Z.scale[:, None] ** 2


def hinge_sums(X: Any, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ √w σ(x_j) [R, √w] as (d, q + 1), and Σ σ(x_j)² ‖R_i‖², for each input j by itself.

    A hinge at the mean is off where S is zero, unless the mean is negative; it is then on there,
    and its sums are those of all rows less those where it is off.
    """
    U, power = np.column_stack([R, X[:, 0]]), ((R / X[:, :1]) ** 2).sum(1, keepdims=True)
    if not isinstance(X, SparseRows):
        P = np.maximum(X[:, 1:], 0)
        return P.T @ U, ((P * P).T @ power)[:, 0]
    Z, S, part = X.Z, X.Z.S, X.Z.S.copy()
    x, lit = (S.data - Z.mean[S.indices]) / Z.scale[S.indices], Z.mean < 0
    part.data = np.where(lit[S.indices], np.minimum(x, 0), np.maximum(x, 0))
    first = part.T @ (X.root[:, None] * U)
    second = part.power(2).T @ (X.root**2 * power[:, 0])
    if lit.any():
        first[lit] = (X.T @ U)[1:][lit] - first[lit]
        second[lit] = square_sums(X, power)[lit, 0] - second[lit]
    return first, second
