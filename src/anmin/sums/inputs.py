"""The products of the inputs with themselves and with the targets, in double precision."""

from __future__ import annotations

from dataclasses import dataclass

from anmin.backends import Array, Backend
from anmin.sources.batch import Batch


@dataclass(frozen=True, slots=True)
class InputSums:
    XtX: Array  # (p, p); its first entry is Σw
    XtY: Array  # (p, q)
    largest: float  # norm of a row

    def __add__(self, other: InputSums) -> InputSums:
        largest = max(self.largest, other.largest)
        return InputSums(self.XtX + other.XtX, self.XtY + other.XtY, largest)


class InputPass:
    """XᵀX, XᵀY and the largest norm of a row of a batch."""

    def __call__(self, backend: Backend, batch: Batch) -> InputSums:
        def part(rows: slice) -> InputSums:
            X, Y = backend.double(batch.X[rows]), backend.double(batch.Y[rows])
            norms = (X * X).sum(1) / X[:, 0] ** 2
            return InputSums(X.T @ X, X.T @ Y, float(norms.max()) ** 0.5)

        return backend.sum_over_blocks(part, len(batch))
