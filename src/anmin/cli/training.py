"""The work of `anmin fit`: split, fit, test, fit again on all rows, remember how.

The test rows are taken out before anything is fitted. By default the model is then fitted once more
on all rows, from the tested network (with `lam="auto"` from others too), and that one is saved: it
has seen more, and the test error is an honest, slightly high estimate of its error. Both fits share
`max_time`.
"""

import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split

from anmin.cli.app import InputError, interruptible, note
from anmin.cli.columns import choose_inputs, require_columns
from anmin.cli.measures import LabelledRows, errors
from anmin.cli.progress import FitProgress
from anmin.cli.schema import FitSummary, Schema
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


def take_apart(sheet: Sheet, roles: Roles) -> tuple[Schema, LabelledRows]:
    """Inputs, targets and weights of a table, or an error that names what is wrong."""
    columns = sheet.columns
    if not roles.targets:
        choice = quoted(columns, 30)
        raise InputError(f"which column is to be predicted? --target NAME, of {choice}")
    if roles.classify and len(roles.targets) > 1:
        raise InputError(f"--classify predicts one target; got {quoted(roles.targets)}")
    if len(set(roles.targets)) < len(roles.targets):
        raise InputError(f"--target names a column twice: {quoted(roles.targets)}")
    weight = [] if roles.weight is None else [roles.weight]
    options = (("target", roles.targets), ("features", roles.features), ("drop", roles.drop))
    for option, names in (*options, ("weight", weight)):
        require_columns(sheet, names, f"--{option}")
    taken = {*roles.targets, *roles.drop, *weight}
    names = [name for name in roles.features or columns if name not in taken]
    inputs = choose_inputs(sheet, names, roles.one_hot)
    schema = Schema(inputs, tuple(roles.targets), roles.weight)
    return schema, schema.labelled_rows(sheet, roles.classify)


def train(
    model: "BaseANMIN", schema: Schema, rows: LabelledRows, data: str, test_size: float, refit: bool
) -> tuple["BaseANMIN", FitSummary]:
    """Fit, test on rows held out, and fit again on all rows if that is wanted."""
    started = perf_counter()
    kept, held_out = split(model, rows, test_size)
    again = refit and len(held_out.y) > 0
    with interruptible() as interrupts, FitProgress() as progress:
        tested = clone(model)
        if again and model.max_time is not None:
            tested.max_time = model.max_time / 2
        warned = fit(tested, schema, kept, progress)
        chosen, seen = tested, kept
        if again and not interrupts:
            final = deepcopy(tested).set_params(warm_start=True)  # no worse a start than it had
            warned += fit(final, schema, rows, progress)
            if not interrupts:  # else the tested model is the better one
                final.set_params(max_time=model.max_time, warm_start=model.warm_start)
                chosen, seen = final, rows
        train_errors = errors(chosen, seen, schema.targets)
        test_errors = errors(tested, held_out, schema.targets) if len(held_out.y) else {}
    for message in dict.fromkeys(warned):
        note(message)
    seconds = round(perf_counter() - started, 3)
    return chosen, FitSummary(
        data, len(kept.y), len(held_out.y), chosen is not tested, bool(interrupts), seconds,
        train_errors, test_errors,
    )  # fmt: skip


def split(
    model: "BaseANMIN", rows: LabelledRows, test_size: float
) -> tuple[LabelledRows, LabelledRows]:
    """Rows to fit on, and rows to test on: none if `test_size` is 0."""
    n = len(rows.y)
    if test_size == 0:
        return rows, rows.part(np.arange(0))
    if not 1.5 <= n * test_size <= n - 2:
        raise InputError(
            f"{n} rows are too few to hold out a share of {test_size:g} for testing; "
            "--test-size 0 fits on all of them, without a test"
        )
    draw = partial(
        train_test_split, np.arange(n), test_size=test_size, random_state=model.random_state
    )
    try:
        kept, held_out = draw(stratify=rows.y if is_classifier(model) else None)
    except ValueError:  # a class is too rare to be in both parts
        kept, held_out = draw()
    return rows.part(kept), rows.part(held_out)


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
