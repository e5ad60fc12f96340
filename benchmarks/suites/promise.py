"""max_time as a promise: wall time ≤ max_time + 10 % + 0.2 s with the report, never below ridge.

Rows in memory and in a Parquet file, from 10³ to 10⁶, with 20 inputs of which four matter.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

from anmin import ANMINRegressor
from anmin.sources import ParquetSource
from benchmarks.record import Record
from benchmarks.runner import say
from benchmarks.suites import Settings
from benchmarks.table import show

ROWS, INPUTS, TEST = (1_000, 20_000, 200_000, 1_000_000), 20, 2_000
SECONDS = (0.2, 1.0, 5.0)
SLACK = 0.01  # of R² below ridge regression, on so many test rows


def promise(settings: Settings) -> None:
    cases = [int(case) for case in settings.cases or ()] or (ROWS[:2] if settings.quick else ROWS)
    rows = []
    fit(*made(2_000, 1), max_time=5.0)  # imports and compiled loops, off the clock
    for n in cases:
        X, y = made(n + TEST, 0)
        test, names = (X[n:], y[n:]), [f"x{j}" for j in range(INPUTS)]
        ridge = RidgeCV().fit(X[:n], y[:n]).score(*test)
        with TemporaryDirectory() as folder:
            path = str(Path(folder, "rows.parquet"))
            columns = dict(zip([*names, "y"], [*X[:n].T, y[:n]], strict=True))
            pq.write_table(pa.table(columns), path)
            for seconds in SECONDS[: 1 if settings.quick else None]:
                for where in ("memory", "parquet"):
                    data = (X[:n], y[:n]) if where == "memory" else (ParquetSource(path),)
                    found = timed(data, test, seconds)
                    settings.results.add({"case": f"{n} rows", "method": where, "seed": 0} | found)
                    met = found["seconds"] <= 1.1 * seconds + 0.2 and found["r2"] >= ridge - SLACK
                    rows.append([n, where, seconds, found["seconds"], found["r2"], ridge,
                                 "yes" if met else "NO"])  # fmt: skip
    header = ["rows", "where", "max_time", "seconds", "R²", "ridge's R²", "kept"]
    show("Seconds of fit and report; at most max_time + 10 % + 0.2 s", header, rows)


def made(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, INPUTS))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] + 0.1 * rng.normal(size=n)


def fit(*data: object, max_time: float) -> ANMINRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ANMINRegressor(max_time=max_time, random_state=0).fit(*data)


def timed(data: tuple, test: tuple[np.ndarray, np.ndarray], max_time: float) -> Record:
    begin = time.perf_counter()
    model = fit(*data, max_time=max_time)
    model.report()
    seconds = time.perf_counter() - begin
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # arrays have no names
        r2 = float(r2_score(test[1], model.predict(test[0])))
    say(f"{model.n_features_in_} inputs, {max_time:g} s: {seconds:.2f} s, R² {r2:.4f}")
    return {"seconds": seconds, "train_mse": None, "test_mse": None, "r2": r2}
