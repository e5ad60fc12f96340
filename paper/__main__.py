"""Run the paper's experiments again, and set the results beside the printed numbers.

    python -m paper run --quick                   everything, small: a few minutes
    python -m paper run --splits 20               a fifth of the paper: some hours on two cores
    python -m paper run --only tables             the paper's six methods alone
    python -m paper run --data bike,abalone       two of the sets
    python -m paper draw                          the report of what has been run so far
    python -m paper data list                     the data sets, and where they are
    python -m paper data fetch abalone bike       download two of them

Every run is kept as soon as it is finished: stop with Ctrl-C and start the same command to go on,
or ask for more splits later. The result is FOLDER/report.html, one file with every table and
figure; the numbers themselves are in FOLDER/results.csv and curves.csv.

Exit codes: 0 fine, 2 wrong usage or input, 1 failure, 130 after Ctrl-C.
"""

import argparse
import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from paper import run as running
from paper.data import DATASETS, Dataset, DatasetError, DatasetWarning, cache_folder, fetch, locate
from paper.data.loading import CASES
from paper.methods import METHODS
from paper.plan import DEFAULT_DATA, STAGES, Plan
from paper.workers import usable_cores

EVERY = 15.0  # seconds between lines of progress
SPLITS, QUICK_SPLITS = 100, 2
OUTPUT = "paper-results"


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        return options.command(options)
    except (ValueError, DatasetError) as error:
        say(f"error: {error}")
        return 2
    except OSError as error:
        say(f"error: {error}")
        return 1


def parser() -> argparse.ArgumentParser:
    line = argparse.ArgumentParser(
        prog="python -m paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = line.add_subparsers(required=True, metavar="run | draw | data")
    add_run(commands)
    draw = commands.add_parser("draw", help="write the report of the runs that are there")
    draw.add_argument("-o", "--output", type=Path, default=Path(OUTPUT), metavar="FOLDER")
    draw.set_defaults(command=draw_command)
    data = commands.add_parser("data", help="list or download the paper's data sets")
    add_data(data.add_subparsers(required=True, metavar="list | fetch"))
    return line


def add_run(commands: Any) -> None:
    run = commands.add_parser("run", help="run the experiments, then write the report")
    add = run.add_argument
    add("-o", "--output", type=Path, metavar="FOLDER", help=f"{OUTPUT} (--quick: {OUTPUT}-quick)")
    splits = f"{SPLITS}, as in the paper (--quick: {QUICK_SPLITS})"
    add("--splits", type=natural, metavar="N", help=splits)
    add("--quick", action="store_true", help="small sizes: everything in a few minutes")
    add("--data", action="append", metavar="NAMES", help=", ".join(CASES))
    add("--methods", action="append", metavar="NAMES", help=", ".join(METHODS))
    add("--only", action="append", metavar="STAGES", help=", ".join(STAGES))
    add("-j", "--jobs", type=natural, metavar="N", help="processes; one a core by default")
    add("--device", default="auto", help="cpu, cuda, or auto: a GPU for the wide sets")
    run.set_defaults(command=run_command)


def add_data(commands: Any) -> None:
    found = commands.add_parser("list", help="which sets there are, and where they are")
    found.add_argument("--json", action="store_true", help="print JSON, for programs")
    found.set_defaults(command=list_command)
    wanted = commands.add_parser("fetch", help="download sets, and check those that are here")
    wanted.add_argument("names", nargs="*", metavar="NAME", help="all of them by default")
    wanted.set_defaults(command=fetch_command)
    for command in (found, wanted):
        command.add_argument(
            "-d", "--folder", type=Path, help="instead of ANMIN_DATA and of the cache"
        )


def natural(text: str) -> int:
    """A number of 1 or more, as argparse wants it."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, got {text!r}")
    return int(text)


# ---- run and draw -------------------------------------------------------------------------------


def run_command(options: argparse.Namespace) -> int:
    plan = Plan(
        options.output or Path(OUTPUT + ("-quick" if options.quick else "")),
        options.splits or (QUICK_SPLITS if options.quick else SPLITS),
        chosen("--data", options.data, CASES, (*DEFAULT_DATA, "year")),
        chosen("--methods", options.methods, METHODS),
        chosen("--only", options.only, STAGES),
        options.device,
        options.quick,
    )
    if find_spec("matplotlib") is None:
        raise ValueError('the figures need matplotlib: pip install -e ".[paper]"')
    plan, left_out = running.prepare(plan)
    for sentence in left_out:
        say(f"note: {sentence}")
    jobs = options.jobs or len(usable_cores())
    try:
        failures = running.run(plan, jobs, progress_lines())
    except KeyboardInterrupt:
        kept = sum(1 for _ in (plan.output / "runs").glob("*/*.json"))
        again = shlex.join(["python", "-m", "paper", *sys.argv[1:]])
        say(f"note: stopped; {kept} runs are kept in {plan.output}. Go on with: {again}")
        say(f"note: the report of what is there: python -m paper draw -o {plan.output}")
        return 130
    except BrokenProcessPool:
        say("error: a worker died, perhaps for want of memory; the same command goes on")
        say(f"note: with less memory: --jobs {max(1, jobs // 2)}")
        return 1
    draw_report(plan)
    for sentence in failures:
        say(f"error: {sentence}")
    if failures:
        say("note: these runs failed; the same command tries them again")
    return 1 if failures else 0


def draw_command(options: argparse.Namespace) -> int:
    draw_report(Plan(options.output))
    return 0


def draw_report(plan: Plan) -> None:
    """Write the report; print where it is, and ANMIN beside the paper."""
    from paper.report import draw

    drawn = draw(plan)
    if drawn.check and drawn.check.rows:
        print(drawn.check.title)
        print_table(drawn.check.head, [[cell.text for cell in row] for row in drawn.check.rows])
    print(f"The report is in {drawn.page}")


def chosen(
    option: str, values: list[str] | None, known: Iterable[str], default: Iterable[str] = ()
) -> tuple[str, ...]:
    """The values of an option, given one by one or with commas between, in the known order.

    >>> chosen("--data", ["sdf,bike"], ["abalone", "bike", "sdf"])
    ('bike', 'sdf')
    """
    known = tuple(known)
    if not values:
        return tuple(default) or known
    wanted = {part.strip() for value in values for part in value.split(",")}
    if unknown := sorted(wanted - set(known)):
        raise ValueError(f"{option} {', '.join(unknown)} is unknown; known are {', '.join(known)}")
    return tuple(name for name in known if name in wanted)


def progress_lines() -> Callable[[running.Progress], None]:
    """A line now and then, and one when a stage begins or the last run is done."""
    last, stage = -EVERY, ""

    def listen(now: running.Progress) -> None:
        nonlocal last, stage
        clock = perf_counter()
        if clock - last >= EVERY or now.stage != stage or now.done == now.total:
            last, stage = clock, now.stage
            say(f"{stage}: {now.done} of {now.total} runs, {time_left(now.left)}")

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


# ---- data ---------------------------------------------------------------------------------------


def list_command(options: argparse.Namespace) -> int:
    """A set is "here" (in ANMIN_DATA), "cached" (downloaded before) or "not fetched"."""
    rows = [facts(dataset, options.folder) for dataset in DATASETS.values()]
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    shown = [
        [
            row["name"], f"{row['rows']:,}", str(row["inputs"]), f"{row['bytes'] / 1e6:.1f}",
            row["state"] + (", changed" if row["published"] is False else ""),
            f"{row['origin']} ({row['licence']})",
        ]
        for row in rows
    ]  # fmt: skip
    print_table(("name", "rows", "inputs", "MB", "where", "origin (licence)"), shown)
    own = os.environ.get("ANMIN_DATA") if options.folder is None else None
    cache = cache_folder(options.folder)
    print(f"Looked in {f'{own} (ANMIN_DATA), then in {cache}' if own else cache}.")
    return 0


def fetch_command(options: argparse.Namespace) -> int:
    wanted = list(dict.fromkeys(options.names or DATASETS))
    if unknown := [name for name in wanted if name not in DATASETS]:
        known = ", ".join(DATASETS)
        raise ValueError(f"there is no data set {', '.join(unknown)}; there are {known}")
    failed = [name for name in wanted if not fetched(name, options.folder)]
    return 1 if failed else 0


def fetched(name: str, folder: Path | None) -> bool:
    """Fetch one set and say where it is, or say what went wrong and return False."""
    try:
        before = locate(name, folder)
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always", DatasetWarning)
            paths = fetch(name, folder)
    except DatasetError as error:
        say(f"error: {name}: {error}")
        return False
    for remark in remarks:
        say(f"note: {name}: {remark.message}")
    for path in paths:
        print(f"{name}: {before.state if before.usable else 'downloaded'}, {path}")
    return True


def facts(dataset: Dataset, folder: Path | None) -> dict[str, Any]:
    """One row of the list."""
    place = locate(dataset.name, folder)
    return {
        "name": dataset.name,
        "title": dataset.title,
        "rows": dataset.rows,
        "inputs": dataset.inputs,
        "outputs": dataset.outputs,
        "bytes": dataset.size,
        "state": place.state,
        "published": place.published,
        "paths": [str(path) for path in place.paths],
        "urls": [file.url for file in dataset.files],
        "origin": dataset.origin,
        "page": dataset.page,
        "licence": dataset.licence,
    }


def print_table(head: Iterable[str], rows: list[list[str]]) -> None:
    """Columns of text, as wide as they need to be."""
    table = [list(head), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def say(line: str) -> None:
    """Progress and complaints go to standard error; results to standard output."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
