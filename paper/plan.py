"""What is to be run.

    tables        the paper's six methods on its data sets
    simulations   Adam and ANMIN on y = sin ‖x‖²
    ablation      four variants of Algorithm 1 on bike-sharing, in several arithmetics
    fair          methods that a sceptical reader wants beside the paper's
    diagnostics   how the cost grows, and ln|M + lam I| where M is too large for every step

A task is one (data, method, split). Tasks go split by split, so that every kind is met early and
the time that is left can be told.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from paper.data import CASES, DatasetError, OfflineError, fetch, locate
from paper.methods import (
    ABLATION,
    FAIR,
    GROWTH,
    LANDSCAPE,
    METHODS,
    PAPER,
    SGD_TRIAL,
    SIMULATED,
    find_method,
)  # fmt: skip
from paper.record import Folder
from paper.trainers import Size

STAGES = ("tables", "simulations", "ablation", "fair", "diagnostics")
DEFAULT_DATA = ("sdf", "abalone", "bike", "dae", "dae-clean")
LARGE = 3_000  # unknowns above which the library does not form M
LANDSCAPE_SPLITS = 1

FULL = Size()
QUICK = Size(
    rows=1200, epochs=60, lbfgs_steps=20, line_search_steps=100, varpro_steps=60,
    simulations=((300, 1), (300, 3), (300, 10), (1000, 10), (1000, 30)), growth=2000,
    landscape=(0, 29),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Task:
    """One run."""

    data: str
    method: str
    split: int

    @property
    def kind(self) -> tuple[str, str]:
        """Runs of one kind take about the same time."""
        return self.data, self.method


@dataclass(frozen=True, slots=True)
class Plan:
    """What the user asks for."""

    output: Path
    splits: int = 100
    data: tuple[str, ...] = DEFAULT_DATA
    methods: tuple[str, ...] = tuple(METHODS)
    stages: tuple[str, ...] = STAGES
    device: str = "auto"
    quick: bool = False

    @property
    def size(self) -> Size:
        return QUICK if self.quick else FULL

    @property
    def folder(self) -> Folder:
        return Folder(self.output)


def available(plan: Plan) -> tuple[tuple[str, ...], list[str]]:
    """The sets that are here or can be downloaded, and a sentence for each that is left out.

    A quick run without any of them takes the shape drawn in code.
    """
    found, missing, offline = [], [], False
    for name in plan.data:
        files, title = CASES[name].files, CASES[name].title
        try:
            if files == "year" and not locate(files).usable:
                missing.append(
                    f"{title} is left out: its file is not here. Download it with "
                    "`python -m paper data fetch year` (211 MB)."
                )
                continue
            if files:
                fetch(files, download_if_missing=not offline)
        except DatasetError as error:
            offline = offline or isinstance(error, OfflineError)
            missing.append(f"{title} is left out: {error}")
        else:
            found.append(name)
    if not found and plan.quick:
        found.append("shape")
        missing.append("None of the paper's data sets is here: a shape drawn in code stands in.")
    return tuple(found), missing


def unusable_methods(plan: Plan) -> list[str]:
    """A sentence where methods are left out."""
    if find_spec("torch") is not None:
        return []
    titles = [METHODS[name].title for name in plan.methods if METHODS[name].torch]
    if not titles:
        return []
    remedy = 'Install it with `pip install -e ".[torch]"` and run the same command again.'
    return [f"{', '.join(titles)} are left out: PyTorch is not installed. {remedy}"]


def tasks(plan: Plan, stage: str) -> list[list[Task]]:
    """The tasks of a stage in turns; a turn needs what the turns before it have found.

    >>> plan = Plan(Path("out"), splits=2, data=("bike",), methods=("anmin", "anmin-l"))
    >>> [len(turn) for turn in tasks(plan, "tables")]
    [4]
    """
    trained = [name for name in plan.methods if can_run(name)]
    first: list[Task] = []
    if stage == "tables":
        found = crossed(plan.data, [m for m in PAPER if m in trained], plan.splits)
        if "sgd" in trained:
            first = [Task(data, SGD_TRIAL, 0) for data in plan.data]
    elif stage == "simulations":
        methods = [name for name in SIMULATED if name in trained]
        names = [f"sin-n{n}-d{d}" for n, d in plan.size.simulations]
        found = crossed(names, methods, plan.splits)
    elif stage == "ablation":
        methods = [name for name in ABLATION if can_run(name)]
        found = crossed([d for d in plan.data if d == "bike"], methods, plan.splits)
    elif stage == "fair":
        found = crossed(plan.data, [m for m in FAIR if m in trained], plan.splits)
        found = [t for t in found if t.method != "trees" or CASES[t.data].outputs == 1]
    else:
        found = [*growth_tasks(plan.size), *landscape_tasks(plan, trained)]
    return [first, found] if first else [found]


def crossed(data: tuple[str, ...] | list[str], methods: list[str], splits: int) -> list[Task]:
    """Every method on every set, split by split."""
    return [Task(d, m, split) for split in range(splits) for d in data for m in methods]


def can_run(method: str) -> bool:
    return not find_method(method).torch or find_spec("torch") is not None


def growth_tasks(size: Size) -> Iterator[Task]:
    """Rows, inputs and units doubled and doubled again, one at a time."""
    n, d, h = size.growth, 10, 32
    shapes = [(n * k, d, h) for k in (1, 2, 4)]
    shapes += [(n, d * k, h) for k in (2, 4)] + [(n, d, h * k) for k in (2, 4)]
    for n, d, h in shapes:
        for method in GROWTH:
            yield Task(f"growth-n{n}-d{d}-h{h}", method, 0)


def landscape_tasks(plan: Plan, trained: list[str]) -> Iterator[Task]:
    for data in plan.data:
        if (CASES[data].inputs + 1) * CASES[data].h > LARGE:
            for method in (LANDSCAPE[m] for m in LANDSCAPE if m in trained):
                yield from (
                    Task(data, method, k) for k in range(min(plan.splits, LANDSCAPE_SPLITS))
                )


def title(data: str) -> str:
    """What a reader calls a set.

    >>> title("bike"), title("sin-n1000-d3")
    ('Bike-sharing', 'N = 1,000, d = 3')
    """
    if data in CASES:
        return CASES[data].title
    n, d = map(int, re.findall(r"\d+", data)[:2])
    return f"N = {n:,}, d = {d}"
