"""Showing a fit while it runs: its loss, and how long it may still take."""

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import ceil, inf
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from anmin.history import Fit, Step
from anmin.network import Network
from anmin.solvers import Algorithm1, Task, VarPro

EARLY = 0.02  # share of the work that says too little about the rest


class FitProgress(Progress):
    """A line on standard error while a fit runs, if that is a terminal.

    How the fit stands is looked up at every refresh, so the solver is not held up, and the line
    moves while the penalty is chosen, too. A fit may converge before its budget is spent: hence "at
    most".
    """

    running: Task | None = None
    steps = 0  # of the fit that is running
    line = TaskID(0)

    def __init__(self) -> None:
        console = Console(stderr=True)
        super().__init__(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20),
            TextColumn("{task.fields[loss]}"), TextColumn("{task.fields[left]}"),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip

    def name(self, what: str) -> None:
        """What the next fit is for."""
        for task in self.task_ids:
            self.remove_task(task)
        self.running = None
        self.line = self.add_task(what, total=None, loss="", left="")

    def begin(self, task: Task) -> None:
        """A fit begins."""
        self.running, self.steps = task, 0

    def get_renderables(self) -> Iterable[RenderableType]:
        if self.running is not None:
            self.update(self.line, total=1.0, **standing(self.running, self.steps))
        yield from super().get_renderables()


def standing(task: Task, steps: int) -> dict[str, Any]:
    """How far a fit is: the share of its budget that is spent, its loss, and the time left.

    Inside the solver y may be in units of its own.
    """
    budget, best = task.budget, task.ledger.best
    share = min(max(budget.used, steps / max(budget.max_iter, 1)), 1.0)
    left = budget.seconds * (1 - share) / share if share > EARLY else inf
    unit = task.problem.source.scaling.y_scale
    return {
        "completed": share,
        "loss": "" if best is None else f"loss {best.loss * unit**2:.4g}",
        "left": f"at most {duration(left)} left" if left < inf else "",
    }


def duration(seconds: float) -> str:
    """Minutes and seconds, or hours.

    >>> duration(75.2), duration(3700)
    ('1:16', '1:01:40')
    """
    minutes, rest = divmod(ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Watched:
    """A solver that tells a `FitProgress` what it is doing."""

    progress: FitProgress

    def solve(self, task: Task) -> Fit:
        def listener(step: Step, network: Network) -> bool:
            self.progress.steps = step.iteration
            return task.listener(step, network)

        self.progress.begin(task)
        fit: Fit = super().solve(replace(task, listener=listener))  # type: ignore[misc]
        return fit


class WatchedVarPro(Watched, VarPro):
    """The default solver, watched."""


class WatchedAlgorithm1(Watched, Algorithm1):
    """The paper's algorithm, watched."""


WATCHED = {"varpro": WatchedVarPro, "anmin": WatchedAlgorithm1}


@contextmanager
def watching(model: Any, progress: FitProgress) -> Iterator[None]:
    """Within the block a fit of `model` is shown."""
    name = model.solver
    if name in WATCHED:
        model.solver = WATCHED[name]()
        model.solver.progress = progress
    try:
        yield
    finally:
        model.solver = name


@contextmanager
def noting_interrupts() -> Iterator[list[int]]:
    """Within the block Ctrl-C is noted in the list, and raises KeyboardInterrupt as always."""
    heard: list[int] = []

    def hear(number: int, _: Any) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)
