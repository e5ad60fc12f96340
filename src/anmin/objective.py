"""What a fit minimises beside the penalty: Σ ℓ(y, f) over the rows and outputs.

    value      Σ ℓ(y, f)
    residual   −½ ∂ℓ/∂f        what the outputs should gain
    weights     ½ ∂²ℓ/∂f²       how much an entry counts in the curvature; None where all are 1

Rows arrive multiplied by √w, and so do the outputs that they are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from anmin.backends import Array


class Objective(Protocol):
    """A loss that adds over rows and outputs; Y and F are (n, q)."""

    def value(self, Y: Array, F: Array) -> float: ...

    def residual(self, Y: Array, F: Array) -> Array: ...

    def weights(self, Y: Array, F: Array) -> Array | None: ...


@dataclass(frozen=True, slots=True)
class SquaredError:
    """ℓ = (y − f)².

    >>> import numpy as np
    >>> from anmin.objective import SquaredError
    >>> Y, F = np.array([[3.0], [1.0]]), np.array([[1.0], [1.0]])
    >>> SquaredError().value(Y, F), SquaredError().residual(Y, F).ravel()
    (4.0, array([2., 0.]))
    """

    def value(self, Y: Array, F: Array) -> float:
        R = self.residual(Y, F)
        return float((R * R).sum())

    def residual(self, Y: Array, F: Array) -> Array:
        return Y - F

    def weights(self, Y: Array, F: Array) -> None:  # noqa: ARG002
        return None


SQUARED_ERROR = SquaredError()
