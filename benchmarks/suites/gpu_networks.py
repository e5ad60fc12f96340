"""Many networks on a graphics card as one computation, and one network there against the CPU.

At the size of YearPredictionMSD sixteen networks are to take at most four times as long as one; and
from 10,000 rows on one network is to take less than on two cores. Without a card both run in
PyTorch on the CPU, which is of use only to try the suite with --quick.
"""

from __future__ import annotations

from typing import Any

from benchmarks.cases import Split, load
from benchmarks.ours import fitted, regressor
from benchmarks.record import Fit, Record, mse
from benchmarks.suites import Settings
from benchmarks.suites.gpu import CASE
from benchmarks.table import show

FEW = "teacher-n10000-d90-h64"
QUICK, QUICK_FEW = "teacher-n3000-d10-h8", "teacher-n1000-d10-h8"
NETWORKS, CORES = 16, 2
BAR = 4.0  # times the seconds of one network


def gpu_networks(settings: Settings) -> None:
    """Seconds of one network and of sixteen, and of one on the card and on two cores."""
    from benchmarks.ours_cuda import DEVICE

    many, few = (QUICK, QUICK_FEW) if settings.quick else (CASE, FEW)
    rows = []
    for seed in range(settings.seeds or 1):
        for case in settings.cases or [many]:
            split = load(case, seed)
            one = timed(settings, split, "one network", device=DEVICE)
            all_ = timed(settings, split, "sixteen", device=DEVICE, n_networks=NETWORKS)
            rows.append([case, *row(one, all_), BAR])
    header = ["case", "one, s", f"{NETWORKS}, s", "ratio", "test MSE", f"of {NETWORKS}", "bar"]
    show(f"{NETWORKS} networks against one on the card", header, rows)
    rows = []
    for seed in range(settings.seeds or 1):
        split = load(few, seed)
        card = timed(settings, split, "on the card", device=DEVICE)
        cores = timed(settings, split, "on two cores", device="cpu", n_jobs=CORES)
        rows.append([few, *row(cores, card), 1.0])
    header = ["case", "two cores, s", "card, s", "ratio", "test MSE", "of the card", "bar"]
    show("One network on the card against two cores", header, rows)


def row(one: Record, other: Record) -> list[Any]:
    seconds, errors = ([r[key] for r in (one, other)] for key in ("seconds", "test_mse"))
    return [*seconds, seconds[1] / seconds[0], *errors]


def timed(settings: Settings, split: Split, method: str, **options: Any) -> Record:
    """The second of two fits: the first loads what the card, or the compiler, has to load."""
    options = {"n_networks": 1, "encoding": None, "random_state": split.seed} | options
    fits: list[Fit] = [fitted(regressor(split.h, **options), split) for _ in range(2)]
    predict = fits[1].predict
    assert predict is not None
    record = {"case": split.case, "method": method, "seed": split.seed, **fits[1].info}
    error = {"test_mse": mse(predict(split.X_test), split.y_test)}
    return settings.results.add(record | {"seconds": fits[1].seconds} | error)
