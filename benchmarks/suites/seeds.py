"""How much the test error depends on random_state: on the same rows, and on rows split by it."""

from __future__ import annotations

import numpy as np

from benchmarks.runner import keep_running
from benchmarks.suites import Settings
from benchmarks.table import select, show

SEEDS, SPLITS = 5, 3
SETS = ("abalone", "airfoil", "autompg", "stock", "skillcraft")
METHODS = ("default", "single")


def seeds(settings: Settings) -> None:
    """`NAME:k` is split k for all seeds; `abalone` is split by the seed.

    The spread is the deviation of the RMSE over the seeds, as a share of its mean. Means of it are
    over the same rows: where the seed splits them, most of the spread is that of the splits.
    """
    methods = list(settings.methods or METHODS)
    fixed = [f"{name}:{split}" for name in SETS for split in range(SPLITS)]
    cases = settings.cases or [*fixed, "abalone"]
    keep_running(settings.results, methods, dict.fromkeys(cases, settings.seeds or SEEDS))
    rows, spreads = [], []
    for case in cases:
        for name in methods:
            runs = select(settings.results.records, case=case, method=name)
            mse = np.array([record["test_mse"] for record in runs])
            spread = np.sqrt(mse).std(ddof=1) / np.sqrt(mse).mean() if len(mse) > 1 else np.nan
            rows.append([case, name, len(mse), mse.mean(), mse.min(), mse.max(), spread])
            if ":" in case:
                spreads.append((spread, np.sqrt(mse).mean()))
    header = ["case", "method", "seeds", "mean test MSE", "least", "largest", "spread of RMSE"]
    show("Over random_state", header, rows)
    if len(methods) > 1 and spreads:
        found = np.reshape(spreads, (-1, len(methods), 2))[:, :2]
        shares, errors = found[:, :, 0], found[:, :, 1]
        first, second = shares.mean(0)  # over the splits: one of them may be 0
        first_error = (shares[:, 0] * errors[:, 0] / errors[:, 1]).mean()
        print(f"\nmean spread of {methods[0]} over that of {methods[1]}, both as shares of")
        print(f"the latter's error: {first_error / second:.2f}; bar 0.5")
        print(f"each as a share of its own error: {first / second:.2f}")
