"""What the suite `scale` times, each in a fresh process so that peak memory is its own."""

from __future__ import annotations

import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from anmin.backends import NumpyBackend
from anmin.solvers.curvature import Frame, ProductPass
from anmin.sources import DaskSource, ParquetSource, RawSource, Scaling, batch_rows, counting_rows
from anmin.sums.gram import PatternPass
from anmin.sums.output import GradientPass, OutputPass
from benchmarks.ours import regressor

D, H = 10, 64
FILE_ROWS = 2_000_000
GROUP_ROWS = 2**18
LAM = 1e-4

Facts = dict[str, Any]


def alone(function: Any, *args: Any) -> Facts:
    """function(*args) in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def peak_mb() -> float:
    """The most memory that this process has had resident."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal inputs, and a network of eight units of them."""
    W = np.random.default_rng(0).normal(size=(D, 8))
    X = np.random.default_rng(seed + 1).standard_normal((n, D))
    return X, np.maximum(X @ W, 0).sum(axis=1)


def write(folder: str, n: int) -> Facts:
    """n rows as Parquet files of two million rows each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for i, start in enumerate(range(0, n, FILE_ROWS)):
        X, y = rows(min(FILE_ROWS, n - start), i)
        table = pa.table({f"x{j}": X[:, j] for j in range(D)} | {"y": y})
        pq.write_table(table, Path(folder, f"{i:04}.parquet"), row_group_size=GROUP_ROWS)
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    return {"gigabytes": size / 1e9}


def loaded(folder: str, container: str) -> RawSource:
    """The files as a source, or as arrays in memory."""
    source = ParquetSource(folder)
    if container == "parquet":
        return source
    n = sum(len(chunk) for chunk in source.read())
    X, Y = np.empty((n, D)), np.empty((n, 1))
    at = 0
    for chunk in source.read():
        X[at : at + len(chunk)], Y[at : at + len(chunk)] = chunk.X, chunk.Y
        at += len(chunk)
    return counting_rows(X, Y, None)


def fit(folder: str, container: str, iterations: int) -> Facts:
    """Some iterations of the paper's algorithm."""
    data = loaded(folder, container)
    args = (data,) if container == "parquet" else (data.chunk.X, data.chunk.Y)  # type: ignore[attr-defined]
    model = regressor(H, solver="anmin", lam=LAM, max_iter=iterations, random_state=0)
    begin = time.perf_counter()
    model.fit(*args)
    total = time.perf_counter() - begin
    seconds = np.median(np.diff([step.seconds for step in model.history_]))
    return {"seconds": seconds, "fit_seconds": total, "peak_mb": peak_mb(),
            "train_mse": model.history_[-1].mse}  # fmt: skip


def sgd(folder: str, passes: int) -> Facts:
    """As many passes of scikit-learn's linear SGD, on the same batches."""
    from sklearn.linear_model import SGDRegressor

    raw, backend = ParquetSource(folder), NumpyBackend()
    source = raw.prepared(
        Scaling.of(raw.measured), backend, batch_rows("auto", backend, H, D + 1, 1)
    )
    model, seconds = SGDRegressor(random_state=0), []
    for _ in range(passes):
        begin = time.perf_counter()
        for batch in source.batches():
            model.partial_fit(batch.X[:, 1:], batch.Y[:, 0])
        seconds.append(time.perf_counter() - begin)
    error = [np.mean((model.predict(b.X[:, 1:]) - b.Y[:, 0]) ** 2) for b in source.batches()]
    return {"seconds": np.median(seconds), "peak_mb": peak_mb(), "train_mse": np.mean(error)}


def passes(folder: str, container: str, times: int) -> Facts:
    """Seconds of a thin pass, for the loss at a trial step, and of a full one, for a system."""
    raw, backend = loaded(folder, container), NumpyBackend()
    scaling = Scaling.of(raw.measured)
    source = raw.prepared(scaling, backend, batch_rows("auto", backend, H, D + 1, 1))
    A = np.random.default_rng(0).normal(size=(D + 1, H))
    facts: Facts = {}
    with backend.session():
        for name, kernel in {"thin": OutputPass(A, 0.0), "full": PatternPass(A, 0.0)}.items():
            seconds = []
            for _ in range(times if name == "thin" else max(1, times // 2)):
                begin = time.perf_counter()
                source.reduce(kernel)
                seconds.append(time.perf_counter() - begin)
            facts[name] = np.median(seconds)
    return facts | {"seconds": facts["thin"], "peak_mb": peak_mb(), "rows": len(source)}


def cluster(n: int, workers: int, iterations: int, linear_solver: str) -> Facts:
    """The paper's algorithm on a local cluster of single-threaded processes.

    Dask does not move partitions to workers that idle here: what is counted is what we send.
    """
    import dask
    import dask.array as da
    import psutil
    from distributed import Client, LocalCluster, wait

    def moved() -> int:
        return psutil.net_io_counters(pernic=True)["lo"].bytes_sent

    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True,
                     dashboard_address=":0") as local,
        Client(local),
    ):  # fmt: skip
        blocks = 8
        numbers = da.random.default_rng(0).standard_normal((n, D), chunks=(n // blocks, D))
        X = numbers.persist()
        y = np.maximum(X @ rows(1, 0)[0].T[:, 0], 0).persist()
        wait([X, y])
        model = regressor(H, solver="anmin", lam=LAM, random_state=0,
                          solver_options={"linear_solver": linear_solver})  # fmt: skip
        model.set_params(max_iter=1).fit(X, y)  # what workers import and compile
        sent, begin = moved(), time.perf_counter()
        model.set_params(max_iter=0).fit(X, y)
        start_sent, start = moved() - sent, time.perf_counter() - begin
        sent, passes = moved(), counted_passes()
        model.set_params(max_iter=iterations).fit(X, y)
        seconds = np.median(np.diff([step.seconds for step in model.history_]))
        megabytes = (moved() - sent - start_sent) / 1e6 / iterations
    return {"seconds": seconds, "start_seconds": start, "moved_mb": megabytes, "blocks": blocks,
            "passes": len(passes) / iterations, "train_mse": model.history_[-1].mse}  # fmt: skip


def counted_passes() -> list[None]:
    """A list that grows by one with every pass over a Dask collection."""
    passes: list[None] = []
    total = DaskSource.total

    def counting(self: DaskSource, *args: Any, **more: Any) -> Any:
        passes.append(None)
        return total(self, *args, **more)

    DaskSource.total = counting  # type: ignore[method-assign]
    return passes


def row_costs(d: int, h: int, n: int) -> Facts:
    """Microseconds a row and a core of each kind of pass."""
    rng = np.random.default_rng(0)
    X, backend = rng.standard_normal((n, d)), NumpyBackend(threads=1)
    rows = counting_rows(X, np.abs(X[:, :1]), None)
    source = rows.prepared(
        Scaling.of(rows.measured), backend, batch_rows("auto", backend, h, d + 1, 1)
    )
    A, W = rng.normal(size=(d + 1, h)), rng.normal(size=(h + 1, 1))
    frame = Frame(A, 0.0, np.eye(h + 1), W[:-1] @ W[:-1].T)
    kernels = {
        "thin": OutputPass(A, 0.0), "gradient": GradientPass(A, W, 0.0),
        "full": PatternPass(A, 0.0), "product": ProductPass(frame, A, np.zeros((h + 1, h))),
    }  # fmt: skip
    facts: Facts = {"d": d, "h": h}
    with backend.session():
        for name, kernel in kernels.items():
            source.reduce(kernel)  # prepares the rows
            seconds = []
            for _ in range(3):
                begin = time.process_time()
                source.reduce(replace(kernel))  # a new kernel: nothing is remembered
                seconds.append(time.process_time() - begin)
            facts[name] = float(np.median(seconds)) / n * 1e6
    return facts | {"seconds": facts["full"] * n / 1e6}


def task_cost(blocks: int) -> Facts:
    """A pass over next to no rows: its time, and that of client and scheduler, in this process."""
    import dask.array as da
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
        Client(local),
    ):
        X = da.ones((10 * blocks, 2), chunks=(10, 2))
        source = DaskSource(X, X[:, 0])
        spread = source.prepared(Scaling.of(source.measured), NumpyBackend(), 4096)
        kernel, seconds, busy = OutputPass(np.ones((3, 2)), 0.0), [], []
        for _ in range(5):
            begin, used = time.perf_counter(), time.process_time()
            spread.reduce(kernel)
            seconds.append(time.perf_counter() - begin)
            busy.append(time.process_time() - used)
    return {"seconds": np.median(seconds), "driver_seconds": np.median(busy), "blocks": blocks}
