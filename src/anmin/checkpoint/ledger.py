"""The outcomes of steps, and the best network so far.

Time is part of a fit: a budget in seconds decides where a stage ends. So the readings of its clock
are logged with the outcomes and shown again in the same order, and the same decisions are made.
Where the log ends the clock runs on from its last reading.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from anmin.checkpoint.facts import fingerprint
from anmin.checkpoint.log import CheckpointError, Log, Record
from anmin.history import Budget, Fit, stopwatch

Entry = Record  # scalars and arrays of an outcome


class Ledger:
    """The best fit so far, for an interrupt, and the outcomes of steps, which this one forgets."""

    keeps = False

    def __init__(self) -> None:
        self.best: Fit | None = None
        self.error, self.rows = np.inf, None  # of the best, where fits were offered

    def offer(self, fit: Fit, error: float, rows: Any) -> None:
        """Keep `fit` for an interrupt, if none had so small an error on the rows held out.

        Errors on other rows than the first that were held out do not compare.
        """
        if self.rows is None:
            self.rows = rows
        if rows is self.rows and error < self.error:
            self.best, self.error = fit, error

    def recall(self, at: np.ndarray, like: Entry) -> Entry | None:
        """The outcome of the step from `at`, where the log has it: names and shapes as `like`."""

    def write(self, at: np.ndarray, outcome: Entry) -> None:
        """Log the outcome of the step from `at`."""

    def close(self) -> None:
        """Nothing more will be written."""


class Checkpoint(Ledger):
    """A ledger in a file, for the fit that `facts` describe."""

    keeps = True

    def __init__(self, path: str | os.PathLike[str], facts: dict[str, Any], budget: Budget) -> None:
        super().__init__()
        self.log = Log(path, (facts, {}))
        self.clock = budget.clock = Tape(budget.clock)
        try:
            self.seed = self.checked(facts)
            self.look_ahead()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.log.close()

    def checked(self, facts: dict[str, Any]) -> int:
        """The seed in the file; a log of another fit is refused with what differs."""
        found = self.log.read()
        if found is None or not alike(found, (facts, {})) or not 0 <= found[0]["seed"] < 2**32:
            raise self.log.damaged()
        known, path = found[0], self.log.path
        if known["data"] != facts["data"]:
            raise CheckpointError(f"{path} belongs to other data; delete it, or give another name.")
        for name in sorted({*known["params"], *facts["params"]}):
            was, now = known["params"].get(name), facts["params"].get(name)
            if was != now:
                raise CheckpointError(
                    f"{path} was made with {name}={was}, now {name}={now}; "
                    "use the same parameters, delete it, or give another name."
                )
        return int(known["seed"])

    def look_ahead(self) -> None:
        """Read the next step of the log, and show the times that led to it."""
        self.next = self.log.read()
        if self.next is not None:
            step, arrays = self.next
            times = arrays.pop("clock", np.empty(0))
            if not alike((step, {}), (STEP, {})) or not times.size:
                raise self.log.damaged()
            self.clock.repeat(times.ravel().tolist())

    def recall(self, at: np.ndarray, like: Entry) -> Entry | None:
        if self.next is None:
            return None
        step, arrays = self.next
        if step["at"] != fingerprint(at):
            raise CheckpointError(
                f"{self.log.path} does not fit: the same steps come out differently with this "
                "version or on this machine. Delete it, or give another name."
            )
        if not alike((step["outcome"], arrays), like):
            raise self.log.damaged()
        self.clock.run_on()
        self.look_ahead()
        return step["outcome"], arrays

    def write(self, at: np.ndarray, outcome: Entry) -> None:
        scalars, arrays = outcome
        step = {"at": fingerprint(at), "outcome": scalars}
        self.log.append(step, arrays | {"clock": np.array(self.clock.readings())})


class Tape:
    """A clock that remembers what it has shown, and can show it again.

    >>> from anmin.checkpoint.ledger import Tape
    >>> clock = Tape(lambda: 5.0)
    >>> clock.repeat([1.0, 2.0])
    >>> clock(), clock(), clock()
    (1.0, 2.0, 2.0)
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock, self.shown = clock, [0.0]
        self.again: list[float] | None = None  # readings to show before the clock runs

    def __call__(self) -> float:
        if self.again is None:
            self.shown.append(self.clock())
        elif self.again:
            self.shown.append(self.again.pop(0))
        return self.shown[-1]

    def repeat(self, readings: list[float]) -> None:
        self.again = readings

    def run_on(self) -> None:
        """Run on from the last reading there is."""
        last = [*self.shown, *(self.again or [])][-1]
        self.clock, self.shown, self.again = stopwatch(last), [last], None

    def readings(self) -> list[float]:
        """What was shown since it was last asked, and now."""
        now = self()
        found, self.shown = self.shown[1:], [now]
        return found


STEP = {"at": "", "outcome": {}}  # what a step is made of


def alike(found: Entry, like: Entry) -> bool:
    """Whether both have the same names, kinds of scalars, and shapes of arrays."""
    kinds = [{name: kind(v) for name, v in scalars.items()} for scalars, _ in (found, like)]
    shapes = [{name: W.shape for name, W in arrays.items()} for _, arrays in (found, like)]
    return kinds[0] == kinds[1] and shapes[0] == shapes[1]


def kind(value: Any) -> type:
    """The type of a value; a whole number of usual size counts as a real one."""
    whole = type(value) is int and abs(value) < 2**53
    return float if whole or isinstance(value, float) else type(value)
