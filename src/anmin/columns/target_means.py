"""Means of the target by level, smoothed, and without the row that they are for.

With w the weight of a level's rows and ȳ the mean of all,

    mean = (Σ w y + m ȳ) / (Σ w + m),      m = variance within levels / variance between them

so that a level of few rows is near ȳ. A training row of a rare level has the mean over the other
folds: its own y has no part in it. A row of a level that has an input of its own has the mean of
all: beside that input, the mean over other folds would tell the y of the row's own fold, the higher
the lower, and a network would learn that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

FOLDS = 5
MOST_OUTPUTS = 8


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of the training rows, their weights, and the fold of each."""

    Y: np.ndarray  # (n, q)
    weight: np.ndarray  # (n,)
    fold: np.ndarray  # (n,)
    grouped: bool  # whether folds keep groups together, so that all levels are to be cross-fitted

    def means(self, place: np.ndarray, m: int) -> np.ndarray:
        """The mean for each of m places: (m, q)."""
        return level_means(place, m, self.Y, self.weight)

    def cross_fitted(self, place: np.ndarray, m: int) -> np.ndarray:
        """For each row the mean of its place over the rows of other folds: (n, q)."""
        found = np.tile(self.weight @ self.Y / self.weight.sum(), (len(self.Y), 1))
        for k in np.unique(self.fold):
            some = self.fold != k
            if self.weight[some].any():
                means = level_means(place[some], m, self.Y[some], self.weight[some])
                found[~some] = means[place[~some]]
        return found


def folds(n: int, groups: Any) -> np.ndarray:
    """A fold for each row, one for all rows of a group."""
    rng = np.random.RandomState(0)
    if groups is None:
        return rng.permutation(n) % FOLDS
    place = np.unique(np.asarray(groups), return_inverse=True)[1]
    return rng.permutation(place.max() + 1)[place] % FOLDS


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
