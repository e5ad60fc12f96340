"""The data of the benchmarks: one name and one seed give one train/test split.

    sdf abalone bike dae dae-clean   the paper's files, from ANMIN_DATA or the cache (`paper.data`)
    shape                            the signed distance of a shape drawn in code
    sin-n1000-d3                     x ~ N(0, I), y = sin |x|^2: N rows to train, N to test
    teacher-n100000-d10-h64          a random network of h units, and noise
    noise-n200-d30, sinc-n20, …      formulas, see `synthetic.py`
    any other name                   NAME.npz (X, y, test_mask) in ANMIN_TABULAR; seed = fold
    NAME:2                           the split of seed or fold 2, whatever the seed

The paper's protocol: X standardised over all rows (sample deviation), y centred, 80 % to train.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from anmin.datasets import make_sin
from benchmarks.synthetic import synthetic
from paper.data import CASES, load_rows

Array = np.ndarray
PAPER = ("sdf", "abalone", "bike", "dae", "dae-clean")
SIMULATED = ("sin-n1000-d1", "sin-n1000-d3", "sin-n1000-d10", "sin-n10000-d10", "sin-n10000-d30")
NOISE_TEACHER = 0.5  # of the noise on the teacher's output, whose own deviation is 1


@dataclass(frozen=True)
class Split:
    """Rows to train and to test on, and the number of hidden units that the case calls for."""

    case: str
    seed: int
    h: int
    X: Array  # (n, d)
    y: Array  # (n,) or (n, q)
    X_test: Array
    y_test: Array
    scaled: bool  # X is standardised already
    batch: int = 256  # rows of a batch of SGD and Adam

    @property
    def Y(self) -> Array:
        return self.y.reshape(len(self.y), -1)

    @property
    def Y_test(self) -> Array:
        return self.y_test.reshape(len(self.y_test), -1)

    def standardize(self, rows: Array) -> Array:
        """The rows on the scale of the training rows; unchanged where the case did it."""
        if self.scaled:
            return rows
        deviation = self.X.std(0)
        return (rows - self.X.mean(0)) / np.where(deviation > 0, deviation, 1.0)

    def start(self) -> Array:
        """The first A of every method that starts from one: standard normal, (d+1, h)."""
        return np.random.RandomState(self.seed).standard_normal((self.X.shape[1] + 1, self.h))


def load(case: str, seed: int, rows: int | None = None) -> Split:
    """The split of a case; the same name and seed always give the same rows.

    Of the paper's sets `rows` rows at most are taken, drawn at random.
    """
    name, _, fold = case.partition(":")
    if fold:
        return replace(load(name, int(fold), rows), case=case, seed=seed)
    if found := synthetic(case, seed):
        return found
    if case in CASES:
        return _paper(case, seed, rows)
    if match := re.fullmatch(r"(?:sin|growth)-n(\d+)-d(\d+)(?:-h(\d+))?", case):
        return _simulated(case, seed, *(int(group or 64) for group in match.groups()))
    if match := re.fullmatch(r"teacher-n(\d+)-d(\d+)-h(\d+)", case):
        return _teacher(case, seed, *map(int, match.groups()))
    return _tabular(case, seed)


def tabular_names() -> list[str]:
    """The sets in the folder ANMIN_TABULAR, by name."""
    return sorted(path.stem for path in folder("ANMIN_TABULAR", "NAME.npz files").glob("*.npz"))


def folder(variable: str, content: str) -> Path:
    """The folder that a variable of the environment names."""
    where = os.environ.get(variable)
    if not where:
        raise FileNotFoundError(f"Set {variable} to the folder with {content}; it is not set.")
    if not Path(where).is_dir():
        raise FileNotFoundError(f"{variable}={where} is not a folder; it must hold {content}.")
    return Path(where)


@lru_cache(maxsize=len(CASES))
def paper_rows(case: str, most: int | None) -> tuple[Array, Array]:
    """All rows of one of the paper's sets, or some of them: X standardised, y centred."""
    X, y = load_rows(case, download_if_missing=False)
    if most is not None and most < len(X):
        some = np.random.RandomState(0).permutation(len(X))[:most]
        X, y = X[some], y[some]
    deviation = X.std(0, ddof=1)
    return (X - X.mean(0)) / np.where(deviation > 0, deviation, 1.0), y - y.mean(0)


def _paper(case: str, seed: int, most: int | None) -> Split:
    X, y = paper_rows(case, most)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
    sizes = CASES[case]
    return Split(case, seed, sizes.h, X, y, X_test, y_test, scaled=True, batch=sizes.batch)


def _simulated(case: str, seed: int, n: int, d: int, h: int) -> Split:
    X, y = make_sin(2 * n, d, random_state=seed)
    return Split(case, seed, h, X[:n], y[:n], X[n:], y[n:], scaled=True)


def _teacher(case: str, seed: int, n: int, d: int, h: int) -> Split:
    """y = f(x) / std(f) + noise, f a random network of h units; a tenth more rows to test."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n + n // 10, d))
    W, bias, B = rng.standard_normal((d, h)), rng.standard_normal(h), rng.standard_normal(h)
    f = np.maximum(X @ W / np.sqrt(d) + bias, 0) @ B
    y = (f - f.mean()) / f.std() + NOISE_TEACHER * rng.standard_normal(len(f))
    return Split(case, seed, h, X[:n], y[:n], X[n:], y[n:], scaled=True)


def _tabular(name: str, fold: int) -> Split:
    path = folder("ANMIN_TABULAR", "NAME.npz files") / f"{name}.npz"
    if not path.is_file():
        known = ", ".join((*CASES, *SIMULATED, "teacher-nN-dD-hH", *tabular_names()))
        raise ValueError(f"There is no case {name!r}; known are {known}.")
    with np.load(path) as table:
        X, y, test = table["X"], table["y"].ravel(), table["test_mask"][:, fold]
    return Split(name, fold, 64, X[~test], y[~test], X[test], y[test], scaled=False)
