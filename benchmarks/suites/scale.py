"""Rows that do not fit in memory, and rows on a cluster.

parquet-nN    N rows (10 inputs, 64 units) in Parquet files: seconds an iteration of
              solver="anmin" and peak memory, against arrays in memory and against as many
              passes of SGDRegressor.partial_fit over the same batches
large         4 GB of Parquet: seconds a pass and peak memory, against arrays
dask-nN       N rows on a local cluster with one and two single-threaded workers: seconds and
              megabytes an iteration, with the system formed and with conjugate gradients
constants     microseconds a row and a core of each kind of pass, milliseconds a Dask task:
              what docs/scaling.md works its tables out from
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

from benchmarks import scale_runs as runs
from benchmarks.record import Record, Results
from benchmarks.runner import say
from benchmarks.suites import Settings
from benchmarks.table import show

SIZES = (100_000, 1_000_000, 10_000_000)
LARGE = 45_500_000  # rows: 4 GB
CLUSTER = 1_000_000
SHAPES = ((10, 64), (30, 64), (10, 256))  # inputs, units
BARS = {"memory": 1500, "pass": 1.3, "workers": 1.6}


def scale(settings: Settings) -> None:
    shrink = 100 if settings.quick else 1
    cases = settings.cases or [
        *(f"parquet-n{n // shrink}" for n in SIZES), "large", f"dask-n{CLUSTER // shrink}",
        "constants",
    ]  # fmt: skip
    times = 2 if settings.quick else 4
    for case in cases:
        kind, _, n = case.partition("-n")
        if kind == "large":
            large(settings.results, LARGE // shrink, times)
        elif kind == "parquet":
            parquet(settings.results, case, int(n), times)
        elif kind == "dask":
            dask(settings.results, case, int(n), times)
        elif kind == "constants":
            constants(settings.results, 200_000 // shrink)
        else:
            raise ValueError(
                f"There is no case {case!r}; say parquet-nN, large, dask-nN or constants."
            )
    records = settings.results.records
    show_parquet([r for r in records if r["case"].startswith("parquet")])
    show_large([r for r in records if r["case"] == "large"])
    show_dask([r for r in records if r["case"].startswith("dask")])
    show_constants([r for r in records if r["case"] == "constants"])


def add(results: Results, case: str, method: str, facts: runs.Facts, **more: object) -> Record:
    missing = {"seed": 0, "train_mse": None, "test_mse": None}
    record = {"case": case, "method": method} | missing | facts | more
    say(f"{case} {method}: {record['seconds']:.3f} s")
    return results.add(record)


def parquet(results: Results, case: str, n: int, times: int) -> None:
    with TemporaryDirectory(prefix="anmin-scale-") as folder:
        written = runs.alone(runs.write, folder, n) | {"rows": n}
        for container in ("parquet", "array"):
            facts = runs.alone(runs.fit, folder, container, times)
            add(results, case, f"anmin-{container}", facts, **written)
        add(results, case, "sgd", runs.alone(runs.sgd, folder, times), **written)


def large(results: Results, n: int, times: int) -> None:
    with TemporaryDirectory(prefix="anmin-scale-") as folder:
        written = runs.alone(runs.write, folder, n)
        for container in ("parquet", "array"):
            facts = runs.alone(runs.passes, folder, container, times)
            add(results, "large", f"pass-{container}", facts, **written)
        facts = runs.alone(runs.fit, folder, "parquet", 1)
        add(results, "large", "anmin-parquet", facts, **written)


def dask(results: Results, case: str, n: int, times: int) -> None:
    for workers in (1, 2):
        facts = runs.alone(runs.cluster, n, workers, times, "cholesky")
        add(results, case, f"dask-{workers}", facts, rows=n)
    facts = runs.alone(runs.cluster, n // 4, 2, 1, "cg")  # hundreds of passes an iteration
    add(results, case, "dask-2-cg", facts, rows=n // 4)


def constants(results: Results, n: int) -> None:
    for d, h in SHAPES:
        add(results, "constants", f"rows-d{d}-h{h}", runs.alone(runs.row_costs, d, h, n))
    for blocks in (8, 64):
        add(results, "constants", f"tasks-{blocks}", runs.alone(runs.task_cost, blocks))


def by_method(records: list[Record], case: str) -> dict[str, Record]:
    return {record["method"]: record for record in records if record["case"] == case}


def show_parquet(records: list[Record]) -> None:
    table = []
    for case in dict.fromkeys(record["case"] for record in records):
        found = by_method(records, case)
        ours, array, sgd = (found[m] for m in ("anmin-parquet", "anmin-array", "sgd"))
        table.append([
            ours["rows"], ours["gigabytes"], ours["seconds"], array["seconds"], sgd["seconds"],
            ours["seconds"] / array["seconds"], ours["seconds"] / sgd["seconds"],
            ours["peak_mb"], array["peak_mb"],
        ])  # fmt: skip
    header = ["rows", "GB", "Parquet s", "arrays s", "SGD s", "to arrays", "to SGD", "peak MB",
              "arrays MB"]  # fmt: skip
    if table:
        show('Seconds an iteration of solver="anmin", or a pass of SGDRegressor', header, table)


def show_large(records: list[Record]) -> None:
    found = by_method(records, "large")
    if not found:
        return
    ours, array, fit = (found[m] for m in ("pass-parquet", "pass-array", "anmin-parquet"))
    table = [
        [name, ours["rows"], ours["gigabytes"], ours[name], array[name], ours[name] / array[name],
         BARS["pass"], max(ours["peak_mb"], fit["peak_mb"]), BARS["memory"]]
        for name in ("thin", "full")
    ]  # fmt: skip
    header = ["pass", "rows", "GB", "Parquet s", "arrays s", "ratio", "bar", "peak MB", "bar"]
    show("Passes over a large set, the files in the page cache", header, table)


def show_dask(records: list[Record]) -> None:
    table = []
    for case in dict.fromkeys(record["case"] for record in records):
        found = by_method(records, case)
        one, two, cg = (found[method] for method in ("dask-1", "dask-2", "dask-2-cg"))
        table.append([
            one["rows"], one["seconds"], two["seconds"], one["seconds"] / two["seconds"],
            BARS["workers"], one["moved_mb"], two["moved_mb"], cg["moved_mb"] / cg["passes"],
        ])  # fmt: skip
    header = ["rows", "1 worker s", "2 workers s", "faster", "bar", "1 worker MB", "2 workers MB",
              "MB a CG pass"]  # fmt: skip
    if table:
        show("Seconds and megabytes moved an iteration, on a local cluster", header, table)


def show_constants(records: list[Record]) -> None:
    kinds = ("thin", "gradient", "full", "product")
    shapes = [r for r in records if "thin" in r]
    if not shapes:
        return
    show("Microseconds a row and a core", ["d", "h", *kinds],
         [[r["d"], r["h"], *(r[kind] for kind in kinds)] for r in shapes])  # fmt: skip
    few, many = (r for r in records if "blocks" in r)
    each = [
        1e3 * (many[key] - few[key]) / (many["blocks"] - few["blocks"])
        for key in ("seconds", "driver_seconds")
    ]
    header = ["partitions", "seconds", "of them client and scheduler"]
    keys = ("blocks", "seconds", "driver_seconds")
    show("A pass over next to no rows on a local cluster", header,
         [*([r[key] for key in keys] for r in (few, many)), ["one more: ms", *each]])  # fmt: skip
