"""The command line itself: what all commands share.

Standard output holds the result, standard error the progress and the complaints.
"""

from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


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

      anmin demo                       fit a shape, write anmin-demo.png

      anmin demo --seed 3 -o cat.svg   another start, another picture

      anmin demo --json                the table for machines
    """
