"""Numbers about a fitted model, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier

from anmin.plotting import outputs

if TYPE_CHECKING:
    from anmin.cli.roles import LabelledRows

LABELS = {
    "mse": "MSE", "rmse": "RMSE", "mae": "MAE", "r2": "R²", "accuracy": "accuracy",
    "log_loss": "log-loss", "inputs": "inputs", "hidden": "hidden units", "outputs": "outputs",
    "parameters": "parameters", "multiply_adds": "multiply-adds a row", "edge": "edge",
}  # fmt: skip

CLEAR = 2.0  # standard errors

Errors = dict[str, dict[str, float]]  # target → name → error


def errors(model: Any, rows: LabelledRows, targets: Sequence[str] = ("y",)) -> Errors:
    """Errors on given rows, for each target.

    Regression: mean squared error, its root, mean absolute error, R². Classification: accuracy and
    log-loss.

    >>> import numpy as np, pandas as pd
    >>> from anmin import ANMINRegressor
    >>> from anmin.cli.roles import LabelledRows
    >>> x = pd.DataFrame({"x": np.linspace(-1, 1, 60)})
    >>> model = ANMINRegressor(n_hidden=4, random_state=0).fit(x, x["x"])
    >>> errors(model, LabelledRows(x, x["x"].to_numpy()))["y"]["mse"] < 1e-3
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


def row_losses(model: Any, rows: LabelledRows) -> np.ndarray:
    """For each row and target the squared error, or minus the logarithm of the class's share."""
    said = outputs(model, rows.X)
    if not is_classifier(model):
        return (said - rows.y.reshape(len(said), -1)) ** 2
    place = np.searchsorted(model.classes_, rows.y).clip(max=len(model.classes_) - 1)
    right = np.where(model.classes_[place] == rows.y, said[np.arange(len(said)), place], 0.0)
    return -np.log(np.maximum(right, 1e-15))[:, None]


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
            errors = {name: value for name, value in found.items() if name != "mse"} or found
            values = ", ".join(f"{LABELS[name]} {shown(name, v)}" for name, v in errors.items())
            lines.append(f"{target}, {rows}: {values}")
    return lines


def judged_by(found: Mapping[str, float]) -> str:
    """The error that a verdict is about: for numbers the RMSE, for classes the log-loss."""
    return next((name for name in ("rmse", "log_loss") if name in found), next(iter(found)))


def verdict(target: str, ours: Mapping[str, float], rivals: Mapping[str, Errors]) -> str:
    """How good a model is, in words: beside no model at all, and beside simple ones.

    >>> rivals = {"the mean": {"y": {"rmse": 2.0}}, "ridge": {"y": {"rmse": 1.25, "edge": 3.0}}}
    >>> verdict("y", {"rmse": 1.0}, rivals)
    'The error is 50 % below that of the mean; clearly better than ridge (by 20 %).'
    """
    name = judged_by(ours)
    found = {who: each[target] for who, each in rivals.items() if name in each.get(target, {})}
    if not found:
        return ""
    (nothing, least), *others = found.items()
    share = ours[name] / least[name] if least[name] > 0 else 1.0
    change = percent(abs(1 - share)) if share > 0.01 else "more than 99 %"
    parts = [f"The error is {change} {'below' if share <= 1 else 'above'} that of {nothing}"]
    words: dict[str, list[str]] = {}
    for who, theirs in others:
        edge, ratio = theirs.get("edge", 0.0), ours[name] / max(theirs[name], 1e-300)
        by = f" (by {percent(abs(1 - ratio))})"
        if abs(edge) < CLEAR:
            words.setdefault("no clear difference from", []).append(who)
        else:
            words.setdefault(f"clearly {'better' if edge > 0 else 'worse'} than", []).append(
                who + by
            )
    parts += [f"{what} {' and '.join(who)}" for what, who in words.items()]
    return "; ".join(parts) + "."


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def comparison(target: str, ours: Mapping[str, float], rivals: Mapping[str, Errors]) -> str:
    """The error beside those of simple models, in one line."""
    name = judged_by(ours)
    theirs = [
        f"{who} {number(each[target][name])}"
        for who, each in rivals.items()
        if name in each.get(target, {})
    ]
    return f"{LABELS[name]} {number(ours[name])}" + (f"; {', '.join(theirs)}" if theirs else "")


def number(value: float) -> str:
    """A number for a reader.

    >>> number(12345), number(0.6), number(0.000123456), number(float("nan"))
    ('12,345', '0.6000', '0.0001235', '–')
    """
    if isinstance(value, (int, np.integer)) or 1e3 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:#.4g}" if np.isfinite(value) else "–"


def shown(name: str, value: float) -> str:
    """An error for a reader; shares have four places.

    >>> shown("r2", -3e-7), shown("rmse", 12345.6)
    ('0.0000', '12,346')
    """
    if name in ("r2", "accuracy") and abs(value) < 10:
        return f"{value + 0.0:.4f}".replace("-0.0000", "0.0000")
    return number(value)
