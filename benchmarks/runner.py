"""Run methods on cases, one after the other within a case and seed, and keep every result."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import anmin
from benchmarks.cases import Split, load
from benchmarks.methods import OURS, train
from benchmarks.record import Budget, Record, Results, SkippedError, mse

WARM_UP = Budget(iterations=2, epochs=2, max_time=0.5)
BOTH = "teacher-n4000-d8-h16", "teacher-n4000-d8-h64"  # few unknowns and many
SMALL = "teacher-n200-d3-h4"


def warm_up(
    methods: Iterable[str], needed: Iterable[str] = (), cases: Iterable[str] = BOTH
) -> None:
    """Import, start the threads and touch every code path before the clock runs.

    A method that cannot run here is passed over, unless the suite makes no sense without it.
    """
    methods, needed = [*methods], [*needed]
    for split in (replace(load(case, 0), case="warm-up") for case in cases):
        for name in needed:
            train(name, split, WARM_UP)
        for name in methods:
            with suppress(SkippedError):
                train(name, split, WARM_UP)


def run(results: Results, name: str, split: Split, budget: Budget, **extra: object) -> Record:
    """Train one method on one split; the errors are computed off the clock."""
    record: Record = {"case": split.case, "method": name, "seed": split.seed}
    shape = {"n": len(split.X), "d": split.X.shape[1], "h": split.h}
    cpu = time.process_time()
    try:
        fit = train(name, split, budget)
    except SkippedError as reason:
        record |= {"seconds": None, "train_mse": None, "test_mse": None} | shape
        record |= {"skipped": str(reason)} | extra
        say(f"{split.case} seed {split.seed} {name}: skipped, {reason}")
        return results.add(record)
    extra = {"cpu_seconds": time.process_time() - cpu} | extra
    with np.errstate(all="ignore"):
        train_mse = mse(fit.predict(split.X), split.y)
        test = mse(fit.predict(split.X_test), split.y_test)
    record |= {"seconds": fit.seconds, "train_mse": train_mse, "test_mse": test} | shape
    record |= fit.info | {"curve": fit.curve} | extra
    say(f"{split.case} seed {split.seed} {name}: {fit.seconds:.2f} s, train {train_mse:.5g}")
    return results.add(record)


@cache
def code_version() -> str:
    """A short name of this library's code as it is."""
    root = Path(anmin.__file__).parent
    files = [path.read_bytes() for path in sorted(root.rglob("*.py"))]
    return hashlib.sha256(b"".join(files)).hexdigest()[:12]


def known(results: Results, name: str, case: str, seed: int) -> Record | None:
    """The record of a run that need not be made again: of a rival, or of ours as the code is."""
    return results.known(case=case, method=name, seed=seed, skipped=None, **stamp(name in OURS))


def stamp(ours: bool) -> Record:
    """What a record says of the code that it is of."""
    return {"code": code_version()} if ours else {}


def keep_running(
    results: Results,
    methods: Iterable[str],
    folds: dict[str, int],
    limits: dict[str, int] | None = None,
) -> None:
    """Every method on so many folds or seeds of every case, if the results do not have it yet.

    A method in `limits` runs on fewer.
    """
    methods, limits = list(methods), limits or {}
    todo = [
        (case, seed, name)
        for case, count in folds.items()
        for seed in range(count)
        for name in methods
        if seed < limits.get(name, count) and not known(results, name, case, seed)
    ]
    names = dict.fromkeys(name for *_, name in todo)
    warm_up(names, cases=[SMALL])
    warm_up(OURS.keys() & names, cases=BOTH[:1])  # loops that are compiled once an installation
    for case, seed, name in todo:
        run(results, name, load(case, seed), Budget(), curve=[], **stamp(name in OURS))


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
