"""The kinds of columns, each with its way to numbers. All of it is plain data.

    NumberColumn      x, or a neutral value in a gap; [x is missing]
    DateColumn        years since 1970, day of the year, … as far as they vary; [is missing]
    CategoryColumn    a row of a table for each level, one for all others, one for a gap:
                      0/1 for each frequent level, for all others, for gaps; means of the target
    CodeColumn        a number whose values are names (`codes.py`): as a number, and as a category

An input "… is missing" is made where the training rows had gaps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anmin.columns.cells import numbers, plain, seconds, texts

DAY = 86_400.0
YEAR = 365.2425 * DAY


@dataclass(frozen=True)
class NumberColumn:
    """A number, or a gap."""

    name: str
    neutral: float  # that stands for a gap
    gaps: bool = False  # whether the training rows had gaps

    @property
    def made(self) -> list[str]:
        """Names of the inputs that are made of it."""
        return [self.name, *missing(self)]

    def block(self, column: Any) -> np.ndarray:
        """(n, made inputs)."""
        x = numbers(self.name, plain(column)[0])
        return filled(x, self.neutral, self.gaps)


def missing(column: Any) -> list[str]:
    return [f"{column.name} is missing"] if column.gaps else []


def filled(x: np.ndarray, neutral: float, gaps: bool) -> np.ndarray:
    """x without its gaps, and where they were."""
    at = np.isnan(x)
    x = np.where(at, neutral, x)
    return np.column_stack([x, at]) if gaps else x[:, None]


@dataclass(frozen=True)
class DateColumn:
    """A date, with or without the time of the day, as a number and parts of the calendar."""

    name: str
    neutral: float  # seconds since 1970
    parts: tuple[str, ...]  # of PARTS
    gaps: bool = False

    @property
    def made(self) -> list[str]:
        return [f"{self.name}: {part}" for part in self.parts] + missing(self)

    def block(self, column: Any) -> np.ndarray:
        t = seconds(self.name, plain(column)[0])
        at = np.isnan(t)
        parts = calendar(np.where(at, self.neutral, t))
        columns = [parts[part] for part in self.parts]
        return np.column_stack([*columns, at] if self.gaps else columns)


def calendar(t: np.ndarray) -> dict[str, np.ndarray]:
    """The parts of the calendar for seconds since 1970; days by the civil calendar.

    >>> import numpy as np
    >>> from anmin.columns.kinds import calendar
    >>> leap = calendar(np.array([1709208000.0]))  # noon of 2024-02-29, a Thursday
    >>> {part: float(leap[part][0]) for part in ("day", "month", "weekday", "hour")}
    {'day': 29.0, 'month': 2.0, 'weekday': 4.0, 'hour': 12.0}
    """
    days = np.floor(t / DAY)
    z = days + 719_468  # from the first of March of the year 0: leap days come last
    within = z - np.floor(z / 146_097) * 146_097  # 400 years
    leaps = np.floor(within / 1460) - np.floor(within / 36_524) + np.floor(within / 146_096)
    year = np.floor((within - leaps) / 365)
    day = within - (365 * year + np.floor(year / 4) - np.floor(year / 100))  # 0 … 365
    month = np.floor((5 * day + 2) / 153)  # 0 is March
    return {
        "years": t / YEAR,
        "season": np.mod(day + 60, 366),
        "month": np.where(month < 10, month + 3, month - 9),
        "day": day - np.floor((153 * month + 2) / 5) + 1,
        "weekday": np.mod(days + 3, 7) + 1,
        "hour": (t - days * DAY) / 3600,
    }


PARTS = tuple(calendar(np.zeros(1)))


@dataclass(frozen=True)
class CategoryColumn:
    """A level among some; the first `single` of them have an input of their own."""

    name: str
    levels: tuple[str, ...]
    single: int
    pooled: bool  # whether the others, known or not, share an input
    gaps: bool
    means: np.ndarray = field(repr=False)  # of the target: (levels + 2, t), others and gaps last

    @property
    def made(self) -> list[str]:
        own = [f"{self.name}={level}" for level in self.levels[: self.single]]
        t = self.means.shape[1]
        means = [f"{self.name}: mean" if t == 1 else f"{self.name}: mean {k}" for k in range(t)]
        other = [f"{self.name}=(other)"] if self.pooled else []
        return [*own[self.alternative :], *other, *missing(self), *means]

    @property
    def alternative(self) -> bool:
        """Two levels and nothing else: the second alone says it all."""
        return self.single == len(self.levels) == 2 and not self.pooled and not self.gaps

    @property
    def slots(self) -> np.ndarray:
        """The made input that is 1 for each level, for others, and for a gap; −1 for none."""
        m, first = len(self.levels), self.single - self.alternative
        other = first if self.pooled else -1
        slots = np.full(m + 2, other)
        slots[: self.single] = np.arange(self.single) - self.alternative
        slots[m + 1] = first + self.pooled if self.gaps else other
        return slots

    def rows(self, place: np.ndarray) -> np.ndarray:
        """The made inputs for cells at these places among levels, others, gaps."""
        t = self.means.shape[1]
        Z = np.zeros((len(place), len(self.made)))
        slot = self.slots[place]
        has = np.flatnonzero(slot >= 0)
        Z[has, slot[has]] = 1
        Z[:, Z.shape[1] - t :] = self.means[place]
        return Z

    def block(self, column: Any) -> np.ndarray:
        return self.rows(places(texts(plain(column)[0]), self.levels))


def places(cells: list[str | None], levels: tuple[str, ...]) -> np.ndarray:
    """The place of each cell among the levels; after them unknown ones, then gaps."""
    m = len(levels)
    place: dict[str | None, int] = {level: k for k, level in enumerate(levels)}
    place[None] = m + 1
    return np.fromiter((place.get(cell, m) for cell in cells), dtype=np.int64, count=len(cells))


@dataclass(frozen=True)
class CodeColumn:
    """A number that names something; a gap, and a value that is not known, is any other level."""

    number: NumberColumn
    category: CategoryColumn
    gaps = False

    @property
    def name(self) -> str:
        return self.number.name

    @property
    def made(self) -> list[str]:
        return [*self.number.made, *self.category.made]

    def block(self, column: Any) -> np.ndarray:
        x, levels = numbers(self.name, plain(column)[0]), self.category.levels
        place = np.minimum(places(texts(x), levels), len(levels))
        return np.hstack([filled(x, self.number.neutral, False), self.category.rows(place)])


Column = NumberColumn | DateColumn | CategoryColumn | CodeColumn
