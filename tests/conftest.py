"""What the test files share: small problems, the paper's data, hypothesis' pace."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from killable import Nursery

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
