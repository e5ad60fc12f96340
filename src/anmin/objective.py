"""What a fit minimises beside the penalty: Σ ℓ(y, f) over the rows and outputs.

    value      Σ ℓ(y, f)
    residual   −½ ∂ℓ/∂f        what the outputs should gain
    weights     ½ ∂²ℓ/∂f²       how much an entry counts in the curvature; None where all are 1

Rows arrive multiplied by √w, and so do the outputs that they are compared with: Y = √w y, F = √w f.
`root` is √w, a column, for losses that are not quadratic. With ∂/∂F = ∂/∂f / √w the residual is
that of the row times √w, and the weights are those of the row as they are.

With weights V a least-squares problem takes the place of the loss near F: Σ V (F + R/V − SW)².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from anmin.backends import Array


class Objective(Protocol):
    """A loss that adds over rows; Y and F are (n, q), root is (n, 1)."""

    @property
    def least_squares(self) -> bool:
        """Whether it is quadratic, with the same weight for every entry: sums replace passes."""

    @property
    def degree(self) -> float:
        """It has the unit of y to this power."""

    @property
    def bounded(self) -> bool:
        """Whether no row pulls harder than others, however far away: outliers are let be."""

    def near(self, level: float) -> Objective:
        """The same where its mean has come down to `level`; only directions may depend on that."""

    def judged_on(self, rows: int) -> Objective:
        """The same for so many held-out rows that are to choose: they may all have been lucky."""

    def value(self, Y: Array, F: Array, root: Array) -> float: ...

    def residual(self, Y: Array, F: Array, root: Array) -> Array: ...

    def weights(self, Y: Array, F: Array, root: Array) -> Array | None: ...

    def terms(self, Y: Array, F: Array, root: Array) -> tuple[float, Array, Array]:
        """All three at once, weights as an array in any case."""


@dataclass(frozen=True, slots=True)
class SquaredError:
    """ℓ = (y − f)².

    >>> import numpy as np
    >>> from anmin.objective import SquaredError
    >>> Y, F, root = np.array([[3.0], [1.0]]), np.array([[1.0], [1.0]]), np.ones((2, 1))
    >>> SquaredError().value(Y, F, root), SquaredError().residual(Y, F, root).ravel()
    (4.0, array([2., 0.]))
    """

    @property
    def least_squares(self) -> bool:
        return True

    @property
    def degree(self) -> float:
        return 2.0

    @property
    def bounded(self) -> bool:
        return False

    def near(self, level: float) -> SquaredError:  # noqa: ARG002
        return self

    def judged_on(self, rows: int) -> SquaredError:  # noqa: ARG002
        return self

    def value(self, Y: Array, F: Array, root: Array) -> float:
        R = self.residual(Y, F, root)
        return float((R * R).sum())

    def residual(self, Y: Array, F: Array, root: Array) -> Array:  # noqa: ARG002
        return Y - F

    def weights(self, Y: Array, F: Array, root: Array) -> None:  # noqa: ARG002
        return None

    def terms(self, Y: Array, F: Array, root: Array) -> tuple[float, Array, Array]:
        R = self.residual(Y, F, root)
        return self.value(Y, F, root), R, weights_of(self, Y, F, root)


SQUARED_ERROR = SquaredError()


def weights_of(objective: Objective, Y: Array, F: Array, root: Array) -> Array:
    """The weights as an array in any case: (n, q)."""
    V = objective.weights(Y, F, root)
    return 1 + 0 * F if V is None else V
