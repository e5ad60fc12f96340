"""Tables for the terminal, with ratios paired by case and seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.record import Record, seconds_to


def show(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table with aligned columns: words to the left, numbers to the right."""
    cells = [list(header)] + [[number(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    padded = [
        [text.ljust(width) for text, width in zip(line, widths, strict=True)] for line in cells
    ]
    lines = ["| " + " | ".join(line) + " |" for line in padded]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print(f"\n{title}\n\n" + "\n".join(lines), flush=True)


def number(value: Any) -> str:
    """Four significant digits; a dash for what is missing."""
    if value is None:
        return "-"
    if isinstance(value, (float, np.floating)):
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
    return str(value)


def select(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """The records that ran and whose fields have the wanted values."""
    return [
        record
        for record in records
        if record["seconds"] is not None
        and all(record.get(key) == value for key, value in wanted.items())
    ]


def mean(records: Sequence[Record], key: str) -> float | None:
    return float(np.mean([record[key] for record in records])) if records else None


def paired(records: Iterable[Record], case: str, ours: str, rival: str, key: str) -> float | None:
    """Geometric mean over the seeds that both have of (rival's value / our value)."""
    records = list(records)
    mine = {r["seed"]: r[key] for r in select(records, case=case, method=ours)}
    theirs = {r["seed"]: r[key] for r in select(records, case=case, method=rival)}
    return geometric_mean([theirs[seed] / mine[seed] for seed in sorted(mine.keys() & theirs)])


def geometric_mean(values: Sequence[float]) -> float | None:
    return float(np.exp(np.mean(np.log(values)))) if len(values) else None


def overview(records: Sequence[Record], reference: str) -> None:
    """Means by case and method, and how much longer than the reference each takes."""
    rows = []
    for case in dict.fromkeys(record["case"] for record in records):
        for name in dict.fromkeys(r["method"] for r in records if r["case"] == case):
            runs = select(records, case=case, method=name)
            ratio = paired(records, case, reference, name, "seconds")
            errors = [mean(runs, key) for key in ("seconds", "train_mse", "test_mse")]
            rows.append([case, name, len(runs), *errors, ratio])
    header = ["case", "method", "seeds", "seconds", "train MSE", "test MSE", f"x {reference}"]
    show(f"Means over seeds; the last column is seconds over those of {reference}", header, rows)


def reach(ours: Record, rival: Record) -> float | None:
    """Rival's time over ours to come down to the rival's final training loss."""
    seconds = seconds_to(ours["curve"], rival["train_mse"])
    return rival["seconds"] / seconds if seconds else None
