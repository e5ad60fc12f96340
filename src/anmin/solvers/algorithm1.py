"""The paper's Algorithm 1: both layers in turn, each solved exactly under a frozen pattern."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from anmin import checks
from anmin.history import Budget, Fit, Listener, Step
from anmin.linsolve import Solution, Status, solve_spd
from anmin.solvers.problem import Point, Problem, hidden_system


class Algorithm1(BaseEstimator):
    """Analytic minimisation (ANMIN), 30 iterations by default.

    Parameters
    ----------
    tau : the hidden system is degenerate when ln|M + lam I| ≤ tau
    floor : eigenvalues of a degenerate system are raised to this
    keep : report the "best" network by training loss, or the "last"
    degenerate : "floor" the eigenvalues, "reinit" A at random, or "stop"
    """

    default_max_iter = 30

    def __init__(
        self,
        tau: float = -10_000.0,
        floor: float = 1e-4,
        keep: Literal["best", "last"] = "best",
        degenerate: Literal["floor", "reinit", "stop"] = "floor",
    ) -> None:
        self.tau = tau
        self.floor = floor
        self.keep = keep
        self.degenerate = degenerate

    def solve(
        self, problem: Problem, A: np.ndarray, budget: Budget, rng: np.random.RandomState,
        listener: Listener,
    ) -> Fit:  # fmt: skip
        """Minimise Eq. (1) from A. Line numbers are those of Algorithm 1."""
        checks.real_number("tau", self.tau, least=-np.inf)
        checks.real_number("floor", self.floor, least=np.finfo(float).tiny)
        checks.one_of("keep", self.keep, ("best", "last"))
        checks.one_of("degenerate", self.degenerate, ("floor", "reinit", "stop"))
        point = best = problem.at(A)  # lines 1–3
        history = [record(0, point, None, np.nan, Status.START, budget)]
        stop = listener(history[-1], point.network)
        status = Status.SOLVED
        for iteration in range(1, budget.max_iter + 1):
            if stop or budget.spent:
                status = Status.INTERRUPTED if stop else Status.OUT_OF_TIME
                break
            step, frozen_loss = self.hidden_step(problem, point)  # lines 5–13
            status = step.status
            if self.degenerate != "floor" and not step.logdet > self.tau:
                if self.degenerate == "stop":
                    status = Status.STOPPED
                    break
                status, frozen_loss = Status.REINITIALISED, np.nan
                A = rng.standard_normal(A.shape)
            else:
                A = step.value.reshape(A.shape[::-1]).T  # line 14
            point = problem.at(A, before=point)  # lines 15–16
            history.append(record(iteration, point, step, frozen_loss, status, budget))
            stop = listener(history[-1], point.network)
            best = min(best, point, key=lambda p: p.loss)  # lines 17–20
        kept = best if self.keep == "best" else point
        return Fit(kept.network, kept.loss, history, status)

    def hidden_step(self, problem: Problem, point: Point) -> tuple[Solution, float]:
        """The best A for the pattern and output layer of `point`, and the loss it promises."""
        backend, lam, net = problem.backend, problem.lam, point.network
        M, c = hidden_system(backend, point)
        step = solve_spd(backend, M + lam * backend.eye(len(M)), c, self.tau, self.floor, lam)
        a = step.value
        constant = (point.stats.YtY - 2 * net.b0 @ backend.to_numpy(point.stats.Yt1)) / point.stats.n
        data = constant + net.b0 @ net.b0 + float(a @ (M @ a) - 2 * (c @ a))
        penalty = net.b0 @ net.b0 + (net.B * net.B).sum() + float(a @ a)
        value = backend.to_numpy(a)
        return Solution(value, step.status, step.logdet, step.condition), data + lam * penalty


def record(
    iteration: int, point: Point, step: Solution | None, frozen_loss: float, status: Status,
    budget: Budget,
) -> Step:  # fmt: skip
    h = point.network.A.shape[1]
    return Step(
        iteration=iteration,
        loss=point.loss,
        mse=point.mse,
        frozen_loss=float(frozen_loss),
        logdet=np.nan if step is None else step.logdet,
        condition=np.nan if step is None else step.condition,
        status=status,
        flips=point.stats.flips / (point.stats.rows * h),
        dead=point.dead,
        cells=int(point.stats.cells),
        seconds=budget.seconds,
    )
