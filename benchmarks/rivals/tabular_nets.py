"""Deep networks made for tables, at the defaults that were tuned on many of them: `pytabkit`."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np

from benchmarks.cases import Split
from benchmarks.record import CORES, Budget, Fit, SkippedError, fit_plain


def realmlp(split: Split, _: Budget) -> Fit:
    return fit_quietly("RealMLP_TD_Regressor", split)


def tabm(split: Split, _: Budget) -> Fit:
    return fit_quietly("TabM_D_Regressor", split)


def quiet(kind: str, seed: int) -> Any:
    """On a card where there is one; both talk too much."""
    try:
        import pytabkit
        import torch
    except ModuleNotFoundError as error:
        raise SkippedError("pytabkit is not installed: pip install 'anmin[bench]'") from error
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return getattr(pytabkit, kind)(device=device, n_threads=CORES, random_state=seed)


def fit_quietly(kind: str, split: Split) -> Fit:
    """Both take and give single precision."""
    model = quiet(kind, split.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fit_plain(model, split)
    return Fit(fit.seconds, lambda X: np.asarray(model.predict(X), dtype=np.float64))
