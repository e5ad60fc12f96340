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
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from anmin import ANMINClassifier, ANMINRegressor
from anmin.cli.app import InputError, note
from anmin.cli.columns import choose_inputs, numbers
from anmin.cli.facts import Facts, require_columns, target_values
from anmin.cli.progress import FitProgress, noting_interrupts, watching
from anmin.cli.tables import Sheet, quoted
from anmin.html.measures import Errors, errors
from anmin.html.page import prediction_cost


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
class Training:
    """A training table, taken apart."""

    facts: Facts
    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None = None

    def rows(self, chosen: np.ndarray) -> "Training":
        weight = None if self.weight is None else self.weight[chosen]
        return Training(self.facts, self.X.iloc[chosen], self.y[chosen], weight)

    def errors_of(self, model: Any) -> Errors:
        return errors(model, self.X.to_numpy(), self.y, self.weight, self.facts.targets)


@dataclass(slots=True)
class Outcome:
    """The model to save and what is known about it."""

    model: Any
    train: Errors
    test: Errors = field(default_factory=dict)
    rows_train: int = 0
    rows_test: int = 0
    refitted: bool = False
    interrupted: bool = False
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """The summary, ready for JSON."""
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


def take_apart(sheet: Sheet, roles: Roles) -> Training:
    """Inputs, targets and weights of a table, or an error that names what is wrong."""
    names = sheet.columns
    if not sheet.header:
        note(f"{sheet.name} has no header: its columns are x0 … x{len(names) - 1}")
    if not roles.targets:
        raise InputError(f"which column is to be predicted? --target NAME, of {quoted(names, 30)}")
    if roles.classify and len(roles.targets) > 1:
        raise InputError(f"--classify predicts one target; got {quoted(roles.targets)}")
    require_columns(sheet, roles.targets, "--target")
    if len(set(roles.targets)) < len(roles.targets):
        raise InputError(f"--target names a column twice: {quoted(roles.targets)}")
    require_columns(sheet, roles.features, "--features")
    require_columns(sheet, roles.drop, "--drop")
    taken = {*roles.targets, *roles.drop}
    weight = None
    if roles.weight is not None:
        require_columns(sheet, [roles.weight], "--weight")
        weight = numbers(sheet, [roles.weight])[:, 0]
        taken.add(roles.weight)
    chosen = [name for name in roles.features or names if name not in taken]
    y = target_values(sheet, roles.targets, roles.classify)
    inputs = choose_inputs(sheet, chosen, roles.one_hot)
    facts = Facts(inputs, tuple(roles.targets), tuple(names), sheet.header, roles.weight)
    return Training(facts, inputs.encode(sheet), y, weight)


def build(classify: bool, settings: dict[str, Any]) -> Any:
    """The estimator; a setting that was not given has its default."""
    given = {name: value for name, value in settings.items() if value is not None}
    return (ANMINClassifier if classify else ANMINRegressor)(**given)


def train(model: Any, data: Training, test_size: float, refit: bool) -> Outcome:
    """Fit, test on rows held out, and fit again on all rows if that is wanted."""
    started = perf_counter()
    kept, held_out = split(model, data, test_size)
    again = refit and held_out is not None
    with FitProgress() as progress, noting_interrupts() as interrupts:
        tested = clone(model)
        if again and model.max_time is not None:
            tested.max_time = model.max_time / 2
        warned = fit(tested, kept, progress)
        outcome = Outcome(tested, kept.errors_of(tested), rows_train=len(kept.y))
        if held_out is not None:
            outcome.rows_test = len(held_out.y)
            outcome.test = held_out.errors_of(tested)
        if again and not interrupts:
            final = deepcopy(tested).set_params(warm_start=True)  # no worse a start than it had
            warned += fit(final, data, progress)
            if not interrupts:  # else the tested model is the better one
                outcome.model, outcome.refitted = final, True
                outcome.train = data.errors_of(final)
                final.set_params(max_time=model.max_time, warm_start=model.warm_start)
        outcome.interrupted = bool(interrupts)
    outcome.seconds = perf_counter() - started
    for message in dict.fromkeys(warned):
        note(message)
    return outcome


def split(model: Any, data: Training, test_size: float) -> tuple[Training, Training | None]:
    """Rows to fit on, and rows to test on unless `test_size` is 0."""
    if test_size == 0:
        return data, None
    n = len(data.y)
    if round(n * test_size) < 2 or n - round(n * test_size) < 2:
        raise InputError(
            f"{n} rows are too few to hold out a share of {test_size:g} for testing; "
            "--test-size 0 fits on all of them, without a test"
        )
    even = (
        data.y if isinstance(model, ANMINClassifier) and can_stratify(data.y, test_size) else None
    )
    rows = train_test_split(
        np.arange(n), test_size=test_size, random_state=model.random_state, stratify=even
    )
    kept, held_out = (data.rows(part) for part in rows)
    return kept, held_out


def can_stratify(y: np.ndarray, test_size: float) -> bool:
    """Whether each class is frequent enough for its share to be held out."""
    counts = np.unique(y, return_counts=True)[1]
    room = len(y) * min(test_size, 1 - test_size)
    return bool(counts.min() >= 2 and room >= len(counts) + 1)


def fit(model: Any, data: Training, progress: FitProgress) -> list[str]:
    """Fit, shown on standard error, and return what the fit warned of."""
    progress.name(f"fitting {len(data.y):,} rows")
    with warnings.catch_warnings(record=True) as caught, watching(model, progress):
        warnings.simplefilter("always")
        try:
            model.fit(data.X, data.y, sample_weight=data.weight)
        except (ValueError, ImportError) as error:
            raise InputError(str(error)) from error
    return [str(entry.message) for entry in caught]
