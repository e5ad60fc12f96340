"""anmin fit."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from anmin.cli.app import HeaderOption, JsonOption, app, check_output, print_json

if TYPE_CHECKING:
    from anmin.cli.training import Outcome

Names = list[str] | None
column = partial(typer.Option, rich_help_panel="Columns")
setting = partial(typer.Option, rich_help_panel="Network and solver")


@app.command()
def fit(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help=".csv, .tsv, .parquet or .npz; - for a pipe.")
    ],
    target: Annotated[
        Names,
        column("--target", "-t", metavar="NAME", help="Column to predict; may be repeated."),
    ] = None,
    features: Annotated[
        Names, column(metavar="NAME", help="Column to use; may be repeated. All, by default.")
    ] = None,
    drop: Annotated[
        Names, column(metavar="NAME", help="Column to leave out; may be repeated.")
    ] = None,
    weight: Annotated[
        str | None, column(metavar="NAME", help="Column with the rows' weights.")
    ] = None,
    classify: Annotated[bool, column("--classify", help="Predict classes.")] = False,
    one_hot: Annotated[
        bool, column("--one-hot", help="Turn each text column into 0/1 inputs.")
    ] = False,
    header: HeaderOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Model file; by default DATA.anmin."),
    ] = None,
    test_size: Annotated[
        float, typer.Option(help="Share of the rows held out for the test.", min=0, max=0.9)
    ] = 0.2,
    refit: Annotated[
        bool, typer.Option(help="After the test, fit again on all rows, and save that model.")
    ] = True,
    as_json: JsonOption = False,
    n_hidden: Annotated[str, setting(metavar="N", help='Hidden units, at most, or "auto".')] = "64",
    lam: Annotated[str, setting(metavar="X", help='Penalty on the weights, or "auto".')] = "auto",
    slope: Annotated[
        float | None, setting(help="Slope of the activation for negative arguments.")
    ] = None,
    solver: Annotated[
        str | None, setting(metavar="NAME", help='"varpro", or "anmin": the paper\'s algorithm.')
    ] = None,
    max_iter: Annotated[int | None, setting(help="Iterations, at most.")] = None,
    max_time: Annotated[
        float | None, setting(help="Seconds, at most; the test and the refit share them.")
    ] = None,
    n_init: Annotated[int | None, setting(help="Random starts.")] = None,
    device: Annotated[str | None, setting(metavar="NAME", help='"cpu", "cuda" or "auto".')] = None,
    intervals: Annotated[
        bool, setting("--intervals", help="Keep what anmin predict --std needs.")
    ] = False,
    seed: Annotated[int, setting(help="Seed of the split and of every start.", min=0)] = 0,
) -> None:
    """Fit a network to a table, test it on rows held out, and save it.

    A fifth of the rows is held out for the test. Then the model is
    fitted again on all rows, and that one is saved; --no-refit saves
    the model that was tested. Ctrl-C stops early and saves the best
    network so far. Inputs are numbers, without gaps: text needs
    --one-hot, and the model file remembers the categories.

    [bold]Examples[/bold]

      anmin fit houses.csv --target price -o houses.anmin

      anmin fit houses.csv -t price --drop id --one-hot --max-time 60

      anmin fit iris.csv -t species --classify --json

      anmin fit abalone.csv -t x7     without header: x0, x1, …
    """
    from anmin.cli.tables import read
    from anmin.cli.training import Roles, build, take_apart, train

    output = output or Path(default_name(data))
    check_output(output, inputs=(Path(data),))
    roles = Roles(target or (), weight, features or (), drop or (), one_hot, classify)
    settings = {
        "n_hidden": number_or_word(n_hidden), "lam": number_or_word(lam), "slope": slope,
        "solver": solver, "max_iter": max_iter, "max_time": max_time, "n_init": n_init,
        "device": device, "random_state": seed, "intervals": intervals or None,
    }  # fmt: skip
    training = take_apart(read(data, header), roles)
    outcome = train(build(classify, settings), training, test_size, refit)
    facts = replace(training.facts, summary={"data": Path(data).name} | outcome.as_dict())
    outcome.model.extra_ = facts.as_extra()
    outcome.model.save(output)
    if as_json:
        print_json({"model": str(output)} | facts.summary)
    else:
        show(outcome, output)
    if outcome.interrupted:
        raise typer.Exit(130)


def default_name(data: str) -> str:
    """Where the model goes when nothing is said.

    >>> default_name("folder/houses.csv.gz"), default_name("-")
    ('houses.anmin', 'model.anmin')
    """
    return "model.anmin" if data == "-" else f"{Path(data).name.partition('.')[0]}.anmin"


def number_or_word(value: str) -> int | float | str:
    """A parameter that is a number or a word such as "auto".

    >>> number_or_word("64"), number_or_word("1e-3"), number_or_word("auto")
    (64, 0.001, 'auto')
    """
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def show(outcome: "Outcome", output: Path) -> None:
    """The summary for a reader."""
    facts = outcome.as_dict()
    console = Console()
    console.print(error_table(outcome))
    units = f"{facts['hidden']} hidden units, {facts['parameters']:,} parameters"
    console.print(f"Network: {facts['inputs']} inputs, {units}, lam = {facts['lam']:.3g}")
    console.print(f"{facts['seconds']:.1f} s, {facts['iterations']} iterations")
    console.print(what_was_saved(outcome, output), soft_wrap=True, highlight=False, markup=False)


def error_table(outcome: "Outcome") -> Table:
    """Errors on the rows of the fit and on those held out, a row for each target."""
    from anmin.html.blocks import number
    from anmin.html.page import LABELS

    table = Table(title=f"{outcome.rows_train:,} rows to fit, {outcome.rows_test:,} rows to test")
    table.add_column("target")
    table.add_column("rows")
    names = list(next(iter(outcome.train.values())))
    for name in names:
        table.add_column(LABELS[name], justify="right")
    seen = "all" if outcome.refitted else "fit"
    for target, found in outcome.train.items():
        for rows, values in ((seen, found), ("test", outcome.test.get(target, {}))):
            if values:
                cells = [number(values.get(name, float("nan"))) for name in names]
                table.add_row(target, rows, *cells)
    return table


def what_was_saved(outcome: "Outcome", output: Path) -> str:
    """Which of the models is in the file, in one sentence."""
    fitted, held_out = outcome.rows_train, outcome.rows_test
    if outcome.refitted:
        how = (
            f"fitted on all {fitted + held_out:,} rows; the test error is that of a fit without "
            f"the {held_out:,} test rows"
        )
    elif outcome.rows_test:
        how = f"the tested one, fitted on {fitted:,} rows"
    else:
        how = f"fitted on all {fitted:,} rows; no rows were held out for a test"
    early = "Stopped early. " if outcome.interrupted else ""
    return f"{early}The model in {output} is {how}."
