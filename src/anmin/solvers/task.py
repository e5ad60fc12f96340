"""What a solver is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anmin.checkpoint import Ledger
from anmin.history import Budget, Listener
from anmin.solvers.problem import Problem
from anmin.sources.draws import Part

Splits = list[tuple[Part, Part]]  # rows to train on, rows to judge on


@dataclass(frozen=True, slots=True)
class Search:
    """How lam is chosen: the share of rows held out at a time, and how many times (None: by N).

    Or else the splits themselves.
    """

    fraction: float = 0.2
    folds: int | None = None
    splits: Splits | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A problem, where to start, and when to stop."""

    problem: Problem
    h: int
    budget: Budget
    rng: np.random.RandomState
    listener: Listener
    init: np.ndarray | None = None  # the first A; None for a random one
    n_init: int = 1  # random starts that compete
    search: Search | None = None  # how to choose lam; None where problem.lam is given
    ledger: Ledger = field(default_factory=Ledger)
