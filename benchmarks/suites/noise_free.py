"""Functions of one input without noise: test RMSE over that of the best piecewise linear one."""

from __future__ import annotations

from benchmarks.runner import keep_running
from benchmarks.suites import Settings
from benchmarks.synthetic import LIMITS
from benchmarks.table import mean, select, show

BAR = 1.3


def noise_free(settings: Settings) -> None:
    cases, methods = settings.cases or list(LIMITS), settings.methods or ["sized"]
    keep_running(settings.results, methods, dict.fromkeys(cases, settings.seeds or 1))
    rows = []
    for case in cases:
        for name in methods:
            runs = select(settings.results.records, case=case, method=name)
            rmse = mean([{"rmse": r["test_mse"] ** 0.5} for r in runs], "rmse")
            ratio = rmse / LIMITS[case] if rmse is not None and case in LIMITS else None
            met = None if ratio is None else "yes" if ratio <= BAR else "NO"
            rows.append([case, name, rmse, LIMITS.get(case), ratio, met, mean(runs, "seconds")])
    header = ["case", "method", "test RMSE", "limit", "ratio", f"at most {BAR}", "seconds"]
    show("Without noise, n − 1 units on 20,000 points", header, rows)
