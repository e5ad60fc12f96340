"""anmin report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anmin.cli.app import (
    InputError,
    JsonOption,
    ModelArgument,
    UnknownOption,
    app,
    check_output,
    column,
    interruptible,
    plain_console,
    print_json,
)

if TYPE_CHECKING:
    from anmin.cli.page import Subject

Data = typer.Option("--data", "-d", metavar="DATA", help="Rows to judge on; - for a pipe.")
Output = typer.Option("--output", "-o", metavar="FILE", help="Page: .html.")
Target = column(
    "--target", "-t", metavar="NAME", help="Column of the truth, where its name differs."
)


@app.command()
def report(
    model: ModelArgument,
    data: Annotated[str | None, Data] = None,
    output: Annotated[Path | None, Output] = None,
    target: Annotated[list[str] | None, Target] = None,
    allow_unknown: UnknownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say how good a model is, how its fit went, and what it relies on.

    With --output, a page with pictures, for any browser; else a short
    text. With --data, the errors, the residuals and the importance of the
    inputs on those rows; without, what the model itself knows. Use rows
    that the model was not fitted on.

    [bold]Examples[/bold]

      anmin report houses.anmin

      anmin report houses.anmin --data test.csv -o report.html
    """
    from anmin.cli.page import Subject
    from anmin.cli.schema import open_model

    if output is not None:
        check_output(output, (".html", ".htm"), (model, Path(data or model)))
    network, schema = open_model(model)
    rows = None
    if data is not None:
        sheet, targets = schema.read(data), target or list(schema.targets)
        if len(targets) != len(schema.targets):
            raise InputError(f"the model has {len(schema.targets)} targets; got {len(targets)}")
        classify = hasattr(network, "classes_")
        rows = schema.labelled_rows(sheet, classify, targets, allow_unknown)
        schema.mention_unused(sheet, targets)
    show(Subject(network, schema, rows, f"Report on {model.name}"), output, as_json)


def show(subject: "Subject", output: Path | None, as_json: bool) -> None:
    """Write the page, and print the numbers or a short text."""
    from anmin.cli.page import report_page
    from anmin.files import write_atomically

    if output is not None:
        page = report_page(subject).encode()
        with interruptible():
            write_atomically(output, page)
    if as_json:
        print_json(summary(subject))
    elif output is None:
        show_text(subject)
    else:
        typer.echo(f"The report is in {output}")


def summary(subject: "Subject") -> dict[str, Any]:
    """The page as numbers."""
    report = subject.model._report
    return {
        "errors": subject.errors(),
        "inputs": subject.importance(),
        "cost": subject.cost(),
        "convergence": report and report.as_dict(),
    }


def show_text(subject: "Subject") -> None:
    """The page as a short text."""
    from anmin.cli.measures import LABELS, number
    from anmin.cli.page import convergence_lines

    facts, console = summary(subject), plain_console()
    for rows, targets in facts["errors"].items():
        for target, found in targets.items():
            values = ", ".join(f"{LABELS[name]} {number(value)}" for name, value in found.items())
            console.print(f"{target}, {rows}: {values}")
    top = list(facts["inputs"].items())[:10]
    kind = "share of the weights" if subject.rows is None else "loss of score when shuffled"
    console.print(f"Most important inputs ({kind}):")
    console.print(", ".join(f"{name} {value:.3g}" for name, value in top))
    console.print(", ".join(f"{value:,} {LABELS[name]}" for name, value in facts["cost"].items()))
    if facts["convergence"]:
        console.print(str(subject.model.report()))
    else:
        console.print(": ".join(*convergence_lines(subject.model)))
