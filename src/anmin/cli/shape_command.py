"""anmin shape."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anmin.cli.app import (
    InputError,
    JsonOption,
    SeedOption,
    check_output,
    interruptible,
    plain_console,
    print_json,
)

if TYPE_CHECKING:
    from anmin.shapes import Boundary, FittedShape

SUFFIXES = (".html", ".glsl", ".c", ".obj", ".anmin")
MOST_UNITS = 1024

Given = typer.Argument(metavar="INPUT", help="Mesh (.obj .ply .stl .off) or picture (.png .svg).")
Out = typer.Option("--output", "-o", metavar="FILE", help=f"{' '.join(SUFFIXES)}; INPUT.html.")
Units = typer.Option(
    "--units", "-u", metavar="N", min=1, max=MOST_UNITS,
    help="Hidden units; may be repeated for a page of several networks.",
)  # fmt: skip


def shape(
    given: Annotated[Path, Given],
    output: Annotated[Path | None, Out] = None,
    units: Annotated[list[int] | None, Units] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Turn a mesh or a picture into a network that is its signed distance.

    The suffix of the output says what is written: .html, a page on which
    a browser draws the networks themselves, of several sizes, with the
    original beside them; .glsl, a function for a shader; .c; .obj, the
    network as a mesh; .anmin, a model. All but a page hold the largest.
    A mesh must be closed and must not go through itself; a picture shows
    one shape on a plain ground.

    [bold]Examples[/bold]

      anmin shape spot.obj -o spot.html

      anmin shape logo.svg -o logo.glsl --units 64

      anmin shape part.stl --units 64 --units 512
    """
    check_output(path := output or Path(given.stem + ".html"), SUFFIXES, (given,))
    boundary, fitted = fitted_shape(given, path.suffix.lower(), units or [], seed)
    try:
        content = WRITERS[path.suffix.lower()](boundary, fitted, given)
    except ValueError as error:
        raise InputError(str(error)) from error
    with interruptible():
        write(path, content)
    if as_json:
        names = ("units", "numbers", "near_error", "overlap", "seconds")
        rows = [{name: getattr(one, name) for name in names} for one in fitted]
        print_json({"output": str(path), "bytes": path.stat().st_size, "networks": rows})
        return
    words = [one.words() for one in fitted]
    plain_console().print("\n".join([*words, f"The shape is in {path}"]))


def fitted_shape(
    given: Path, kind: str, units: list[int], seed: int
) -> tuple["Boundary", list["FittedShape"]]:
    """The shape in a file and its networks: several for a page, else the largest."""
    from anmin.cli.progress import FitProgress
    from anmin.engine import listening

    try:
        from anmin.shapes import ShapeError, fit_shape, read_shape
        from anmin.shapes.fitting import SIZES
    except ModuleNotFoundError as error:
        raise InputError(str(error)) from error
    try:
        boundary = read_shape(given)
    except (ShapeError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{given} cannot be used: {reason}") from error
    if kind == ".obj" and boundary.dimension == 2:
        raise InputError("a picture gives no .obj, which is for solids; use .html, .glsl or .c")
    sizes = sorted(set(units or SIZES[boundary.dimension]))
    sizes = sizes if kind == ".html" else sizes[-1:]
    with interruptible() as heard, FitProgress() as progress, listening(progress.hear):

        def begin(what: str) -> None:
            if heard:  # a fit that is interrupted ends with what it has, and so do we
                raise KeyboardInterrupt
            progress.begin(what)

        fitted = fit_shape(boundary, sizes, seed, begin)
        begin("")
    return boundary, fitted


# ---- what is written ----------------------------------------------------------------------------

Content = str | Any  # text, or a model that saves itself


def page(boundary: "Boundary", fitted: list["FittedShape"], given: Path) -> str:
    from anmin.shapes import shape_page

    return shape_page(boundary, fitted, given.name)


def glsl(_: "Boundary", fitted: list["FittedShape"], __: Path) -> str:
    from anmin.shapes import glsl_source

    return glsl_source(fitted[-1].model)


def c_file(_: "Boundary", fitted: list["FittedShape"], __: Path) -> str:
    from anmin.export.c import c_source

    return c_source(fitted[-1].model, "shape")


def mesh(boundary: "Boundary", fitted: list["FittedShape"], __: Path) -> str:
    from anmin.shapes import mesh_of
    from anmin.shapes.isosurface import obj_text

    return obj_text(*mesh_of(fitted[-1].model, boundary.box(0.3)))


def model(_: "Boundary", fitted: list["FittedShape"], __: Path) -> Any:
    return fitted[-1].model


WRITERS: dict[str, Callable[["Boundary", list["FittedShape"], Path], Content]] = {
    ".html": page,
    ".glsl": glsl,
    ".c": c_file,
    ".obj": mesh,
    ".anmin": model,
}


def write(path: Path, content: Content) -> None:
    """Write the text or the model, all or nothing."""
    from anmin.files import write_atomically

    if isinstance(content, str):
        write_atomically(path, content.encode())
    else:
        content.save(path)
