"""Models on frames as they are: text, gaps, dates. Each with the lines that its users write.

A model is made by a function (seed, text columns, classify), and takes what `ready` makes of a
frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from anmin import ANMINClassifier, ANMINRegressor
from benchmarks.record import SkippedError

Ready = Callable[[pd.DataFrame], pd.DataFrame]


def text_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that hold no numbers."""
    return [name for name in frame if frame[name].dtype.kind not in "biuf"]


def default(seed: int, _: list[str], classify: bool) -> tuple[Any, Ready]:
    """What a user gets who gives no argument but the seed."""
    kind = ANMINClassifier if classify else ANMINRegressor
    return kind(random_state=seed), lambda frame: frame


def averaged(seed: int, _: list[str], classify: bool) -> tuple[Any, Ready]:
    """Three networks, over encodings that compete, as one."""
    kind = ANMINClassifier if classify else ANMINRegressor
    return kind(n_networks=3, encoding="auto", random_state=seed), lambda frame: frame


def hgb(seed: int, text: list[str], classify: bool) -> tuple[Any, Ready]:
    """Boosted trees on pandas' categories; those beyond the 254 most frequent are missing."""
    kind = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    known: dict[str, Any] = {}

    def ready(frame: pd.DataFrame) -> pd.DataFrame:
        for name in text:
            known.setdefault(name, sorted(frame[name].value_counts().index[:254]))
        made = {name: pd.Categorical(frame[name], categories=known[name]) for name in text}
        return frame.assign(**made)

    return kind(random_state=seed, categorical_features="from_dtype"), ready


def catboost(seed: int, text: list[str], classify: bool) -> tuple[Any, Ready]:
    """CatBoost with its own treatment of categories."""
    try:
        from catboost import CatBoostClassifier, CatBoostRegressor
    except ModuleNotFoundError as error:
        raise SkippedError("catboost is not installed: pip install 'anmin[bench]'") from error
    kind = CatBoostClassifier if classify else CatBoostRegressor
    model = kind(cat_features=text, random_seed=seed, verbose=0, allow_writing_files=False)
    return model, lambda frame: frame.assign(
        **{name: frame[name].astype(object).where(frame[name].notna(), "missing") for name in text}
    )


def linear(_: int, text: list[str], classify: bool) -> tuple[Any, Ready]:
    """Ridge or logistic regression, their penalty by cross-validation, on one-hot levels."""
    hot = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = make_column_transformer((hot, text), remainder=numbers)
    model: Any = RidgeCV(np.logspace(-3, 5, 25))
    if classify:
        model = LogisticRegressionCV(
            Cs=10, scoring="neg_log_loss", max_iter=500, use_legacy_attributes=False, l1_ratios=(0,)
        )
    return make_pipeline(columns, model), lambda frame: frame


def realmlp(seed: int, text: list[str], classify: bool) -> tuple[Any, Ready]:
    """RealMLP-TD. It takes no gaps in numbers: medians stand in, and a column says where."""
    from benchmarks.rivals.tabular_nets import quiet

    if classify:
        raise SkippedError("RealMLP is compared on numbers alone")
    medians: dict[str, float] = {}
    gaps: list[str] = []

    def ready(frame: pd.DataFrame) -> pd.DataFrame:
        numbers = frame.drop(columns=text).astype(float)
        if not medians:  # the training rows
            medians.update(numbers.median().fillna(0.0))
            gaps.extend(name for name in numbers if numbers[name].isna().any())
        words = {
            name: frame[name]
            .astype(object)
            .where(frame[name].notna(), "missing")
            .astype("category")
            for name in text
        }
        where = {f"no {name}": numbers[name].isna().astype(float) for name in gaps}
        return numbers.fillna(medians).assign(**words, **where)

    return quiet("RealMLP_TD_Regressor", seed), ready


MODELS = {
    "default": default, "averaged": averaged, "hgb": hgb, "catboost": catboost, "linear": linear,
    "realmlp": realmlp,
}  # fmt: skip
