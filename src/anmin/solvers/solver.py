"""What a solver is: a generator of moves, with parameters of its own.

A solver of one's own subclasses `Solver` and writes `moves`. It gets lam="auto", checkpoints,
budgets, callbacks and progress from the engine, like ours (docs/extend/solver.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from sklearn.base import BaseEstimator

from anmin import checks
from anmin.moves import Conclusion, Moves
from anmin.solvers.problem import Point, Problem
from anmin.solvers.views import View
from anmin.sources.draws import Part

Splits = list[tuple[Part, Part]]  # rows to train on, rows to judge on


@dataclass(frozen=True, slots=True)
class Start:
    """Where a solver starts, and its random numbers."""

    h: int  # hidden units, at most
    rng: np.random.RandomState
    first: int = 0  # units until held-out rows ask for more; 0: as many as there may be
    A: np.ndarray | None = None  # the first hidden layer, where it was given
    point: Point | None = None  # the end of the penalty path, where there was one
    view: View | None = None  # and how the inputs were looked at there

    def apart(self) -> Start:
        """The same with random numbers of its own, for what runs side by side."""
        return replace(self, rng=np.random.RandomState(self.rng.randint(2**31)))


@dataclass(frozen=True, slots=True)
class Search:
    """How lam is chosen: the share of rows held out at a time, and how many times (None: by N).

    Or else the splits themselves.
    """

    fraction: float = 0.2
    folds: int | None = None
    splits: Splits | None = None
    n_networks: int = 1  # that are averaged
    views: Sequence[View] = ()  # ways of looking at the inputs, which compete
    max_iter: float = inf  # iterations that there are, for the path and all that follows


class Solver(BaseEstimator):
    """The base of all solvers: how the arithmetic is done, and what follows from the problem."""

    n_init: int = 1
    linear_solver: str = "auto"
    dtype: str = "auto"
    batch_size: int | str = "auto"
    removes_idle_units = True
    obeys_signs = False  # whether it asks the problem what weights may be: for monotonic_cst
    any_connections = False  # whether units may see few inputs only
    any_loss = False  # whether it asks the problem's objective, and so takes any loss

    def check(self) -> None:
        """Refuse parameters that make no sense."""
        checks.one_of("linear_solver", self.linear_solver, ("auto", "cholesky", "cg"))
        checks.one_of("dtype", self.dtype, ("auto", "float64", "float32"))
        checks.whole_number("n_init", self.n_init, least=1)
        if self.batch_size != "auto":
            checks.whole_number("batch_size", self.batch_size, least=1)

    def default_max_iter(self, max_time: float | None) -> float:
        return 1000 if max_time is None else inf

    def default_lam(self, weight: float) -> float | None:  # noqa: ARG002
        """lam="auto" for rows of this weight; None to choose it on held-out rows."""
        return None

    def moves(self, problem: Problem, start: Start) -> Moves[Conclusion]:
        """Minimise Eq. (1): yield moves, and conclude."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it moves.")
