"""anmin report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from anmin.cli.app import HeaderOption, JsonOption, app, check_output, print_json
from anmin.cli.predict import ModelArgument, UnknownOption

if TYPE_CHECKING:
    from anmin.cli.facts import Facts
    from anmin.html import Rows, Subject


@app.command()
def report(
    model: ModelArgument,
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", metavar="DATA", help="Rows to judge on; - for a pipe."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Page: .html.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar="NAME",
            help="Column of the truth, where its name differs.",
            rich_help_panel="Columns",
        ),
    ] = None,
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
    from anmin.cli.facts import open_model
    from anmin.files import write_atomically
    from anmin.html import report_page

    if output is not None:
        check_output(output, (".html", ".htm"), (model,))
    network, facts = open_model(model)
    rows = None
    if data is not None:
        rows = read_rows(facts, network, data, target, header, allow_unknown)
    subject = subject_of(network, facts, model.name, rows)
    if output is not None:
        write_atomically(output, report_page(subject).encode())
    if as_json:
        print_json(summary(subject))
    elif output is None:
        show(subject)
    else:
        typer.echo(f"The report is in {output}")


def read_rows(
    facts: "Facts", model: Any, data: str, target: list[str] | None, header: bool | None,
    allow_unknown: bool,
) -> "Rows":  # fmt: skip
    """The rows of a table, with their true targets and their weights if there are any."""
    from anmin.cli.app import InputError
    from anmin.cli.columns import numbers
    from anmin.cli.facts import target_values
    from anmin.cli.tables import read
    from anmin.html import Rows

    sheet = facts.align(read(data, header, facts.inputs.categories), by_place=header is False)
    targets = target or facts.targets
    if len(targets) != len(facts.targets):
        raise InputError(f"the model has {len(facts.targets)} targets; got {len(targets)}")
    y = target_values(sheet, targets, hasattr(model, "classes_"))
    facts.mention_unused(sheet, targets)
    weighted = facts.weight is not None and facts.weight in sheet.columns
    weight = numbers(sheet, [str(facts.weight)])[:, 0] if weighted else None
    return Rows(facts.inputs.encode(sheet, allow_unknown).to_numpy(), y, weight)


def subject_of(model: Any, facts: "Facts", name: str, rows: "Rows | None") -> "Subject":
    """What the page is about."""
    from anmin.html import Subject

    place = {column: k for k, column in enumerate(facts.inputs.encoded)}
    groups = {
        column: [place[each] for each in group] for column, group in facts.inputs.groups.items()
    }
    return Subject(
        model, f"Report on {name}", rows, groups, facts.targets, known_errors(facts), making(facts)
    )


def known_errors(facts: "Facts") -> dict[str, Any]:
    """What `anmin fit` measured."""
    found = facts.summary
    if not found:
        return {}
    n_train, n_test = found["rows_train"], found["rows_test"]
    n = n_train + n_test if found["refitted_on_all_rows"] else n_train
    known = {f"{n:,} rows of the fit": found["train"]}
    if n_test:
        known[f"{n_test:,} rows held out"] = found["test"]
    return known


def making(facts: "Facts") -> dict[str, str]:
    """Lines on how the model was made."""
    found = facts.summary
    lines = {"targets": ", ".join(facts.targets), "inputs": ", ".join(facts.inputs.names)}
    if not found:
        return lines
    lines["data"] = found["data"]
    n_train, n_test = found["rows_train"], found["rows_test"]
    if found["refitted_on_all_rows"]:
        lines["rows"] = (
            f"{n_train + n_test:,}; before that, fitted on {n_train:,} and tested on {n_test:,}"
        )
    else:
        lines["rows"] = f"{n_train:,}" + (f"; tested on {n_test:,} others" if n_test else "")
    lines["seconds"] = f"{found['seconds']:.1f}" + (" (stopped early)" * found["interrupted"])
    return lines


def summary(subject: "Subject") -> dict[str, Any]:
    """The page as numbers."""
    from anmin.html.page import all_errors, importance, prediction_cost

    report = subject.model._report
    return {
        "errors": all_errors(subject),
        "inputs": importance(subject),
        "cost": prediction_cost(subject.model),
        "convergence": report and report.as_dict(),
    }


def show(subject: "Subject") -> None:
    """The page as a short text."""
    from anmin.html.blocks import number
    from anmin.html.page import LABELS, convergence_lines

    facts, console = summary(subject), Console(highlight=False, soft_wrap=True, markup=False)
    for rows, targets in facts["errors"].items():
        for target, found in targets.items():
            values = ", ".join(f"{LABELS[name]} {number(value)}" for name, value in found.items())
            console.print(f"{target}, {rows}: {values}")
    top = list(facts["inputs"].items())[:10]
    kind = "share of the weights" if subject.rows is None else "loss of score when shuffled"
    console.print(f"Most important inputs ({kind}):")
    console.print(", ".join(f"{name} {value:.3g}" for name, value in top))
    cost = {LABELS[name]: value for name, value in facts["cost"].items()}
    console.print(", ".join(f"{value:,} {name}" for name, value in cost.items()))
    if facts["convergence"]:
        console.print(str(subject.model.report()))
    else:
        console.print(": ".join(*convergence_lines(subject.model)))
