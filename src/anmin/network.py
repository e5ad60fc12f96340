"""The network f(x) = σ(x̃ A) B + b0, with x̃ = (1, x) and σ(t) = max(t, slope · t)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DOUBLE = np.dtype(np.float64)


def activate(P: np.ndarray, slope: float) -> np.ndarray:
    """σ(P) = max(P, slope · P)."""
    return np.maximum(P, 0 if slope == 0 else slope * P)


def gain(F: np.ndarray, slope: float, dtype: np.dtype = DOUBLE) -> np.ndarray:
    """G = (1 − slope) F + slope, the derivative of σ; F tells, as booleans, which units fire."""
    return F.astype(dtype) if slope == 0 else np.where(F, dtype.type(1), dtype.type(slope))


@dataclass(frozen=True, slots=True)
class Network:
    """Parameters of a two-layer network, as NumPy arrays in float64."""

    A: np.ndarray  # (p, h): row 0 holds the hidden biases
    B: np.ndarray  # (h, q)
    b0: np.ndarray  # (q,)
    slope: float = 0.0

    def forward(self, X: np.ndarray) -> np.ndarray:
        """f for rows of plain inputs, without the column of ones: (n, d) → (n, q)."""
        P = X @ self.A[1:] + self.A[0]  # (n, h)
        return activate(P, self.slope) @ self.B + self.b0

    def scaled(self, s: float) -> Network:
        """s f, with the factor shared between both layers."""
        root = s**0.5
        return Network(self.A * root, self.B * root, self.b0 * s, self.slope)

    def fold(self, mean: np.ndarray, scale: np.ndarray, y_mean: np.ndarray) -> Network:
        """The same function of raw inputs: this network acts on (x − mean) / scale."""
        W = self.A[1:] / scale[:, None]  # (d, h)
        bias = self.A[0] - mean @ W
        return Network(np.vstack([bias, W]), self.B, self.b0 + y_mean, self.slope)
