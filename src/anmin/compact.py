"""A small network that does what a large one does.

A model of several networks over encoded inputs is a function f that can be asked anywhere and has
no noise. So one small network, on inputs as they are or clipped, is fitted to f, at rows like those
that the model is for, and where these are few for its weights also at rows drawn between them:

    x = x_i + u (x_j − x_i),      u uniform in [0, 1],   x_j one of the nearest rows to x_i,

where inputs of few values take the one or the other, so that no value comes up that is none. Of a
few fits, each taken to its end, the one closest to f at the rows that were given is kept.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from anmin.checks import whole_number
from anmin.encoding import Encoding
from anmin.rows import prediction_matrix
from anmin.solvers.varpro import VarPro
from anmin.sources import counting_rows, is_source

# Held-out rows choose the penalty; all else about the large one's fit does not matter here.
SMALL: dict[str, Any] = {
    "n_networks": 1, "lam": "auto", "init": "random", "connections": None,
    "cv": None, "max_iter": None, "early_stopping": False, "warm_start": False, "checkpoint": None,
    "intervals": False,
}  # fmt: skip
PATIENCE = 4  # relocations in vain
STARTS = 2  # from inputs as they are, and as many from clipped ones
NEIGHBOURS = 8
ENOUGH = 2  # rows for each weight of the hidden layer, from which on none are drawn
FEW = 16  # values up to which an input takes none between them


class Compacts:
    """What every model can be made: small."""

    def compact(self, n_hidden: int, X: Any) -> Self:
        """One network of n_hidden units, without hinges, that does what this model does.

        It is fitted to the outputs of this model at the rows X, and at rows drawn between them
        where they are few. X are rows like those that the model is for, such as the training rows,
        which a model does not keep; they need no y, and more of them are better.

        >>> import numpy as np
        >>> from anmin import ANMINRegressor
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> model = ANMINRegressor(16, random_state=0).fit(X, X[:, 0] ** 2)
        >>> model.compact(4, X).n_hidden_
        4
        """
        if is_source(X):
            raise TypeError("compact needs rows X in memory; some of them will do.")
        h, X = whole_number("n_hidden", n_hidden, least=1), prediction_matrix(self, X)
        if issparse(X):
            raise TypeError("compact draws rows between rows: some of them, as X.toarray().")
        rng = check_random_state(self.random_state)  # type: ignore[attr-defined]
        drawn = between(X, max(ENOUGH * (X.shape[1] + 1) * h - len(X), 0), rng)
        rows, seeds = np.concatenate([X, drawn]), rng.randint(2**31, size=STARTS)
        fits = [one_fit(self, rows, encoding, n_hidden=h, random_state=int(seed))
                for encoding in encodings(self, X) for seed in seeds]  # fmt: skip
        wanted = outputs(self, X)
        return min(fits, key=lambda fit: float(np.mean((outputs(fit, X) - wanted) ** 2)))


def encodings(model: Any, X: np.ndarray) -> list[Encoding | None]:
    """Inputs as they are, and clipped, unless the model has been told to leave them alone."""
    if model.encoding is None or not model.standardize:
        return [None]
    return [None, Encoding.fit(X, None, hinges=0)]


def one_fit(model: Any, X: np.ndarray, encoding: Encoding | None, **wanted: Any) -> Any:
    """A small network fitted to a model at rows X."""
    small = copy(model)  # with what it knows of columns and classes
    small.__dict__.pop("_skl_callbacks", None)
    wanted |= SMALL | {"encoding": encoding, "solver": VarPro(PATIENCE)}
    small.set_params(**{name: wanted[name] for name in wanted if hasattr(small, name)})
    Y, small._loss = outputs(model, X), None  # outputs are fitted, whatever is made of them
    small._fit(counting_rows(X, Y, None), X, Y)
    small._loss, small._distances = model._loss, None
    if extra := getattr(model, "extra_", None):  # what columns are, but not the large one's errors
        small.extra_ = extra | {"summary": {}}
    return small


def outputs(model: Any, X: np.ndarray) -> np.ndarray:
    """Of a model for rows that were checked: (n, q)."""
    return model._outputs(model._scaling.inputs(X))


def between(X: np.ndarray, k: int, rng: np.random.RandomState) -> np.ndarray:
    """k rows, each between a row of X and one of the nearest to it: (k, d).

    >>> import numpy as np
    >>> from anmin.compact import between
    >>> X = np.linspace(0, 1, 50)[:, None] * [1.0, 2.0]
    >>> drawn = between(X, 5, np.random.RandomState(0))
    >>> drawn.shape, np.allclose(drawn[:, 1], 2 * drawn[:, 0])
    ((5, 2), True)
    """
    n, d = X.shape
    near = min(NEIGHBOURS, n - 1)
    if not k or not near:
        return X[:0]
    deviation = X.std(axis=0)
    Z = X / np.where(deviation > 0, deviation, 1.0)
    one = rng.randint(n, size=k)
    rows, place = np.unique(one, return_inverse=True)
    index = NearestNeighbors(n_neighbors=near + 1).fit(Z)
    other = index.kneighbors(Z[rows], return_distance=False)[place, rng.randint(1, near + 1, k)]
    u = np.repeat(rng.uniform(size=(k, 1)), d, axis=1)
    few = [j for j in range(d) if len(np.unique(X[:, j])) <= FEW]
    u[:, few] = rng.uniform(size=(k, len(few))) < u[:, few]
    return X[one] + u * (X[other] - X[one])
