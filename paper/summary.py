"""Means over splits, and what may be said about them.

Bold, as in the paper: the best mean, and every mean whose paired t-test against it gives p > 0.01.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from paper import published
from paper.record import Record

SIGNIFICANT = 0.01


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean and sample deviation over the splits where the number is finite."""

    mean: float
    sd: float
    count: int
    lost: int = 0  # splits where it is not finite

    def __str__(self) -> str:
        return pair(self.mean, self.sd)


class Results:
    """The records, by data and method."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)
        self.runs: dict[tuple[str, str], dict[int, Record]] = {}
        for record in self.records:
            self.runs.setdefault((record.data, record.method), {})[record.split] = record

    def of(self, data: str, method: str) -> list[Record]:
        """The runs of a method on a set, split by split."""
        return list(self.runs.get((data, method), {}).values())

    def has(self, data: str, method: str) -> bool:
        return (data, method) in self.runs

    def values(self, data: str, method: str, measure: str) -> dict[int, float]:
        runs = self.runs.get((data, method), {})
        return {split: getattr(record, measure) for split, record in runs.items()}

    def summary(self, data: str, method: str, measure: str) -> Summary:
        return summarise(list(self.values(data, method, measure).values()))

    def best(self, data: str, methods: Sequence[str], measure: str) -> tuple[str, set[str]]:
        """The method with the best mean, and those that are not significantly worse.

        A method that blew up on a split comes after all that did not.
        """
        sign = -1 if measure.endswith("r2") else 1
        found = {m: self.summary(data, m, measure) for m in methods}
        first = min(found, key=lambda m: (found[m].lost, sign * found[m].mean))
        champion = self.values(data, first, measure)
        return first, {
            m for m in methods if m == first or p_value(champion, self.values(data, m, measure))
            > SIGNIFICANT
        }  # fmt: skip


def summarise(values: Sequence[float]) -> Summary:
    """Mean and deviation of the finite values.

    >>> str(summarise([1.0, 2.0, 3.0, nan]))
    '2.00 (1.00)'
    """
    known = np.array([value for value in values if isfinite(value)])
    if known.size == 0:
        return Summary(nan, nan, 0, len(values))
    sd = float(known.std(ddof=1)) if known.size > 1 else nan
    return Summary(float(known.mean()), sd, known.size, len(values) - known.size)


def p_value(one: dict[int, float], other: dict[int, float]) -> float:
    """Of the paired t-test over the splits that both have; 1 where they are equal throughout.

    A method with too few common splits, or that blew up on one, cannot claim to be as good: 0.

    >>> p_value({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0})
    1.0
    """
    common = sorted(set(one) & set(other))
    a, b = (np.array([values[split] for split in common]) for values in (one, other))
    if len(common) < 2 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return 0.0
    gap: NDArray = a - b
    if np.ptp(gap) <= 1e-9 * np.abs(gap).max():  # constant: the t-statistic has no meaning
        return 0.0 if gap.any() else 1.0
    return float(ttest_rel(a, b).pvalue)


def number(value: float, like: float | None = None) -> str:
    """Three or four digits, as the paper prints; or with as many decimals as another number has.

    >>> number(3.5312), number(1457.2), number(0.9951), number(nan), number(0.0812, like=3.53)
    ('3.53', '1,457', '0.995', '–', '0.08')
    """
    if not isfinite(value):
        return "–" if isnan(value) else "∞"
    if abs(value) >= 1e7:
        return f"{value:.2g}"
    size = abs(value if like is None or not isfinite(like) else like)
    return f"{value:,.{3 - sum(size >= bound for bound in (1, 100, 1000))}f}"


def pair(mean: float, sd: float) -> str:
    """A mean with its deviation.

    >>> pair(2988.0, 36.8)
    '2,988 (37)'
    """
    return f"{number(mean)} ({number(sd, like=mean)})"


def paper_key(data: str) -> str:
    """The name under which the paper prints a set: it has one DAE, we have two."""
    return "dae" if data == "dae-clean" else data


def printed(measure: str, data: str, method: str) -> published.Printed | None:
    return published.TABLE3[measure].get(paper_key(data), {}).get(method)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Our mean against the printed one: no more above it than the allowance, or below it."""

    ours: Summary
    theirs: published.Printed

    @property
    def allowance(self) -> float:
        """The larger of 15 % and two standard errors of the difference."""
        errors = self.theirs.sd**2 / published.SPLITS
        if self.ours.count > 1:
            errors += self.ours.sd**2 / self.ours.count
        return max(0.15 * self.theirs.mean, 2 * sqrt(errors))

    @property
    def difference(self) -> float:
        return self.ours.mean / self.theirs.mean - 1

    @property
    def words(self) -> str:
        gap = self.ours.mean - self.theirs.mean
        if not isfinite(gap):
            return "not run"
        if abs(gap) <= self.allowance:
            return "agrees"
        return "better" if gap < 0 else "worse"
