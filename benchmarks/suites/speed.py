"""How fast an iteration of solver="anmin" is: against SYRK, and as N, d and h grow; one product."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
from scipy.linalg.blas import dsyrk

from anmin.backends import get_backend
from anmin.solvers.curvature import CurvatureRows, ProductCurvature
from anmin.solvers.problem import Problem
from anmin.sources import Scaling, counting_rows
from benchmarks.cases import Split, load
from benchmarks.record import Budget, Record
from benchmarks.runner import run, warm_up
from benchmarks.suites import Settings
from benchmarks.table import select, show

SYRK_CASES = ("bike", "teacher-n50000-d13-h64", "teacher-n50000-d30-h64")
SYRK_BAR = 0.70
PRODUCT_CASES, PRODUCT_BAR = ("pol", "elevators", "bike"), 0.5
LARGE = 2048  # size of a product at the machine's rate
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


def product(settings: Settings) -> None:
    """A product with the curvature of all rows against plain float32 products, on all cores."""
    rows = []
    for case in settings.cases or PRODUCT_CASES:
        split = load(case, 0)
        flops = 4 * len(split.X) * (split.X.shape[1] + 1) * split.h
        seconds, plain = product_seconds(split), gemm_seconds(split)
        Z = np.ones((LARGE, LARGE), np.float32)
        rate, large = flops / seconds, 2 * LARGE**3 / median_seconds(lambda Z=Z: Z @ Z)
        shares = [plain / seconds, rate / large]
        settings.results.add(
            {"case": case, "method": "product", "seed": 0, "seconds": seconds, "shares": shares}
        )
        rows.append([case, *split.X.shape, 1e3 * seconds, rate / 1e9, *shares, PRODUCT_BAR])
    header = ["case", "n", "d", "ms", "GFLOP/s", "share of products of its shapes",
              f"share of products of {LARGE}", "bar"]  # fmt: skip
    show("One product with the curvature, 4 n (d+1) h flops", header, rows)


def product_seconds(split: Split) -> float:
    """Of one product with H at a random network."""
    backend = get_backend("cpu")
    X, Y = (np.asarray(V, dtype=np.float64) for V in (split.X, split.Y))
    X, Y = ((V - V.mean(0)) / np.maximum(V.std(0), 1e-9) for V in (X, Y.reshape(len(X), -1)))
    scaling = Scaling.identity(X.shape[1], Y.shape[1])
    source = counting_rows(X, Y, None).prepared(scaling, backend.single(), len(X))
    problem = Problem(source, 1e-4, rough=True)
    A = np.random.default_rng(0).standard_normal((X.shape[1] + 1, split.h))
    with backend.session():
        point = problem.at(source.backend.asarray(A))
        curvature = ProductCurvature(CurvatureRows(source, whole=True), point, problem, None)
        return median_seconds(lambda: curvature.product(1 * curvature.A), 51)


def gemm_seconds(split: Split) -> float:
    """Of X V and XᵀU in float32, the products within that one, with all cores."""
    rng = np.random.default_rng(0)
    shape = len(split.X), split.X.shape[1] + 1
    X, V, U = (
        rng.standard_normal(size).astype(np.float32)
        for size in (shape, (shape[1], split.h), (shape[0], split.h))
    )
    return median_seconds(lambda: (X @ V, X.T @ U), 51)


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
