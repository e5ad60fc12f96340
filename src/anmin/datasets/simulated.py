"""Data drawn from a formula: y = sin ‖x‖², the paper's simulation.

x ~ N(0, I) in d dimensions, so ‖x‖² has mean d and deviation √(2d): the waves are ever narrower
against the spread of the points, and the function ever harder to learn, as d grows.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

NOTES = "x ~ N(0, I), y = sin |x|^2, without noise: the paper's simulation."


def make_sin(
    n_samples: int = 1000,
    n_features: int = 3,
    *,
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """Rows of x ~ N(0, I) with y = sin ‖x‖².

    Returns a Bunch with data (n_samples, n_features), target (n_samples,), feature_names and
    DESCR, or (data, target) with return_X_y=True.

    >>> X, y = make_sin(5, 2, random_state=0, return_X_y=True)
    >>> X.shape, y.shape
    ((5, 2), (5,))
    >>> bool((y == np.sin((X**2).sum(axis=1))).all())
    True
    """
    if n_samples < 1 or n_features < 1:
        raise ValueError(
            f"n_samples is {n_samples} and n_features is {n_features}; both must be 1 or more."
        )
    X = check_random_state(random_state).standard_normal((n_samples, n_features))
    y = np.sin((X**2).sum(1))
    names = {"feature_names": [f"x{j}" for j in range(n_features)], "target_names": ["y"]}
    return as_bunch(X, y, return_X_y, names | {"DESCR": NOTES})


def as_bunch(X: NDArray, y: NDArray, return_X_y: bool, facts: Mapping[str, Any]) -> Any:
    """(X, y), or a Bunch of data, target and facts about them, all of them copies."""
    X, y = np.array(X, order="C"), np.array(y, order="C")
    if return_X_y:
        return X, y
    own = {key: list(value) if isinstance(value, list) else value for key, value in facts.items()}
    return Bunch(data=X, target=y, **own)
