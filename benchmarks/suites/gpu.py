"""On a graphics card: ours by CG and directly, against Adam and the card's own product rate.

N = 412,276, d = 90, h = 64, the size of YearPredictionMSD, with seeded teacher data; the same with
the rows in two shares on the one card; and N = 200,000, d = 9,999, h = 100, a million hidden
weights. Without a card the suites run on the CPU, which is of use only to try them with --quick.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.cases import Split, load
from benchmarks.methods import method
from benchmarks.record import Budget, Fit, Record, mse, seconds_to
from benchmarks.runner import run, warm_up
from benchmarks.suites import Settings
from benchmarks.suites.speed import pass_seconds
from benchmarks.table import mean, paired, select, show

CASE, QUICK_CASE = "teacher-n412276-d90-h64", "teacher-n20000-d20-h16"
ADAM = ("adam-cuda", "adam-cuda-graph")
CG = ("anmin-cuda-cg", "varpro-cuda-cg")
DIRECT = ("anmin-cuda-cholesky",)
BARS = {"seconds": 1.5, "times faster": 30.0, "share": 0.70}
SHARES, REPEATS, FEW = 2, 5, 5  # of the rows; runs that a median is of; losses at first
MANY, FEW_ROWS = 8, 1000  # shares; rows whose passes are all launching
WIDE, QUICK_WIDE = "teacher-n200000-d9999-h100", "teacher-n2000-d2100-h8"
WIDE_SECONDS = 60.0


def gpu(settings: Settings) -> None:
    from benchmarks.rivals.torch_cuda import gemm_rate

    methods = list(settings.methods or (*CG, *DIRECT, *ADAM))
    budget = Budget(iterations=5, epochs=3) if settings.quick else Budget()
    warm_up(methods, needed=["adam-cuda"])
    for case in settings.cases or ([QUICK_CASE] if settings.quick else [CASE]):
        for seed in range(settings.seeds or 1):
            split = load(case, seed)
            rate = gemm_rate(len(split.X), (split.X.shape[1] + 1) * split.h)
            for name in methods:
                if name not in ADAM:  # the card loads its kernels by size: once off the clock
                    method(name)(split, replace(budget, iterations=2))
                run(settings.results, name, split, budget, gemm_rate=rate)
    against_adam(settings.results.records)
    against_gemm(settings.results.records)
    shares(settings)


def against_adam(records: list[Record]) -> None:
    rows = []
    for case in dict.fromkeys(record["case"] for record in records):
        for name in dict.fromkeys(record["method"] for record in records):
            runs = select(records, case=case, method=name)
            faster = [paired(records, case, name, adam, "seconds") for adam in ADAM]
            losses = [mean(runs, key) for key in ("seconds", "train_mse", "test_mse")]
            rows.append([case, name, *losses, *faster])
    header = ["case", "method", "seconds", "train MSE", "test MSE", *(f"{a} / it" for a in ADAM)]
    title = f"Bars for CG: {BARS['seconds']} s, {BARS['times faster']:g} times faster than Adam"
    show(f"{title}, training loss no higher", header, rows)


def against_gemm(records: list[Record]) -> None:
    """A direct iteration counted as a product of 2 N ((d+1)h)^2 flops."""
    rows = []
    for record in select(records):
        if record["method"] not in DIRECT:
            continue
        flops = 2 * record["n"] * ((record["d"] + 1) * record["h"]) ** 2
        seconds, rate = pass_seconds(record), record["gemm_rate"]
        rows.append([record["method"], record["seed"], rate / 1e12, flops / rate, seconds,
                     flops / seconds / rate, BARS["share"]])  # fmt: skip
    header = ["method", "seed", "GEMM TFLOP/s", "GEMM s", "iteration s", "share", "bar"]
    show("The direct step in float64 against a float64 product of the same size", header, rows)


def shares(settings: Settings) -> None:
    """One card with the rows in two shares against the same card with all of them, in turn."""
    budget = Budget(iterations=5) if settings.quick else Budget()
    rows = []
    for case in settings.cases or ([QUICK_CASE] if settings.quick else [CASE]):
        split = load(case, 0)
        for name in settings.methods or (*CG, *DIRECT):
            if name in ADAM:
                continue
            found = in_shares(name, split, budget, 1 if settings.quick else REPEATS)
            record = {"case": case, "method": f"{name}, {SHARES} shares", "seed": 0}
            settings.results.add(record | found)
            one, several = found["seconds_one"], found["seconds"]
            rows.append([case, name, one, several, several / one, found["first"], found["apart"]])
    header = ["case", "method", "seconds", f"in {SHARES} shares", "ratio", "first losses apart",
              "predictions apart"]  # fmt: skip
    show("Bars: 1.15 times the seconds, the same network to the bit", header, rows)
    show_passes(split, 3 if settings.quick else 50)


def in_shares(name: str, split: Split, budget: Budget, repeats: int) -> Record:
    """Median seconds of both, and how far the two are apart, which should be 0 everywhere."""
    fits: list[list[Fit]] = [
        [method(name)(split, replace(budget, shares=count)) for count in (1, SHARES)]
        for _ in range(repeats + 1)
    ]  # the first of each, which loads kernels by size, does not count
    one, several = (float(np.median([pair[k].seconds for pair in fits[1:]])) for k in range(2))
    curves = [np.array([loss for _, loss in fit.curve[:FEW]]) for fit in fits[-1]]
    ours, theirs = (np.ravel(fit.predict(split.X_test)) for fit in fits[-1])  # type: ignore[misc]
    apart = float(np.sqrt(np.mean((theirs - ours) ** 2) / np.mean(ours**2)))
    first = float(np.max(np.abs(curves[1] / curves[0] - 1)))
    errors = {"train_mse": fits[-1][1].curve[-1][1], "test_mse": mse(theirs, split.y_test)}
    return {"seconds": several, "seconds_one": one, "first": first, "apart": apart} | errors


def show_passes(split: Split, times: int) -> None:
    """What docs/scaling.md works out eight cards from."""
    from benchmarks.ours_cuda import pass_milliseconds

    rows = []
    for n in (len(split.X), len(split.X) // MANY, min(FEW_ROWS, len(split.X))):
        found = [pass_milliseconds(split, n, count, times) for count in (1, SHARES, MANY)]
        rows += [[name, n, *(one[name] for one in found)] for name in found[0]]
    header = ["pass", "rows", "all at once", f"{SHARES} shares", f"{MANY} shares"]
    show("Milliseconds of a pass on one card", header, rows)


def wide(settings: Settings) -> None:
    """A million hidden weights and N = 200,000, with Adam beside it."""
    methods = list(settings.methods or ("varpro-cuda-wide", *ADAM))
    budget = Budget(max_time=5.0, epochs=3) if settings.quick else Budget(max_time=WIDE_SECONDS)
    warm_up(methods)
    rows = []
    for case in settings.cases or [QUICK_WIDE if settings.quick else WIDE]:
        split = load(case, 0)
        runs = [run(settings.results, name, split, budget) for name in methods]
        adam = [r["train_mse"] for r in select(runs) if r["method"] in ADAM]
        goal = min(adam, default=None)
        for r in select(runs):
            sooner = None if goal is None else seconds_to(r["curve"], goal)
            errors = [r[key] for key in ("seconds", "train_mse", "test_mse")]
            rows.append([case, r["method"], *errors, sooner])
    header = ["case", "method", "seconds", "train MSE", "test MSE", "s to Adam's train MSE"]
    show("Hidden weights by the million", header, rows)
