"""Probabilities of classes from scores, and the weights of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import compute_sample_weight

SHARPEST = 8.0  # training scores flatter a network; sharper than this they are not believed


def class_weighted(class_weight: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Row weights times class weights; "balanced" counts the rows by their weight."""
    weight = np.ones(len(y)) if weight is None else weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        classes, label = np.unique(y[weight > 0], return_inverse=True)
        share = np.bincount(label, weights=weight[weight > 0])
        class_weight = dict(zip(classes, share.sum() / (len(classes) * share), strict=True))
    return weight * compute_sample_weight(class_weight, y)


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


def one_hot(y: Any, classes: np.ndarray) -> np.ndarray:
    """A 0/1 column a class, or one for two classes."""
    strange = np.setdiff1d(y, classes)
    if len(strange):
        raise ValueError(f"y_val has a class that y does not have: {strange.tolist()[0]!r}.")
    return LabelBinarizer().fit(classes).transform(y).astype(np.float64)


def class_targets(y: Any, classes: np.ndarray, squares: bool) -> np.ndarray:
    """Labels as a fit takes them: one-hot for the squared error, else the place of the class."""
    found = one_hot(y, classes)
    return found if squares else np.searchsorted(classes, y)[:, None].astype(np.float64)
