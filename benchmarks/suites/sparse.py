"""Units that see few inputs: inputs that do not matter, and text.

friedman   500 inputs of which 5 matter: Friedman's first function, noise of variance 1, 5,000 rows.
           Mean squared error above the noise, on 5,000 other rows; whether the five inputs are the
           most important ones; how many others a model uses.
text       5,000 documents as 20,000 TF-IDF weights, a SciPy sparse matrix: words by Zipf's law,
           lengths lognormal, topics that make some words frequent. y adds up words that matter,
           each once, and turns its sign where a word of denial is there; noise of variance 0.25.
           Each model in a process of its own, with its peak of memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from anmin import ANMINRegressor
from benchmarks.record import Record, SkippedError
from benchmarks.runner import say
from benchmarks.suites import Settings
from benchmarks.table import mean, select, show

ROWS, INPUTS = 5000, 500
WORDS, TOPICS, MATTER, DENIALS = 20_000, 10, 60, 2
SPARSE: dict[str, Any] = {"connections": 4, "random_state": 0}
DENSE: dict[str, Any] = {"n_networks": 1, "encoding": None, "random_state": 0}
TEXT: dict[str, Any] = {"connections": 8, "random_state": 0}


def friedman_rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X and y to train on, X and what y is without noise to test on."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(2 * ROWS, INPUTS))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    f += 10 * X[:, 3] + 5 * X[:, 4]
    y = f + rng.standard_normal(len(f))
    return X[:ROWS], y[:ROWS], X[ROWS:], f[ROWS:]


def text_rows(seed: int, n: int = ROWS) -> tuple[csr_array, np.ndarray]:
    """n documents and their values, then as many for a test."""
    rng = np.random.RandomState(seed)
    total, words = 2 * n, rng.permutation(WORDS)
    chance = np.empty(WORDS)
    chance[words] = 1 / (np.arange(WORDS) + 10.0)
    frequent = words[20:2000]
    topical = [rng.choice(frequent, 200, replace=False) for _ in range(TOPICS)]
    topic = rng.randint(TOPICS, size=total)
    counts = []
    for length, t in zip(rng.lognormal(4.5, 0.5, total).astype(int) + 10, topic, strict=True):
        p = chance.copy()
        p[topical[t]] *= 8
        counts.append(np.unique(rng.choice(WORDS, length, p=p / p.sum()), return_counts=True))
    rows = np.repeat(np.arange(total), [len(c[0]) for c in counts])
    place = rows, np.concatenate([c[0] for c in counts])
    T = csr_array((np.concatenate([c[1] for c in counts]).astype(float), place), (total, WORDS))
    there = T.astype(bool).astype(float)
    matter = rng.choice(words[30:400], MATTER, replace=False)
    denial = rng.choice(words[120:200], DENIALS, replace=False)
    value = there[:, matter] @ rng.standard_normal(MATTER)
    value -= value.mean()
    sign = np.where(there[:, denial].sum(1) > 0, -1.0, 1.0)
    y = sign * value / value.std() + 0.5 * rng.standard_normal(total)
    rarity = np.log((1 + n) / (1 + there[:n].sum(0))) + 1  # as in TF-IDF, of the rows to train on
    X = T @ diags_array(rarity)
    X = diags_array(1 / np.sqrt((X * X).sum(1))) @ X
    X = csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


# ---- methods ------------------------------------------------------------------------------------


def lightgbm() -> Any:
    try:
        from lightgbm import LGBMRegressor
    except ModuleNotFoundError as error:
        raise SkippedError("lightgbm is not installed") from error
    return LGBMRegressor(verbose=-1, random_state=0)


def catboost() -> Any:
    try:
        from catboost import CatBoostRegressor
    except ModuleNotFoundError as error:
        raise SkippedError("catboost is not installed") from error
    return CatBoostRegressor(verbose=0, random_state=0, allow_writing_files=False)


def ridge() -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(Ridge(), {"alpha": [0.1, 0.3, 1.0, 3.0, 10.0]}, cv=3)


def svr() -> Any:
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVR

    return GridSearchCV(LinearSVR(max_iter=10_000), {"C": [0.1, 0.3, 1.0, 3.0, 10.0]}, cv=3)


FRIEDMAN: dict[str, Callable[[], Any]] = {
    "connections=4": lambda: ANMINRegressor(**SPARSE),
    "dense": lambda: ANMINRegressor(**DENSE),
    "lightgbm": lightgbm,
    "catboost": catboost,
}
TEXTS: dict[str, Callable[[], Any]] = {
    "connections=8": lambda: ANMINRegressor(**TEXT),
    "ridge": ridge,
    "linear-svr": svr,
    "lightgbm": lightgbm,
}


# ---- the suite ----------------------------------------------------------------------------------


def sparse(settings: Settings) -> None:
    runs = {"friedman": friedman, "text": text}
    for part in settings.cases or runs:
        runs[part](settings)


def friedman(settings: Settings) -> None:
    seeds, methods = 1 if settings.quick else settings.seeds or 10, settings.methods or FRIEDMAN
    for seed in range(seeds):
        X, y, X_test, f = friedman_rows(seed)
        for name in methods:
            try:
                model = FRIEDMAN[name]()
            except SkippedError as why:
                say(f"friedman seed {seed} {name}: {why}")
                continue
            begin = time.perf_counter()
            model.fit(X, y)
            facts: Record = {"seconds": time.perf_counter() - begin}
            facts["above noise"] = float(np.mean((model.predict(X_test) - f) ** 2))
            weight = np.asarray(model.feature_importances_)
            facts["found"] = float(set(np.argsort(-weight)[:5]) == set(range(5)))
            facts["inputs used"] = float((weight > 0).sum())
            note(settings, "friedman", name, seed, facts)
    columns = ["above noise", "found", "inputs used", "seconds"]
    tell(settings, "Friedman's first function among 500 inputs", "friedman", methods, columns)


CHILD = """
import json, resource, sys, time
import numpy as np
from benchmarks.record import SkippedError
from benchmarks.suites import sparse

name, seed = sys.argv[1], int(sys.argv[2])
try:
    model = sparse.TEXTS[name]()
except SkippedError as why:
    sys.exit(str(why))
X, y = sparse.text_rows(seed)
begin, n = time.perf_counter(), sparse.ROWS
model.fit(X[:n], y[:n])
seconds = time.perf_counter() - begin
error = float(np.mean((model.predict(X[n:]) - y[n:]) ** 2))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"test_mse": error, "of variance": error / float(np.var(y[n:])),
                  "seconds": seconds, "peak_gb": peak}))
"""


def text(settings: Settings) -> None:
    seeds, methods = 1 if settings.quick else settings.seeds or 3, settings.methods or TEXTS
    for seed in range(seeds):
        for name in methods:
            line = [sys.executable, "-c", CHILD, name, str(seed)]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode:
                say(f"text seed {seed} {name}: {done.stderr.strip()[-200:]}")
                continue
            note(settings, "text", name, seed, json.loads(done.stdout))
    columns = ["test_mse", "of variance", "seconds", "peak_gb"]
    tell(settings, "20,000 TF-IDF weights, 5,000 documents", "text", methods, columns)


def note(settings: Settings, case: str, method: str, seed: int, facts: Record) -> Record:
    record = {"case": case, "method": method, "seed": seed, "train_mse": None, "test_mse": None}
    shown = ", ".join(f"{key} {value:.4g}" for key, value in facts.items())
    say(f"{case} seed {seed} {method}: {shown}")
    return settings.results.add(record | facts)


def tell(settings: Settings, title: str, case: str, methods: Any, columns: list[str]) -> None:
    kept = settings.results.records
    rows = []
    for name in methods:
        own = select(kept, case=case, method=name)
        if own:
            rows.append([name, *(mean(own, column) for column in columns)])
    show(title, ["method", *columns], rows)
