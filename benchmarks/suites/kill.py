"""Fits that are killed at random moments and started again: do they come to the same bits?

Every fit runs in a process of its own, is killed (SIGKILL) up to three times, and then goes on to
its end. Its network is compared with that of a fit that nobody disturbed.
"""

from __future__ import annotations

import hashlib
import multiprocessing as mp
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from anmin import ANMINRegressor
from benchmarks.suites import Settings
from benchmarks.table import show

KILLS = 40  # a configuration
MOST = 3  # kills of one fit
FITS: dict[str, dict[str, Any]] = {
    "varpro, lam auto": {"n_hidden": 16},
    "varpro, lam given": {"n_hidden": 16, "lam": 1e-4, "max_iter": 150},
    "anmin": {"n_hidden": 16, "solver": "anmin", "max_iter": 60},
    "varpro, lam auto, time": {"n_hidden": 16, "max_time": 60.0},
    "varpro, early stopping": {"n_hidden": 16, "lam": 1e-5, "early_stopping": True},
}


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))


def fit(params: dict[str, Any], checkpoint: str | None, out: str) -> None:
    """In a process of its own: fit, and write down what came out."""
    model = ANMINRegressor(random_state=0, checkpoint=checkpoint, **params).fit(*rows())
    found = hashlib.sha256()
    for V in (model.A_, model.B_, model.b0_, np.array(model.loss_curve_)):
        found.update(V.tobytes())
    Path(out).write_text(found.hexdigest())


def killed(context: Any, params: dict[str, Any], moments: list[float], folder: str) -> str:
    """The bits of a fit that was killed after these seconds, each time, and then let run."""
    log, out = str(Path(folder, "run.ckpt")), Path(folder, "bits")
    for moment in [*moments, None]:
        process = context.Process(target=fit, args=(params, log, str(out)))
        process.start()
        if moment is not None:
            time.sleep(moment)
            process.kill()
        process.join()
    return out.read_text()


def kill(settings: Settings) -> None:
    context, rng, table = mp.get_context("fork"), np.random.default_rng(0), []
    fit({"n_hidden": 2, "max_iter": 2}, None, "/dev/null")  # compiles
    for name, params in FITS.items():
        with tempfile.TemporaryDirectory() as folder:
            started, kills, same, fits = time.perf_counter(), 0, 0, 0
            expected = killed(context, params, [], folder)
            seconds = time.perf_counter() - started
        while kills < (4 if settings.quick else KILLS):
            moments = list(rng.uniform(0, seconds, size=rng.integers(1, MOST + 1)))
            with tempfile.TemporaryDirectory() as folder:
                same += killed(context, params, moments, folder) == expected
            kills, fits = kills + len(moments), fits + 1
        settings.results.add({"case": name, "method": "kill", "seed": 0, "seconds": seconds,
                              "kills": kills, "fits": fits, "same": same})  # fmt: skip
        table.append([name, seconds, kills, fits, same])
    show("Killed fits, started again", ["fit", "seconds", "kills", "fits", "same bits"], table)
