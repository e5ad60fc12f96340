"""What a method returns, what a run writes, and the clock between them."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import cpu_count

if TYPE_CHECKING:
    from benchmarks.cases import Split

CORES = cpu_count()  # that a rival may use
Curve = list[tuple[float, float]]  # (seconds, training MSE)
Record = dict[str, Any]


class SkippedError(Exception):
    """A method cannot run on a case; the message says why, and goes into the results."""


@dataclass(frozen=True)
class Budget:
    """How long a method may train: each takes from here what applies to it."""

    iterations: int = 30  # of Algorithm 1
    epochs: int = 300  # of the gradient methods
    max_time: float | None = None  # seconds, for the methods that can stop by the clock
    device: str = "cpu"
    shares: int = 1  # of the rows, for ours on a graphics card: each is summed by itself


@dataclass
class Fit:
    """A trained model: the seconds that training took, how to predict, and the loss on the way.

    `columns` tells more about the points of the curve, by name: "step", "test_mse", "logdet", …
    """

    seconds: float
    predict: Callable[[np.ndarray], np.ndarray] | None  # None where there is nothing to score
    curve: Curve = field(default_factory=list)
    info: Record = field(default_factory=dict)
    columns: dict[str, list[float]] = field(default_factory=dict)


class Stopwatch:
    """Seconds since it was made, less those spent inside `paused`."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def seconds(self) -> float:
        return time.perf_counter() - self._start

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Look at the model on the way without being charged for it."""
        begin = time.perf_counter()
        yield
        self._start += time.perf_counter() - begin


def fit_plain(model: Any, split: Split) -> Fit:
    """Fit and time an estimator in scikit-learn's manner."""
    watch = Stopwatch()
    model.fit(split.X, split.y)
    return Fit(watch.seconds(), model.predict)


def mse(prediction: np.ndarray, target: np.ndarray) -> float:
    """Mean of the squared errors over rows and outputs."""
    return float(np.mean((np.asarray(prediction).reshape(target.shape) - target) ** 2))


def seconds_to(curve: Curve, target: float) -> float | None:
    """The first time at which the training MSE is at or below the target; None if never."""
    return next((seconds for seconds, value in curve if value <= target), None)


class Results:
    """The records of a run, on disk after every one, so that a killed run keeps what it has.

    A file NAME.jsonl has a record a line and is added to: what it holds is not run again
    (`known`). Any other file is a list, and begins anew.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = Path(path) if path else None
        self.lines = self.path is not None and self.path.suffix == ".jsonl"
        self.records: list[Record] = []
        self._known = whole_lines(self.path) if self.path and self.lines else []

    def known(self, **wanted: Any) -> Record | None:
        """The newest record with these values in the file, which from now on counts as run."""
        found = [r for r in self._known if all(r.get(key) == wanted[key] for key in wanted)]
        self.records += found[-1:]
        return found[-1] if found else None

    def add(self, record: Record) -> Record:
        self.records.append(record)
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.lines:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(_plain(record), allow_nan=False) + "\n")
                return record
            partial = self.path.with_name(self.path.name + ".part")
            partial.write_text(json.dumps(_plain(self.records), indent=1, allow_nan=False) + "\n")
            os.replace(partial, self.path)
        return record


def whole_lines(path: Path) -> list[Record]:
    """The records of a file that a run was killed over: a line that was cut off is taken away."""
    if not path.exists():
        return []
    whole, cut, rest = path.read_bytes().rpartition(b"\n")
    if rest:
        os.truncate(path, len(whole + cut))
    return [json.loads(line) for line in whole.splitlines()]


def _plain(value: Any) -> Any:
    """The value in the types of JSON; a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    return float(value) if math.isfinite(value) else None
