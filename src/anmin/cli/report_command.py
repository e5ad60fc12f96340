"""anmin report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anmin.cli.app import (
    HeaderOption,
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
    from anmin.base import BaseANMIN
    from anmin.cli.measures import LabelledRows
    from anmin.cli.page import Subject
    from anmin.cli.schema import Schema
    from anmin.cli.tables import Sheet

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
    header: HeaderOption = None,
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
    from anmin.cli.schema import open_model

    if output is not None:
        check_output(output, (".html", ".htm"), (model, Path(data or model)))
    network, schema = open_model(model)
    rows = None
    if data is not None:
        rows = labelled_rows(network, schema, schema.read(data, header), target, allow_unknown)
    subject = subject_of(network, schema, model.name, rows)
    show(subject, output, as_json)


def labelled_rows(
    model: "BaseANMIN", schema: "Schema", sheet: "Sheet", target: list[str] | None,
    allow_unknown: bool,
) -> "LabelledRows":  # fmt: skip
    """The rows of a table, with their true targets and their weights if there are any."""
    from anmin.cli.columns import numbers, target_values
    from anmin.cli.measures import LabelledRows

    targets = target or schema.targets
    if len(targets) != len(schema.targets):
        raise InputError(f"the model has {len(schema.targets)} targets; got {len(targets)}")
    y = target_values(sheet, targets, hasattr(model, "classes_"))
    schema.mention_unused(sheet, targets)
    weighted = schema.weight is not None and schema.weight in sheet.columns
    weight = numbers(sheet, [str(schema.weight)])[:, 0] if weighted else None
    return LabelledRows(schema.inputs.encode(sheet, allow_unknown).to_numpy(), y, weight)


def subject_of(
    model: "BaseANMIN", schema: "Schema", name: str, rows: "LabelledRows | None"
) -> "Subject":
    """What the page is about."""
    from anmin.cli.page import Subject

    place = {column: k for k, column in enumerate(schema.inputs.encoded)}
    groups = {c: [place[each] for each in group] for c, group in schema.inputs.groups.items()}
    known, making = history_of(schema)
    return Subject(model, f"Report on {name}", rows, groups, schema.targets, known, making)


def history_of(schema: "Schema") -> tuple[dict[str, Any], dict[str, str]]:
    """The errors that `anmin fit` measured, and lines on how the model was made."""
    making = {"targets": ", ".join(schema.targets), "inputs": ", ".join(schema.inputs.names)}
    found = schema.summary
    if not found:
        return {}, making
    n_train, n_test = found["rows_train"], found["rows_test"]
    n = n_train + n_test if found["refitted_on_all_rows"] else n_train
    known, rows = {f"{n:,} rows of the fit": found["train"]}, f"{n:,}"
    if n_test:
        known[f"{n_test:,} rows held out"] = found["test"]
        rows += f"; tested on {n_test:,} others"
    if found["refitted_on_all_rows"]:
        rows = f"{n:,}; before that, fitted on {n_train:,} and tested on {n_test:,}"
    seconds = f"{found['seconds']:.1f}" + " (stopped early)" * found["interrupted"]
    return known, making | {"data": found["data"], "rows": rows, "seconds": seconds}


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
    from anmin.cli.measures import prediction_cost

    report = subject.model._report
    return {
        "errors": subject.all_errors(),
        "inputs": subject.importance(),
        "cost": prediction_cost(subject.model),
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
