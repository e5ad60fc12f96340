"""anmin predict."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anmin.cli.app import HeaderOption, InputError, app, check_output

if TYPE_CHECKING:
    from anmin.cli.facts import Facts

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="File from anmin fit.")]
UnknownOption = Annotated[
    bool,
    typer.Option(
        "--allow-unknown",
        help="Predict rows with an unknown category, as having none.",
        rich_help_panel="Columns",
    ),
]


@app.command()
def predict(
    model: ModelArgument,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help=".csv, .tsv, .parquet or .npz; - for a pipe.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help=".csv, .tsv, .parquet or .npz; - to print."
        ),
    ] = "-",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Column to copy beside the predictions; may be repeated.",
            rich_help_panel="Columns",
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the probability of each class.")
    ] = False,
    std: Annotated[
        bool, typer.Option("--std", help="Also the standard deviation, after fit --intervals.")
    ] = False,
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
    from anmin.cli.facts import open_model, require_columns
    from anmin.cli.tables import FORMATS, STDIN, check_writable, read, write

    if output != STDIN:
        check_output(Path(output), FORMATS, (model, Path(data)))
        check_writable(Path(output))
    network, facts = open_model(model)
    check_extras(network, model, proba, std)
    sheet = facts.align(read(data, header, facts.inputs.categories), by_place=header is False)
    require_columns(sheet, keep or (), "--keep")
    X = facts.inputs.encode(sheet, allow_unknown)
    facts.mention_unused(sheet, keep or ())
    said = predictions(network, facts, X, proba, std)
    write(output, sheet.table[keep or []].assign(**said))


def check_extras(model: Any, path: Path, proba: bool, std: bool) -> None:
    """Refuse what the model cannot say."""
    if proba and not hasattr(model, "classes_"):
        raise InputError(f"--proba needs a model of classes; {path} predicts numbers")
    if std and getattr(model, "_intervals", None) is None:
        raise InputError(f"--std needs a model fitted with --intervals; {path} was fitted without")


def predictions(model: Any, facts: "Facts", X: Any, proba: bool, std: bool) -> dict[str, Any]:
    """A column for each target, and those for deviations or classes if they are wanted."""
    if not hasattr(model, "feature_names_in_"):  # fitted on an array, in Python
        X = X.to_numpy()
    said = model.predict(X)
    Y = said.reshape(len(said), -1)
    columns = {name: Y[:, k] for k, name in enumerate(facts.targets)}
    if std:
        deviation = model.predict(X, return_std=True)[1].reshape(Y.shape)
        columns |= {f"{name}_std": deviation[:, k] for k, name in enumerate(facts.targets)}
    if proba:
        names = [f"{facts.targets[0]}={label}" for label in model.classes_]
        columns |= dict(zip(names, model.predict_proba(X).T, strict=True))
    return columns
