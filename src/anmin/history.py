"""What happened: one flat record an iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, nan
from time import perf_counter
from typing import Any

from anmin.network import Network
from anmin.status import Status


@dataclass(frozen=True, slots=True)
class Step:
    """The state after one iteration; the losses are those of Eq. (1) on all rows."""

    iteration: int
    loss: float
    mse: float  # the data term: mean over rows, summed over outputs
    frozen_loss: float = nan  # after the hidden step, with the pattern and the output layer held
    logdet: float = nan  # ln|M + lam I|; NaN where M is not formed
    condition: float = nan  # of M + lam I, estimated in the 1-norm
    status: Status = Status.SOLVED
    flips: float = nan  # share of pattern entries that changed
    dead: int = 0  # units that fire on no row
    cells: int = 0  # different firing patterns, counted batch by batch; 0 where not counted
    seconds: float = 0.0
    phase: str = ""  # "descend" or "explore" (VarPro)
    damping: float = nan  # of the step (VarPro)
    gradient: float = nan  # norm of the gradient before the step (VarPro)
    held_out_mse: float = nan  # on the rows that early_stopping holds out
    tried_loss: float = nan  # of the step's own network, on the rows it saw (VarPro)


def stopwatch(shows: float = 0.0) -> Callable[[], float]:
    """A clock that shows so many seconds now, and runs."""
    started = perf_counter() - shows
    return lambda: perf_counter() - started


@dataclass(slots=True)
class Budget:
    """How long to go on: iterations, seconds from now, and the least gain worth going on for."""

    max_iter: float
    max_time: float | None = None
    tol: float = 1e-4  # relative gain that counts as progress
    iterations: int = 0
    clock: Callable[[], float] = field(default_factory=stopwatch)

    @property
    def seconds(self) -> float:
        return self.clock()

    @property
    def used(self) -> float:
        """The share that is spent, 1 or more at the end."""
        time = self.seconds / self.max_time if self.max_time else 0.0
        if self.max_time == 0 or self.max_iter == 0:
            return inf
        return max(time, self.iterations / self.max_iter)

    @property
    def spent(self) -> bool:
        return self.max_time is not None and self.seconds >= self.max_time


Listener = Callable[[Step, Network], bool]  # True asks the solver to stop


class Journal:
    """Writes one Step an iteration, tells the listener, and says what an interrupt would keep."""

    def __init__(self, budget: Budget, listener: Listener, ledger: Any) -> None:
        self.budget, self.listener, self.ledger = budget, listener, ledger
        self.steps: list[Step] = []

    def note(self, point: Any, problem: Any, counts: Any, status: Status, **more: Any) -> bool:
        """Record that the fit stands at `point`; True when the listener asks to stop."""
        facts: dict[str, Any] = {k: v if k == "phase" else float(v) for k, v in more.items()}
        step = Step(
            iteration=len(self.steps), loss=float(point.loss), mse=float(point.mse),
            status=status, flips=counts.flip_share, dead=counts.dead, cells=int(counts.cells),
            seconds=self.budget.seconds, **facts,
        )  # fmt: skip
        self.steps.append(step)
        network = problem.network(point)
        if step.iteration == 0 or step.loss < self.ledger.best.loss:
            best = Fit(network, step.loss, self.steps, Status.INTERRUPTED, problem.lam)
            self.ledger.best = best
        return self.listener(step, network)

    def settle(self, point: Any) -> None:
        """The last record stands for the point that is returned."""
        last = self.steps[-1]
        if point.loss < last.loss:
            self.steps[-1] = replace(last, loss=float(point.loss), mse=float(point.mse))


@dataclass(frozen=True, slots=True)
class Fit:
    """What a solver returns."""

    network: Network
    loss: float
    history: list[Step]
    status: Status
    lam: float | None = None  # where the solver chose it
    path: list[Any] = field(default_factory=list)  # of penalties that were tried
    path_cut: bool = False  # for want of time
    removed_dead: int = 0  # units that fired on no row
    removed_off: int = 0  # units that the penalty had shrunk to nothing
    removed_duplicates: int = 0  # units that were another one times a factor

    def in_units(self, s: float) -> Fit:
        """The fit of y/s as a fit of y: f → s f, with both layers still balanced."""
        scaled = {"loss", "frozen_loss", "mse", "gradient", "held_out_mse", "tried_loss"}
        power = {name: s**1.5 if name == "gradient" else s**2 for name in scaled}
        return replace(
            self,
            network=self.network.scaled(s),
            loss=self.loss * s**2,
            history=[
                replace(t, **{k: getattr(t, k) * power[k] for k in scaled}) for t in self.history
            ],
            lam=None if self.lam is None else self.lam * s,
            path=[
                replace(
                    t,
                    lam=t.lam * s,
                    train_mse=t.train_mse * s**2,
                    held_out_mse=t.held_out_mse * s**2,
                )
                for t in self.path
            ],
        )
