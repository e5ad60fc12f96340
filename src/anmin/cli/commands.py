"""anmin predict, anmin export and anmin demo."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TimeElapsedColumn
from rich.table import Table

from anmin.cli.app import (
    DataArgument,
    HeaderOption,
    InputError,
    JsonOption,
    ModelArgument,
    SeedOption,
    UnknownOption,
    app,
    check_output,
    column,
    interruptible,
    plain_console,
    print_json,
)

if TYPE_CHECKING:
    import pandas as pd

    from anmin.base import BaseANMIN
    from anmin.cli.tables import Sheet
    from anmin.demo import Demo

# ---- predict ------------------------------------------------------------------------------------

Keep = column(metavar="NAME", help="Column to copy beside the predictions; may be repeated.")
Predictions = typer.Option(
    "--output", "-o", metavar="FILE", help=".csv, .tsv, .parquet or .npz; - to print."
)
Proba = typer.Option("--proba", help="Also the probability of each class.")
Std = typer.Option("--std", help="Also the standard deviation, after fit --intervals.")


@app.command()
def predict(
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[str, Predictions] = "-",
    keep: Annotated[list[str] | None, Keep] = None,
    proba: Annotated[bool, Proba] = False,
    std: Annotated[bool, Std] = False,
    header: HeaderOption = None,
    allow_unknown: UnknownOption = False,
) -> None:
    """Predict the rows of a table with a saved model.

    Columns are matched by their names, in any order; others are left
    alone. The predictions have the name of the target. Without a header,
    the columns must be the model's inputs in their order, or all columns
    of the training table in theirs.

    [bold]Examples[/bold]

      anmin predict houses.anmin new.csv -o prices.csv

      anmin predict houses.anmin new.csv --keep id -o prices.csv

      cat new.csv | anmin predict houses.anmin - > prices.csv
    """
    from anmin.cli.columns import require_columns
    from anmin.cli.schema import open_model
    from anmin.cli.tables import FORMATS, STDIN, write

    if output != STDIN:
        check_output(Path(output), FORMATS, (model, Path(data)))
    network, schema = open_model(model)
    check_extras(network, model, proba, std)
    sheet, kept = schema.read(data, header), list(dict.fromkeys(keep or ()))
    require_columns(sheet, kept, "--keep")
    X = schema.inputs.encode(sheet, allow_unknown)
    schema.mention_unused(sheet, kept)
    said = predictions(network, schema.targets, X, proba, std)
    with interruptible():
        write(output, side_by_side(sheet, kept, said))


def side_by_side(sheet: "Sheet", kept: list[str], said: dict[str, Any]) -> "pd.DataFrame":
    """The columns that are kept, then the predictions; a name must not stand for both."""
    if both := said.keys() & set(kept):
        raise InputError(
            f"--keep {min(both)!r} is also the name of a prediction; rename the column"
        )
    return sheet.table[kept].assign(**said)


def check_extras(model: "BaseANMIN", path: Path, proba: bool, std: bool) -> None:
    """Refuse what the model cannot say."""
    if proba and not hasattr(model, "classes_"):
        raise InputError(f"--proba needs a model of classes; {path} predicts numbers")
    if std and getattr(model, "_intervals", None) is None:
        raise InputError(f"--std needs a model fitted with --intervals; {path} was fitted without")


def predictions(
    model: "BaseANMIN", targets: tuple[str, ...], X: "pd.DataFrame", proba: bool, std: bool
) -> dict[str, Any]:
    """A column for each target, and those for deviations or classes if they are wanted."""
    given = X if hasattr(model, "feature_names_in_") else X.to_numpy()  # fitted on an array
    said = model.predict(given)
    Y = said.reshape(len(said), -1)
    columns = {name: Y[:, k] for k, name in enumerate(targets)}
    if std:
        deviation = model.predict(given, return_std=True)[1].reshape(Y.shape)
        columns |= {f"{name}_std": deviation[:, k] for k, name in enumerate(targets)}
    if proba:
        names = [f"{targets[0]}={label}" for label in model.classes_]
        columns |= dict(zip(names, model.predict_proba(given).T, strict=True))
    return columns


# ---- export -------------------------------------------------------------------------------------


ENDINGS = {"c": ".c", "onnx": ".onnx", "torch": ".pt2"}
ExportForm = StrEnum("ExportForm", {"C": "c", "ONNX": "onnx", "TORCH": "torch"})
Arithmetic = StrEnum("Arithmetic", {"SINGLE": "float32", "DOUBLE": "float64"})
Form = typer.Option("--to", help="Form of the export.")
Dtype = typer.Option(help="Arithmetic of the export.")
Name = typer.Option(help="What the C functions are called.")
Exported = typer.Option(
    "--output", "-o", metavar="FILE", help="By default MODEL.c, MODEL.onnx or MODEL.pt2."
)


@app.command()
def export(
    model: ModelArgument,
    to: Annotated[ExportForm, Form],
    output: Annotated[Path | None, Exported] = None,
    dtype: Annotated[Arithmetic, Dtype] = Arithmetic.SINGLE,
    name: Annotated[str, Name] = "model",
    as_json: JsonOption = False,
) -> None:
    """Write a saved model as C99 source, ONNX, or a PyTorch program.

    The standardisation is folded in, so all of them take raw inputs, in
    the order that is printed. A text column is one 0/1 input for each
    category.

    [bold]Examples[/bold]

      anmin export houses.anmin --to c -o houses.c

      anmin export houses.anmin --to onnx

      anmin export houses.anmin --to torch

    In PyTorch: torch.export.load("houses.pt2").module()
    """
    from anmin.cli.schema import open_model

    path = output or Path(model.stem + ENDINGS[to])
    check_output(path, (ENDINGS[to],), (model,))
    network, schema = open_model(model)
    try:
        with interruptible():
            write_export(network, to, path, dtype.value, name)
    except (ImportError, ValueError) as error:
        raise InputError(str(error)) from error
    inputs = schema.inputs.encoded
    if as_json:
        print_json({"output": str(path), "inputs": inputs, "targets": list(schema.targets)})
    else:
        typer.echo(f"{path} takes {len(inputs)} inputs, in this order: {', '.join(inputs)}")


def write_export(model: "BaseANMIN", to: str, path: Path, dtype: str, name: str) -> None:
    """Write the model in one of the forms; the program for PyTorch takes any number of rows."""
    if to == "c":
        model.to_c(path, name, dtype)
        return
    if to == "onnx":
        model.to_onnx(path, dtype)
        return
    module = model.to_torch(dtype)
    import torch

    from anmin.files import open_atomically

    example = torch.zeros(2, model.n_features_in_, dtype=next(module.parameters()).dtype)
    rows = torch.export.Dim("rows")
    program = torch.export.export(module, (example,), dynamic_shapes=({0: rows},))
    with open_atomically(path) as file:
        torch.export.save(program, file)


# ---- demo ---------------------------------------------------------------------------------------

Picture = typer.Option("--output", "-o", help="The picture: .png, .pdf or .svg.")


@app.command()
def demo(
    output: Annotated[Path, Picture] = Path("anmin-demo.png"),
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Fit the signed distance field of a shape, against scikit-learn's MLPRegressor.

    Needs no network and no data, and takes under a minute. Prints a table of
    errors, seconds and parameters, and writes one picture.
    """
    from anmin import demo as shape

    check_output(output, shape.FORMATS)
    with progress_bars(shape.METHODS) as notify:
        result = shape.run(shape.DemoSettings(seed=seed), notify)
    with interruptible():
        shape.draw(result, output)
    if as_json:
        print_json(result.as_dict() | {"picture": str(output)})
    else:
        plain_console().print(score_table(result), f"The picture is in {output}", sep="\n")


@contextmanager
def progress_bars(names: tuple[str, ...]) -> Iterator[Callable[[str, float], None]]:
    """A bar for each name on standard error; the function it yields moves one of them."""
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
    """A row for each method."""
    side, n_hidden = result.settings.side, result.settings.n_hidden
    title = f"Signed distance field, {side} × {side} pixels, {n_hidden} hidden units"
    table = Table("method", title=title)
    for name in ("train MSE", "test MSE", "seconds", "parameters"):
        table.add_column(name, justify="right")
    for fit in result.fits:
        errors = (f"{fit.train_mse:.3f}", f"{fit.test_mse:.3f}")
        table.add_row(fit.method, *errors, f"{fit.seconds:.1f}", str(fit.parameters))
    return table
