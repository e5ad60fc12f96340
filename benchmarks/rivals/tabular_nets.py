"""Deep networks made for tables, at the defaults that were tuned on many of them: `pytabkit`."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np

from benchmarks.cases import Split
from benchmarks.record import CORES, Budget, Fit, fit_plain


def realmlp(split: Split, _: Budget) -> Fit:
    from pytabkit import RealMLP_TD_Regressor

    return fit_quietly(RealMLP_TD_Regressor, split)


def tabm(split: Split, _: Budget) -> Fit:
    from pytabkit import TabM_D_Regressor

    return fit_quietly(TabM_D_Regressor, split)


def fit_quietly(kind: Any, split: Split) -> Fit:
    """On the CPU; both take single precision, and talk too much."""
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    model = kind(device="cpu", n_threads=CORES, random_state=split.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fit_plain(model, split)
    return Fit(fit.seconds, lambda X: np.asarray(model.predict(X), dtype=np.float64))
