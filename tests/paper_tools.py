"""What the tests of the reproduction share: synthetic data and tiny sizes."""

from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks import cases
from paper import pictures, plan, workers
from paper.data import Place
from paper.trainers import Size

TINY = Size(
    rows=60, epochs=3, iterations=3, lbfgs_steps=2, line_search_steps=3, varpro_steps=3,
    simulations=((40, 1), (40, 2)), growth=30, landscape=(0, 2),
)  # fmt: skip
REAL = ("sdf", "abalone", "bike", "dae", "dae-clean")

needs_engine = pytest.mark.skipif(
    find_spec("anmin.engine") is None, reason="this version of the library has no listeners"
)
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


def synthetic(name):
    """Rows that stand for a data set of the paper."""
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(200, 3)) * [1, 5, 0.1]
    y = np.sin(X[:, 0]) + X[:, 1]
    return X, np.column_stack([y, -y]) if name.startswith("dae") else y


def make_small(monkeypatch):
    """Synthetic data and tiny sizes; a run takes a moment."""
    for module in (cases, pictures):
        monkeypatch.setattr(module, "load_rows", lambda name, **_: synthetic(name))
    monkeypatch.setattr(pictures, "SHAPE", (20, 10))
    monkeypatch.setattr(plan, "fetch", lambda *_, **__: ())
    monkeypatch.setattr(plan, "locate", lambda _: Place("not fetched"))
    monkeypatch.setattr(plan, "QUICK", TINY)
    monkeypatch.setattr(workers, "warm_up", lambda _: None)
