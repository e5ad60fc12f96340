"""What happened: one flat record an iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from anmin.linsolve import Status
from anmin.network import Network


@dataclass(frozen=True, slots=True)
class Step:
    """The state after one iteration; the losses are those of Eq. (1)."""

    iteration: int
    loss: float
    mse: float  # the data term: mean over rows, summed over outputs
    frozen_loss: float  # after the hidden step, with the pattern and the output layer held
    logdet: float  # ln|M + lam I|; NaN where M is not formed
    condition: float  # of M + lam I, estimated in the 1-norm
    status: Status
    flips: float  # share of pattern entries that changed
    dead: int  # units that fire on no row
    cells: int  # different firing patterns, counted batch by batch
    seconds: float


@dataclass(slots=True)
class Budget:
    """How long to go on: iterations and seconds, from now."""

    max_iter: int
    max_time: float | None = None
    started: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started

    @property
    def spent(self) -> bool:
        return self.max_time is not None and self.seconds >= self.max_time


Listener = Callable[[Step, Network], bool]  # True asks the solver to stop


@dataclass(frozen=True, slots=True)
class Fit:
    """What a solver returns."""

    network: Network
    loss: float
    history: list[Step]
    status: Status
