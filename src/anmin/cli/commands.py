"""anmin predict, anmin report, anmin export and anmin demo."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anmin.cli.app import (
    DataArgument,
    InputError,
    JsonOption,
    ModelArgument,
    SeedOption,
    check_output,
    column,
    interruptible,
    plain_console,
    print_json,
)

if TYPE_CHECKING:
    import pandas as pd

    from anmin.base import BaseANMIN
    from anmin.cli.subject import Subject

# ---- predict ------------------------------------------------------------------------------------

Keep = column(metavar="NAME", help="Column to copy beside the predictions; may be repeated.")
Predictions = typer.Option(
    "--output", "-o", metavar="FILE", help=".csv, .tsv or .parquet; - to print."
)
Proba = typer.Option("--proba", help="Also the probability of each class.")
Std = typer.Option("--std", help="Also the standard deviation, after fit --intervals.")


def predict(
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[str, Predictions] = "-",
    keep: Annotated[list[str] | None, Keep] = None,
    proba: Annotated[bool, Proba] = False,
    std: Annotated[bool, Std] = False,
) -> None:
    """Predict the rows of a table with a saved model.

    Columns are matched by their names, in any order; others are left
    alone. The predictions have the name of the target.

    [bold]Examples[/bold]

      anmin predict houses.anmin new.csv -o prices.csv

      anmin predict houses.anmin new.csv --keep id -o prices.csv

      cat new.csv | anmin predict houses.anmin - > prices.csv
    """
    from anmin.cli.roles import require_columns
    from anmin.cli.schema import open_model
    from anmin.cli.tables import FORMATS, STDIN, read, write

    if output != STDIN:
        check_output(Path(output), FORMATS, (model, Path(data)))
    network, schema = open_model(model)
    sheet, kept = read(data, schema.reading), list(dict.fromkeys(keep or ()))
    require_columns(sheet, kept, "--keep")
    X = schema.table(sheet)
    said = predictions(network, schema.targets, X, proba, std)
    if both := said.keys() & set(kept):
        raise InputError(f"--keep {min(both)!r} is also the name of a prediction; rename it")
    with interruptible():
        table = sheet.table[kept].copy()
        for name, values in said.items():
            table[name] = values
        write(output, table)


def predictions(
    model: "BaseANMIN", targets: tuple[str, ...], X: "pd.DataFrame", proba: bool, std: bool
) -> dict[str, Any]:
    """A column for each target, and those for deviations or classes if they are wanted."""
    if proba and not hasattr(model, "classes_"):
        raise InputError("--proba needs a model of classes; this one predicts numbers")
    if std and getattr(model, "_intervals", None) is None:
        raise InputError("--std needs a model fitted with --intervals; this one was not")
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


# ---- report -------------------------------------------------------------------------------------

Data = typer.Option("--data", "-d", metavar="DATA", help="Rows to judge on; - for a pipe.")
Page = typer.Option("--output", "-o", metavar="FILE", help="Page: .html.")


def report(
    model: ModelArgument,
    data: Annotated[str | None, Data] = None,
    output: Annotated[Path | None, Page] = None,
    as_json: JsonOption = False,
) -> None:
    """Say how good a model is, how its fit went, and what it relies on.

    With --output, a page with pictures, for any browser; else a short
    text. With --data, the errors on those rows and the dependence on the
    inputs; without, what the model itself knows. Use rows that the model
    was not fitted on.

    [bold]Examples[/bold]

      anmin report houses.anmin

      anmin report houses.anmin --data test.csv -o report.html
    """
    from anmin.cli.schema import open_model
    from anmin.cli.subject import Subject
    from anmin.cli.tables import read

    if output is not None:
        check_output(output, (".html", ".htm"), (model, Path(data or model)))
    network, schema = open_model(model)
    rows = None
    if data is not None:
        sheet = read(data, schema.reading)
        rows = schema.labelled_rows(sheet, hasattr(network, "classes_"))
    show_report(Subject(network, schema, rows, f"Report on {model.name}"), output, as_json)


def show_report(subject: "Subject", output: Path | None, as_json: bool) -> None:
    """Write the page, and print the numbers or a short text."""
    from anmin.cli.measures import LABELS, error_lines, percent
    from anmin.cli.page import convergence_lines, report_page
    from anmin.files import write_atomically

    if output is not None:
        page = report_page(subject).encode()
        with interruptible():
            write_atomically(output, page)
    report, cost, console = subject.model._report, subject.cost(), plain_console()
    if as_json:
        found = {"errors": subject.errors(), "verdict": subject.verdict(), "cost": cost}
        found |= {"rivals": subject.schema.summary.rivals if subject.schema.summary else {}}
        print_json(found | {"convergence": report and report.as_dict()})
    elif output is None:
        top = [f"{name} {percent(share)}" for name, share in subject.importances().items()][:8]
        lines = [*subject.verdict(), *error_lines(subject.errors())]
        lines += [f"It relies on {', '.join(top)}"] if top else []
        lines.append(", ".join(f"{value:,} {LABELS[name]}" for name, value in cost.items()))
        lines.append(str(report) if report else ": ".join(*convergence_lines(subject.model)))
        console.print("\n".join(lines))
    else:
        console.print("\n".join([*subject.verdict(), f"The report is in {output}"]))


# ---- export -------------------------------------------------------------------------------------

Form = typer.Option("--to", metavar="FORM", help="c, onnx, or torch for torch.export.load.")
Dtype = typer.Option(metavar="NAME", help='Arithmetic of the export: "float32" or "float64".')
Name = typer.Option(help="What the C functions are called.")
Exported = typer.Option(
    "--output", "-o", metavar="FILE", help="By default MODEL.c, MODEL.onnx or MODEL.pt2."
)


def export(
    model: ModelArgument,
    to: Annotated[str, Form],
    output: Annotated[Path | None, Exported] = None,
    dtype: Annotated[str, Dtype] = "float32",
    name: Annotated[str, Name] = "model",
    as_json: JsonOption = False,
) -> None:
    """Write a saved model as C99 source, ONNX, or a PyTorch program.

    C and ONNX take the columns of the table, texts and gaps included; a
    PyTorch program takes numbers, in the order that is printed.

    [bold]Examples[/bold]

      anmin export houses.anmin --to c -o houses.c

      anmin export houses.anmin --to onnx
    """
    from anmin.cli.schema import open_model
    from anmin.export import EXPORTS

    if (form := EXPORTS.get(to)) is None:
        raise InputError(f"--to must be one of {', '.join(EXPORTS)}; got {to!r}")
    path = output or Path(model.stem + form.suffix)
    check_output(path, (form.suffix,), (model,))
    network, schema = open_model(model)
    options = {"dtype": dtype} | ({"name": name} if "name" in form.options else {})
    try:
        with interruptible():
            form.write(network, path, **options)
    except (ImportError, ValueError) as error:
        raise InputError(str(error)) from error
    columns = network._columns if to == "torch" else None  # tensors hold no texts
    inputs = list(schema.inputs) if columns is None else columns.made
    if as_json:
        print_json({"output": str(path), "inputs": inputs, "targets": list(schema.targets)})
    else:
        typer.echo(f"{path} takes {len(inputs)} inputs, in this order: {', '.join(inputs)}")


# ---- demo ---------------------------------------------------------------------------------------

Picture = typer.Option("--output", "-o", help="The picture: .png, .pdf or .svg.")


def demo(
    output: Annotated[Path, Picture] = Path("anmin-demo.png"),
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Fit the signed distance field of a shape, against scikit-learn's MLPRegressor.

    Needs no network and no data, and takes under a minute. Prints errors,
    seconds and parameters, and writes one picture.
    """
    from anmin import demo as shape
    from anmin.cli.progress import FitProgress
    from anmin.engine import listening

    check_output(output, shape.FORMATS)
    with FitProgress() as progress, listening(progress.hear):
        result = shape.run(shape.DemoSettings(seed=seed), progress.begin)
    with interruptible():
        shape.draw(result, output)
    if as_json:
        print_json(result.as_dict() | {"picture": str(output)})
        return
    console = plain_console()
    for fit in result.fits:
        errors = f"train MSE {fit.train_mse:.3f}, test MSE {fit.test_mse:.3f}"
        console.print(
            f"{fit.method}: {errors}, {fit.seconds:.1f} seconds, {fit.parameters} parameters"
        )
    console.print(f"The picture is in {output}")
