"""anmin data: the paper's data sets, listed and fetched."""

import json
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from anmin import datasets
from anmin.cli.app import InputError, app, complain, note

data = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(data, name="data", help="List and fetch the data sets of the paper.")

FolderOption = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        "-d",
        help="The folder that keeps downloads; ANMIN_CACHE, or the system's cache, by default. "
        "Given, ANMIN_DATA does not count.",
        file_okay=False,
    ),
]


@data.command("list")
def list_(
    folder: FolderOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Show the data sets: how large they are, where they are, who published them.

    A set is "here" (in the folder ANMIN_DATA), "cached" (downloaded before) or "not fetched".
    """
    try:
        rows = [facts(dataset, folder) for dataset in datasets.DATASETS.values()]
        cache = datasets.cache_folder(folder)
    except datasets.DatasetError as error:
        raise InputError(str(error)) from error
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    own = os.environ.get("ANMIN_DATA") if folder is None else None
    Console().print(set_table(rows))
    typer.echo(f"Looked in {f'{own} (ANMIN_DATA), then in {cache}' if own else cache}.")
    typer.echo("The set sin is simulated and needs no file: anmin.datasets.make_sin.")


@data.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Which sets; all of them by default."),
    ] = None,
    folder: FolderOption = None,
) -> None:
    """Download data sets that are not here yet, and check those that are.

    [bold]Examples[/bold]

      anmin data fetch                  all sets; year is large (211 MB)

      anmin data fetch abalone bike     these two

      anmin data fetch -d data          into a folder to carry elsewhere; ANMIN_DATA=data there
    """
    wanted = list(dict.fromkeys(names or datasets.DATASETS))
    if unknown := [name for name in wanted if name not in datasets.DATASETS]:
        known = ", ".join(datasets.DATASETS)
        raise InputError(f"there is no data set {', '.join(unknown)}; there are {known}")
    quiet_pooch()
    failed = [name for name in wanted if not fetched(name, folder)]
    if failed:
        raise typer.Exit(1)


def fetched(name: str, folder: Path | None) -> bool:
    """Fetch one set and say where it is, or complain and return False."""
    try:
        before = datasets.locate(name, folder)
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always", datasets.DatasetWarning)
            paths = datasets.fetch(name, data_home=folder)
    except datasets.DatasetError as error:
        complain(f"{name}: {error}")
        return False
    for remark in remarks:
        note(f"{name}: {remark.message}")
    for path in paths:
        typer.echo(f"{name}: {before.state if before.usable else 'downloaded'}, {path}")
    return True


def quiet_pooch() -> None:
    """Leave the talking to the bar and to the lines of this command."""
    with suppress(ImportError):
        import pooch

        pooch.get_logger().setLevel("WARNING")


def facts(dataset: datasets.Dataset, folder: Path | None) -> dict[str, Any]:
    """One row of the list, for machines."""
    place = datasets.locate(dataset.name, folder)
    return {
        "name": dataset.name,
        "title": dataset.title,
        "rows": dataset.rows,
        "inputs": dataset.inputs,
        "outputs": dataset.outputs,
        "bytes": dataset.size,
        "state": place.state,
        "published": place.published,
        "paths": [str(path) for path in place.paths],
        "urls": [file.url for file in dataset.files],
        "origin": dataset.origin,
        "page": dataset.page,
        "licence": dataset.licence,
    }


def set_table(rows: list[dict[str, Any]]) -> Table:
    """The list for people."""
    table = Table(title="Data sets of the paper")
    table.add_column("name", no_wrap=True)
    for name in ("rows", "inputs", "MB"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("where", no_wrap=True)
    table.add_column("origin (licence)")
    for row in rows:
        sizes = (f"{row['rows']:,}", str(row["inputs"]), f"{row['bytes'] / 1e6:.1f}")
        where = row["state"] + (", changed" if row["published"] is False else "")
        table.add_row(row["name"], *sizes, where, f"{row['origin']} ({row['licence']})")
    return table
