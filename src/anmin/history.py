"""What happened: one flat record a turn, and what a fit came to. All in the units of y."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, nan

from sklearn.exceptions import ConvergenceWarning

from anmin.network import Network
from anmin.status import Status


@dataclass(frozen=True, slots=True)
class Step:
    """The state after one turn; the losses are those of Eq. (1) on all rows."""

    iteration: int
    loss: float
    mse: float  # the data term: mean of the loss over rows, summed over outputs
    frozen_loss: float = nan  # after the hidden step, with the pattern and the output layer held
    logdet: float = nan  # ln|M + lam I|; NaN where M is not formed
    condition: float = nan  # of M + lam I, estimated in the 1-norm
    status: Status = Status.SOLVED
    flips: float = nan  # share of pattern entries that changed
    dead: int = 0  # units that fire on no row
    cells: int = 0  # different firing patterns, counted batch by batch; 0 where not counted
    seconds: float = 0.0
    phase: str = ""  # "path" while lam is chosen; "descend" or "explore" (VarPro)
    damping: float = nan  # of the step (VarPro)
    gradient: float = nan  # norm of the gradient before the step (VarPro)
    held_out_mse: float = nan  # on rows held out, by the penalty path or early_stopping
    tried_loss: float = nan  # of the step's own network, on the rows it saw (VarPro)
    lam: float = nan  # the penalty
    share: float = nan  # of the budget that is used


@dataclass(frozen=True, slots=True)
class Units:
    """What the numbers of a problem are worth to the user, whose y it has in units of `y`.

    The factor is shared between both layers, so that the penalty has the unit of y itself.
    """

    y: float = 1.0
    degree: float = 2.0  # of the loss

    @property
    def loss(self) -> float:
        return max(self.y**self.degree, 1e-300)  # the square of a tiny y is 0

    @property
    def lam(self) -> float:
        return self.y ** (self.degree - 1)

    @property
    def gradient(self) -> float:
        return self.y ** (self.degree - 0.5)


Listener = Callable[[Step, Network], bool | Status | None]  # True, or a Status, ends the fit


@dataclass(frozen=True, slots=True)
class PathStep:
    """The network at one penalty; errors are mean squares, or means of the loss, in units of y."""

    lam: float
    train_mse: float
    held_out_mse: float
    active: int
    seconds: float = field(default=nan, compare=False)  # when all held-out parts had come to it


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted network, and how it came about."""

    network: Network
    loss: float
    history: list[Step]
    status: Status
    lam: float
    path: list[PathStep] = field(default_factory=list)  # penalties that were tried
    path_cut: bool = False  # for want of time
    removed_dead: int = 0  # units that fired on no row
    removed_off: int = 0  # units that the penalty had shrunk to nothing
    removed_duplicates: int = 0  # units that were another one times a factor
    networks: int = 1  # that were averaged; 0: the network is ridge regression or the mean


def warn_of(fit: Fit) -> None:
    """Say what a user should know at once, not only in the report."""
    unsound = [step.logdet == -inf for step in fit.history[1:]]
    if fit.status is Status.NOTHING_FITTED:
        warnings.warn(f"Nothing fitted: {fit.status.value}", ConvergenceWarning, 4)
    elif fit.status is Status.STOPPED or (unsound and all(unsound)):
        what = f"No hidden system was positive definite: {fit.status.value}"
        warnings.warn(what, ConvergenceWarning, 4)
