"""Test error at defaults: ours against trees, networks made for tables, a Gaussian process, MLPs.

Two methods are compared on the folds that both have: slow ones run on the first three only. Each of
ours is ranked among itself and the rivals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.cases import load, tabular_names
from benchmarks.methods import OURS
from benchmarks.plot import error_against_seconds
from benchmarks.record import Record
from benchmarks.runner import keep_running
from benchmarks.suites import Settings
from benchmarks.table import geometric_mean, mean, select, show

METHODS = (
    "default", "single", "catboost", "xgboost", "lightgbm", "hgb", "realmlp", "tabm", "gp",
    "mlp-adam", "mlp-lbfgs",
)  # fmt: skip
PAPER_SETS = ("abalone", "bike", "sdf")
FOLDS, FOLDS_FEW, LARGE = 10, 3, 10_000
SLOW = dict.fromkeys(("realmlp", "tabm"), FOLDS_FEW)
BEST = ("catboost", "realmlp")  # the rivals to beat
MARGIN = 0.1  # of RMSE behind the better of them that counts as worse

Errors = dict[str, dict[int, float]]  # RMSE by method and fold, on one set


def defaults(settings: Settings) -> None:
    methods = list(settings.methods or METHODS)
    cases = settings.cases or (*tabular_names(), *PAPER_SETS)
    keep_running(settings.results, methods, {case: folds(settings, case) for case in cases}, SLOW)
    records = settings.results.records
    for record in records:
        if "not installed" in record.get("skipped", ""):
            print(record["skipped"])
    per_set(records, methods)
    summary(records, methods)


def folds(settings: Settings, case: str) -> int:
    split = load(case, 0)
    rows = len(split.X) + len(split.X_test)
    most = FOLDS_FEW if rows > LARGE or settings.quick else FOLDS
    return min(most, settings.seeds or most)


def errors_by_set(records: Iterable[Record]) -> dict[str, Errors]:
    sets: dict[str, Errors] = {}
    for r in select(records):
        sets.setdefault(r["case"], {}).setdefault(r["method"], {})[r["seed"]] = r["test_mse"] ** 0.5
    return sets


def on_common_folds(errors: Errors, methods: Iterable[str]) -> dict[str, float]:
    """The mean RMSE of those of the methods that ran, over the folds that all of these have."""
    ran = [name for name in methods if name in errors]
    common = set.intersection(*(set(errors[name]) for name in ran)) if ran else set()
    return {name: float(np.mean([errors[name][k] for k in common])) for name in ran if common}


def ratios(sets: dict[str, Errors], name: str, rival: str) -> list[float]:
    """RMSE of a method over that of a rival, on each set that both ran on."""
    pairs = [on_common_folds(errors, (name, rival)) for errors in sets.values()]
    return [pair[name] / pair[rival] for pair in pairs if {name, rival} <= pair.keys()]


def mean_rank(sets: dict[str, Errors], name: str, methods: Iterable[str]) -> float | None:
    """The mean place of a method among itself and the rivals, over the sets that it ran on."""
    rivals = [rival for rival in methods if rival not in OURS and rival != name]
    main = [] if name in OURS else ["default"]
    places = []
    for errors in sets.values():
        rmse = on_common_folds(errors, [name, *main, *rivals])
        if name in rmse:
            places.append(1 + sum(other < rmse[name] for other in rmse.values()))
    return float(np.mean(places)) if places else None


def clearly_worse(sets: dict[str, Errors], name: str) -> list[str]:
    """Sets where a method is behind the better of the rivals to beat by more than the margin."""
    found = []
    for case, errors in sets.items():
        rmse = on_common_folds(errors, (name, *BEST))
        better = min((rmse[rival] for rival in BEST if rival in rmse), default=np.inf)
        if rmse.get(name, 0.0) > (1 + MARGIN) * better:
            found.append(case)
    return found


def seconds_over(records: Sequence[Record], name: str, rival: str) -> float | None:
    """All seconds of a method over all of a rival's, on the folds that both have."""
    mine, theirs = (
        {(r["case"], r["seed"]): r["seconds"] for r in select(records, method=which)}
        for which in (name, rival)
    )
    both = mine.keys() & theirs
    return sum(mine[k] for k in both) / sum(theirs[k] for k in both) if both else None


def per_set(records: Sequence[Record], methods: list[str]) -> None:
    rows = []
    for case, errors in errors_by_set(records).items():
        rmse = on_common_folds(errors, methods)
        count = min(map(len, errors.values()))
        rows.append([case, count, *(rmse.get(name) for name in methods)])
    show("Test RMSE, mean over the folds that all have", ["set", "folds", *methods], rows)
    rows = [
        [case, *(mean(select(records, case=case, method=name), "seconds") for name in methods)]
        for case in errors_by_set(records)
    ]
    show("Seconds to fit, mean over folds", ["set", *methods], rows)


def summary(records: Sequence[Record], methods: list[str]) -> None:
    sets = errors_by_set(records)
    rows = []
    for name in methods:
        against = {rival: ratios(sets, name, rival) for rival in BEST if rival != name}
        wins = [
            f"{sum(r < 1 for r in against[rival])} of {len(against[rival])}"
            if against.get(rival)
            else None
            for rival in BEST
        ]
        rows.append([
            name, sum(name in errors for errors in sets.values()), mean_rank(sets, name, methods),
            *wins, *(geometric_mean(against.get(rival, [])) for rival in BEST),
            len(clearly_worse(sets, name)), *(seconds_over(records, name, r) for r in BEST),
        ])  # fmt: skip
    header = ["method", "sets", "mean rank", *(f"ahead of {r}" for r in BEST),
              *(f"RMSE / {r}'s" for r in BEST), f"worse by {MARGIN:.0%}",
              *(f"seconds / {r}'s" for r in BEST)]  # fmt: skip
    show("All sets; geometric means of RMSE, sums of seconds", header, rows)
    if worse := clearly_worse(sets, "default"):
        print(f"\ndefault is behind the better of {' and '.join(BEST)} on {', '.join(worse)}")


def picture(records: Sequence[Record], path: str) -> None:
    """Error relative to the best of each set against seconds a fit, one dot a method."""
    sets, dots = errors_by_set(records), {}
    methods = list(dict.fromkeys(record["method"] for record in select(records)))
    for name in methods:
        over = []
        for errors in sets.values():
            rmse = on_common_folds(errors, methods)
            over += [rmse[name] / min(rmse.values())] if name in rmse else []
        seconds = [
            mean(select(records, case=case, method=name), "seconds")
            for case in sets
            if name in sets[case]
        ]
        dots[name] = geometric_mean(seconds), geometric_mean(over), len(over) == len(sets)
    error_against_seconds(dots, path)
