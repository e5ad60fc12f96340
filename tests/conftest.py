"""What the test files share: small problems, the paper's data, hypothesis' pace."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from killable import Nursery
from sklearn.base import clone

from anmin.backends import get_backend
from anmin.solvers import SOLVERS, Problem
from anmin.sources import ArraySource, Scaling

settings.register_profile(
    "quick",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", settings.get_profile("quick"), max_examples=1000, derandomize=False
)
settings.load_profile("quick")  # pytest --hypothesis-profile=search looks for more


def make_data(n=80, d=2, q=1, seed=0):
    """Smooth targets with a little noise: X (n, d), y (n,) or (n, q)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 3.0, d) + np.linspace(-1.0, 2.0, d)
    phase = X @ rng.normal(size=(d, q))
    y = 3.0 + np.sin(phase) + 0.3 * phase + 0.05 * rng.normal(size=(n, q))
    return X, y[:, 0] if q == 1 else y


def standardised(X, y, w=None):
    """What the core sees: ones and X at mean 0 and deviation 1, and y centred as (n, q)."""
    Z = X - np.average(X, axis=0, weights=w)
    Z = Z / np.sqrt(np.average(Z**2, axis=0, weights=w))
    Y = y.reshape(len(y), -1)
    return np.column_stack([np.ones(len(X)), Z]), Y - np.average(Y, axis=0, weights=w)


def activate(T, slope):
    """The leaky ReLU."""
    return np.where(T > 0, T, slope * T)


class Recorder:
    """A callback that notes what it is told, and stops the fit after `stop` tasks if asked."""

    def __init__(self, stop=None):
        self.stop, self.begun, self.ended, self.scores, self.life = stop, [], [], [], []

    def setup(self, estimator, context):
        self.life.append("setup")

    def teardown(self, estimator, context):
        self.life.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.task_name, context.task_id, context.parent is None))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended.append((context.task_name, context.task_id, context.parent is None))
        if hasattr(fitted_estimator, "score"):
            self.scores.append(fitted_estimator.score(X, y))
        return self.stop is not None and context.parent is not None and context.task_id >= self.stop


OF_SOLVERS = {name for solver in SOLVERS.values() for name in solver().get_params()}


def in_solver(solver="varpro", **params):
    """Parameters of an estimator, where those that belong to the solver go to its object.

    >>> in_solver("varpro", n_hidden=6, tol=0.1)
    {'n_hidden': 6, 'solver': VarPro(tol=0.1)}
    """
    own = {name: params.pop(name) for name in list(params) if name in OF_SOLVERS}
    if own:
        solver = SOLVERS[solver]() if isinstance(solver, str) else clone(solver)
        solver.set_params(**own)
    return params | {"solver": solver}


def make_problem(X, y, w=None, *, lam=1e-3, slope=0.0, backend=None, linear_solver="auto"):
    """What the solvers see of some rows."""
    Y = y.reshape(len(y), -1)
    source = ArraySource(X, Y, w, Scaling.fit(X, Y, w), backend or get_backend(), 4096)
    return Problem(source, lam, slope, linear_solver)


@pytest.fixture
def data():
    """One small regression problem."""
    return make_data()


@pytest.fixture(scope="session")
def paper_data():
    """The folder with the paper's data sets, or skip."""
    folder = os.environ.get("ANMIN_DATA")
    if not folder:
        pytest.skip("ANMIN_DATA is not set; it names the folder with the paper's data")
    if not Path(folder).is_dir():
        pytest.skip(f"ANMIN_DATA is {folder}, which is not a folder")
    return Path(folder)


@pytest.fixture(scope="module")
def nursery():
    """A process that starts fits which a test may kill."""
    if not hasattr(os, "fork"):
        pytest.skip("processes are started by fork, which this system has not")
    nursery = Nursery()
    yield nursery
    nursery.close()
