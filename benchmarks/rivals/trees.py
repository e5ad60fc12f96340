"""Boosted trees of three packages at their defaults, on all cores of this machine."""

from __future__ import annotations

from benchmarks.cases import Split
from benchmarks.record import CORES, Budget, Fit, fit_plain


def catboost(split: Split, _: Budget) -> Fit:
    from catboost import CatBoostRegressor

    quiet = {"verbose": False, "allow_writing_files": False}
    return fit_plain(CatBoostRegressor(thread_count=CORES, random_seed=split.seed, **quiet), split)


def xgboost(split: Split, _: Budget) -> Fit:
    from xgboost import XGBRegressor

    return fit_plain(XGBRegressor(n_jobs=CORES, random_state=split.seed), split)


def lightgbm(split: Split, _: Budget) -> Fit:
    from lightgbm import LGBMRegressor

    return fit_plain(LGBMRegressor(n_jobs=CORES, random_state=split.seed, verbose=-1), split)
