"""Starts from trees: the splits of an ensemble as hidden units in soft form.

A path through a tree is a rule: x_j > t and x_k ≤ u and … With s_c the conditions in soft form,
numbers from 0 to 1,

    σ(s_1 + … + s_m − (m − 1))             1 where all of them hold, 0 where one of them fails

is one unit. Where a condition is a hinge of an encoding it is exactly 0 or 1 outside of the hinge's
ramp, so that a tree with m leaves is, for all rows outside of the ramps, a network of m units; as
the ramps become steep it is that for all rows but those on a threshold. On inputs without hinges a
condition is a line, u = (x − t) / deviation, and the unit σ(Σ u) a plane through the corner of the
rule: an approximation, that only says where a bend belongs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from anmin.encoding import Encoding, distinct
from anmin.sources.scaling import Scaling
from anmin.tree_models import Split, trees_of

TREES, LEAVES = 100, 8  # of an ensemble of our own
OUTPUTS = 3  # directions of the targets that trees are grown for, at most
CONDITIONS = 3  # of a rule, at most: the last ones of a longer path
MOST_RULES = 512
MOST_CUTS, OF_AN_INPUT = 256, 100  # thresholds that inputs are cut at
SOFT = 0.03  # of the rows, on either side of a threshold


class Condition(NamedTuple):
    """x_input > threshold, or x_input ≤ threshold."""

    input: int
    threshold: float
    above: bool


Rule = tuple[Condition, ...]


def rules_below(split: Split, path: Rule = ()) -> Iterator[tuple[Rule, float]]:
    """The rules of all paths from a split on, each with the gain of its last split."""
    for above, child in ((False, split.left), (True, split.right)):
        rule = path
        if split.input is not None:
            new = Condition(split.input, split.threshold, above)
            kept = [c for c in path if (c.input, c.above) != (new.input, new.above)]
            rule = (*kept, new)[-CONDITIONS:]
            yield rule, split.gain
        if child is not None:
            yield from rules_below(child, rule)


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of an ensemble, those of the largest gain first; conditions are flat arrays."""

    rule: np.ndarray  # (c,) the rule that each condition belongs to
    input: np.ndarray  # (c,)
    threshold: np.ndarray  # (c,)
    above: np.ndarray  # (c,) booleans
    gain: np.ndarray  # (k,)
    cut: np.ndarray  # (m,) inputs that are cut, ...
    cut_at: np.ndarray  # (m,) ... and where: thresholds of all splits, those of most gain first

    @classmethod
    def of(cls, trees: Iterable[Split]) -> Rules:
        """The most useful rules of some trees; gains of equal ones add up."""
        total: dict[Rule, float] = {}
        cuts: dict[tuple[int, float], float] = {}
        for tree in trees:
            for path, gain in rules_below(tree):
                key, cut = tuple(sorted(path)), path[-1][:2]
                total[key] = total.get(key, 0.0) + gain
                cuts[cut] = cuts.get(cut, 0.0) + gain
        best = sorted(total, key=lambda key: (-total[key], key))[:MOST_RULES]
        lines = sorted(cuts, key=lambda cut: (-cuts[cut], cut))[:MOST_CUTS]
        flat = [(k, *condition) for k, key in enumerate(best) for condition in key]
        rule, inputs, threshold, above = np.array(flat, dtype=float).reshape(-1, 4).T
        column, at = np.array(lines, dtype=float).reshape(-1, 2).T
        gains = np.array([total[key] for key in best])
        conditions = rule.astype(int), inputs.astype(int), threshold, above > 0
        return cls(*conditions, gains, column.astype(int), at)

    def __len__(self) -> int:
        return len(self.gain)

    def units(self, scaling: Scaling) -> np.ndarray:
        """One unit a rule, on the inputs of a network behind this scaling: (p, k)."""
        k, rule = len(self), self.rule
        sign = np.where(self.above, 1.0, -1.0)
        column, hinged = self.columns(scaling.encoding)
        t = self.threshold
        if scaling.encoding is not None:
            t = scaling.encoding.clipped(t, self.input)
        slope = np.where(hinged, sign, sign / scaling.x_scale[column])
        V = np.zeros((scaling.n_inputs, k))
        np.add.at(V, (column, rule), slope)
        lines = np.bincount(rule, ~hinged, k) > 0
        hinges = np.bincount(rule, hinged, k)
        offset = np.where(hinged, ~self.above, -slope * t)
        bias = np.bincount(rule, offset, k) - hinges + ~lines  # −(hinges − 1) without lines
        return np.vstack([bias + scaling.x_mean @ V, V * scaling.x_scale[:, None]])

    def columns(self, encoding: Encoding | None) -> tuple[np.ndarray, np.ndarray]:
        """The column of each condition, and whether it is a hinge: the one about its threshold."""
        column, hinged = self.input.copy(), np.zeros(len(self.input), dtype=bool)
        if encoding is None:
            return column, hinged
        d = len(encoding.centre)
        for j in np.unique(encoding.column):
            own, mine = np.flatnonzero(encoding.column == j), self.input == j
            place = np.searchsorted(encoding.low[own], self.threshold[mine], side="right") - 1
            column[mine], hinged[mine] = d + own[np.maximum(place, 0)], True
        return column, hinged

    def encoding(self, X: np.ndarray, weight: np.ndarray | None) -> Encoding:
        """Clipped inputs, and hinges about the thresholds: of most gain where they are too many."""
        plain = Encoding.fit(X, weight, 0)
        parts = [(plain.column, plain.low, plain.high)]
        for j in range(X.shape[1]):
            t = self.cut_at[self.cut == j][:OF_AN_INPUT]
            start, end = ramps(np.sort(t), *distinct(X[:, j].astype(float), weight))
            parts.append((np.full(len(start), j), start, end))
        column, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
        return replace(plain, column=column.astype(int), low=low, high=high)


def ramps(t: np.ndarray, values: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the hinges of thresholds begin and end, at values of the input, side by side.

    They rise over a share `SOFT` of the rows on both sides, but not beyond the value half way to
    the next threshold, and at least from the value below to the one above.
    """
    below = np.unique(np.searchsorted(values, t, side="right") - 1)
    below = below[(below >= 0) & (below < len(values) - 1)]  # of thresholds that tell rows apart
    at = (values[below] + values[below + 1]) / 2
    middle = np.searchsorted(values, (at[1:] + at[:-1]) / 2)
    middle = np.clip(middle, below[:-1] + 1, below[1:])
    start = np.searchsorted(share, share[below] - SOFT)
    end = np.searchsorted(share, share[below] + SOFT)
    start = np.maximum(np.minimum(start, below), np.append(0, middle)[: len(below)])
    end = np.minimum(np.maximum(end, below + 1), np.append(middle, len(values) - 1)[: len(below)])
    return values[start], values[end]


@dataclass(frozen=True, slots=True)
class TreeStart:
    """Where rules come from: trees that are grown on the rows at hand, or a fitted ensemble."""

    given: Rules | None = None

    def rules(self, X: np.ndarray, R: np.ndarray, weight: np.ndarray | None) -> Rules:
        return grown_rules(X, R, weight) if self.given is None else self.given


def tree_start(init: Any, d: int) -> TreeStart:
    """What `init` says of trees for d inputs: "trees", or a fitted ensemble."""
    if isinstance(init, str):
        return TreeStart()
    rules = Rules.of(trees_of(init))
    if len(rules) and rules.input.max() >= d:
        raise ValueError(f"init splits on input {rules.input.max()}, and X has {d} inputs, from 0.")
    return TreeStart(rules)


def grown_rules(X: np.ndarray, R: np.ndarray, weight: np.ndarray | None) -> Rules:
    """The rules of small boosted trees, grown for the leading directions of R (n, q)."""
    if R.shape[1] > OUTPUTS:
        R = R @ np.linalg.svd(R.T @ R)[0][:, :OUTPUTS]
    trees: list[Split] = []
    with threadpool_limits(1, user_api="openmp"):  # threads that wait for each other stand still
        for r in R.T:
            model = HistGradientBoostingRegressor(
                max_iter=TREES, max_leaf_nodes=LEAVES, early_stopping=False, random_state=0
            )
            trees += trees_of(model.fit(X, r, weight))
    return Rules.of(trees)
