"""What rows with known targets show of a model: where it fails, what it relies on, how it answers.

The loss of a row is its squared error, over all targets; of classes, minus the logarithm of the
share that the true one was given. The error of some rows is the root of their mean loss, or, of
classes, the mean itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types
from sklearn.base import is_classifier

from anmin.cli.measures import row_losses
from anmin.cli.roles import LabelledRows
from anmin.cli.useless import is_text
from anmin.plotting import outputs

GROUPS = 4  # into which a column of numbers is cut
LEAST, LEAST_SHARE = 15, 0.01  # rows of a group that is judged
CLEARLY = 2.0  # standard errors above the mean
MUCH = 1.2  # times the error of all rows
SHUFFLED = 1500  # rows, for importance
POINTS, AVERAGED, LEVELS = 30, 300, 12  # of a dependence


@dataclass(frozen=True, slots=True)
class Group:
    """Some of the rows, and how the error there compares."""

    name: str
    rows: int
    error: float
    times: float  # the error of all rows


class Findings:
    """A model on some rows."""

    def __init__(self, model: Any, rows: LabelledRows) -> None:
        self.model, self.rows = model, rows
        self.classes = is_classifier(model)

    @cached_property
    def said(self) -> np.ndarray:
        return outputs(self.model, self.rows.X)  # (n, q)

    @cached_property
    def losses(self) -> np.ndarray:
        return row_losses(self.model, self.rows).sum(axis=1)  # (n,)

    def error(self, losses: np.ndarray) -> float:
        mean = float(losses.mean())
        return mean if self.classes else mean**0.5

    # ---- where it fails -------------------------------------------------------------------------

    def weak_groups(self, most: int = 8) -> list[Group]:
        """Groups of rows with a clearly larger error, those that cost most first."""
        whole, n = self.error(self.losses), len(self.losses)
        found: list[tuple[float, Group]] = []
        for name, members in self.groups():
            losses = self.losses[members]
            if not max(LEAST, LEAST_SHARE * n) <= len(losses) < n or whole == 0:
                continue
            excess, spread = losses.mean() - self.losses.mean(), losses.std() / len(losses) ** 0.5
            group = Group(name, len(losses), self.error(losses), self.error(losses) / whole)
            if group.times >= MUCH and excess > CLEARLY * spread:
                found.append((len(losses) * excess, group))
        return [group for _, group in sorted(found, key=lambda pair: -pair[0])][:most]

    def groups(self) -> Iterator[tuple[str, np.ndarray]]:
        """Rows by what one column holds: a text, a range of numbers, a gap; or by the truth."""
        truth = [] if self.rows.y.ndim > 1 else [("the truth", pd.Series(self.rows.y))]
        for name, given in [*self.rows.X.items(), *truth]:
            column = given.reset_index(drop=True)
            if column.isna().any():
                yield f"{name} is missing", np.flatnonzero(column.isna())
            if is_text(column) or column.nunique() <= GROUPS or types.is_bool_dtype(column):
                for level, members in column.groupby(column, observed=True).indices.items():
                    yield f"{name} = {level}", members
            else:
                parts = pd.qcut(column, GROUPS, duplicates="drop")
                for members in column.groupby(parts, observed=True).indices.values():
                    low, high = column[members].min(), column[members].max()
                    yield f"{name} from {short(low)} to {short(high)}", members

    def worst_rows(self, most: int = 10) -> np.ndarray:
        """Places of the rows of the largest loss."""
        return np.argsort(-self.losses, kind="stable")[:most]

    def outside(self, ranges: dict[str, dict[str, float]]) -> list[tuple[str, Group]]:
        """Rows beyond what training had of a column: the range there, and the error here."""
        found, whole = [], self.error(self.losses) or np.inf
        for name in [name for name in ranges if name in self.rows.X]:
            low, high = ranges[name]["min"], ranges[name]["max"]
            x = self.rows.X[name].to_numpy(float, na_value=np.nan)
            members = np.flatnonzero((x < low) | (x > high))
            if len(members):
                error = self.error(self.losses[members])
                group = Group(name, len(members), error, error / whole)
                found.append((f"{short(low)} to {short(high)}", group))
        return sorted(found, key=lambda pair: -pair[1].rows)

    # ---- what it relies on ----------------------------------------------------------------------

    @cached_property
    def importance(self) -> dict[str, float]:
        """How much the error grows when a column is shuffled among the rows, largest first."""
        rng = np.random.default_rng(0)
        some = self.rows.part(rng.permutation(len(self.rows.y))[:SHUFFLED])
        X, before = some.X.reset_index(drop=True), self.error(row_losses(self.model, some).sum(1))
        found = {}
        for name in X:
            order = rng.permutation(len(X))
            mixed = X.copy()
            mixed[name] = X[name].iloc[order].reset_index(drop=True)
            rows = LabelledRows(mixed, some.y)
            found[name] = self.error(row_losses(self.model, rows).sum(1)) - before
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    def dependence(self, name: str) -> tuple[pd.Series, np.ndarray]:
        """Values of a column, and the mean output over rows where it is set to each of them."""
        column = self.rows.X[name]
        if is_text(column) or types.is_bool_dtype(column):
            values = column.value_counts().index[:LEVELS].to_series(index=None)
        elif column.nunique() <= LEVELS:
            values = pd.Series(np.sort(column.dropna().unique()))
        else:
            given = column.dropna()
            low, high = given.quantile([0.01, 0.99])
            values = pd.Series(pd.date_range(low, high, POINTS) if is_date(column)
                               else np.linspace(low, high, POINTS))  # fmt: skip
        some = self.rows.X.sample(min(AVERAGED, len(column)), random_state=0)
        grid = pd.concat([some] * len(values), ignore_index=True)
        grid[name] = pd.Series(np.repeat(values.to_numpy(), len(some))).astype(column.dtype)
        which = int(len(getattr(self.model, "classes_", ())) == 2)  # of two classes the second
        means = outputs(self.model, grid)[:, which].reshape(len(values), -1).mean(axis=1)
        return values.reset_index(drop=True), means


def is_date(column: pd.Series) -> bool:
    return bool(types.is_datetime64_any_dtype(column))


def short(value: Any) -> str:
    """A bound for a reader."""
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
