"""How a regressor predicts intervals, of either kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from anmin import checks
from anmin.conformal import Distances
from anmin.sources import is_source


class IntervalsMixin:
    """Standard deviations and intervals of a regressor that was fitted for them."""

    _distances: Distances | None
    _one_dimensional: bool
    _network: Any
    _inputs: Any
    _outputs: Any
    _responses: Any

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends of intervals that hold a new observation with this probability.

        The model must have been fitted with intervals="conformal", which holds whatever the noise
        is, on average over rows; or with intervals=True, which takes it for Gaussian.

        >>> import numpy as np
        >>> from anmin import ANMINRegressor
        >>> x = np.linspace(-1, 1, 200)[:, None]
        >>> model = ANMINRegressor(4, intervals="conformal", random_state=0).fit(x, abs(x).ravel())
        >>> low, high = model.predict_interval([[0.5]])
        >>> bool(low[0] <= 0.5 <= high[0])
        True
        """
        distances = getattr(self, "_distances", None)
        coverage = checks.real_number("coverage", coverage, least=0.0, below=1.0)
        if distances is None:
            mean, std = self._predict_with_std(X, 'intervals="conformal" or intervals=True')
            z = float(norm.ppf((1 + coverage) / 2))
            return mean - z * std, mean + z * std
        ends = distances.interval(self._responses(self._outputs(self._inputs(X))), coverage)
        flat = distances.values.shape[1] == 1
        return (ends[0][:, 0], ends[1][:, 0]) if flat else ends

    def _predict_with_std(
        self, X: Any, needed: str = "intervals=True"
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        if is_source(X):
            raise ValueError("Intervals need X in memory; predict a part at a time.")
        X, intervals = self._inputs(X), getattr(self, "_intervals", None)
        if intervals is None:
            raise ValueError(f"Intervals need a model that was fitted with {needed}.")
        both = self._outputs(X), intervals.std(self._network, X)
        return (both[0][:, 0], both[1][:, 0]) if self._one_dimensional else both
