"""Thirty iterations of Algorithm 1: ours against the same algorithm written plainly in PyTorch.

That both compute the same thing is asserted. The rivals are timed in float32, as in the paper's
experiments, where rounding alone moves the losses of the first iterations by per cents; so the
first losses are asserted equal to a run of the rival's code in float64. Even there the
iteration amplifies rounding (on SDF tenfold and more a turn): the iterations that count are the
first few over which the rival agrees with itself after its rows were shuffled.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.cases import Split, load
from benchmarks.record import Budget, Curve, Record
from benchmarks.runner import run, say, warm_up
from benchmarks.suites import Settings
from benchmarks.table import overview

CASES = ("abalone", "sdf", "bike")
RIVALS = ("paper-torch-gemm", "paper-torch-slices", "paper-torch-dataloader")
CHECKED = 5  # iterations at most, the start and one at least
TOLERANCE = 1e-3
TOLERANCE_FLOAT32 = 1e-2  # of the start


def paper_solver(settings: Settings) -> None:
    rivals = [name for name in settings.methods or RIVALS if name != "anmin"]
    budget = Budget(iterations=3 if settings.quick else 30)
    warm_up(rivals, needed=["anmin", "paper-torch-gemm"])
    for case in settings.cases or CASES:
        for seed in range(settings.seeds or 1):
            split = load(case, seed)
            ours = run(settings.results, "anmin", split, budget)
            same = assert_same_losses(ours, split)
            for name in rivals:
                rival = run(settings.results, name, split, budget, **same)
                start = gaps(ours["curve"], rival["curve"])[0]
                assert start <= TOLERANCE_FLOAT32, f"{case}, {name}: starts differ by {start:.1e}"
    overview(settings.results.records, "anmin")


def assert_same_losses(ours: Record, split: Split) -> Record:
    """Our first losses are those of the rival in float64, as far as they are determined."""
    import torch

    from benchmarks.rivals.paper_torch import gemm

    def losses(rows: Split) -> Curve:
        return gemm(rows, Budget(CHECKED), dtype=torch.float64).curve

    rival, order = losses(split), np.random.RandomState(0).permutation(len(split.X))
    noise = gaps(rival, losses(replace(split, X=split.X[order], y=split.y[order])))
    steady = max(2, int(np.argmax([*(noise > TOLERANCE / 3), True])))
    gap = float(gaps(ours["curve"], rival)[:steady].max())
    say(f"{split.case}: losses of the start and {steady - 1} iterations equal to {gap:.1e}")
    assert gap <= TOLERANCE, f"{split.case}: {ours['curve'][:steady]} against {rival[:steady]}"
    return {"first_losses_gap": gap, "first_losses": steady}


def gaps(ours: Curve, rival: Curve) -> np.ndarray:
    """Relative differences of the losses, iteration by iteration."""
    both = zip(ours, rival, strict=False)
    return np.array([abs(mine / theirs - 1) for (_, mine), (_, theirs) in both])
