"""What a prediction costs: ours in C, in NumPy and row by row, against models as accurate.

Each rival grows (hidden units, trees) until its test error is at most 2 % above ours, or else the
best of its sizes is taken, and its error says so. Times are microseconds a row, one thread, the
best of several runs; "row by row" is a call for each row, as in a control loop. The C of the export
is compiled with gcc -O2 in single precision; scikit-learn offers no such thing for the rivals, but
multiply-adds and comparisons a row tell what theirs would take.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from anmin import ANMINRegressor
from anmin.export import cost
from benchmarks.cases import Split, load
from benchmarks.ours import regressor
from benchmarks.record import Record, mse
from benchmarks.runner import say
from benchmarks.suites import Settings
from benchmarks.table import show

CASES = ("abalone", "sdf")
WITHOUT_DATA = ("teacher-n3000-d7-h16", "sin-n10000-d3")
UNITS = (8, 16, 32, 64, 128, 256)
TREES = (25, 50, 100, 200, 400, 800)
MARGIN = 1.02
BATCH = 10_000  # rows
LOOP = """
void loop(const float *X, float *Y, long n)
{
    for (long i = 0; i < n; i++)
        model_predict(X + i * MODEL_INPUTS, Y + i * MODEL_OUTPUTS);
}
"""
Predict = Callable[[np.ndarray], np.ndarray]


def inference(settings: Settings) -> None:
    records = settings.results
    for case in settings.cases or available():
        split = load(case, 0)
        with threadpool_limits(1):
            for record in measure(split, settings.quick):
                records.add({"case": case, "seed": 0} | record)
                say(f"{case}: {record['method']}, test {record['test_mse']:.4g}")
    header = ["case", "method", "size", "test MSE", "numbers", "ops a row", "µs a row, batch",
              "µs a row, row by row"]  # fmt: skip
    keys = ["case", "method", "size", "test_mse", "numbers", "operations", "batch_us", "row_us"]
    rows = [[record.get(key) for key in keys] for record in records.records]
    show("Cost of a prediction, one thread", header, rows)


def available() -> tuple[str, ...]:
    """The paper's sets, or synthetic ones where there is no ANMIN_DATA."""
    try:
        load(CASES[0], 0)
    except FileNotFoundError as reason:
        say(f"synthetic sets instead: {reason}")
        return WITHOUT_DATA
    return CASES


def measure(split: Split, quick: bool) -> Iterator[Record]:
    """Our record, twice, and one for each rival."""
    model = regressor(split.h, random_state=0, max_time=1.0 if quick else None)
    seconds = timed(lambda: model.fit(split.X, split.y))
    error, spent = error_of(model.predict, split), cost(model)
    ours = {"size": f"{model.n_hidden_} units", "numbers": spent.parameters,
            "operations": spent.multiply_adds, "seconds": seconds}  # fmt: skip
    yield ours | {"method": "anmin", "test_mse": error} | clock(model.predict, split)
    if shutil.which("gcc"):
        with tempfile.TemporaryDirectory() as folder:
            predict = compiled(model, Path(folder))
            each = microseconds(predict, many_rows(split).astype(np.float32))  # a call a row
            yield ours | {"method": "anmin, C", "test_mse": error_of(predict, split),
                          "batch_us": each, "row_us": each}  # fmt: skip
    yield mlp(split, error, UNITS[:2] if quick else UNITS)
    yield trees(split, error, TREES[:2] if quick else TREES)


def clock(predict: Predict, split: Split) -> Record:
    few = split.X_test[:100]
    rows = timed(lambda: [predict(row[None]) for row in few], best_of=3) / len(few)
    return {"batch_us": microseconds(predict, many_rows(split)), "row_us": 1e6 * rows}


def many_rows(split: Split) -> np.ndarray:
    """The test rows, over and over: enough of them to time a batch."""
    return np.resize(split.X_test, (max(BATCH, len(split.X_test)), split.X.shape[1]))


def microseconds(predict: Predict, X: np.ndarray) -> float:
    return 1e6 * timed(lambda: predict(X), best_of=7) / len(X)


def timed(action: Callable[[], Any], best_of: int = 1) -> float:
    seconds = []
    for _ in range(best_of):
        begin = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def error_of(predict: Predict, split: Split) -> float:
    return mse(predict(split.X_test), split.y_test)


def compiled(model: ANMINRegressor, folder: Path) -> Predict:
    """The exported C in a loop over the rows."""
    source = folder / "model.c"
    model.to_c(source)
    source.write_text(source.read_text() + LOOP)
    command = ["gcc", "-std=c99", "-O2", "-fPIC", "-shared", source, "-o", folder / "model.so"]
    subprocess.run(command, check=True)
    loop = ctypes.CDLL(str(folder / "model.so")).loop

    def predict(X: np.ndarray) -> np.ndarray:
        X = np.ascontiguousarray(X, dtype=np.float32)
        Y = np.empty((len(X), model.n_outputs_), dtype=np.float32)
        loop(X.ctypes.data_as(ctypes.c_void_p), Y.ctypes.data_as(ctypes.c_void_p),
             ctypes.c_long(len(X)))  # fmt: skip
        return Y

    return predict


def as_accurate(
    make: Callable[[int], Any], sizes: tuple[int, ...], split: Split, target: float
) -> tuple[Record, Any, int]:
    """The smallest size whose test error is about the target, or else the best of all."""
    found = []
    for size in sizes:
        model = make(size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds = timed(lambda m=model: m.fit(split.X, split.y))
        error = error_of(model.predict, split)
        record = {"test_mse": error, "seconds": seconds, "reached": error <= MARGIN * target}
        found.append((error, size, model, record))
        if record["reached"]:
            break
    _, size, model, record = found[-1] if found[-1][3]["reached"] else min(found)
    return record | clock(model.predict, split), model, size


def mlp(split: Split, target: float, sizes: tuple[int, ...]) -> Record:
    def make(h: int) -> Any:
        network = MLPRegressor(hidden_layer_sizes=(h,), max_iter=500, random_state=0)
        scaled = make_pipeline(StandardScaler(), network)
        return TransformedTargetRegressor(scaled, transformer=StandardScaler())

    record, _, h = as_accurate(make, sizes, split, target)
    d, q = split.X.shape[1], split.Y.shape[1]
    size = {"numbers": (d + 1) * h + (h + 1) * q, "operations": (d + q) * h}
    return {"method": "MLPRegressor", "size": f"{h} units"} | size | record


def trees(split: Split, target: float, sizes: tuple[int, ...]) -> Record:
    def make(size: int) -> Any:
        return HistGradientBoostingRegressor(max_iter=size, early_stopping=False, random_state=0)

    record, model, n = as_accurate(make, sizes, split, target)
    forest = [tree.nodes for stage in model._predictors for tree in stage]
    size = {"numbers": 2 * sum(map(len, forest)), "operations": round(sum(map(mean_depth, forest)))}
    return {"method": "boosted trees", "size": f"{n} trees"} | size | record


def mean_depth(nodes: np.ndarray) -> float:
    """Comparisons that a training row meets, on average."""
    leaves = nodes[nodes["is_leaf"] == 1]
    return float(np.average(leaves["depth"], weights=leaves["count"]))
