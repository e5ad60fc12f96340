"""What every loader returns, as scikit-learn's loaders do."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch


def as_bunch(X: NDArray, y: NDArray, return_X_y: bool, facts: Mapping[str, Any]) -> Any:
    """(X, y), or a Bunch of data, target and facts about them; its arrays and lists are its own."""
    X, y = np.array(X, order="C"), np.array(y, order="C")
    if return_X_y:
        return X, y
    own = {key: list(value) if isinstance(value, list) else value for key, value in facts.items()}
    return Bunch(data=X, target=y, **own)
