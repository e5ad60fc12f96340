"""A small network that learns from a large one, against one of its size fitted to the data."""

from __future__ import annotations

from benchmarks.cases import tabular_names
from benchmarks.runner import keep_running
from benchmarks.suites import Settings
from benchmarks.suites.defaults import PAPER_SETS, errors_by_set, on_common_folds
from benchmarks.table import geometric_mean, mean, select, show

METHODS = ("compact", "single")
BAR = 0.97


def compact(settings: Settings) -> None:
    cases = settings.cases or (*tabular_names(), *PAPER_SETS)
    keep_running(settings.results, METHODS, dict.fromkeys(cases, settings.seeds or 1))
    rows, ratios, records = [], [], settings.results.records
    for case, errors in errors_by_set(records).items():
        rmse = on_common_folds(errors, METHODS)
        ratios.append(rmse["compact"] / rmse["single"])
        runs = select(records, case=case, method="compact")
        large = [mean(runs, key) for key in ("large_rmse", "large_units", "large_seconds")]
        rows.append([case, rmse["single"], rmse["compact"], ratios[-1], *large,
                     mean(runs, "seconds")])  # fmt: skip
    header = ["set", "fitted to data", "compact", "ratio", "large", "units", "s", "compact s"]
    title = "Test RMSE of networks of 64 units, and of the large one that one of them learns from"
    show(title, header, rows)
    print(f"\ngeometric mean of the ratios: {geometric_mean(ratios):.3f}; the bar is {BAR}")
