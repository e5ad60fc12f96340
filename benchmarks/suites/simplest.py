"""Never worse than the simplest model: noise, weak signals and heavy tails, against RidgeCV."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.runner import keep_running
from benchmarks.suites import Settings
from benchmarks.table import select, show

SIZES = ("n200-d30", "n150-d10", "n60-d5")
PLAIN = [f"{kind}-{size}" for kind in ("noise", "weak") for size in SIZES]
HEAVY = [f"{kind}-n200-d5" for kind in ("cauchy", "lognormal", "outlier")]
SEEDS, SEEDS_HEAVY = 20, 10
BAR, BAR_HEAVY, BAR_TRAIN = 1.02, 1.1, 1.05
REFERENCE = "ridge"


def simplest(settings: Settings) -> None:
    methods = [*(settings.methods or ["default"]), REFERENCE]
    cases = settings.cases or (*PLAIN, *HEAVY)
    seeds = {c: settings.seeds or (SEEDS_HEAVY if c in HEAVY else SEEDS) for c in cases}
    keep_running(settings.results, methods, seeds)
    records = settings.results.records
    rows = []
    for case in cases:
        middle: Callable = np.median if case in HEAVY else np.mean
        test, train = (
            {name: middle([r[key] for r in select(records, case=case, method=name)])
             for name in methods} for key in ("test_mse", "train_mse")
        )  # fmt: skip
        for name in methods[:-1]:
            row = [case, seeds[case], name, test[name], test[name] / test[REFERENCE]]
            bar = BAR_HEAVY if case in HEAVY else BAR
            ratio = train[name] / train[REFERENCE] if case in HEAVY else None
            met = row[-1] <= bar and (ratio is None or ratio <= BAR_TRAIN)
            rows.append([*row, bar, ratio, "yes" if met else "NO"])
    header = ["case", "seeds", "method", "test MSE", f"/ {REFERENCE}'s", "bar",
              f"train / its (bar {BAR_TRAIN})", "met"]  # fmt: skip
    show("Against RidgeCV: means over seeds, medians where tails are heavy", header, rows)
