"""How deep: the training loss that varpro reaches within a share of Adam's time on that split."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.cases import SIMULATED, Split, load
from benchmarks.record import Budget, Record
from benchmarks.runner import run, warm_up
from benchmarks.suites import Settings
from benchmarks.table import mean, select, show

SEEDS = 5


@dataclass(frozen=True)
class Bar:
    """Mean training MSE to reach within a share of the time of Adam's 300 epochs."""

    case: str
    within: float
    level: float | None = None  # a number, or else the lowest of the rivals below
    rivals: tuple[str, ...] = ()
    stretch: float | None = None


BARS = (
    Bar("abalone", 1.0, 3.05),
    Bar("bike", 1.0, 1092.0, stretch=1050.0),
    Bar("sdf", 1 / 20, 3.3, stretch=3.0),
    Bar("sdf", 1 / 2, 1.6),
    *(Bar(case, 1.0, None, ("adam-paper", "anmin")) for case in SIMULATED),
    Bar("dae", 1.0, None, ("reduced-rank",), stretch=150.0),
)


def deep(settings: Settings) -> None:
    bars = [bar for bar in BARS if bar.case in (settings.cases or [bar.case])]
    budget = Budget(iterations=5, epochs=6) if settings.quick else Budget()
    warm_up(["anmin", "reduced-rank"], needed=["adam-paper", "varpro"])
    for case in dict.fromkeys(bar.case for bar in bars):
        for seed in range(settings.seeds or SEEDS):
            run_split(settings, load(case, seed), [b for b in bars if b.case == case], budget)
    report(bars, settings.results.records)


def run_split(settings: Settings, split: Split, bars: list[Bar], budget: Budget) -> None:
    """Adam first: its time on this split is what varpro gets a share of."""
    adam = run(settings.results, "adam-paper", split, budget)
    others = {name for bar in bars for name in bar.rivals} - {"adam-paper"}
    for name in sorted(others):
        run(settings.results, name, split, budget)
    for bar in bars:
        limit = Budget(max_time=bar.within * adam["seconds"])
        run(settings.results, "varpro", split, limit, within=bar.within, allowed=limit.max_time)


def level_of(records: list[Record], case: str, name: str) -> float | None:
    return mean(select(records, case=case, method=name), "train_mse")


def report(bars: list[Bar], records: list[Record]) -> None:
    rows = []
    for bar in bars:
        runs = select(records, case=bar.case, method="varpro", within=bar.within)
        rivals = [level_of(records, bar.case, name) for name in bar.rivals]
        level = bar.level if bar.level is not None else min(filter(None, rivals), default=None)
        reached, spent = mean(runs, "train_mse"), mean(runs, "seconds")
        met = None if None in (reached, level) else ("yes" if reached <= level else "NO")
        adam = level_of(records, bar.case, "adam-paper")
        rows.append([
            bar.case, len(runs), f"{bar.within:g} x Adam", mean(runs, "allowed"), spent,
            reached, level, met, bar.stretch, adam, mean(runs, "test_mse"),
        ])  # fmt: skip
    header = ["case", "splits", "within", "allowed s", "spent s", "train MSE", "bar", "met",
              "stretch", "Adam's", "test MSE"]  # fmt: skip
    show("Training loss of varpro, means over the splits", header, rows)
