"""The command line itself: what all commands share.

Standard output holds the result, standard error the progress and the complaints. The exit code is
0 when all went well, 2 when what was asked cannot be done (wrong option, unusable file), 1 when it
failed on the way (disk full, no memory), and 130 after Ctrl-C.
"""

import errno
import json
import os
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup


class InputError(Exception):
    """What the user gave cannot be used; the message says why and what to do."""


ORDER = ("fit", "predict", "report", "export")  # as one uses them; the others follow


class Group(TyperGroup):
    """Commands whose errors are one line, without a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        known = super().list_commands(ctx)
        return [*(n for n in ORDER if n in known), *(n for n in known if n not in ORDER)]

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            complain(str(error))
            code = 2
        except KeyboardInterrupt:
            complain("stopped; nothing was written")
            code = 130
        except MemoryError:
            complain("out of memory; use fewer rows or columns, or a larger machine")
            code = 1
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has seen enough
                raise
            complain(str(error))
            code = 1
        raise typer.Exit(code)


HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of a CSV file names the columns. By default, if it holds text.",
        show_default=False,
        rich_help_panel="Columns",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def complain(message: str) -> None:
    """An error, as one red line on standard error."""
    say(Text.assemble(("error: ", "bold red"), message))


def note(message: str) -> None:
    """Something worth knowing, as one yellow line on standard error."""
    say(Text.assemble(("note: ", "yellow"), message))


def say(line: Text) -> None:
    Console(stderr=True).print(line, soft_wrap=True, highlight=False)


def print_json(facts: dict[str, Any]) -> None:
    """Facts on standard output; JSON has no NaN, so it is null."""
    typer.echo(json.dumps(finite(facts), indent=2, ensure_ascii=False))


def finite(value: Any) -> Any:
    """The same facts with None for each number that is NaN or infinite.

    >>> finite({"mse": [1.0, float("nan")]})
    {'mse': [1.0, None]}
    """
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def check_output(path: Path, formats: tuple[str, ...] = (), inputs: tuple[Path, ...] = ()) -> None:
    """Refuse an output that cannot be written, before the work and not after it."""
    folder = path.parent
    if formats and path.suffix.lower() not in formats:
        complaint = f"must end in {' or '.join(formats)}"
    elif path.is_dir():
        complaint = "is a folder; name a file in it"
    elif not folder.is_dir():
        complaint = f"cannot be written: there is no folder {folder}"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        complaint = "cannot be written: it is not yours to write; choose another place"
    elif any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        complaint = "is also the input; choose another name"
    else:
        return
    raise InputError(f"the output {path} {complaint}")


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from anmin import __version__

        typer.echo(f"anmin {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=show_version, is_eager=True),
    ] = False,
) -> None:
    """Two-layer ReLU networks trained by solving linear systems.

    [bold]Examples[/bold]

      anmin fit train.csv --target price -o m.anmin

      anmin predict m.anmin new.csv -o prices.csv

      anmin report m.anmin --data test.csv -o report.html

      anmin export m.anmin --to c -o model.c

      anmin demo                       fit a shape, write anmin-demo.png

    Exit codes: 0 fine, 2 wrong usage or input, 1 failure, 130 after Ctrl-C.
    """
