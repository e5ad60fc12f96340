"""How fast an iteration of solver="anmin" is: against SYRK, and as N, d and h grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
from scipy.linalg.blas import dsyrk

from benchmarks.cases import load
from benchmarks.record import Budget, Record
from benchmarks.runner import run, warm_up
from benchmarks.suites import Settings
from benchmarks.table import select, show

SYRK_CASES = ("bike", "teacher-n50000-d13-h64", "teacher-n50000-d30-h64")
SYRK_BAR = 0.70
GROWTH = tuple(f"teacher-n{n}-d10-h64" for n in (10_000, 100_000, 1_000_000))
GROWTH_BAR = 11.5
SCALING = (
    *(f"teacher-n20000-d{d}-h64" for d in (2, 5, 10, 20, 40)),
    *(f"teacher-n20000-d10-h{h}" for h in (16, 32, 64, 128)),
)


def pass_seconds(record: Record) -> float:
    """The median time of one iteration; the first, which includes the start, is left out."""
    return float(np.median(np.diff([seconds for seconds, _ in record["curve"]])[1:]))


def median_seconds(action: Callable[[], object], times: int = 5) -> float:
    """The median time of an action, after one run that does not count."""
    action()
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds))


def syrk_rate(n: int, k: int) -> float:
    """Flops a second of a float64 SYRK of an (n, k) matrix, counting n k^2."""
    Z = np.random.default_rng(0).standard_normal((n, k))
    return n * k**2 / median_seconds(lambda: dsyrk(1.0, Z.T))


def syrk(settings: Settings) -> None:
    """The share of this machine's SYRK rate at which the direct hidden step runs."""
    methods = settings.methods or ["anmin-direct"]
    budget = Budget(iterations=3 if settings.quick else 10)
    warm_up(methods)
    rows = []
    for case in settings.cases or SYRK_CASES:
        split = load(case, 0)
        n, k = len(split.X), (split.X.shape[1] + 1) * split.h
        for name in methods:
            rate = syrk_rate(n, k)
            seconds = pass_seconds(run(settings.results, name, split, budget, syrk_rate=rate))
            product = n * k**2 / rate
            rows.append(
                [case, name, n, k, rate / 1e9, product, seconds, product / seconds, SYRK_BAR]
            )
    header = ["case", "method", "n", "(d+1)h", "SYRK GFLOP/s", "SYRK s", "iteration s", "share",
              "bar"]  # fmt: skip
    show("The direct hidden step against SYRK, float64, n ((d+1)h)^2 flops", header, rows)


def measure(settings: Settings, cases: Iterable[str], methods: Iterable[str]) -> None:
    """A few iterations of each method on each case, in turn, so that medians can be compared."""
    cases, methods = list(cases), list(methods)
    warm_up(methods)
    for seed in range(settings.seeds or 1):
        for case in cases:
            split = load(case, seed)
            for name in methods:
                run(settings.results, name, split, Budget(iterations=3 if settings.quick else 8))


def iteration_seconds(records: list[Record], case: str, name: str) -> float:
    runs = select(records, case=case, method=name)
    return float(np.median([pass_seconds(record) for record in runs]))


def growth(settings: Settings) -> None:
    """Ten times the rows should cost about ten times an iteration."""
    cases = list(settings.cases or (GROWTH[:2] if settings.quick else GROWTH))
    methods = settings.methods or ["anmin"]
    measure(settings, cases, methods)
    rows = []
    for name in methods:
        before = None
        for case in cases:
            seconds = iteration_seconds(settings.results.records, case, name)
            rows.append([case, name, seconds, seconds / before if before else None, GROWTH_BAR])
            before = seconds
    show("Seconds an iteration (medians)", ["case", "method", "seconds", "growth", "bar"], rows)


def scaling(settings: Settings) -> None:
    """Seconds an iteration as d and h grow."""
    cases = list(settings.cases or SCALING)
    methods = settings.methods or ["anmin"]
    measure(settings, cases, methods)
    records = settings.results.records
    rows = [[case, *(iteration_seconds(records, case, m) for m in methods)] for case in cases]
    show("Seconds an iteration (medians)", ["case", *methods], rows)
