"""What a backend offers. Two libraries spell these calls differently; all else they share.

To the type checker an `Array` is NumPy's: the core uses what a tensor has as well, `@`, `*`, `+`,
slices, `.T`, `.sum`, `.reshape`. The tests run the same laws on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Array: TypeAlias = np.ndarray  # or a torch.Tensor
Groups: TypeAlias = tuple[Array, ...]  # which rows are alike: from `group_rows` to `sum_groups`
Sum = TypeVar("Sum")  # something that adds
WIDE = 2048  # columns above which rows are very wide: nothing of size p × p is formed


class Backend(Protocol):
    """Arithmetic on one device, the rows in one floating-point type."""

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def working(self) -> int:
        """Bytes that a batch and what is computed from it may take."""

    @property
    def scratch(self) -> int:
        """Numbers of rows that are prepared at a time."""

    @property
    def room(self) -> int:
        """Bytes of prepared rows that may be kept beside the input."""

    def batch(self, n: int, most: int) -> int:
        """Rows a batch of n in all, where so many fit; the same whatever the number of devices."""

    @property
    def side_by_side(self) -> int:
        """Threads that may use it at a time."""

    @property
    def stacks(self) -> bool:
        """Whether steps of several networks are made as one, on tensors."""

    @property
    def looks_up(self) -> bool:
        """Whether products with hinges go through tables, and not through a matrix."""

    def single(self) -> Backend:
        """The same device in single precision."""

    def for_width(self, p: int) -> Backend:
        """The same device, for rows of so many columns."""

    def session(self) -> AbstractContextManager[None]:
        """What a fit holds while it runs."""

    def eps(self, array: Array) -> float:
        """The rounding unit of the numbers in an array."""

    def asarray(self, values: npt.ArrayLike) -> Array:
        """Values in the type of the rows."""

    def double(self, values: npt.ArrayLike) -> Array:
        """Values in full precision, whatever the type of the rows."""

    def integers(self, values: np.ndarray) -> Array: ...

    def carried(self, array: Array) -> Array:
        """An array of another device of its kind on this one, in its own type."""

    def to_numpy(self, array: Array) -> np.ndarray: ...
    def zeros(self, *shape: int) -> Array: ...
    def empty(self, *shape: int) -> Array: ...

    def shifted(self, M: Array, shift: float) -> Array:
        """M + shift I, a copy."""

    def contiguous(self, array: Array) -> Array: ...
    def append_column(self, left: Array, column: Array) -> Array: ...
    def where(self, test: Array, yes: Array | float, no: Array | float) -> Array: ...

    # ---- rows -----------------------------------------------------------------------------

    def fused(self, X: Any) -> Any:
        """X as compiled passes over whole groups of blocks see it; None where there are none."""

    def one_sweep(self, X: Array, G: Array, L: Array, V: Array) -> Array | None:
        """Xᵀ(G ∘ (((G ∘ XV)L)Lᵀ)) where rows need be read once only; None where they do not."""

    def each_group(self, part: Callable[[slice], None], n: int) -> None:
        """part(rows) for each group of blocks."""

    def sum_over_groups(self, part: Callable[[slice], Sum], n: int) -> Sum:
        """Σ part(rows) over the groups, in order."""

    def sum_over_blocks(self, part: Callable[[slice], Sum], n: int) -> Sum:
        """Σ part(rows) over consecutive blocks of rows, in their order."""

    def each_block(self, part: Callable[[slice], None], n: int) -> None:
        """part(rows) for each block of rows, for what it writes."""

    def subblocks(self, rows: slice, width: int) -> Iterator[slice]:
        """`rows` in pieces small enough for `width` numbers a row."""

    def fires(self, X: Array, A: Array) -> Array:
        """F = 1[X A > 0], as booleans."""

    def gain(self, F: Array, slope: float) -> Array:
        """G = (1 − slope) F + slope."""

    def activate(self, P: Array, slope: float) -> Array:
        """σ(P) = max(P, slope · P)."""

    # ---- products of pairs, and rows that are alike ----------------------------------------

    def pairs(self, V: Array) -> Array:
        """The products V_ij V_il of all pairs of columns j ≤ l: (n, m) → (m(m+1)/2, n)."""

    def row_pairs(self, V: Array) -> Array:
        """The same products, row by row: (n, m) → (n, m(m+1)/2)."""

    def table_sums(
        self, F: Array, products: Callable[[slice], Array], slope: float
    ) -> Array | None:
        """Pair sums by tables; None where products are faster."""

    def add_product(self, total: Array, left: Array, right: Array) -> None:
        """total += left @ right.T."""

    def group_rows(self, F: Array) -> tuple[Array, Groups]:
        """Equal rows of a boolean matrix: one of each kind, and the grouping for `sum_groups`."""

    def sum_groups(self, V: Array, groups: Groups, k: int) -> Array:
        """Σ of the rows of V over each of the k groups found by `group_rows`: (k, m)."""

    def count(self, F: Array, before: Array) -> tuple[Array, int]:
        """How often each column of F is on, and how many entries differ from `before`."""

    # ---- symmetric systems, in the type of the matrix ---------------------------------------

    def cholesky(self, M: Array) -> Array | None:
        """The lower factor of M, or None where M is not positive definite."""

    def cho_solve(self, L: Array, c: Array) -> Array: ...
    def triangular_inverse(self, L: Array) -> Array: ...
    def logdet(self, L: Array) -> float: ...

    def condition(self, M: Array, L: Array) -> float:
        """An estimate of the condition number of M in the 1-norm, from its factor."""

    def eigh(self, M: Array) -> tuple[Array, Array]:
        """Eigenvalues, ascending, and eigenvectors."""

    def orthonormal(self, V: Array) -> Array:
        """An orthonormal basis of the columns of V."""
