"""Class probabilities from least-squares scores: a softmax with one temperature."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

SHARPEST = 8.0  # training scores flatter a network; sharper than this they are not believed


def softmax(scores: np.ndarray) -> np.ndarray:
    """exp(scores), normalised along each row."""
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def temperature(scores: np.ndarray, label: np.ndarray, weight: np.ndarray | None) -> float:
    """The factor T ≤ SHARPEST that minimises the weighted log-loss of softmax(T · scores)."""
    weight = np.ones(len(label)) if weight is None else weight
    rows = np.arange(len(label))

    def loss(log_T: float) -> float:
        p = softmax(np.exp(log_T) * scores)[rows, label]
        return float(np.average(-np.log(np.maximum(p, 1e-300)), weights=weight))

    best = minimize_scalar(loss, bounds=(np.log(0.1), np.log(SHARPEST)), method="bounded")
    return float(np.exp(best.x))
