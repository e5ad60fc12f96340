"""A fitted network as one file of C99: constant arrays and a loop, without library or allocation.

    y = v0;  for each hidden unit:  s = w·x + w0;  unless s < 0 (then leaky or nothing):  y += s v

Only additions, multiplications and a comparison a unit, so that it runs on a microcontroller. An
encoding fills an array of fixed size on the stack first; r ↦ (r + s/r)/2 gives its square roots.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from string import Template
from typing import Any

import numpy as np

from anmin.columns import Columns
from anmin.encoding import CLIP, FAR
from anmin.export import EncodingArrays, Export, cost, link_of, raw_columns, raw_network, register
from anmin.export.c_columns import table_values
from anmin.export.c_connections import hidden_layer, lists
from anmin.files import PathLike, write_atomically
from anmin.network import Network

FILE = Template("""\
/* A network with $hidden hidden units, written by anmin.

   Compile this file with your program, which declares what it calls:

     void ${name}_predict($argument, $real y[$outputs]);$declared

   $given
   y  $outputs $meaning

   Cost: $parameters numbers ($bytes bytes of constants), at most $multiply_adds multiply-adds a
   call, $stack variables on the stack. No allocation, no library$but, no state. */
$include
#define ${NAME}_INPUTS $inputs
#define ${NAME}_HIDDEN $hidden
#define ${NAME}_OUTPUTS $outputs

$row_type$tables
$hidden_table
static const $real ${name}_w0[${NAME}_HIDDEN] = {
$w0
};

static const $real ${name}_v[${NAME}_HIDDEN][${NAME}_OUTPUTS] = {
$V
};

static const $real ${name}_v0[${NAME}_OUTPUTS] = {
$v0
};

$head(const $real x[${NAME}_INPUTS], $real y[${NAME}_OUTPUTS])
{
    int i, j, k;
$encode
    for (k = 0; k < ${NAME}_OUTPUTS; k++)
        y[k] = ${name}_v0[k];
    for (j = 0; j < ${NAME}_HIDDEN; j++) {
        $real s = ${name}_w0[j];

${hidden_sum}        if (s < 0)
            $negative;
        for (k = 0; k < ${NAME}_OUTPUTS; k++)
            y[k] += s * ${name}_v[j][k];
    }
$link}
$after""")

LINKS = {
    "identity": "",
    "exp": """\
    for (k = 0; k < ${NAME}_OUTPUTS; k++)
        y[k] = $exp(y[k]);
""",
    "sort": """\
    for (k = 1; k < ${NAME}_OUTPUTS; k++) {
        $real t = y[k];

        for (j = k; j > 0 && y[j - 1] > t; j--)
            y[j] = y[j - 1];
        y[j] = t;
    }
""",
}

TABLES = Template("""\
#define ${NAME}_HINGES $hinges
#define ${NAME}_COLUMNS (${NAME}_INPUTS + ${NAME}_HINGES)

static const $real ${name}_centre[${NAME}_INPUTS] = {
$centre
};

static const $real ${name}_scale[${NAME}_INPUTS] = {
$scale
};
""")

HINGE_TABLES = Template("""
static const int ${name}_column[${NAME}_HINGES] = {
$column
};

static const $real ${name}_low[${NAME}_HINGES] = {
$low
};

static const $real ${name}_width[${NAME}_HINGES] = {
$width
};
""")

ENCODE = Template("""\
    $real z[${NAME}_COLUMNS];

    for (i = 0; i < ${NAME}_INPUTS; i++) {
        $real t = (x[i] - ${name}_centre[i]) / ${name}_scale[i], u, r;

        t = t < -$far ? -$far : t > $far ? $far : t;
        u = t / $clip;
        r = u < -1 ? -u : u > 1 ? u : 1;
        for (k = 0; k < 5; k++)
            r = (r + (1 + u * u) / r) / 2;
        z[i] = t / r;
    }
""")

ENCODE_HINGES = Template("""\
    for (i = 0; i < ${NAME}_HINGES; i++) {
        $real t = (x[${name}_column[i]] - ${name}_low[i]) / ${name}_width[i];

        z[${NAME}_INPUTS + i] = t < 0 ? 0 : t > 1 ? 1 : t;
    }
""")

HEAD = Template("""\
void ${name}_predict(const $real x[${NAME}_INPUTS], $real y[${NAME}_OUTPUTS]);

void ${name}_predict""")

CLASS = Template("""
int ${name}_class($argument);

int ${name}_class($argument)
{
    $real y[${NAME}_OUTPUTS];
    int k, best = 0;

    ${name}_predict($passed, y);
    if (${NAME}_OUTPUTS == 1)
        return y[0] > 0;
    for (k = 1; k < ${NAME}_OUTPUTS; k++)
        if (y[k] > y[best])
            best = k;
    return best;
}
""")


def to_c(model: Any, path: PathLike, name: str = "model", dtype: str = "float32") -> None:
    """Write the network as one file of C99 without dependencies, for any compiler.

    It defines `void NAME_predict(const float x[], float y[])`, and for a classifier
    `int NAME_class(const float x[])`, the place of the label in `classes_`. For a table with
    text, gaps or dates both take a `const struct NAME_row *`, with a field for each column.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from anmin import ANMINRegressor
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit([[-1], [0], [1]], [1, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.to_c(Path(folder, "m.c"), name="tide")
    ...     print(Path(folder, "m.c").read_text().count("tide_predict("))
    3
    """
    write_atomically(path, c_source(model, name, dtype).encode("ascii"))


def c_source(model: Any, name: str = "model", dtype: str = "float32") -> str:
    """The C file as text."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(f"name must be a C identifier such as 'model'; got {name!r}.")
    network, spent, columns = raw_network(model, dtype), cost(model), raw_columns(model, dtype)
    real, end, size = ("float", "f", 4) if dtype == "float32" else ("double", "", 8)
    slope = f"s *= {network.A.dtype.type(network.slope)!s}{end}"
    values = {
        "name": name, "NAME": name.upper(), "real": real, "inputs": model._scaling.n_features,
        "hidden": len(network.B), "outputs": len(network.b0), "parameters": spent.parameters,
        "bytes": size * spent.parameters, "multiply_adds": spent.multiply_adds,
        "names": comment(getattr(model, "feature_names_in_", ())),
        "w0": numbers(network.A[0], end),
        "V": "\n".join(braces(row, end) for row in network.B), "v0": numbers(network.b0, end),
        "negative": slope if network.slope else "continue",
    }  # fmt: skip
    link = link_of(model)
    exp = link == "exp"
    values |= {"include": "\n#include <math.h>\n" if exp else "", "but": " but exp" if exp else ""}
    values["link"] = Template(LINKS[link]).substitute(values, exp=f"exp{end}")
    values |= PLAIN if columns is None else encoding_values(columns, values, end)
    values |= row_values(model._columns, values, end)
    values |= hidden_values(model, network, values, end)
    if not hasattr(model, "classes_"):
        return FILE.substitute(values, declared="", meaning="predictions")
    two = len(model.classes_) == 2
    rule = "above 0 for the second class" if two else "the largest is that of the class"
    meaning = f"decision values; {rule}{comment(model.classes_.tolist())}"
    declared = f"\n     int {name}_class({values['argument']});"
    main = FILE.substitute(values, declared=declared, meaning=meaning)
    return main + CLASS.substitute(values)


def hidden_values(model: Any, network: Network, values: dict[str, Any], end: str) -> dict[str, Any]:
    """The hidden layer: a table of weights, or lists of the connections that there are."""
    if model.connections is None:
        W = "\n".join(braces(row, end) for row in network.A[1:].T)
        return hidden_layer(values | {"W": W}, few=False)
    w, place, first = lists(network.A)
    some = {"W": numbers(w, end), "input": numbers(place, ""), "first": numbers(first, "")}
    wasted = values["bytes"] // values["parameters"] - 4  # bytes by which a number exceeds an int
    few = {"bytes": values["bytes"] - wasted * (len(place) + len(first))}
    return hidden_layer(values | some, few=True) | few


def row_values(columns: Columns | None, values: dict[str, Any], end: str) -> dict[str, Any]:
    """How a row is handed over: as an array of numbers, or as a struct."""
    if columns is None:
        return {
            "argument": f"const {values['real']} x[{values['inputs']}]", "passed": "x",
            "given": f"x  {values['inputs']} raw inputs{values['names']}",
            "head": HEAD.substitute(values), "row_type": "", "after": "",
        }  # fmt: skip
    name = values["name"]
    given = "row  the columns of the table, in the struct below: include this file, or copy that."
    return {
        "argument": f"const struct {name}_row *row", "passed": "row", "given": given,
        "head": f"static void {name}_network", **table_values(columns, values, end),
    }  # fmt: skip


PLAIN = {"stack": "a few", "tables": "", "encode": "", "columns": "INPUTS", "row": "x"}


def encoding_values(columns: EncodingArrays, values: dict[str, Any], end: str) -> dict[str, Any]:
    """What an encoding adds to the file."""
    m = len(columns.column)
    parts: dict[str, Any] = {
        name: numbers(getattr(columns, name), end) for name in ("centre", "scale", "low", "width")
    }
    parts |= {
        "column": numbers(columns.column, ""), "hinges": m,
        "far": f"{FAR:.1f}{end}", "clip": f"{CLIP:.1f}{end}",
    }  # fmt: skip
    some = values | parts
    tables, encode = (TABLES, HINGE_TABLES), (ENCODE, ENCODE_HINGES)
    return {
        "stack": len(columns.centre) + m + 8,
        "tables": "".join(part.substitute(some) for part in tables[: 2 if m else 1]),
        "encode": "".join(part.substitute(some) for part in encode[: 2 if m else 1]),
        "columns": "COLUMNS",
        "row": "z",
        "bytes": values["bytes"] - (values["bytes"] // values["parameters"] - 4) * m,
    }


def numbers(values: np.ndarray, end: str) -> str:
    """Decimals that round to the very same numbers, in lines."""
    return textwrap.fill(
        ", ".join(f"{value!s}{end}" for value in values), 96, initial_indent="    ",
        subsequent_indent="    ", break_on_hyphens=False,
    )  # fmt: skip


def braces(values: np.ndarray, end: str) -> str:
    return f"    {{{numbers(values, end).strip()}}},"


def comment(words: Iterable[Any]) -> str:
    """Names or labels as JSON that cannot end the comment it stands in."""
    text = ", ".join(json.dumps(word) for word in words)
    safe = text.replace("/", "\\u002f").replace("?", "\\u003f")
    lines = textwrap.fill(safe, 90, break_long_words=False)
    return f":\n{textwrap.indent(lines, ' ' * 6)}" if safe else ""


register(Export("c", ".c", "one file of C99 without dependencies", to_c))
