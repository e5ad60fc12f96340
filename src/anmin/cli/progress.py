"""Showing a fit while it runs: what it is doing, its error, and how much of its budget is spent."""

from math import inf, isfinite

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from anmin.cli.measures import number
from anmin.history import Step
from anmin.network import Network

PHASES = {
    "path": "choosing the penalty",
    "refit": "fitting all rows",
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
            SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(12),
            TextColumn("{task.fields[standing]}", markup=False), TimeElapsedColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self.line: TaskID | None = None
        self.best, self.squares = inf, True  # held-out error; whether roots are taken of errors

    def begin(self, what: str, squares: bool = True) -> None:
        """A new line, for the next fit: of squares, or of another loss."""
        if self.line is not None:
            self.remove_task(self.line)
        self.line = self.add_task(what, total=None, standing="")
        self.best, self.squares = inf, squares

    def hear(self, step: Step, _: Network) -> None:
        """Take down how the fit stands; the line is drawn a few times a second by itself."""
        if isfinite(step.held_out_mse):
            self.best = min(self.best, step.held_out_mse)
        if self.line is not None:
            best = self.best if step.phase == "path" else inf
            text = standing(step, best, 0.5 if self.squares else 1.0)
            self.update(self.line, total=1.0, completed=step.share, standing=text)


def standing(step: Step, best: float = inf, power: float = 0.5) -> str:
    """What a fit is doing and how well it does: roots of mean squares, or mean losses.

    The first is on the rows that it is fitted to; the second, on rows held out, the least so far.

    >>> from types import SimpleNamespace
    >>> standing(SimpleNamespace(phase="descend", mse=0.25), best=0.36)
    'descending: error 0.5000, held out 0.6000'
    """
    held_out = f", held out {number(best**power)}" if isfinite(best) else ""
    error = f"error {number(max(step.mse, 0.0) ** power)}{held_out}"
    return f"{PHASES.get(step.phase, step.phase or 'iterating')}: {error}"
