"""The work of `anmin fit`: split, fit, test, fit again on all rows, remember how.

The test rows are taken out before anything is fitted. By default the model is then fitted once more
on all rows, from the tested network (with `lam="auto"` from others too), and that one is saved: it
has seen more, and the test error is an honest, slightly high estimate of its error. Both fits share
`max_time`.
"""

import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split

from anmin.cli.app import InputError, interruptible, note
from anmin.cli.columns import choose_inputs, numbers, require_columns, target_values
from anmin.cli.measures import Errors, errors, prediction_cost
from anmin.cli.progress import FitProgress
from anmin.cli.schema import Schema
from anmin.cli.tables import Sheet, quoted
from anmin.engine import listening

if TYPE_CHECKING:
    from anmin.base import BaseANMIN

UNUSABLE = (ValueError, ImportError, ArithmeticError, RuntimeError)  # settings or rows


@dataclass(frozen=True, slots=True)
class Roles:
    """What the columns of the training table are for."""

    targets: Sequence[str]
    weight: str | None = None
    features: Sequence[str] = ()
    drop: Sequence[str] = ()
    one_hot: bool = False
    classify: bool = False


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """A training table, taken apart."""

    schema: Schema
    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None = None

    def rows(self, chosen: np.ndarray) -> "TrainingRows":
        weight = None if self.weight is None else self.weight[chosen]
        return TrainingRows(self.schema, self.X.iloc[chosen], self.y[chosen], weight)

    def errors_of(self, model: "BaseANMIN") -> Errors:
        return errors(model, self.X.to_numpy(), self.y, self.weight, self.schema.targets)


@dataclass(slots=True)
class TrainedModel:
    """The model to save and what is known about it."""

    model: "BaseANMIN"
    train: Errors
    test: Errors = field(default_factory=dict)
    rows_train: int = 0
    rows_test: int = 0
    refitted: bool = False
    interrupted: bool = False
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "estimator": type(self.model).__name__,
            "rows_train": self.rows_train,
            "rows_test": self.rows_test,
            "refitted_on_all_rows": self.refitted,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "lam": float(self.model.lam_),
            "iterations": int(self.model.n_iter_),
            **prediction_cost(self.model),
            "train": self.train,
            "test": self.test,
        }


def take_apart(sheet: Sheet, roles: Roles) -> TrainingRows:
    """Inputs, targets and weights of a table, or an error that names what is wrong."""
    columns = sheet.columns
    if not sheet.header:
        note(f"{sheet.name} has no header: its columns are x0 … x{len(columns) - 1}")
    if not roles.targets:
        choice = quoted(columns, 30)
        raise InputError(f"which column is to be predicted? --target NAME, of {choice}")
    if roles.classify and len(roles.targets) > 1:
        raise InputError(f"--classify predicts one target; got {quoted(roles.targets)}")
    if len(set(roles.targets)) < len(roles.targets):
        raise InputError(f"--target names a column twice: {quoted(roles.targets)}")
    given = [] if roles.weight is None else [roles.weight]
    asked = {"target": roles.targets, "features": roles.features, "drop": roles.drop}
    for option, chosen in (asked | {"weight": given}).items():
        require_columns(sheet, chosen, f"--{option}")
    taken = {*roles.targets, *roles.drop, *given}
    chosen = [name for name in roles.features or columns if name not in taken]
    y = target_values(sheet, roles.targets, roles.classify)
    weight = numbers(sheet, given)[:, 0] if given else None
    inputs = choose_inputs(sheet, chosen, roles.one_hot)
    schema = Schema(inputs, tuple(roles.targets), tuple(columns), sheet.header, roles.weight)
    return TrainingRows(schema, inputs.encode(sheet), y, weight)


def train(model: "BaseANMIN", data: TrainingRows, test_size: float, refit: bool) -> TrainedModel:
    """Fit, test on rows held out, and fit again on all rows if that is wanted."""
    started = perf_counter()
    kept, held_out = split(model, data, test_size)
    again = refit and held_out is not None
    with interruptible() as interrupts, FitProgress() as progress:
        tested = clone(model)
        if again and model.max_time is not None:
            tested.max_time = model.max_time / 2
        warned = fit(tested, kept, progress)
        trained = TrainedModel(tested, kept.errors_of(tested), rows_train=len(kept.y))
        if held_out is not None:
            trained.rows_test = len(held_out.y)
            trained.test = held_out.errors_of(tested)
        if again and not interrupts:
            final = deepcopy(tested).set_params(warm_start=True)  # no worse a start than it had
            warned += fit(final, data, progress)
            if not interrupts:  # else the tested model is the better one
                trained.model, trained.refitted = final, True
                trained.train = data.errors_of(final)
                final.set_params(max_time=model.max_time, warm_start=model.warm_start)
        trained.interrupted = bool(interrupts)
    trained.seconds = perf_counter() - started
    for message in dict.fromkeys(warned):
        note(message)
    return trained


def split(
    model: "BaseANMIN", data: TrainingRows, test_size: float
) -> tuple[TrainingRows, TrainingRows | None]:
    """Rows to fit on, and rows to test on unless `test_size` is 0."""
    if test_size == 0:
        return data, None
    n = len(data.y)
    if not 1.5 <= n * test_size <= n - 2:
        raise InputError(
            f"{n} rows are too few to hold out a share of {test_size:g} for testing; "
            "--test-size 0 fits on all of them, without a test"
        )
    even = data.y if is_classifier(model) and can_stratify(data.y, test_size) else None
    parts = train_test_split(
        np.arange(n), test_size=test_size, random_state=model.random_state, stratify=even
    )
    kept, held_out = (data.rows(part) for part in parts)
    return kept, held_out


def can_stratify(y: np.ndarray, test_size: float) -> bool:
    """Whether each class is frequent enough for its share to be held out."""
    counts = np.unique(y, return_counts=True)[1]
    room = len(y) * min(test_size, 1 - test_size)
    return bool(counts.min() >= 2 and room >= len(counts) + 1)


def fit(model: "BaseANMIN", data: TrainingRows, progress: FitProgress) -> list[str]:
    """Fit, shown on standard error, and return what the fit warned of."""
    progress.begin(f"fitting {len(data.y):,} rows")
    with warnings.catch_warnings(record=True) as caught, listening(progress.hear):
        warnings.simplefilter("always")
        try:
            model.fit(data.X, data.y, sample_weight=data.weight)
        except UNUSABLE as error:
            raise InputError(str(error)) from error
    return [str(entry.message) for entry in caught]
