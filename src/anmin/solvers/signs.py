"""Networks that rise, or fall, in an input wherever it lies: signs of the paths through the units.

    ∂f_k/∂x_i = Σ_j A_ij g_j B_jk  with g_j ∈ {slope, 1},  so that  e_i A_ij B_jk ≥ 0 for all j, k

is enough, with e_i = 1 for an input to rise in and −1 for one to fall in. A unit then has a sign:
it is that of all its weights e_i A_ij that are not zero, and so of its output weights. Units whose
weights are all zero there may have output weights of any sign. The columns of an encoding rise
in their input and take its e.

For a given A the best output layer is least squares with signs (`linsolve.solve_signed`). A damped
step leaves weights at zero that it would push across; others end at zero where they would cross.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anmin.backends import Array
from anmin.solvers.problem import Point, Problem


@dataclass(frozen=True)
class SignedProblem(Problem):
    """A problem whose network is to rise or fall in some inputs.

    >>> import numpy as np
    >>> from anmin.backends import get_backend
    >>> from anmin.solvers.signs import SignedProblem
    >>> from anmin.sources import ArraySource, Scaling
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> source = ArraySource(x, abs(x), None, Scaling.identity(1, 1), get_backend(), 50)
    >>> problem = SignedProblem(source, lam=1e-6, directions=np.array([1.0]))
    >>> problem.at(np.array([[0.0, 0.0], [1.0, -1.0]])).W[:2].ravel().round(3) + 0.0
    array([0.4, 0. ])
    """

    directions: np.ndarray = field(default_factory=lambda: np.zeros(0))  # e: 1, −1, or 0 for any

    @property
    def input_signs(self) -> np.ndarray:
        encoding = self.source.scaling.encoding
        e = self.directions if encoding is None else self.directions[encoding.inputs]
        return np.append(0.0, e)

    def output_signs(self, A: Array) -> np.ndarray:
        return np.append(self.unit_signs(self.plain(A)), 0.0)

    def plain(self, V: Any) -> np.ndarray:
        return V if isinstance(V, np.ndarray) else self.backend.to_numpy(V)

    def like(self, array: Any, V: np.ndarray) -> Array:
        """V as the other array is: NumPy's, or the backend's."""
        return V if isinstance(array, np.ndarray) else self.backend.asarray(V)

    def unit_signs(self, A: np.ndarray) -> np.ndarray:
        """The sign of each unit, 0 where it has none: (h,)."""
        T = self.input_signs[:, None] * A
        return (T > 0).any(0) - 1.0 * (T < 0).any(0)

    def at(self, A: Array, W: Array | None = None) -> Point:
        return Problem.at(self, self.obeying(A), W)

    def obeying(self, A: Array, lean: np.ndarray | None = None) -> Array:
        """A with zeros for weights of another sign than the unit's: that of most, or its lean."""
        V = self.plain(A)
        T = self.input_signs[:, None] * V
        s = T.sum(0) if lean is None else np.where(lean == 0, T.sum(0), lean)
        wrong = T * np.where(s < 0, -1.0, 1.0) < 0
        if not wrong.any():
            return A
        return self.like(A, np.where(wrong, 0.0, V))

    def of_use(self, A: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.where(self.unit_signs(A)[:, None] * c < 0, 0.0, c)

    def downhill(self, A: Array, W: Array, g: Array) -> tuple[Array, Array | None]:
        """g without weights at zero that it pushes to the wrong side."""
        V, B, G = map(self.plain, (A, W[:-1], g))
        s, e = self.unit_signs(V), self.input_signs[:, None]
        s = np.where(s == 0, common_sign(B), s)
        free = 1.0 - ((e != 0) & (V == 0) & (e * s * G <= 0))
        return g * self.like(g, free), self.like(g, free)


def common_sign(B: np.ndarray) -> np.ndarray:
    """The sign that the entries of each row have in common; 0 where they have none."""
    up, down = (B > 0).any(1), (B < 0).any(1)
    return np.where(up & down, 0.0, 1.0 * up - down)
