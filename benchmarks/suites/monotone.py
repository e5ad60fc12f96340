"""What monotonic_cst costs or gives: ours and boosted trees, free and told to rise or fall.

rising-N    N rows, noise 1, of a function that rises in two inputs, falls in one, and turns in
            another; the error is that on 2,000 rows without noise
autompg     miles a gallon, which fall with horsepower and weight (ANMIN_TABULAR); its folds
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from anmin import ANMINRegressor
from benchmarks.cases import load
from benchmarks.record import Record, Stopwatch
from benchmarks.runner import say
from benchmarks.suites import Settings
from benchmarks.table import mean, select, show

METHODS = {"ours": ANMINRegressor, "boosted trees": HistGradientBoostingRegressor}
CASES = ("rising-100", "rising-300", "rising-1000", "rising-3000", "autompg")
RISING = [1, 1, -1, 0]
AUTOMPG = {2: -1, 3: -1}  # horsepower, weight
SEEDS = 5
Rows = tuple[np.ndarray, np.ndarray]


def monotone(settings: Settings) -> None:
    for case in settings.cases or CASES:
        for seed in range(1 if settings.quick else settings.seeds or SEEDS):
            for name in METHODS:
                for told in (False, True):
                    settings.results.add(run(case, seed, name, told))
    summary(settings.results.records)


def run(case: str, seed: int, name: str, told: bool) -> Record:
    """One method on one split, free or told."""
    (X, y), (X_test, y_test), cst = split(case, seed)
    watch = Stopwatch()
    model = METHODS[name](monotonic_cst=cst if told else None, random_state=seed)
    with threadpool_limits(1):  # on a busy machine the trees' threads wait for each other
        model.fit(X, y)
    seconds = watch.seconds()
    test = float(np.mean((model.predict(X_test) - y_test) ** 2))
    method = f"{name}, told" if told else name
    say(f"{case} {seed}, {method}: {test**0.5:.4g} in {seconds:.1f} s")
    train = float(np.mean((model.predict(X) - y) ** 2))
    return {"case": case, "method": method, "seed": seed, "seconds": seconds, "train_mse": train,
            "test_mse": test}  # fmt: skip


def split(case: str, seed: int) -> tuple[Rows, Rows, list[int]]:
    """Rows to train and to test on, and what is known of them."""
    if case.startswith("rising-"):
        n = int(case.removeprefix("rising-"))
        return rising(n, seed, 1.0), rising(2000, seed + 1000, 0.0), RISING
    found = load(case, seed)
    cst = [AUTOMPG.get(j, 0) for j in range(found.X.shape[1])]
    return (found.X, found.y), (found.X_test, found.y_test), cst


def rising(n: int, seed: int, noise: float) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 4))
    y = np.tanh(2 * X[:, 0]) + np.exp(X[:, 1] / 2) * (1 + np.tanh(X[:, 0])) - np.abs(X[:, 2] + 2)
    return X, y + np.sin(2 * X[:, 3]) + noise * rng.normal(size=n)


def summary(records: list[Record]) -> None:
    methods = [f"{name}{told}" for name in METHODS for told in ("", ", told")]
    rows = []
    for case in dict.fromkeys(record["case"] for record in records):
        runs = [select(records, case=case, method=name) for name in methods]
        found = [mean(each, "test_mse") ** 0.5 for each in runs]
        took = [mean(each, "seconds") for each in runs[:2]]
        rows.append([case, *found, found[1] / found[0], found[3] / found[2], *took])
    header = ["set", *methods, "ours: told / free", "trees: told / free", "s", "s, told"]
    show("Test RMSE, free and told to rise or fall", header, rows)
