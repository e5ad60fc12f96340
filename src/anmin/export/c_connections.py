"""The hidden layer in C where units see few inputs: a list of inputs and weights for each."""

from __future__ import annotations

from string import Template
from typing import Any

import numpy as np

DENSE = Template("""\
static const $real ${name}_w[${NAME}_HIDDEN][${NAME}_$columns] = {
$W
};
""")
DENSE_SUM = Template("""\
        for (i = 0; i < ${NAME}_$columns; i++)
            s += ${name}_w[j][i] * $row[i];
""")
LISTS = Template("""\
/* Unit j sees the inputs ${name}_input[i] with the weights ${name}_w[i], from i = ${name}_first[j]
   up to, and without, ${name}_first[j + 1]. */
static const $real ${name}_w[] = {
$W
};

static const int ${name}_input[] = {
$input
};

static const int ${name}_first[${NAME}_HIDDEN + 1] = {
$first
};
""")
LIST_SUM = Template("""\
        for (i = ${name}_first[j]; i < ${name}_first[j + 1]; i++)
            s += ${name}_w[i] * x[${name}_input[i]];
""")


def lists(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, their inputs, and where each unit's begin; a list has one entry at least."""
    unit, place = np.nonzero(A[1:].T)
    first = np.searchsorted(unit, np.arange(A.shape[1] + 1))
    if not len(unit):
        return np.zeros(1, dtype=A.dtype), np.zeros(1, dtype=int), first
    return A[1:].T[unit, place], place, first


def hidden_layer(values: dict[str, Any], few: bool) -> dict[str, str]:
    """The constants of the hidden layer and the loop over a unit's inputs."""
    table, loop = (LISTS, LIST_SUM) if few else (DENSE, DENSE_SUM)
    return {"hidden_table": table.substitute(values), "hidden_sum": loop.substitute(values)}
