"""anmin export."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from anmin.cli.app import InputError, JsonOption, app, check_output, print_json
from anmin.cli.predict import ModelArgument


class Format(StrEnum):
    """Where a model can go."""

    C = "c"
    ONNX = "onnx"
    TORCH = "torch"


class Dtype(StrEnum):
    """The arithmetic of an export."""

    SINGLE = "float32"
    DOUBLE = "float64"


ENDINGS = {Format.C: ".c", Format.ONNX: ".onnx", Format.TORCH: ".pt2"}


@app.command()
def export(
    model: ModelArgument,
    to: Annotated[Format, typer.Option("--to", help="Form of the export.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="By default MODEL.c, MODEL.onnx or MODEL.pt2."
        ),
    ] = None,
    dtype: Annotated[Dtype, typer.Option(help="Arithmetic of the export.")] = Dtype.SINGLE,
    name: Annotated[str, typer.Option(help="What the C functions are called.")] = "model",
    as_json: JsonOption = False,
) -> None:
    """Write a saved model as C99 source, ONNX, or a PyTorch program.

    The standardisation is folded in, so all of them take raw inputs, in
    the order that is printed. A text column is one 0/1 input for each
    category.

    [bold]Examples[/bold]

      anmin export houses.anmin --to c -o houses.c

      anmin export houses.anmin --to onnx

      anmin export houses.anmin --to torch

    In PyTorch: torch.export.load("houses.pt2").module()
    """
    from anmin.cli.facts import open_model

    output = output or Path(model.stem + ENDINGS[to])
    check_output(output, (ENDINGS[to],), (model,))
    network, facts = open_model(model)
    try:
        write(network, to, output, dtype, name)
    except (ImportError, ValueError) as error:
        raise InputError(str(error)) from error
    inputs = facts.inputs.encoded
    if as_json:
        print_json({"output": str(output), "inputs": inputs, "targets": list(facts.targets)})
    else:
        typer.echo(f"{output} takes {len(inputs)} inputs, in this order: {', '.join(inputs)}")


def write(model: Any, to: Format, output: Path, dtype: Dtype, name: str) -> None:
    """Write the model in one of the forms."""
    if to is Format.C:
        model.to_c(output, name, dtype.value)
    elif to is Format.ONNX:
        model.to_onnx(output, dtype.value)
    else:
        write_torch(model.to_torch(dtype.value), model.n_features_in_, output)


def write_torch(module: Any, d: int, output: Path) -> None:
    """A program that `torch.export.load` reads, for any number of rows."""
    import torch

    from anmin.files import open_atomically

    example = torch.zeros(2, d, dtype=next(module.parameters()).dtype)
    rows = torch.export.Dim("rows")
    program = torch.export.export(module, (example,), dynamic_shapes=({0: rows},))
    with open_atomically(output) as file:
        torch.export.save(program, file)
