"""What a report is about, and the verdict on it in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from anmin.cli import measures
from anmin.cli.findings import Findings
from anmin.cli.measures import Errors, comparison, verdict
from anmin.cli.roles import LabelledRows
from anmin.cli.schema import share_seen
from anmin.export import cost

if TYPE_CHECKING:
    from anmin.base import BaseANMIN
    from anmin.cli.schema import Schema


@dataclass(frozen=True)
class Subject:
    """What a page is about: a fitted model, its columns, and rows to judge it on if there are."""

    model: BaseANMIN
    schema: Schema
    rows: LabelledRows | None = None
    title: str = "Report"

    def cost(self) -> dict[str, int]:
        """What a prediction takes, by name."""
        return asdict(cost(self.model))

    @cached_property
    def findings(self) -> Findings | None:
        return None if self.rows is None else Findings(self.model, self.rows)

    def importances(self) -> dict[str, float]:
        """The share of each column in what varies in the prediction, largest first."""
        shares = getattr(self.model, "feature_importances_", np.zeros(0))
        order = np.argsort(-shares, kind="stable")
        return {self.schema.inputs[k]: float(shares[k]) for k in order}

    def errors(self) -> dict[str, Errors]:
        """The errors that `anmin fit` measured, and those on the rows at hand."""
        known = self.schema.summary.errors() if self.schema.summary else {}
        if self.rows is not None:
            here = measures.errors(self.model, self.rows, self.schema.targets)
            known = {f"these {len(self.rows.X):,} rows": here} | known
        return known

    @cached_property
    def seen(self) -> float:
        """The share of the rows at hand that the model was fitted on; NaN where unknown."""
        known = self.schema.summary
        return (
            float("nan")
            if known is None or self.rows is None
            else share_seen(self.rows, known.prints)
        )

    def verdict(self) -> list[str]:
        """How good the model is, in words: one line on the rows held out, one on those at hand."""
        said, found = [], self.schema.summary
        if found is not None:
            for target, ours in found.test.items():
                where = f"{target}, {found.rows_test:,} rows held out"
                words = verdict(target, ours, found.rivals)
                said.append(f"{where}: {comparison(target, ours, found.rivals)}. {words}".strip())
            if not found.test:
                said.append("No rows were held out at the fit, so it has no test of its own.")
        if self.rows is not None:
            here = measures.errors(self.model, self.rows, self.schema.targets)
            for target, ours in here.items():
                error = f"{target}, these {len(self.rows.X):,} rows: {comparison(target, ours, {})}"
                said.append(f"{error}. {recognised(self.seen)}")
        return said


def recognised(seen: float) -> str:
    """What it means that some of the rows were in the training table."""
    if np.isnan(seen):
        return "Whether the model was fitted on these rows is unknown; if so, this is no test."
    if seen == 0:
        return "None of these rows was in the training table."
    share = "The" if seen > 0.995 else f"About {seen:.0%} of the"
    return (
        f"{share} rows are training rows: the model has seen them, and errors on them are too low."
    )
