"""How large: a hidden system that cannot be formed, and memory beyond the input."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from benchmarks.cases import load
from benchmarks.record import Budget
from benchmarks.runner import run, warm_up
from benchmarks.suites import Settings
from benchmarks.table import show

WIDE = "teacher-n20000-d999-h100", "teacher-n20000-d9999-h100"  # (d+1)h = 10⁵ and 10⁶
WIDE_SECONDS, WIDE_QUICK = 600.0, 20.0
MEMORY = ((100_000, "auto"), (1_000_000, "auto"), (1_000_000, "16384"))  # rows, batch_size


def wide(settings: Settings) -> None:
    """(d+1)h = 10⁵ and 10⁶ unknowns by conjugate gradients, against ridge regression."""
    cases = list(settings.cases or (WIDE[:1] if settings.quick else WIDE))
    budget = Budget(max_time=WIDE_QUICK if settings.quick else WIDE_SECONDS)
    warm_up(["ridge"], needed=["varpro-wide"])
    rows = []
    for case in cases:
        split = load(case, 0)
        ridge = run(settings.results, "ridge", split, budget)
        ours = run(settings.results, "varpro-wide", split, budget)
        below = [seconds for seconds, mse in ours["curve"] if mse < ridge["train_mse"] / 2]
        rows.append([
            case, (split.X.shape[1] + 1) * split.h, ridge["train_mse"], ours["train_mse"],
            ours["seconds"], min(below, default=None), ours["peak_gb"],
        ])  # fmt: skip
    header = ["case", "(d+1)h", "ridge train MSE", "varpro train MSE", "seconds",
              "s to half of ridge", "peak GB"]  # fmt: skip
    show("A hidden system too large to form", header, rows)


@dataclass(frozen=True)
class Peak:
    """Megabytes resident at most: with the rows in memory, and while fitting them."""

    rows: float
    fit: float


CHILD = """
import re, sys
from pathlib import Path
import numpy as np
from benchmarks.ours import regressor

def megabytes(name):
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\\s*(\\d+) kB", status)[1]) / 1024

n, batch, solver = int(sys.argv[1]), sys.argv[2], sys.argv[3]
rng = np.random.default_rng(0)
X, y = rng.standard_normal((n, 10)), rng.standard_normal(n)
model = regressor(64, lam=1e-3, max_iter=3, random_state=0, solver=solver,
                  solver_options={"batch_size": batch if batch == "auto" else int(batch)})
model.fit(X[:2000], y[:2000])  # libraries and compiled code
Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
before = megabytes("VmRSS")
model.fit(X, y)
print(before, megabytes("VmHWM"))
"""


def peak(n: int, batch_size: str, solver: str) -> Peak:
    """Measured in a process of its own."""
    words = [sys.executable, "-c", CHILD, str(n), batch_size, solver]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return Peak(*map(float, done.stdout.split()))


def memory(settings: Settings) -> None:
    """Megabytes that a fit takes beyond its input, d = 10, h = 64, three iterations."""
    rows = []
    for n, batch_size in MEMORY[:1] if settings.quick else MEMORY:
        for solver in settings.methods or ("anmin", "varpro"):
            found = peak(n, batch_size, solver)
            row = {"case": f"rows-{n}", "method": solver, "seed": 0, "batch_size": batch_size}
            settings.results.add({**row, "rows_mb": found.rows, "fit_mb": found.fit})
            rows.append([n, batch_size, solver, found.rows, found.fit, found.fit - found.rows])
    header = ["rows", "batch_size", "solver", "MB before", "MB at most", "beyond the input"]
    show("Resident memory, d = 10, h = 64", header, rows)
