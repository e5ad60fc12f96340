"""Both backends and both precisions, for the laws that hold on all of them."""

import numpy as np
import pytest
from conftest import make_data

from anmin.backends import NumpyBackend
from anmin.solvers.problem import Problem
from anmin.sources import ArraySource, Scaling


def numpy_backend(dtype="float64"):
    return NumpyBackend(dtype)


def torch_backend(dtype="float64"):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # the problems are small, and tests run side by side
    from anmin.backends.torch import TorchBackend

    return TorchBackend("cpu", dtype)


BACKENDS = pytest.mark.parametrize(
    "make_backend", [numpy_backend, torch_backend], ids=["numpy", "torch"]
)
PRECISIONS = pytest.mark.parametrize(
    ("dtype", "rtol"), [("float64", 1e-11), ("float32", 3e-5)], ids=["float64", "float32"]
)


def make_problem(backend, lam=1e-3, n=300, d=3, q=2, slope=0.1, weighted=True, **kwargs):
    """A small problem, standardised, on a backend."""
    X, y = make_data(n, d, q)
    Y = y.reshape(n, q)
    w = np.random.default_rng(1).uniform(0.2, 2.0, n) if weighted else None
    source = ArraySource(X, Y, w, Scaling.fit(X, Y, w), backend, 4096)
    return Problem(source, lam, slope, **kwargs)


def start(problem, h=4, seed=2):
    """Some A for a problem, in double precision."""
    A = np.random.default_rng(seed).normal(size=(problem.source.shape[1], h))
    return problem.backend.double(A)
