"""What is to be run, and running one of it.

    tables        the paper's six methods on its data sets
    simulations   Adam and ANMIN on y = sin ‖x‖²
    ablation      four variants of Algorithm 1 on bike-sharing, in several arithmetics
    fair          rows that a sceptical reader wants beside the paper's
    diagnostics   how the cost grows, and ln|M + lam I| where M is too large for every step

A task is one (data, method, split). Tasks go split by split, so that every kind is met early and
the time that is left can be told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from anmin import datasets
from anmin.reproduce.gradient import best_rate
from anmin.reproduce.machine import describe_machine
from anmin.reproduce.methods import (
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
from anmin.reproduce.protocol import (
    DATA,
    FULL,
    QUICK,
    Setup,
    Size,
    Split,
    load_split,
    simulated_names,
)  # fmt: skip
from anmin.reproduce.record import Folder, Predict, Record, thinned
from anmin.solvers.frozen import FORMED

STAGES = ("tables", "simulations", "ablation", "fair", "diagnostics")
DEFAULT_DATA = ("sdf", "abalone", "bike", "dae", "dae-clean")
WIDE = ("dae", "dae-clean", "year")  # worth a GPU
TINY = Size(epochs=3, iterations=3, lbfgs_steps=1, line_search_steps=3, varpro_steps=2)
LANDSCAPE_SPLITS = 1


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
    """The sets that are here or can be had, and a sentence for each that is left out."""
    found, missing = [], []
    for name in plan.data:
        files = DATA[name].files
        try:
            if files == "year" and not datasets.locate(files).usable:
                missing.append(
                    "YearPredictionMSD is left out: its file is not here. "
                    "`anmin data fetch year` gets it (211 MB)."
                )
                continue
            datasets.fetch(files)
        except datasets.DatasetError as error:
            missing.append(f"{DATA[name].title} is left out: {error}")
        else:
            found.append(name)
    return tuple(found), missing


def unusable_methods(plan: Plan) -> list[str]:
    """A sentence where methods are left out."""
    if find_spec("torch") is not None:
        return []
    titles = [METHODS[name].title for name in plan.methods if METHODS[name].torch]
    if not titles:
        return []
    remedy = 'Install it with `pip install "anmin[torch]"` and run the same command again.'
    return [f"{', '.join(titles)} are left out: PyTorch is not installed. {remedy}"]


def tasks(plan: Plan, stage: str) -> list[list[Task]]:
    """The tasks of a stage in turns; a turn needs what the turns before it have found.

    >>> plan = Plan(Path("out"), splits=2, data=("bike",), methods=("sgd", "anmin"))
    >>> [len(turn) for turn in tasks(plan, "tables")]
    [1, 4]
    """
    trained = [name for name in plan.methods if can_run(name)]
    first: list[Task] = []
    if stage == "tables":
        found = crossed(plan.data, [m for m in PAPER if m in trained], plan.splits)
        if "sgd" in trained:
            first = [Task(data, SGD_TRIAL, 0) for data in plan.data]
    elif stage == "simulations":
        methods = [name for name in SIMULATED if name in trained]
        found = crossed(simulated_names(plan.size), methods, plan.splits)
    elif stage == "ablation":
        methods = [name for name in ABLATION if can_run(name)]
        found = crossed([d for d in plan.data if d == "bike"], methods, plan.splits)
    elif stage == "fair":
        found = crossed(plan.data, [m for m in FAIR if m in trained], plan.splits)
        found = [t for t in found if METHODS[t.method].outputs is None or t.data not in wide()]
    else:
        found = [*growth_tasks(plan.size), *landscape_tasks(plan, trained)]
    return [first, found] if first else [found]


def crossed(data: tuple[str, ...] | list[str], methods: list[str], splits: int) -> list[Task]:
    """Every method on every set, split by split."""
    return [Task(d, m, split) for split in range(splits) for d in data for m in methods]


def can_run(method: str) -> bool:
    return not find_method(method).torch or find_spec("torch") is not None


def wide() -> set[str]:
    """Sets with more than one output."""
    return {name for name in DATA if datasets.DATASETS[DATA[name].files].outputs > 1}


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
        unknowns = (datasets.DATASETS[DATA[data].files].inputs + 1) * DATA[data].h
        if unknowns > FORMED:
            for method in (LANDSCAPE[m] for m in LANDSCAPE if m in trained):
                yield from (
                    Task(data, method, k) for k in range(min(plan.splits, LANDSCAPE_SPLITS))
                )


def warm_up(methods: tuple[str, ...]) -> None:
    """Train the methods on a handful of rows: what only a first call costs is not to be timed."""
    split = load_split("sin-n64-d2-h4", 0)
    for name in filter(can_run, methods):
        METHODS[name].train(split, Setup(TINY, sgd_rate=1e-3))


def execute(plan: Plan, task: Task) -> Record:
    """Run a task, and keep its record."""
    split = load_split(task.data, task.split, plan.size)
    rate = float("nan")
    if task.method == "sgd":
        rate = best_rate(plan.folder.read(task.data, SGD_TRIAL, 0).curve)
    device = choose_device(plan.device, task.data)
    fit = find_method(task.method).train(split, Setup(plan.size, device, rate))
    record = Record(
        task.data,
        task.method,
        task.split,
        seconds=fit.seconds,
        n_train=len(split.X),
        n_test=len(split.X_test),
        d=split.X.shape[1],
        h=split.h,
        q=split.Y.shape[1],
        device=device,
        machine=describe_machine(device),
        note=fit.note,
        curve=thinned(fit.curve),
    )
    if fit.predict is not None:
        record = replace(record, **scores(split, fit.predict))
    plan.folder.write(record)
    return record


def scores(split: Split, predict: Predict) -> dict[str, Any]:
    """MSE, and R² about the mean of the training targets, on both parts."""
    found: dict[str, Any] = {}
    parts = (("train", split.X, split.Y), ("test", split.X_test, split.Y_test))
    for (name, X, Y), spread in zip(parts, split.spread(), strict=True):
        with np.errstate(all="ignore"):
            mse = float(((predict(X).reshape(Y.shape) - Y) ** 2).mean())
        found |= {f"{name}_mse": mse, f"{name}_r2": 1 - mse / spread}
    return found


def choose_device(wanted: str, data: str) -> str:
    """ "auto" is a GPU, where there is one, for the sets with many inputs."""
    if wanted != "auto":
        return wanted
    if data not in WIDE or find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
