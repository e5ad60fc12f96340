"""Showing a fit while it runs: what it is doing, its error, and how much of its budget is spent."""

from math import isfinite

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from anmin.history import Step
from anmin.network import Network

PHASES = {
    "path": "choosing the penalty",
    "descend": "descending",
    "explore": "moving idle units",
}


class FitProgress(Progress):
    """A line on standard error while a fit runs, if that is a terminal.

    `with listening(progress.hear): model.fit(X, y)`. The bar is the share of the budget that is
    spent; a fit may converge long before its end.
    """

    def __init__(self) -> None:
        console = Console(stderr=True)
        super().__init__(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20),
            TextColumn("{task.fields[standing]}", markup=False), TimeElapsedColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self.line: TaskID | None = None

    def begin(self, what: str) -> None:
        """A new line, for the next fit."""
        if self.line is not None:
            self.remove_task(self.line)
        self.line = self.add_task(what, total=None, standing="")

    def hear(self, step: Step, _: Network) -> None:
        """Take down how the fit stands; the line is drawn a few times a second by itself."""
        if self.line is not None:
            self.update(self.line, total=1.0, completed=step.share, standing=standing(step))


def standing(step: Step) -> str:
    """What a fit is doing and how well it does, in the units of y.

    >>> from types import SimpleNamespace
    >>> step = SimpleNamespace(phase="descend", lam=1e-3, held_out_mse=float("nan"), loss=0.25)
    >>> standing(step)
    'descending: loss 0.25'
    """
    error = f"loss {step.loss:.4g}"
    if isfinite(step.held_out_mse):
        error += f", held-out error {step.held_out_mse:.4g}"
    if step.phase == "path":
        error += f" at lam = {step.lam:.3g}"
    return f"{PHASES.get(step.phase, step.phase or 'iterating')}: {error}"
