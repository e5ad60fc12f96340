"""Run methods on cases, one after the other within a case and seed, and keep every result."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from benchmarks.cases import Split, load
from benchmarks.methods import method
from benchmarks.record import Budget, Record, Results, SkippedError, mse

WARM_UP = Budget(iterations=2, epochs=2, max_time=0.5)


def warm_up(methods: Iterable[str], needed: Iterable[str] = ()) -> None:
    """Import, start the threads and touch every code path before the clock runs.

    A method that cannot run here is passed over, unless the suite makes no sense without it.
    """
    split = replace(load("teacher-n4000-d8-h16", 0), case="warm-up")
    for name in needed:
        method(name)(split, WARM_UP)
    for name in methods:
        with suppress(SkippedError):
            method(name)(split, WARM_UP)


def run(results: Results, name: str, split: Split, budget: Budget, **extra: object) -> Record:
    """Train one method on one split; the errors are computed off the clock."""
    record: Record = {"case": split.case, "method": name, "seed": split.seed}
    shape = {"n": len(split.X), "d": split.X.shape[1], "h": split.h}
    try:
        fit = method(name)(split, budget)
    except SkippedError as reason:
        record |= {"seconds": None, "train_mse": None, "test_mse": None} | shape
        record |= {"skipped": str(reason)} | extra
        say(f"{split.case} seed {split.seed} {name}: skipped, {reason}")
        return results.add(record)
    with np.errstate(all="ignore"):
        train = mse(fit.predict(split.X), split.y)
        test = mse(fit.predict(split.X_test), split.y_test)
    record |= {"seconds": fit.seconds, "train_mse": train, "test_mse": test} | shape
    record |= fit.info | {"curve": fit.curve} | extra
    say(f"{split.case} seed {split.seed} {name}: {fit.seconds:.2f} s, train {train:.5g}")
    return results.add(record)


def compare(
    results: Results, cases: Iterable[str], methods: Iterable[str], seeds: range, budget: Budget
) -> None:
    """Every method on every split, the methods in turn so that each meets the same machine."""
    methods = list(methods)
    warm_up(methods)
    for case in cases:
        for seed in seeds:
            split = load(case, seed)
            for name in methods:
                run(results, name, split, budget)


def say(line: str) -> None:
    """Progress goes to stderr; the tables have stdout to themselves."""
    print(line, file=sys.stderr, flush=True)
