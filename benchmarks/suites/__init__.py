"""The suites: each runs methods on cases, saves every result, and prints its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from benchmarks.record import Results


@dataclass(frozen=True)
class Settings:
    """What the command line asked for; None leaves the choice to the suite."""

    results: Results
    cases: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    seeds: int | None = None
    quick: bool = False


SUITES = {
    "compare": "compare:compare",
    "paper-solver": "paper_solver:paper_solver",
    "time-to-adam": "time_to_adam:time_to_adam",
    "deep": "deep:deep",
    "defaults": "defaults:defaults",
    "syrk": "speed:syrk",
    "growth": "speed:growth",
    "scaling": "speed:scaling",
    "gpu": "gpu:gpu",
    "scale": "scale:scale",
    "inference": "inference:inference",
    "wide": "size:wide",
    "memory": "size:memory",
    "kill": "kill:kill",
    "mixed": "mixed:mixed",
}


def suite(name: str) -> Callable[[Settings], None]:
    """The function behind a name."""
    module, function = SUITES[name].split(":")
    return getattr(import_module(f"{__name__}.{module}"), function)
