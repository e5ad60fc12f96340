"""Any methods on any cases; unless told otherwise, all on the paper's data and simulations."""

from __future__ import annotations

from benchmarks.cases import PAPER, SIMULATED
from benchmarks.methods import METHODS, ON_CARD, PEERS
from benchmarks.record import Budget
from benchmarks.runner import compare as run_all
from benchmarks.suites import Settings
from benchmarks.table import overview

ELSEWHERE = {"paper-torch-dataloader", "paper-torch-slices", "anmin-direct", *ON_CARD, *PEERS}


def compare(settings: Settings) -> None:
    methods = settings.methods or [name for name in METHODS if name not in ELSEWHERE]
    budget = Budget(iterations=3, epochs=6, max_time=2.0) if settings.quick else Budget()
    seeds = range(settings.seeds or 1)
    run_all(settings.results, settings.cases or (*PAPER, *SIMULATED), methods, seeds, budget)
    overview(settings.results.records, methods[0])
