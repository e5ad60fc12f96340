"""Ways of finding a good network, each a clonable object with parameters of its own."""

from __future__ import annotations

from typing import Any

from anmin import checks
from anmin.solvers.algorithm1 import Algorithm1
from anmin.solvers.early import solve_early
from anmin.solvers.problem import Problem
from anmin.solvers.task import Search, Task
from anmin.solvers.varpro import VarPro

SOLVERS = {"anmin": Algorithm1, "varpro": VarPro}


def solver_object(value: Any) -> Any:
    """A solver from its name, or the object itself."""
    if isinstance(value, str):
        return SOLVERS[checks.one_of("solver", value, tuple(SOLVERS))]()
    if isinstance(value, type) or not hasattr(value, "solve"):
        raise ValueError(
            f"solver must be one of {', '.join(map(repr, SOLVERS))} or a solver object such as "
            f"anmin.solvers.Algorithm1(); got {value!r}."
        )
    return value


__all__ = [
    "Algorithm1",
    "Problem",
    "Search",
    "Task",
    "VarPro",
    "solve_early",
    "solver_object",
]
