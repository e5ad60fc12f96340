"""What simple models make of the same rows: the mean, a straight line, boosted trees.

They are fitted to the rows that the tested network was fitted to, and judged on those held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from anmin.cli.measures import Errors, errors, row_losses
from anmin.cli.roles import LabelledRows
from anmin.cli.useless import is_text

LEVELS = 250  # of a text that boosted trees take
RARE = 5  # rows of a text below which the straight line pools it


def rival_errors(
    model: Any, kept: LabelledRows, held_out: LabelledRows, targets: Sequence[str]
) -> dict[str, Errors]:
    """Errors of each rival on the rows held out, and `edge`: how clearly it is worse than `model`.

    That is the mean of its losses minus the model's, row by row, in standard errors of that mean.
    """
    ours = row_losses(model, held_out)  # (n, targets)
    train, test = frames(kept.X, held_out.X)
    found = {}
    for name, rival in rivals(hasattr(model, "classes_"), len(targets) > 1).items():
        weight = {} if kept.weight is None else {f"{last(rival)}sample_weight": kept.weight}
        with threadpool_limits(1):  # on a busy machine the trees' threads wait for each other
            rival.fit(train, kept.y, **weight)
        rows = LabelledRows(test, held_out.y, held_out.weight)
        found[name] = errors(rival, rows, targets)
        worse = row_losses(rival, rows) - ours
        spread = worse.std(axis=0, ddof=1) / len(worse) ** 0.5
        edge = worse.mean(axis=0) / np.where(spread > 0, spread, np.inf)
        for k, target in enumerate(targets):
            found[name][target]["edge"] = float(edge[k])
    return found


def rivals(classes: bool, many: bool) -> dict[str, Any]:
    """The simple models, by the names that a reader knows."""
    if classes:
        line = make_pipeline(straight(), LogisticRegression(max_iter=300))
        trees: Any = HistGradientBoostingClassifier(
            categorical_features="from_dtype", random_state=0
        )
        common: Any = DummyClassifier(strategy="prior")
        return {"class frequencies": common, "logistic regression": line, "boosted trees": trees}
    trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
    line = make_pipeline(straight(), RidgeCV(np.logspace(-3, 5, 17)))
    return {
        "the mean": DummyRegressor(),
        "ridge": line,
        "boosted trees": MultiOutputRegressor(trees) if many else trees,
    }


def straight() -> Any:
    """Numbers filled in and standardised, texts as 0/1 columns."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    texts = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=RARE)
    return make_column_transformer(
        (texts, make_column_selector(dtype_include="category")), remainder=numbers
    )


def last(rival: Any) -> str:
    """The step of a pipeline that takes weights, for the name of the argument."""
    return f"{rival.steps[-1][0]}__" if isinstance(rival, Pipeline) else ""


def frames(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with numbers, dates as numbers, and texts as categories of the first one."""
    columns: list[tuple[pd.Series, pd.Series]] = []
    for name in train:
        a, b = train[name], test[name]
        if is_text(a):
            levels = pd.CategoricalDtype(a.astype(str).value_counts().index[:LEVELS])
            columns.append((a.astype(str).astype(levels), b.astype(str).astype(levels)))
        elif types.is_datetime64_any_dtype(a):
            columns += list(zip(calendar(a), calendar(b), strict=True))
        else:
            columns.append((a.astype(float), b.astype(float)))
    both = zip(*columns, strict=True)
    return tuple(pd.concat(part, axis=1, keys=map(str, range(len(part)))) for part in both)


def calendar(dates: pd.Series) -> list[pd.Series]:
    """Days, day of the year and day of the week."""
    days = (dates - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(days=1)
    return [days, dates.dt.day_of_year.astype(float), dates.dt.day_of_week.astype(float)]
