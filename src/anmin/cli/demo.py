"""anmin demo."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TimeElapsedColumn
from rich.table import Table

from anmin.cli.app import app

if TYPE_CHECKING:
    from anmin.demo import Demo


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The picture: .png, .pdf or .svg.")
    ] = Path("anmin-demo.png"),
    seed: Annotated[int, typer.Option(help="Seed of the split and of every start.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Fit the signed distance field of a shape, against scikit-learn's MLPRegressor.

    Needs no network and no data, and takes under a minute. Prints a table of
    errors, seconds and parameters, and writes one picture.
    """
    from anmin import demo as shape

    check_picture(output, shape.FORMATS)
    with progress_bars(shape.METHODS) as notify:
        result = shape.run(shape.Settings(seed=seed), notify)
    shape.draw(result, output)
    if as_json:
        typer.echo(json.dumps(result.as_dict() | {"picture": str(output)}, indent=2))
    else:
        Console().print(score_table(result), f"The picture is in {output}", sep="\n")


def check_picture(path: Path, formats: tuple[str, ...]) -> None:
    """Refuse a picture that cannot be written, before the work and not after it."""
    if path.suffix.lower() not in formats:
        complaint = f"{path} must end in one of {' '.join(formats)}"
    elif path.is_dir():
        complaint = f"{path} is a folder"
    elif not os.access(path.parent, os.W_OK):
        complaint = f"the folder {path.parent} is not there, or not yours to write in"
    else:
        return
    raise typer.BadParameter(complaint, param_hint="--output")


@contextmanager
def progress_bars(names: tuple[str, ...]) -> Iterator[Callable[[str, float], None]]:
    """A bar a name on standard error; the function it yields moves one of them."""
    columns = (SpinnerColumn(finished_text="✓"), "{task.description}", BarColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        tasks = {name: progress.add_task(name, start=False, total=None) for name in names}

        def notify(name: str, share: float) -> None:
            if share == 0:
                progress.start_task(tasks[name])
            else:
                progress.update(tasks[name], total=1.0, completed=min(share, 1.0))

        yield notify


def score_table(result: "Demo") -> Table:
    """One row a method."""
    settings = result.settings
    table = Table(
        title=f"Signed distance field, {settings.side} × {settings.side} pixels, "
        f"{settings.n_hidden} hidden units"
    )
    table.add_column("method")
    for name in ("train MSE", "test MSE", "seconds", "parameters"):
        table.add_column(name, justify="right")
    for fit in result.fits:
        errors = (f"{fit.train_mse:.3f}", f"{fit.test_mse:.3f}")
        table.add_row(fit.method, *errors, f"{fit.seconds:.1f}", str(fit.parameters))
    return table
