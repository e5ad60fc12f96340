"""How long: seconds to fit a table as people have it, by its size, beside boosted trees."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from anmin import ANMINRegressor
from benchmarks.suites import Settings
from benchmarks.table import show

ROWS, COLUMNS = (500, 2000, 10_000, 50_000), (10, 40)


def mixed_table(n: int, d: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """d columns, of which two are texts (6 and 60 levels) and every fifth has gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d - 2))
    few, many = rng.integers(6, size=n), rng.integers(60, size=n)
    y = np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * few + np.sin(many) + 0.5 * rng.normal(size=n)
    X[:, ::5] = np.where(rng.uniform(size=X[:, ::5].shape) < 0.05, np.nan, X[:, ::5])
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(d - 2)])
    texts = {"few": [f"level {k}" for k in few], "many": [f"level {k}" for k in many]}
    return frame.assign(**{name: pd.Categorical(cells) for name, cells in texts.items()}), y


def seconds(settings: Settings) -> None:
    """CPU seconds of both learners at their defaults, which other programs do not change."""
    sizes = [(n, d) for n in ROWS for d in COLUMNS if not settings.quick or n <= 500]
    ANMINRegressor(4, random_state=0).fit(*mixed_table(100, 10))  # compiles what is compiled
    rows = []
    for n, d in sizes:
        X, y = mixed_table(n, d)
        X_test, y_test = mixed_table(2000, d, seed=1)
        found: list[float] = []
        for model in (ANMINRegressor(random_state=0), trees()):
            start = time.process_time()
            model.fit(X, y)
            spent = time.process_time() - start
            error = float(np.mean((model.predict(X_test) - y_test) ** 2)) ** 0.5
            found += [spent, error]
            record = {"case": f"mixed-n{n}-d{d}", "method": type(model).__name__, "seed": 0}
            settings.results.add(record | {"seconds": spent, "test_mse": error**2})
        rows.append([n, d, *found])
    header = ["rows", "columns", "anmin, CPU s", "RMSE", "boosted trees, CPU s", "RMSE"]
    show("Seconds to expect, by the size of a table (best possible RMSE: 0.5)", header, rows)


def trees() -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
