"""Ways of finding a good network, each a clonable object with parameters of its own."""

from __future__ import annotations

from dataclasses import replace
from math import isclose, nan

from anmin import checks
from anmin.engine import Engine
from anmin.history import Fit, PathStep, Step, Units
from anmin.moves import Conclusion, Moves
from anmin.solvers.algorithm1 import Algorithm1
from anmin.solvers.early import hold_out
from anmin.solvers.networks import with_networks
from anmin.solvers.problem import Problem
from anmin.solvers.solver import Search, Solver, Start
from anmin.solvers.tidy import Tidy, tidy
from anmin.solvers.varpro import VarPro

SOLVERS: dict[str, type[Solver]] = {"anmin": Algorithm1, "varpro": VarPro}


def solver_object(value: object) -> Solver:
    """A solver from its name, or the object itself, with its parameters checked."""
    if isinstance(value, str):
        return SOLVERS[checks.one_of("solver", value, tuple(SOLVERS))]()
    if not isinstance(value, Solver) or type(value).moves is Solver.moves:
        raise ValueError(
            f"solver must be one of {', '.join(map(repr, SOLVERS))} or an object of a subclass of "
            f"anmin.solvers.Solver that has `moves`, such as Algorithm1(); got {value!r}."
        )
    value.check()
    return value


def solve(
    solver: Solver, problem: Problem, start: Start, search: Search | None, engine: Engine
) -> tuple[Problem, Fit]:
    """The network that the solver finds; lam is chosen where there is a search.

    Also the problem that it was found for: with the penalty that was chosen.
    """
    conclusion = engine.run(moves(solver, problem, start, search))
    problem, point = engine.settled(conclusion)
    whole = conclusion.problem is None and solver.removes_idle_units
    found = tidy(problem, point) if whole else Tidy(point)
    units, history = engine.units, engine.history
    loss = found.point.loss * units.loss
    lowest = min(step.loss for step in history)
    if whole and engine.held_out is None and loss < lowest == history[-1].loss:
        history[-1] = replace(history[-1], loss=loss, mse=found.point.mse * units.loss)
    path = [timed(in_units(step, units), engine.judged) for step in conclusion.path]
    return problem, Fit(
        problem.network(found.point).scaled(units.y), loss, history, conclusion.status,
        problem.lam * units.lam, path, conclusion.path_cut, found.dead, found.off,
        found.duplicates, conclusion.networks,
    )  # fmt: skip


def in_units(step: PathStep, units: Units) -> PathStep:
    """A step of the path as the user knows it."""
    train, held_out = step.train_mse * units.loss, step.held_out_mse * units.loss
    return replace(step, lam=step.lam * units.lam, train_mse=train, held_out_mse=held_out)


def timed(step: PathStep, judged: list[Step]) -> PathStep:
    """A step of the path with the seconds at which the last part came to its penalty."""
    known = [look.seconds for look in judged if isclose(look.lam, step.lam, rel_tol=1e-6)]
    return replace(step, seconds=max(known, default=nan))


def moves(
    solver: Solver, problem: Problem, start: Start, search: Search | None
) -> Moves[Conclusion]:  # fmt: skip
    """The solver's moves, after those that choose lam."""
    if search is None:
        return solver.moves(problem, start)
    lam = solver.default_lam(problem.source.weight)
    if lam is None:
        return with_networks(solver, problem, start, search)
    return solver.moves(replace(problem, lam=lam), start)


__all__ = [
    "SOLVERS",
    "Algorithm1",
    "Problem",
    "Search",
    "Solver",
    "Start",
    "VarPro",
    "hold_out",
    "solve",
    "solver_object",
]
