"""The work of `anmin fit`: split, fit, test, fit again on all rows, remember how.

The test rows are taken out before anything is fitted. By default the model is then fitted once more
on all rows, in the same way (with a `lam` from the tested network), and that one is saved: it has
seen more, and the test error is an honest, slightly high estimate of its error. Both fits share
`max_time`.
"""

import warnings
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split

from anmin import ANMINClassifier, ANMINRegressor
from anmin.cli.app import InputError, interruptible, note
from anmin.cli.measures import errors
from anmin.cli.progress import FitProgress
from anmin.cli.rivals import rival_errors
from anmin.cli.roles import LabelledRows, Roles, assign, require_columns
from anmin.cli.schema import FitSummary, Schema, fewest, prints_of, ranges_of
from anmin.cli.streaming import in_memory, on_made_inputs, open_rows, split_rows, too_large
from anmin.cli.tables import STDIN, read
from anmin.cli.texts import Reading
from anmin.engine import listening
from anmin.sources import RawSource

if TYPE_CHECKING:
    from anmin.base import BaseANMIN

LAYERS = 100  # of rows of about equal y, when rows are held out
UNUSABLE = (ValueError, ImportError, ArithmeticError, RuntimeError)  # settings or rows


def fit_table(
    data: str, roles: Roles, reading: Reading, settings: dict[str, Any], test: tuple[float, bool]
) -> tuple["BaseANMIN", FitSummary]:
    """Fit to a table, in memory or in a stream; `test`: share held out, whether to refit."""
    if data != STDIN and too_large(data):
        source, rows = open_rows(data, roles)
        schema = Schema.for_rows(rows, roles, Reading())
        found = train_stream(build(False, settings), schema, source, Path(data).name, test[0])
    else:
        sheet = read(data, reading)
        require_columns(sheet, [*reading.kinds], "--text")
        rows, classes = assign(sheet, roles)
        if classes and settings["intervals"]:
            raise InputError(f"--intervals goes with numbers, and {roles.targets[0]!r} is a class")
        how = replace(reading, decimal=reading.decimal or sheet.decimal)
        schema = Schema.for_rows(rows, roles, how)
        found = train(build(classes, settings), schema, rows, sheet.name, *test)
    model, summary = found
    model.extra_ = replace(schema, summary=summary).as_extra()
    return model, summary


def build(classify: bool, settings: dict[str, Any]) -> "BaseANMIN":
    """The estimator; a setting that was not given has its default."""
    given = {name: value for name, value in settings.items() if value is not None}
    if given.get("max_time", 0) < 0:
        raise InputError(f"max_time must be 0 or more seconds; got {given['max_time']:g}")
    return (ANMINClassifier if classify else ANMINRegressor)(**given)


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
        warned = fit(tested, kept, progress)
        chosen, seen = tested, kept
        if again and not interrupts:
            # No worse a start than it had; but with "auto" the plan of the tested fit, all of it.
            final = deepcopy(tested).set_params(warm_start=model.lam != "auto")
            warned += fit(final, rows, progress)
            if not interrupts:  # else the tested model is the better one
                final.set_params(max_time=model.max_time, warm_start=model.warm_start)
                chosen, seen = final, rows
        train_errors = errors(chosen, seen, schema.targets)
        test_errors = errors(tested, held_out, schema.targets) if len(held_out.y) else {}
        seconds = round(perf_counter() - started, 3)
        rivals = {}
        if test_errors and not interrupts:
            progress.begin("fitting simple models, to compare")
            rivals = rival_errors(tested, kept, held_out, schema.targets)
    for message in dict.fromkeys(warned):
        note(message)
    return chosen, FitSummary(
        data, len(kept.y), len(held_out.y), chosen is not tested, bool(interrupts), seconds,
        train_errors, test_errors, rivals, ranges_of(seen.X), fewest(prints_of(seen)),
    )  # fmt: skip


def train_stream(
    model: "BaseANMIN", schema: Schema, source: RawSource, data: str, test_size: float
) -> tuple["BaseANMIN", FitSummary]:
    """Fit to a table larger than memory, and test on rows held out."""
    started = perf_counter()
    source.fit_columns("from_dtype")
    kept, held_out = split_rows(source, test_size) if test_size else (source, None)
    with interruptible() as interrupts, FitProgress() as progress:
        warned = fit(model, kept, progress)
        seconds, plain, rivals, test = perf_counter() - started, on_made_inputs(model), {}, {}
        some = in_memory(kept, plain)
        judged = None if held_out is None else in_memory(held_out, plain)
        if judged is not None:
            test = errors(plain, judged, schema.targets)
            progress.begin("fitting simple models, to compare")
            rivals = {} if interrupts else rival_errors(plain, some, judged, schema.targets)
    skipped = getattr(model, "n_skipped_", 0)
    warned += [f"{skipped:,} rows with gaps were left out"] if skipped else []
    for message in dict.fromkeys(warned):
        note(message)
    return model, FitSummary(
        data, kept.tally()[0], 0 if judged is None else len(judged.y), False, bool(interrupts),
        round(seconds, 3), errors(plain, some, schema.targets), test, rivals, ranges_of(some.X),
    )  # fmt: skip


def split(
    model: "BaseANMIN", rows: LabelledRows, test_size: float
) -> tuple[LabelledRows, LabelledRows]:
    """Rows to fit on, and rows to test on: none if `test_size` is 0.

    They are the same whatever the seed of the fit, so that fits can be compared.
    """
    n = len(rows.y)
    if test_size == 0:
        return rows, rows.part(np.arange(0))
    if not 1.5 <= n * test_size <= n - 2:
        raise InputError(
            f"{n} rows are too few to hold out a share of {test_size:g} for testing; "
            "--test-size 0 fits on all of them, without a test"
        )
    draw = partial(train_test_split, np.arange(n), test_size=test_size, random_state=0)
    alike = rows.y if is_classifier(model) else layers(rows.y, test_size)
    try:
        kept, held_out = draw(stratify=alike)
    except ValueError:  # a class is too rare to be in both parts
        kept, held_out = draw()
    return rows.part(kept), rows.part(held_out)


def layers(y: np.ndarray, test_size: float) -> np.ndarray:
    """Rows of about equal y, numbered layer by layer; of each the same share is held out.

    A test error then depends less on which rows it is of: few rows far up are often most of it.
    """
    first = y.reshape(len(y), -1)[:, 0]
    count = int(min(LAYERS, len(y) * min(test_size, 1 - test_size) // 2))
    return np.argsort(np.argsort(first, kind="stable")) * max(count, 1) // len(y)


def fit(model: "BaseANMIN", rows: LabelledRows | RawSource, progress: FitProgress) -> list[str]:
    """Fit, shown on standard error, and return what the fit warned of."""
    given: Any = (rows,) if isinstance(rows, RawSource) else (rows.X, rows.y, rows.weight)
    n = rows.tally()[0] if isinstance(rows, RawSource) else len(rows.y)
    progress.begin(f"fitting {n:,} rows", squares=not is_classifier(model))
    with warnings.catch_warnings(record=True) as caught, listening(progress.hear):
        warnings.simplefilter("always")
        try:
            model.fit(*given)
        except UNUSABLE as error:
            raise InputError(str(error)) from error
    return [str(entry.message) for entry in caught]
