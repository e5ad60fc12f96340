"""Numbers about a fitted model, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier

from anmin.plotting import outputs

if TYPE_CHECKING:
    from anmin.base import BaseANMIN

LABELS = {
    "mse": "MSE", "rmse": "RMSE", "mae": "MAE", "r2": "R²", "accuracy": "accuracy",
    "log_loss": "log-loss", "inputs": "inputs", "hidden": "hidden units", "outputs": "outputs",
    "parameters": "parameters", "multiply_adds": "multiply-adds a row",
}  # fmt: skip

Errors = dict[str, dict[str, float]]  # target → name → error


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows to fit or to judge a model: inputs, true targets, and weights if there are any."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None

    def part(self, chosen: np.ndarray) -> LabelledRows:
        weight = None if self.weight is None else self.weight[chosen]
        return LabelledRows(self.X[chosen], self.y[chosen], weight)


def errors(model: BaseANMIN, rows: LabelledRows, targets: Sequence[str] = ("y",)) -> Errors:
    """Errors on given rows, for each target.

    Regression: mean squared error, its root, mean absolute error, R². Classification: accuracy and
    log-loss.

    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(x, x.ravel())
    >>> errors(model, LabelledRows(x, x.ravel()))["y"]["mse"] < 1e-3
    True
    """
    said, y, weight = outputs(model, rows.X), rows.y, rows.weight
    if not is_classifier(model):
        Y = y.reshape(len(y), -1)
        return {t: regression_errors(Y[:, k], said[:, k], weight) for k, t in enumerate(targets)}
    best = model.classes_[said.argmax(axis=1)]
    found = {"accuracy": float(metrics.accuracy_score(y, best, sample_weight=weight))}
    if np.isin(y, model.classes_).all():  # a class never seen in training has no probability
        loss = metrics.log_loss(y, said, labels=model.classes_, sample_weight=weight)
        found["log_loss"] = float(loss)
    return {targets[0]: found}


def regression_errors(y: np.ndarray, said: np.ndarray, w: np.ndarray | None) -> dict[str, float]:
    mse = float(np.average((said - y) ** 2, weights=w))
    spread = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    constant = np.ptp(y) == 0 or spread == 0
    return {
        "mse": mse,
        "rmse": mse**0.5,
        "mae": float(np.average(np.abs(said - y), weights=w)),
        "r2": float(mse == 0) if constant else 1 - mse / spread,
    }


def error_lines(known: Mapping[str, Errors]) -> list[str]:
    """Errors in words: a line for each target and each set of rows."""
    lines = []
    for rows, each in known.items():
        for target, found in each.items():
            values = ", ".join(f"{LABELS[name]} {number(value)}" for name, value in found.items())
            lines.append(f"{target}, {rows}: {values}")
    return lines


def number(value: float) -> str:
    """A number for a reader.

    >>> number(12345), number(0.6), number(0.000123456), number(float("nan"))
    ('12,345', '0.6000', '0.0001235', '–')
    """
    if isinstance(value, (int, np.integer)) or 1e3 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:#.4g}" if np.isfinite(value) else "–"
