"""The paper's protocol: one name and one number give one split of one data set.

X at mean 0 and sample deviation 1 over all rows, y centred; 80 % of the rows to train
x ~ N(0, I), y = sin ‖x‖²: N rows to train, N to test
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import nan

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from anmin import datasets

Array = NDArray[np.float64]
Rows = tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class Data:
    """A data set of the paper: its title, files, hidden units, and the batches of SGD and Adam."""

    title: str
    files: str  # its name in anmin.datasets
    h: int = 64
    batch: int = 256


DATA = {
    "sdf": Data("SDF decoder", "sdf"),
    "abalone": Data("Abalone", "abalone"),
    "bike": Data("Bike-sharing", "bike"),
    "dae": Data("DAE, noisy inputs", "dae", h=32),
    "dae-clean": Data("DAE, clean inputs", "dae", h=32),
    "year": Data("YearPredictionMSD", "year", batch=2048),
}
LOADERS: dict[str, Callable[[], Rows]] = {
    "sdf": partial(datasets.load_sdf, return_X_y=True),
    "abalone": partial(datasets.load_abalone, return_X_y=True),
    "bike": partial(datasets.load_bike, return_X_y=True),
    "dae": partial(datasets.load_dae, noisy=True, return_X_y=True),
    "dae-clean": partial(datasets.load_dae, noisy=False, return_X_y=True),
    "year": partial(datasets.load_year, return_X_y=True),
}


@dataclass(frozen=True, slots=True)
class Size:
    """How large the experiments are: the paper's, or small ones for a try."""

    rows: int | None = None  # of a data set, at most
    epochs: int = 300  # of SGD and Adam
    iterations: int = 30  # of ANMIN
    lbfgs_steps: int = 60
    line_search_steps: int = 1000
    varpro_steps: int | None = None  # None: the solver's own limit
    simulations: tuple[tuple[int, int], ...] = (
        (1000, 1), (1000, 3), (1000, 10), (10_000, 10), (10_000, 30),
    )  # fmt: skip
    growth: int = 20_000  # rows from which the growth of the cost is measured
    landscape: tuple[int, ...] = (0, 2, 6, 14, 29)  # iterations at which a large M is formed


FULL = Size()
QUICK = Size(
    rows=1200, epochs=60, lbfgs_steps=20, line_search_steps=100, varpro_steps=60,
    simulations=((300, 1), (300, 3), (300, 10), (1000, 10), (1000, 30)), growth=2000,
    landscape=(0, 29),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setup:
    """What a method is told beside its rows."""

    size: Size = FULL
    device: str = "cpu"
    sgd_rate: float = nan


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to train and to test on, with what the protocol says about them."""

    data: str
    number: int
    h: int
    batch: int
    X: Array  # (n, d)
    y: Array  # (n,) or (n, q)
    X_test: Array
    y_test: Array

    @property
    def Y(self) -> Array:
        return self.y.reshape(len(self.y), -1)

    @property
    def Y_test(self) -> Array:
        return self.y_test.reshape(len(self.y_test), -1)

    def start(self) -> Array:
        """The first A of ANMIN: standard normal, (d + 1, h)."""
        return np.random.RandomState(self.number).standard_normal((self.X.shape[1] + 1, self.h))

    def spread(self) -> tuple[float, float]:
        """Mean squares of the train and test targets about the mean of the *train* targets."""
        centre = self.Y.mean(0)
        return float(((self.Y - centre) ** 2).mean()), float(((self.Y_test - centre) ** 2).mean())


def load_split(data: str, number: int, size: Size = FULL) -> Split:
    """One split of one set; the same name and number always give the same rows.

    >>> split = load_split("sin-n100-d3", 0)
    >>> split.X.shape, split.y_test.shape
    ((100, 3), (100,))
    """
    if match := re.fullmatch(r"(?:sin|growth)-n(\d+)-d(\d+)(?:-h(\d+))?", data):
        n, d, h = (int(group or 64) for group in match.groups())
        X, y = datasets.make_sin(2 * n, d, random_state=number, return_X_y=True)
        return Split(data, number, h, 256, X[:n], y[:n], X[n:], y[n:])
    X, y = standardised_rows(data, size.rows)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=number)
    return Split(data, number, DATA[data].h, DATA[data].batch, X, y, X_test, y_test)


@lru_cache(maxsize=len(DATA))
def standardised_rows(data: str, most: int | None) -> Rows:
    """All rows of a set, or some drawn at random: X standardised, y centred."""
    X, y = LOADERS[data]()
    if most is not None and most < len(X):
        some = np.random.RandomState(0).permutation(len(X))[:most]
        X, y = X[some], y[some]
    deviation = X.std(0, ddof=1)
    return (X - X.mean(0)) / np.where(deviation > 0, deviation, 1.0), y - y.mean(0)


def simulated_names(size: Size) -> list[str]:
    """The simulated sets of the paper, smallest first.

    >>> simulated_names(FULL)[-1]
    'sin-n10000-d30'
    """
    return [f"sin-n{n}-d{d}" for n, d in size.simulations]


def title(data: str) -> str:
    """What a reader calls a set.

    >>> title("bike"), title("sin-n1000-d3")
    ('Bike-sharing', 'N = 1,000, d = 3')
    """
    if data in DATA:
        return DATA[data].title
    n, d = map(int, re.findall(r"\d+", data)[:2])
    return f"N = {n:,}, d = {d}"
