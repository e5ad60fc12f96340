"""A fitted network as one file of C99: constant arrays and a loop, without library or allocation.

    y = v0;  for each hidden unit:  s = w·x + w0;  unless s < 0 (then leaky or nothing):  y += s v

Only additions, multiplications and a comparison a unit, so that it runs on a microcontroller.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterable
from string import Template
from typing import Any

import numpy as np

from anmin.export import cost, in_dtype, raw_network
from anmin.files import write_atomically

FILE = Template("""\
/* A network with $hidden hidden units, written by anmin.

   Compile this file with your program, which declares what it calls:

     void ${name}_predict(const $real x[$inputs], $real y[$outputs]);$declared

   x  $inputs raw inputs$names
   y  $outputs $meaning

   Cost: $parameters numbers ($bytes bytes of constants), at most $multiply_adds multiply-adds a
   call, a few variables on the stack. No allocation, no library, no state. */

#define ${NAME}_INPUTS $inputs
#define ${NAME}_HIDDEN $hidden
#define ${NAME}_OUTPUTS $outputs

static const $real ${name}_w[${NAME}_HIDDEN][${NAME}_INPUTS] = {
$W
};

static const $real ${name}_w0[${NAME}_HIDDEN] = {
$w0
};

static const $real ${name}_v[${NAME}_HIDDEN][${NAME}_OUTPUTS] = {
$V
};

static const $real ${name}_v0[${NAME}_OUTPUTS] = {
$v0
};

void ${name}_predict(const $real x[${NAME}_INPUTS], $real y[${NAME}_OUTPUTS]);

void ${name}_predict(const $real x[${NAME}_INPUTS], $real y[${NAME}_OUTPUTS])
{
    int i, j, k;

    for (k = 0; k < ${NAME}_OUTPUTS; k++)
        y[k] = ${name}_v0[k];
    for (j = 0; j < ${NAME}_HIDDEN; j++) {
        $real s = ${name}_w0[j];

        for (i = 0; i < ${NAME}_INPUTS; i++)
            s += ${name}_w[j][i] * x[i];
        if (s < 0)
            $negative;
        for (k = 0; k < ${NAME}_OUTPUTS; k++)
            y[k] += s * ${name}_v[j][k];
    }
}
""")

CLASS_OF_TWO = Template("""
int ${name}_class(const $real x[${NAME}_INPUTS]);

int ${name}_class(const $real x[${NAME}_INPUTS])
{
    $real y[${NAME}_OUTPUTS];

    ${name}_predict(x, y);
    return y[0] > 0;
}
""")

CLASS_OF_MANY = Template("""
int ${name}_class(const $real x[${NAME}_INPUTS]);

int ${name}_class(const $real x[${NAME}_INPUTS])
{
    $real y[${NAME}_OUTPUTS];
    int k, best = 0;

    ${name}_predict(x, y);
    for (k = 1; k < ${NAME}_OUTPUTS; k++)
        if (y[k] > y[best])
            best = k;
    return best;
}
""")


def to_c(
    model: Any, path: str | os.PathLike[str], name: str = "model", dtype: str = "float32"
) -> None:
    """Write the C file; its functions as `Exports.to_c` says."""
    write_atomically(path, c_source(model, name, dtype).encode("ascii"))


def c_source(model: Any, name: str = "model", dtype: str = "float32") -> str:
    """The C file as text.

    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.export.c import c_source
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, np.abs(X).ravel())
    >>> "void tide_predict(const float x[1], float y[1]);" in c_source(model, name="tide")
    True
    """
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(f"name must be a C identifier such as 'model'; got {name!r}.")
    network, spent = in_dtype(raw_network(model), dtype), cost(model)
    (p, h), q = network.A.shape, len(network.b0)
    real, size = ("float", 4) if dtype == "float32" else ("double", 8)
    end = "f" if dtype == "float32" else ""
    words = {
        "name": name, "NAME": name.upper(), "real": real, "inputs": p - 1, "hidden": h,
        "outputs": q, "parameters": spent.parameters, "bytes": size * spent.parameters,
        "multiply_adds": spent.multiply_adds,
        "names": comment(getattr(model, "feature_names_in_", ())),
        "W": "\n".join(braces(row, end) for row in network.A[1:].T),
        "w0": numbers(network.A[0], end),
        "V": "\n".join(braces(row, end) for row in network.B), "v0": numbers(network.b0, end),
        "negative": f"s *= {network.A.dtype.type(network.slope)!s}{end}" if network.slope
        else "continue",
    }  # fmt: skip
    return with_class(model, words) if hasattr(model, "classes_") else regression(words)


def regression(words: dict[str, Any]) -> str:
    return FILE.substitute(words, declared="", meaning="predictions")


def with_class(model: Any, words: dict[str, Any]) -> str:
    """The file of a classifier, with a function that gives the place of the label."""
    labels, two = comment(model.classes_.tolist()), len(model.classes_) == 2
    rule = "above 0 for the second class" if two else "the largest is that of the class"
    declared = Template("\n     int ${name}_class(const $real x[$inputs]);").substitute(words)
    main = FILE.substitute(words, declared=declared, meaning=f"decision values; {rule}{labels}")
    return main + (CLASS_OF_TWO if two else CLASS_OF_MANY).substitute(words)


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
