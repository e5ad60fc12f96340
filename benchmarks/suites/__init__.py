"""The suites: each runs methods on cases, saves every result, and prints its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from benchmarks.plot import loss_against_time
from benchmarks.record import Record, Results


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
    "classification": "classification:classification",
    "losses": "losses:losses",
    "simplest": "simplest:simplest",
    "noise-free": "noise_free:noise_free",
    "seeds": "seeds:seeds",
    "compact": "compact:compact",
    "syrk": "speed:syrk",
    "product": "speed:product",
    "growth": "speed:growth",
    "scaling": "speed:scaling",
    "gpu": "gpu:gpu",
    "gpu-shares": "gpu:shares",
    "gpu-wide": "gpu:wide",
    "gpu-networks": "gpu_networks:gpu_networks",
    "scale": "scale:scale",
    "inference": "inference:inference",
    "wide": "size:wide",
    "memory": "size:memory",
    "kill": "kill:kill",
    "seconds": "seconds:seconds",
    "promise": "promise:promise",
    "shapes": "shapes:shapes",
    "mixed": "mixed:mixed",
    "unseen": "unseen:unseen",
    "monotone": "monotone:monotone",
    "sparse": "sparse:sparse",
}


def suite(name: str) -> Callable[[Settings], None]:
    """The function behind a name."""
    module, function = SUITES[name].split(":")
    return getattr(import_module(f"{__name__}.{module}"), function)


def picture(name: str) -> Callable[[list[Record], str], None]:
    """What `--plot` draws: the suite's own picture, or the training loss against time."""
    own = import_module(f"{__name__}.{SUITES[name].split(':')[0]}")
    return getattr(own, "picture", loss_against_time)
