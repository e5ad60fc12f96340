"""The paper's Algorithm 1: both layers in turn, each solved exactly under a frozen pattern."""

from __future__ import annotations

from functools import partial
from math import log, nan
from typing import Literal

import numpy as np

from anmin import checks
from anmin.backends import Array
from anmin.moves import Conclusion, Ended, Move, Moves, Visit
from anmin.solvers.frozen import HiddenLayer, hidden_layer
from anmin.solvers.problem import Problem
from anmin.solvers.solver import Solver, Start
from anmin.status import Status

LAM, TAU, FLOOR = 1e-3, -10_000.0, 1e-4  # of the paper's experiments, on sums over the rows


class Algorithm1(Solver):
    """Analytic minimisation (ANMIN), 30 iterations by default.

    Parameters
    ----------
    tau : the hidden system is degenerate when ln|M + lam I| ≤ tau; None for the paper's
        experiments, −10,000 on sums over the N rows: −10,000 − (d+1)h ln N on means
    floor : eigenvalues of a degenerate system are raised to this; None for 0.0001/N likewise
    keep : report the "best" network by training loss, or the "last"
    degenerate : "floor" the eigenvalues, "reinit" A at random, or "stop"
    linear_solver : form the hidden system and factorise it, "cholesky", or only multiply by it,
        "cg"; "auto" by its number of unknowns, up to 3,000
    dtype : "float64" or "float32" arithmetic; "auto" is float64, also for float32 input
    batch_size : rows worked on at a time, rounded up to a multiple of 4096

    Where the hidden system is solved by conjugate gradients it has no determinant, and `tau`,
    `floor` and `degenerate` have no part.

    Examples
    --------
    >>> from anmin import ANMINRegressor
    >>> from anmin.solvers import Algorithm1
    >>> model = ANMINRegressor(4, solver=Algorithm1(keep="last"), max_iter=5, random_state=0)
    >>> model.fit([[0], [1], [2], [3]], [0, 1, 0, 1]).n_iter_
    5
    """

    removes_idle_units = False

    def __init__(
        self,
        tau: float | None = None,
        floor: float | None = None,
        keep: Literal["best", "last"] = "best",
        degenerate: Literal["floor", "reinit", "stop"] = "floor",
        *,
        linear_solver: str = "auto",
        dtype: str = "auto",
        batch_size: int | str = "auto",
    ) -> None:
        self.tau = tau
        self.floor = floor
        self.keep = keep
        self.degenerate = degenerate
        self.linear_solver = linear_solver
        self.dtype = dtype
        self.batch_size = batch_size

    def check(self) -> None:
        super().check()
        if self.tau is not None:
            checks.real_number("tau", self.tau, least=-np.inf)
        if self.floor is not None:
            checks.real_number("floor", self.floor, least=np.finfo(float).tiny)
        checks.one_of("keep", self.keep, ("best", "last"))
        checks.one_of("degenerate", self.degenerate, ("floor", "reinit", "stop"))

    def default_max_iter(self, max_time: float | None) -> float:  # noqa: ARG002
        return 30

    def default_lam(self, weight: float) -> float:
        """The value of the paper's experiments, on sums over the rows like the others."""
        return LAM / weight

    def moves(self, problem: Problem, start: Start) -> Moves[Conclusion]:
        """Minimise Eq. (1) from a random start. Line numbers are those of Algorithm 1."""
        rng, shape = start.rng, (problem.source.shape[1], start.h)
        A = problem.backend.asarray(rng.standard_normal(shape) if start.A is None else start.A)
        layer = hidden_layer(problem, start.h)
        begin = partial(layer.visit, A, None, Status.START)
        here = yield Move(begin, problem, A, kind="start")  # lines 1–3
        status = Status.STOPPED
        try:
            while here is not None:
                last = here
                fresh = rng.standard_normal(shape) if self.degenerate == "reinit" else None
                make = partial(self.iterate, layer, here, fresh)
                here = yield Move(make, problem, here.point.A)  # lines 4–20
        except Ended as ended:
            finished = ended.status is Status.OUT_OF_ITERATIONS
            status = Status.FINISHED if finished else ended.status
            last = ended.visit or last
        return Conclusion(status, None if self.keep == "best" else last.point)

    def iterate(self, layer: HiddenLayer, here: Visit, fresh: np.ndarray | None) -> Visit | None:
        """One iteration: where it leads, how it was made, and facts for the record."""
        problem = layer.problem
        tau, floor = self.limits(problem, here.point.A.shape[1])
        step = layer.step(here.point, tau, floor)  # lines 5–14
        A: Array = step.A
        logdet, condition = step.solution.logdet, step.solution.condition
        facts = {"frozen_loss": step.frozen_loss, "logdet": logdet, "condition": condition}
        status = Status.FLOORED if step.solution.floored else Status.SOLVED
        if self.degenerate != "floor" and logdet <= tau:
            if fresh is None:
                return None
            status, A = Status.REINITIALISED, problem.backend.asarray(fresh)
            facts["frozen_loss"] = nan
        return layer.visit(A, here.point.A, status, facts)  # lines 15–16

    def limits(self, problem: Problem, h: int) -> tuple[float, float]:
        """tau and floor for Eq. (1), whose data term is a mean over the rows."""
        n, p, _ = problem.source.shape
        tau = TAU - p * h * log(n) if self.tau is None else self.tau
        return tau, FLOOR / n if self.floor is None else self.floor
