"""Time to come down to the final training loss of Adam in the paper's protocol."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.cases import load
from benchmarks.record import Budget
from benchmarks.runner import run, warm_up
from benchmarks.suites import Settings
from benchmarks.table import geometric_mean, reach, select, show

BARS = {"sdf": 50.0, "abalone": 10.0, "bike": 3.0}
OURS = ("anmin", "varpro")


def time_to_adam(settings: Settings) -> None:
    ours = [name for name in settings.methods or OURS if name != "adam-paper"]
    budget = Budget(iterations=5, epochs=6) if settings.quick else Budget()
    warm_up(ours, needed=["adam-paper"])
    rows = []
    for case in settings.cases or BARS:
        seeds = range(settings.seeds or 3)
        ratios: dict[str, list[float | None]] = {name: [] for name in ours}
        for seed in seeds:
            split = load(case, seed)
            adam = run(settings.results, "adam-paper", split, budget)
            for name in ours:
                limited = replace(budget, max_time=adam["seconds"])
                ratios[name].append(reach(run(settings.results, name, split, limited), adam))
        adams = select(settings.results.records, case=case, method="adam-paper")
        for name in ours:
            reached = [ratio for ratio in ratios[name] if ratio is not None]
            rows.append([
                case,
                name,
                f"{len(reached)}/{len(adams)}",
                geometric_mean([adam["seconds"] for adam in adams]),
                geometric_mean(reached),
                min(reached, default=None),
                BARS.get(case),
            ])  # fmt: skip
    header = ["case", "method", "reached", "Adam's seconds", "times faster", "at least", "bar"]
    show("Time to the final training loss of adam-paper, against all of Adam's time", header, rows)
