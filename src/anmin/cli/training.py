"""The work of `anmin fit`: split, fit, test, fit again on all rows, remember how.

The test rows are taken out before anything is fitted. By default the model is then fitted once more
on all rows, from the tested network (with `lam="auto"` from others too), and that one is saved: it
has seen more, and the test error is an honest, slightly high estimate of its error. Both fits share
`max_time`.
"""

import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split

from anmin.cli.app import InputError, interruptible, note
from anmin.cli.columns import choose_inputs, numbers, require_columns, target_values
from anmin.cli.measures import Errors, LabelledRows, errors, prediction_cost
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


@dataclass(slots=True)
class TrainedModel:
    """The model to save and what is known about it."""

    model: "BaseANMIN"
    train: Errors
    test: Errors = field(default_factory=dict)
    rows_train: int = 0
    rows_test: int = 0
    refitted_on_all_rows: bool = False
    interrupted: bool = False
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        model = self.model
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "model"} | {
            "estimator": type(model).__name__,
            "lam": float(model.lam_ or 0.0),
            "iterations": int(model.n_iter_),
            **prediction_cost(model),
        }


def take_apart(sheet: Sheet, roles: Roles) -> tuple[Schema, LabelledRows]:
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
    return schema, LabelledRows(inputs.encode(sheet).to_numpy(), y, weight)


def train(
    model: "BaseANMIN", schema: Schema, rows: LabelledRows, test_size: float, refit: bool
) -> TrainedModel:
    """Fit, test on rows held out, and fit again on all rows if that is wanted."""
    started = perf_counter()
    kept, held_out = split(model, rows, test_size)
    again = refit and held_out is not None
    with interruptible() as interrupts, FitProgress() as progress:
        tested = clone(model)
        if again and model.max_time is not None:
            tested.max_time = model.max_time / 2
        warned = fit(tested, schema, kept, progress)
        trained = TrainedModel(tested, errors(tested, kept, schema.targets), rows_train=len(kept.y))
        if held_out is not None:
            trained.rows_test = len(held_out.y)
            trained.test = errors(tested, held_out, schema.targets)
        if again and not interrupts:
            final = deepcopy(tested).set_params(warm_start=True)  # no worse a start than it had
            warned += fit(final, schema, rows, progress)
            if not interrupts:  # else the tested model is the better one
                trained.model, trained.refitted_on_all_rows = final, True
                trained.train = errors(final, rows, schema.targets)
                final.set_params(max_time=model.max_time, warm_start=model.warm_start)
        trained.interrupted = bool(interrupts)
    trained.seconds = round(perf_counter() - started, 3)
    for message in dict.fromkeys(warned):
        note(message)
    return trained


def split(
    model: "BaseANMIN", rows: LabelledRows, test_size: float
) -> tuple[LabelledRows, LabelledRows | None]:
    """Rows to fit on, and rows to test on unless `test_size` is 0."""
    if test_size == 0:
        return rows, None
    n = len(rows.y)
    if not 1.5 <= n * test_size <= n - 2:
        raise InputError(
            f"{n} rows are too few to hold out a share of {test_size:g} for testing; "
            "--test-size 0 fits on all of them, without a test"
        )
    even = rows.y if is_classifier(model) and can_stratify(rows.y, test_size) else None
    kept, held_out = train_test_split(
        np.arange(n), test_size=test_size, random_state=model.random_state, stratify=even
    )
    return rows.part(kept), rows.part(held_out)


def can_stratify(y: np.ndarray, test_size: float) -> bool:
    """Whether each class is frequent enough for its share to be held out."""
    counts = np.unique(y, return_counts=True)[1]
    room = len(y) * min(test_size, 1 - test_size)
    return bool(counts.min() >= 2 and room >= len(counts) + 1)


def fit(model: "BaseANMIN", schema: Schema, rows: LabelledRows, progress: FitProgress) -> list[str]:
    """Fit, shown on standard error, and return what the fit warned of."""
    progress.begin(f"fitting {len(rows.y):,} rows")
    X = pd.DataFrame(rows.X, columns=schema.inputs.encoded)
    with warnings.catch_warnings(record=True) as caught, listening(progress.hear):
        warnings.simplefilter("always")
        try:
            model.fit(X, rows.y, sample_weight=rows.weight)
        except UNUSABLE as error:
            raise InputError(str(error)) from error
    return [str(entry.message) for entry in caught]
