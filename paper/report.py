"""From the runs on disk to the report; nothing is computed again.

FOLDER/report.html    tables, figures, protocol, deviations, machine
FOLDER/tables/*.csv   the tables
FOLDER/figures/*      every panel as PNG and SVG
FOLDER/results.csv, curves.csv    the runs as tables
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from anmin.files import write_atomically
from paper import texts
from paper.figures import all_figures, save_panel
from paper.machine import describe_software
from paper.page import Report, report_page
from paper.plan import Plan
from paper.record import Folder, Record, csv_bytes
from paper.summary import Results
from paper.tables import Table, against_paper, all_tables

INTRODUCTION = """
A. Barbu's paper trains networks of two layers by solving linear systems. Here its experiments are
run again, with this library's own code for ANMIN and the rivals as the paper describes them; the
printed numbers stand beside ours.
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Where the report is, and the table that a hurried reader wants."""

    page: Path
    check: Table | None


def draw(plan: Plan) -> Drawn:
    """Tables, figures and the page, from what is on disk."""
    folder = plan.folder
    plan = replace(plan, quick=folder.settings().get("quick", plan.quick))
    records = folder.records()
    if not records:
        raise ValueError(f"{plan.output} holds no runs yet; run `python -m paper run` first.")
    results = Results(records)
    folder.write_tables(records)
    check = None if plan.quick else against_paper(results)  # small sizes cannot agree
    tables = [*([check] if check else []), *all_tables(results)]
    figures = all_figures(results, folder)
    write_csv_files(folder, tables)
    (folder / "figures").mkdir(exist_ok=True)
    panels = [panel for figure in figures for panel in figure.panels]
    report = Report(
        introduction(results),
        notices(plan, records),
        tables,
        figures,
        {panel.name: save_panel(panel, folder / "figures") for panel in panels},
        texts.protocol(plan.size),
        texts.deviations(results),
        machine_facts(records),
    )
    page = folder / "report.html"
    write_atomically(page, report_page(report).encode())
    return Drawn(page, check)


def write_csv_files(folder: Folder, tables: Sequence[Table]) -> None:
    (folder / "tables").mkdir(exist_ok=True)
    for table in tables:
        rows = csv_bytes(list(table.head), table.flat())
        write_atomically(folder / "tables" / f"{table.name}.csv", rows)


def introduction(results: Results) -> list[str]:
    runs, splits = len(results.records), 1 + max(record.split for record in results.records)
    count = f"{runs:,} runs, up to {splits} splits; the paper has 100."
    return [*texts.paragraphs(INTRODUCTION), f"{count} Written {datetime.now(UTC):%d %B %Y}."]


def notices(plan: Plan, records: Sequence[Record]) -> list[str]:
    """What a reader must know before the numbers."""
    said = []
    if plan.quick:
        said.append(
            f"This is a quick run: at most {plan.size.rows:,} rows of each set and "
            f"{plan.size.epochs} epochs. It shows that everything works; its numbers are not "
            "comparable with the paper's."
        )
    splits = {record.split for record in records}
    if len(splits) < 10 and not plan.quick:
        said.append(f"Only {len(splits)} splits: the deviations are rough, and little is tested.")
    return [*said, *plan.folder.settings().get("left_out", [])]


def machine_facts(records: Sequence[Record]) -> list[str]:
    machines = sorted({record.machine for record in records if record.machine})
    total = sum(record.seconds for record in records if np.isfinite(record.seconds))
    return [*machines, describe_software(), f"Training took {total / 3600:.1f} hours of one core."]
