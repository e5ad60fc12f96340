"""monotonic_cst: inputs that predictions are to rise or to fall in, as the user says it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_monotonic_cst

from anmin.columns import Columns, NumberColumn
from anmin.solvers import Problem, Solver
from anmin.solvers.signs import SignedProblem


def constrained(model: Any, solver: Solver, problem: Problem) -> Problem:
    """The problem as `model.monotonic_cst` wants it solved; as it is where that is all zero."""
    asked = _check_monotonic_cst(model, model.monotonic_cst)
    if not asked.any():
        return problem
    if not solver.obeys_signs:
        raise ValueError(f'monotonic_cst needs solver="varpro"; got solver={model.solver!r}.')
    if len(getattr(model, "classes_", ())) > 2:
        raise ValueError(
            f"monotonic_cst is for two classes; y has {len(model.classes_)}, and the probability "
            "of one of many cannot be made to rise by itself."
        )
    terms = {term.name: getattr(problem, term.name) for term in fields(problem)}
    return SignedProblem(**terms, directions=made_directions(model._columns, asked))


def made_directions(columns: Columns | None, asked: np.ndarray) -> np.ndarray:
    """1, −1 or 0 for each input of a network, from those of the columns of X.

    Where a number is missing a network may do as it likes: there is no order between a gap and
    numbers.

    >>> import numpy as np
    >>> from anmin.columns import Columns, Table
    >>> from anmin.monotone import made_directions
    >>> table = Table.of(np.array([[1, "a"], [None, "b"], [3, "a"]], dtype=object))
    >>> made_directions(Columns.fit(table, np.zeros((3, 1)), None)[0], np.array([-1, 0]))
    array([-1.,  0.,  0.])
    """
    if columns is None:
        return asked.astype(np.float64)
    made: list[float] = []
    for column, direction in zip(columns.columns, asked, strict=True):
        if direction and not isinstance(column, NumberColumn):
            raise ValueError(
                f"monotonic_cst: the column {column.name!r} holds dates or categories, which are "
                "in no order that a network could follow; give it 0, or make it a number."
            )
        made += [float(direction), *[0.0] * (len(column.made) - 1)][: len(column.made)]
    return np.array(made)
