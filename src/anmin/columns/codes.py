"""Numbers that are names: of a person, a county, a day.

A network with hinges follows what is smooth in a number, and cannot tell one person from the next.
Whether single values tell more of the target is a question for Fisher's test, here of its ranks, so
that no few large values decide: with S_h the squares that a piecewise linear function of h
parameters leaves, and S_v those about the means of the v values of the column,

    F = (S_h − S_v) / (v − h)  ÷  S_v / (n − v)

Where it is beyond chance, and S_v/(n − v) is less than S_h/(n − h) by a part that counts, the
column is a code.
"""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc

PIECES = 16  # of the piecewise linear function, as many as hinges
LEAST_ROWS = 3  # of a value, on average
CHANCE, PART = 1e-4, 0.1  # probability of F by chance; part of S_h/(n − h) beyond S_v/(n − v)
LARGEST = 2.0**24  # up to which whole numbers are exact in single precision


def may_be_code(x: np.ndarray) -> bool:
    """Whether a column holds whole numbers that come again, and more of them than hinges.

    >>> import numpy as np
    >>> from anmin.columns.codes import may_be_code
    >>> may_be_code(np.arange(300) % 30), may_be_code(np.arange(300)), may_be_code(np.arange(9) % 3)
    (True, False, False)
    """
    x = np.asarray(x, dtype=np.float64)
    if not (np.abs(x) < LARGEST).all() or (x % 1 != 0).any():
        return False
    values = len(np.unique(x))
    return values > PIECES + 1 and LEAST_ROWS * values <= len(x)


def is_code(x: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> bool:
    """Whether single values of x tell more of Y (n, q) than its size does."""
    counts = weight > 0
    x, Y, w = x[counts], Y[counts], weight[counts]
    if not Y.shape[1] or not may_be_code(x):
        return False
    knots = np.unique(np.quantile(x, np.linspace(0, 1, PIECES + 1)))
    hinges = np.clip((x[:, None] - knots[:-1]) / np.diff(knots), 0, 1)
    H, root = np.column_stack([np.ones(len(x)), hinges]), np.sqrt(w)[:, None]  # (n, h)
    Y = np.column_stack([ranks(y) for y in Y.T])
    W = np.linalg.lstsq(root * H, root * Y, rcond=None)[0]
    left = float((w @ (Y - H @ W) ** 2).sum())  # S_h
    values, place = np.unique(x, return_inverse=True)
    sums = np.column_stack([np.bincount(place, w * y) for y in Y.T])
    within = float((w @ (Y - (sums / np.bincount(place, w)[:, None])[place]) ** 2).sum())  # S_v
    h, v, n = H.shape[1], len(values), len(x)
    noise = max(within / (n - v), 1e-300)  # what many means explain by chance is taken off
    if noise >= (1 - PART) * left / (n - h):
        return False
    more = max(v - h, 1)
    return bool(fdtrc(more, n - v, (left - within) / more / noise) < CHANCE)


def ranks(y: np.ndarray) -> np.ndarray:
    """The places of y in order, from −½ to ½; equal ones share theirs.

    >>> import numpy as np
    >>> from anmin.columns.codes import ranks
    >>> ranks(np.array([7.0, -2.0, 7.0, 1e9]))
    array([ 0.   , -0.375,  0.   ,  0.375])
    """
    _, place, count = np.unique(y, return_inverse=True, return_counts=True)
    return ((np.cumsum(count) - count / 2) / len(y) - 0.5)[place]
