"""anmin reproduce: the paper's experiments, tables and figures."""

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from anmin.cli.app import InputError, app, complain, note

if TYPE_CHECKING:
    from anmin.reproduce import Plan, Progress
    from anmin.reproduce.tables import Table as Sheet

EVERY = 30.0  # seconds between lines where there is no terminal
QUICK_SPLITS, SPLITS = 3, 100


@app.command()
def reproduce(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The folder for runs and report.", file_okay=False),
    ] = Path("anmin-reproduce"),
    splits: Annotated[
        int | None,
        typer.Option(help="Random splits; the paper has 100 (--quick: 3).", min=1, max=1000),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: everything in a few minutes.")
    ] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Data sets: sdf, abalone, bike, dae, dae-clean, year; all by default."),
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option(help="Methods, such as adam or anmin; all by default.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Stages: tables, simulations, ablation, fair, diagnostics."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Processes; one a core by default.", min=1)
    ] = None,
    device: Annotated[
        str, typer.Option(help="cpu, cuda, or auto: a GPU for the wide sets, where there is one.")
    ] = "auto",
    draw: Annotated[
        bool, typer.Option("--draw", help="Run nothing; draw the report from what is there.")
    ] = False,
) -> None:
    """Run the paper's experiments, and set the results beside the printed numbers.

    Every run is kept as soon as it is finished: stop with Ctrl-C and start the same command to go
    on, or ask for more splits later. The result is FOLDER/report.html, one file with every table
    and figure; the numbers themselves are in FOLDER/results.csv and curves.csv.

    [bold]Examples[/bold]

      anmin reproduce --quick                       everything, small: a few minutes

      anmin reproduce --splits 20                   a fifth of the paper: some hours on two cores

      anmin reproduce --splits 20 --only tables     the paper's six methods alone

      anmin reproduce --data bike --data abalone    two of the sets

      anmin reproduce --draw                        the report of what has been run so far
    """
    import anmin.reproduce as paper
    from anmin.reproduce.methods import METHODS
    from anmin.reproduce.protocol import DATA
    from anmin.reproduce.workers import usable_cores

    plan = paper.Plan(
        output,
        splits or (QUICK_SPLITS if quick else SPLITS),
        chosen("--data", data, DATA),
        chosen("--methods", methods, METHODS),
        chosen("--only", only, paper.STAGES),
        device,
        quick,
    )
    try:
        failures = [] if draw else run_plan(plan, jobs or len(usable_cores()))
        drawn = paper.draw(plan)
    except ValueError as error:
        raise InputError(str(error)) from error
    if drawn.check and drawn.check.rows:
        show(drawn.check)
    typer.echo(f"The report is in {drawn.page}")
    for sentence in failures:
        complain(sentence)
    if failures:
        note("these runs failed; the same command tries them again")
        raise typer.Exit(1)


def chosen(option: str, values: list[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """The values of an option, given one by one or with commas between; all that are known without.

    >>> chosen("--data", ["sdf,bike"], ["abalone", "bike", "sdf"])
    ('bike', 'sdf')
    """
    known = tuple(known)
    if not values:
        return known
    wanted = {part.strip() for value in values for part in value.split(",")}
    if strange := sorted(wanted - set(known)):
        raise InputError(f"{option} {', '.join(strange)} is unknown; known are {', '.join(known)}")
    return tuple(name for name in known if name in wanted)


def run_plan(plan: "Plan", jobs: int) -> list[str]:
    """Run what is missing, with progress on standard error; Ctrl-C says how to go on."""
    from anmin import reproduce as paper

    plan, left_out = paper.prepare(plan)
    for sentence in left_out:
        note(sentence)
    with progress_shown() as listen:
        try:
            return paper.run(plan, jobs, listen)
        except KeyboardInterrupt:
            kept = sum(1 for _ in (plan.output / "runs").glob("*/*.json"))
            again = shlex.join(["anmin", *sys.argv[1:]])
            note(f"stopped; {kept} runs are kept in {plan.output}. Go on with: {again}")
            note(f"the report of what is there: anmin reproduce --draw -o {plan.output}")
            raise typer.Exit(130) from None
        except BrokenProcessPool:
            complain("a worker died, perhaps for want of memory; the same command goes on")
            note(f"with less memory: --jobs {max(1, jobs // 2)}")
            raise typer.Exit(1) from None


@contextmanager
def progress_shown() -> Iterator[Callable[["Progress"], None]]:
    """A bar on a terminal, else a line now and then."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lines(console)
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
    )  # fmt: skip
    with Bar(*columns, console=console) as bar:
        line = bar.add_task("starting", total=None, left="")

        def listen(now: "Progress") -> None:
            left = time_left(now.left)
            bar.update(line, description=now.stage, completed=now.done, total=now.total, left=left)

        yield listen


def lines(console: Console) -> "Callable[[Progress], None]":
    """A line every half minute, and one when a stage begins."""
    last, stage = -EVERY, ""

    def listen(now: "Progress") -> None:
        nonlocal last, stage
        clock = perf_counter()
        if clock - last >= EVERY or now.stage != stage or now.done == now.total:
            last, stage = clock, now.stage
            words = f"{stage}: {now.done} of {now.total} runs, {time_left(now.left)}"
            console.print(words, highlight=False)

    return listen


def time_left(seconds: float | None) -> str:
    """Words for a rough number of seconds.

    >>> time_left(None), time_left(45.0), time_left(600.0), time_left(9000.0)
    ('time left unknown', 'under a minute left', 'about 10 min left', 'about 2.5 h left')
    """
    if seconds is None:
        return "time left unknown"
    if seconds < 60:
        return "under a minute left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.1f} h left"


def show(sheet: "Sheet") -> None:
    """A table of the report on the terminal."""
    table = Table(title=sheet.title)
    for name in sheet.head:
        table.add_column(name)
    for row in sheet.rows:
        table.add_row(*(cell.text for cell in row))
    Console().print(table)
