"""On a graphics card: ours by CG and directly, against Adam and the card's own product rate.

N = 412,276, d = 90, h = 64, the size of YearPredictionMSD, with seeded teacher data. Without a
card the suite runs on the CPU, which is of use only to try it out with --quick.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.cases import load
from benchmarks.methods import method
from benchmarks.record import Budget, Record
from benchmarks.runner import run, warm_up
from benchmarks.suites import Settings
from benchmarks.suites.speed import pass_seconds
from benchmarks.table import mean, paired, select, show

CASE, QUICK_CASE = "teacher-n412276-d90-h64", "teacher-n20000-d20-h16"
ADAM = ("adam-cuda", "adam-cuda-graph")
CG = ("anmin-cuda-cg", "varpro-cuda-cg")
DIRECT = ("anmin-cuda-cholesky",)
BARS = {"seconds": 1.5, "times faster": 30.0, "share": 0.70}


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
