"""Means of the target by level, smoothed, and without the row that they are for.

With w the weight of a level's rows and ȳ the mean of all,

    mean = (Σ w y + m ȳ) / (Σ w + m),      m = variance within levels / variance between them

so that a level of few rows is near ȳ. A training row has the mean of its level over the other
folds: its own y has no part in it.

Levels with an input of their own have no mean: beside that input, what is left of the mean over the
other folds tells the y of the row's own fold, the higher the lower, and a network would learn that.
"""

from __future__ import annotations

import numpy as np

FOLDS = 5
MOST_OUTPUTS = 8


def level_means(place: np.ndarray, m: int, Y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The means for the places 0 … m − 1: (m, q); ȳ where a place has no row."""
    total = weight.sum()
    grand = weight @ Y / total
    own = np.bincount(place, weight, m)
    sums = np.column_stack([np.bincount(place, weight * y, m) for y in (Y - grand).T])
    means = sums / np.maximum(own, 1e-300)[:, None]
    within = weight @ (Y - grand - means[place]) ** 2
    levels = int((own > 0).sum())
    rows = int((weight > 0).sum())
    noise = within / total * rows / max(rows - levels, 1)  # of one row
    spread = own @ means**2 / total - noise * max(levels - 1, 0) / rows  # between levels
    smooth = noise / np.maximum(spread, 1e-3 * (noise + spread) + 1e-300)
    unit = total / rows  # a row's weight
    return grand + sums / np.maximum(own[:, None] + unit * smooth, 1e-300)


def cross_fitted(
    place: np.ndarray, m: int, Y: np.ndarray, weight: np.ndarray, fold: np.ndarray
) -> np.ndarray:  # fmt: skip
    """For each row the mean of its place over the rows of other folds: (n, q)."""
    found = np.empty_like(Y)
    for k in np.unique(fold):
        others = fold != k
        if not weight[others].any():
            others = np.ones(len(Y), dtype=bool)
        means = level_means(place[others], m, Y[others], weight[others])
        found[~others if (fold != k).any() else others] = means[place[fold == k]]
    return found


def rare_means(
    place: np.ndarray, rare: tuple[int, int], Y: np.ndarray, weight: np.ndarray, fold: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The means for the places `rare` (from, to), ȳ of these for others; and those of the rows.

    Places are followed by one for unknown levels and one for gaps: (to + 2, q) and (n, q).
    """
    first, last = rare
    at = np.flatnonzero((place >= first) & (place < last))
    own = place[at] - first, last - first, Y[at], weight[at]
    grand = weight[at] @ Y[at] / weight[at].sum()
    means = np.tile(grand, (last + 2, 1))
    means[first:last] = level_means(*own)
    cross = np.tile(grand, (len(Y), 1))
    cross[at] = cross_fitted(*own, fold[at])
    return means, cross
