"""anmin fit."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anmin.cli.app import (
    DataArgument,
    JsonOption,
    SeedOption,
    check_output,
    column,
    interruptible,
    plain_console,
    print_json,
)

if TYPE_CHECKING:
    from anmin.base import BaseANMIN
    from anmin.cli.schema import FitSummary

HELP = """Fit a network to a table, test it on rows held out, and save it.

The table is taken as it is: text, dates, gaps, decimal commas. A
text target means classes. Columns that cannot help are left out
and named. A fifth of the rows is held out for the test, beside the
mean, a straight line and boosted trees. Then the model is fitted
again on all rows, and that one is saved; --no-refit saves the one
that was tested. Ctrl-C stops early and saves the best network so
far; Ctrl-C again leaves at once.

[bold]Examples[/bold]

  anmin fit houses.csv --target price

  anmin fit houses.csv -t price --drop town --max-time 60

  anmin fit iris.csv -t species -o iris.anmin --json
"""

setting = partial(typer.Option, rich_help_panel="Network and solver")

Target = column("--target", "-t", metavar="NAME", help="Column to predict; may be repeated.")
Features = column(metavar="NAME", help="Column to use; may be repeated. All, by default.")
Drop = column(metavar="NAME", help="Column to leave out; may be repeated.")
Weight = column(metavar="NAME", help="Column with the rows' weights.")
Keep = column(metavar="NAME", help="Column to use although it seems of no use; may be repeated.")
Classify = column("--classify", help="Take the whole numbers of the target as classes.")
Texts = column("--text", metavar="NAME", help="Column of numbers that are codes; may be repeated.")
Missing = column(metavar="TEXT", help="What stands for no value, as -999; may be repeated.")
Decimal = column(metavar="MARK", help="Decimal mark, . or , where the table does not tell.")
Output = typer.Option("--output", "-o", metavar="FILE", help="Model file; by default DATA.anmin.")
TestSize = typer.Option(help="Share of the rows held out for the test.", min=0, max=0.9)
Refit = typer.Option(help="After the test, fit again on all rows, and save that model.")
Hidden = setting(metavar="N", help='Hidden units of a network, at most, or "auto".')
Lam = setting(metavar="X", help='Penalty on the weights, or "auto".')
Slope = setting(help="Slope of the activation for negative arguments.")
Solver = setting(metavar="NAME", help='"varpro", or "anmin": the paper\'s algorithm.')
MaxIter = setting(help="Iterations, at most.")
MaxTime = setting(help="Seconds, at most; the test and the refit share them.")
Device = setting(metavar="NAME", help='"cpu", "cuda" or "auto".')
Intervals = setting("--intervals", help="Keep what anmin predict --std needs.")


def fit(
    data: DataArgument,
    target: Annotated[list[str] | None, Target] = None,
    features: Annotated[list[str] | None, Features] = None,
    drop: Annotated[list[str] | None, Drop] = None,
    weight: Annotated[str | None, Weight] = None,
    classify: Annotated[bool, Classify] = False,
    keep: Annotated[list[str] | None, Keep] = None,
    text: Annotated[list[str] | None, Texts] = None,
    missing: Annotated[list[str] | None, Missing] = None,
    decimal: Annotated[str | None, Decimal] = None,
    output: Annotated[Path | None, Output] = None,
    test_size: Annotated[float, TestSize] = 0.2,
    refit: Annotated[bool, Refit] = True,
    as_json: JsonOption = False,
    n_hidden: Annotated[str, Hidden] = "auto",
    lam: Annotated[str, Lam] = "auto",
    slope: Annotated[float | None, Slope] = None,
    solver: Annotated[str | None, Solver] = None,
    max_iter: Annotated[int | None, MaxIter] = None,
    max_time: Annotated[float | None, MaxTime] = None,
    device: Annotated[str | None, Device] = None,
    intervals: Annotated[bool, Intervals] = False,
    seed: SeedOption = 0,
) -> None:
    from anmin.cli.roles import Roles
    from anmin.cli.texts import Reading
    from anmin.cli.training import fit_table

    name = "model" if data == "-" else Path(data).name.partition(".")[0]
    check_output(path := output or Path(f"{name}.anmin"), inputs=(Path(data),), own=".anmin")
    reading = Reading.of(decimal, missing or (), text or ())
    roles = Roles(target or (), weight, features or (), drop or (), keep or (), classify)
    settings = {"n_hidden": number_or_word(n_hidden), "lam": number_or_word(lam), "slope": slope,
                "solver": solver, "max_iter": max_iter, "max_time": max_time, "device": device,
                "random_state": seed, "intervals": intervals or None}  # fmt: skip
    trained, summary = fit_table(data, roles, reading, settings, (test_size, refit))
    with interruptible():
        trained.save(path)
    show(trained, summary, path, as_json)


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


def show(model: "BaseANMIN", summary: "FitSummary", path: Path, as_json: bool) -> None:
    """Say what came out, and leave as after Ctrl-C where the fit was stopped."""
    from anmin.cli.measures import comparison, error_lines, verdict
    from anmin.export import cost

    size, lam, steps = asdict(cost(model)), float(model.lam_ or 0.0), int(model.n_iter_)
    if as_json:
        facts = {"estimator": type(model).__name__, "lam": lam, "iterations": steps}
        print_json({"model": str(path)} | brief(summary) | facts | size)
    else:
        console = plain_console()
        for target, found in summary.test.items():
            beside = comparison(target, found, summary.rivals)
            console.print(f"{target}, {summary.rows_test:,} rows held out: {beside}")
            console.print(verdict(target, found, summary.rivals))
        for line in error_lines(summary.errors()):
            console.print(line)
        units = f"{size['hidden']} hidden units, {size['parameters']:,} parameters"
        console.print(f"Network: {size['inputs']} inputs, {units}, lam = {lam:.3g}")
        last = f", {steps} iteration{'s' * (steps != 1)} of the last stage" if steps else ""
        console.print(f"{summary.seconds:.1f} s{last}")
        early = "Stopped early. " if summary.interrupted else ""
        console.print(f"{early}The model in {path} is {what_was_saved(summary)}.")
    if summary.interrupted:
        raise typer.Exit(130)


def brief(summary: "FitSummary") -> dict[str, Any]:
    """The summary without what only serves to recognise rows."""
    return {name: value for name, value in asdict(summary).items() if name != "prints"}


def what_was_saved(summary: "FitSummary") -> str:
    """Which of the models is in the file."""
    if summary.refitted_on_all_rows:
        return "fitted on all rows; the error on rows held out is that of a fit without them"
    if summary.rows_test:
        return f"the tested one, fitted on {summary.rows_train:,} rows"
    return "fitted on all rows; no rows were held out for a test"
