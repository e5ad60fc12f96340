"""Hidden units that see few inputs each: A without its zeros.

A[a, j] = 0 says that unit j does not see input a. What is left of A are the m ≤ k + 1 weights of
each unit, gathered as (m, h), and a source that multiplies them with the inputs of their own:

    (X a)_ij = Σ_c X[i, index[c, j]] a[c, j]        (Xᵀ U)_cj = Σ_i X[i, index[c, j]] U_ij

The kernels ask `X @ a` and `X.T @ U` as ever, and so gradient, curvature and loss have m h unknowns
and cost n h m, however many inputs there are. Only columns that some unit sees are prepared. A unit
with fewer connections than others has a last place among them that is always zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anmin.backends import Backend
from anmin.backends.compiled import kernels
from anmin.sources.batch import Batch, Source
from anmin.sources.chunk import Chunk
from anmin.sources.scaling import Scaling

WIDE = 8  # columns for each connection of a unit, from which they are gathered one by one


@dataclass(frozen=True, slots=True, eq=False)
class Support:
    """The inputs that units see: `index` are places among the bias, those `used`, and nothing."""

    used: np.ndarray  # (u,) inputs that any unit sees
    index: np.ndarray  # (m, h)
    inputs: int  # d

    @classmethod
    def of(cls, A: np.ndarray) -> Support:
        """Where A (p, h) is not zero, and the biases.

        >>> import numpy as np
        >>> from anmin.sources.support import Support
        >>> A = np.array([[1.0, 2.0], [0.0, 3.0], [0.0, 0.0], [4.0, 5.0]])
        >>> support = Support.of(A)
        >>> support.used, support.gather(A)
        (array([0, 2]), array([[1., 2.],
               [4., 3.],
               [0., 5.]]))
        """
        on = A[1:] != 0
        used = np.flatnonzero(on.any(axis=1))
        on, (h, u) = on[used], (A.shape[1], len(used))
        m = int(on.sum(axis=0).max(initial=0)) + 1
        index = np.full((m, h), u + 1)
        index[:1] = 0
        unit, place = np.nonzero(on.T)
        rank = np.arange(len(unit)) - np.searchsorted(unit, unit)
        index[1 + rank, unit] = 1 + place
        return cls(used, index, len(A) - 1)

    def same(self, other: Support) -> bool:
        return np.array_equal(self.used, other.used) and np.array_equal(self.index, other.index)

    def gather(self, A: np.ndarray) -> np.ndarray:
        """The weights that there are: (p, h) → (m, h)."""
        V = np.vstack([A[0], A[1:][self.used], np.zeros(A.shape[1])])
        return np.take_along_axis(V, self.index, axis=0)

    def scatter(self, a: np.ndarray) -> np.ndarray:
        """A with these weights, zero elsewhere: (m, h) → (p, h)."""
        V = spread(a, self.index, len(self.used) + 2)
        A = np.zeros((self.inputs + 1, a.shape[1]))
        A[0], A[1 + self.used] = V[0], V[1:-1]
        return A

    def source(self, whole: Source) -> SupportedSource:
        """The rows of a source as these units see them."""
        columns = np.append(self.used, 0)
        scaling = whole.scaling.only(columns)
        scaling.x_scale[-1] = np.inf  # the last one is nothing
        raw = whole.raw.only(columns)
        return SupportedSource(raw, scaling, whole.backend, whole.batch_size, self.index)


def spread(a: np.ndarray, index: np.ndarray, p: int) -> np.ndarray:
    """Gathered weights as a matrix of p inputs: (m, h) → (p, h)."""
    V = np.zeros((p, a.shape[1]), dtype=a.dtype)
    np.put_along_axis(V, index, a, axis=0)
    return V


class SupportedSource(Source):
    """Rows of few columns, of which each unit sees its own."""

    def __init__(
        self, raw: Any, scaling: Scaling, backend: Backend, batch_size: int, index: np.ndarray
    ) -> None:
        super().__init__(raw, scaling, backend, batch_size)
        self.index = index

    @property
    def shape(self) -> tuple[int, int, int]:
        """n, m, q."""
        n, _, q = super().shape
        return n, len(self.index), q

    def _prepare(self, chunk: Chunk, start: int) -> Batch:
        batch = super()._prepare(chunk, start)
        wide = batch.X.shape[1] > WIDE * len(self.index) and kernels() is not None
        X = np.asfortranarray(batch.X) if wide else batch.X
        rows = SupportedRows(X, self.index, slice(0, len(X)), wide)
        return Batch(rows, batch.Y, start)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class SupportedRows:
    """Rows of X (n, u + 2) as units see them: products with gathered weights."""

    X: np.ndarray
    index: np.ndarray  # (m, h)
    some: slice  # rows of X
    wide: bool  # whether columns are gathered one by one, and not multiplied with zeros
    implicit = True

    @property
    def own(self) -> np.ndarray:
        return self.X[self.some]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.index)

    @property
    def nbytes(self) -> int:
        return self.X.nbytes

    @property
    def T(self) -> SupportedColumns:
        return SupportedColumns(self)

    def __len__(self) -> int:
        return self.some.stop - self.some.start

    def __getitem__(self, key: Any) -> Any:
        """A slice of the rows; or, as X[:, 0], columns of X."""
        if isinstance(key, tuple):
            return self.own[key]
        start, stop, _ = key.indices(len(self))
        first = self.some.start
        return replace(self, some=slice(first + start, first + stop))

    def astype(self, dtype: Any) -> SupportedRows:
        if self.X.dtype == dtype:
            return self
        X = self.own.astype(dtype, order="F" if self.wide else "C")
        return replace(self, X=X, some=slice(0, len(X)))

    def gathered(self) -> np.ndarray:
        """The inputs of every unit: (n, h, m)."""
        return self.own[:, self.index.T]

    def __matmul__(self, a: np.ndarray) -> np.ndarray:
        if not self.wide:
            return self.own @ spread(a, self.index, self.X.shape[1])
        P = np.zeros((a.shape[1], len(self)), dtype=np.result_type(self.X, a))
        kernels().add_columns(P, self.X.T, self.some.start, self.index, a)  # type: ignore[union-attr]
        return np.ascontiguousarray(P.T)


@dataclass(frozen=True, slots=True, eq=False)
class SupportedColumns:
    """The transpose of supported rows, of which only products are asked."""

    rows: SupportedRows

    def __matmul__(self, U: np.ndarray) -> np.ndarray:
        X, index, first = self.rows.X, self.rows.index, self.rows.some.start
        if not self.rows.wide:
            return np.take_along_axis(self.rows.own.T @ U, index, axis=0)
        out = np.empty(index.shape, dtype=np.result_type(X, U))
        Ut = np.ascontiguousarray(U.T, dtype=X.dtype)
        kernels().sum_columns(Ut, X.T, first, index, out)  # type: ignore[union-attr]
        return out
