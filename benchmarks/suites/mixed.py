"""Tables as people have them, raw, against boosted trees and a linear model: five folds.

The tables are CSV files in the folder ANMIN_MIXED. The error is the root mean square for numbers
and the log-loss for classes; a table shows each relative to the best of the rivals.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.cases import folder
from benchmarks.record import Record, SkippedError, Stopwatch
from benchmarks.rivals.frames import MODELS, text_columns
from benchmarks.runner import say, stamp
from benchmarks.suites import Settings
from benchmarks.table import geometric_mean, mean, select, show

TARGETS = {
    "saratoga": "price", "hotel_rates": "avg_price_per_room", "car_prices": "Price",
    "attrition": "Attrition", "cells": "class", "penguins": "species",
}  # fmt: skip
NO_INPUTS = ["rownames", "case"]  # they count rows, or say how others split them
FOLDS = 5
OURS = ("default", "averaged")


def mixed(settings: Settings) -> None:
    methods = list(settings.methods or MODELS)
    for case in settings.cases or TARGETS:
        frame, y = load(case)
        splitter = StratifiedKFold if y.dtype == object else KFold
        splits = splitter(FOLDS, shuffle=True, random_state=0).split(frame, y)
        for fold, (train, test) in enumerate(splits):
            if fold >= (settings.seeds or FOLDS) or (settings.quick and fold):
                break
            for name in methods:
                record: Record = {"case": case, "method": name, "seed": fold} | stamp(name in OURS)
                if not settings.results.known(**record, skipped=None):
                    settings.results.add(record | run(name, frame, y, (train, test), fold))
    summary(settings.results.records, methods)


def load(case: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The inputs of a table as pandas reads them, and its target."""
    frame = pd.read_csv(folder("ANMIN_MIXED", "CSV files") / f"{case}.csv")
    y = frame.pop(TARGETS[case])
    frame = frame.drop(columns=[name for name in NO_INPUTS if name in frame])
    classes = y.dtype.kind not in "biuf"
    return frame, y.astype(object if classes else float).to_numpy()


def run(name: str, frame: pd.DataFrame, y: np.ndarray, split: tuple, fold: int) -> Record:
    """One method on one fold."""
    train, test = split
    classify = y.dtype == object
    try:
        model, ready = MODELS[name](fold, text_columns(frame), classify)
    except SkippedError as reason:
        return {"seconds": None, "train_mse": None, "test_mse": None, "skipped": str(reason)}
    watch = Stopwatch()
    model.fit(ready(frame.iloc[train]), y[train])
    seconds, errors = watch.seconds(), {}
    for part, rows in {"train": train, "test": test}.items():
        if classify:
            found = model.predict_proba(ready(frame.iloc[rows]))
            errors[part] = log_loss(y[rows], found, labels=sorted(set(y)))
        else:
            errors[part] = float(np.mean((model.predict(ready(frame.iloc[rows])) - y[rows]) ** 2))
    error = errors["test"] if classify else errors["test"] ** 0.5
    say(f"{name}, fold {fold}: {error:.5g} in {seconds:.1f} s")
    kind = {"train_mse": None, "test_mse": None}
    kind |= {} if classify else {f"{part}_mse": value for part, value in errors.items()}
    return {"seconds": seconds, "error": error, "classify": classify, "n": len(train)} | kind


def summary(records: list[Record], methods: list[str]) -> None:
    rows, ratios = [], {name: [] for name in methods}
    for case in dict.fromkeys(record["case"] for record in records):
        found = {name: mean(select(records, case=case, method=name), "error") for name in methods}
        rivals = [v for name, v in found.items() if name not in OURS and v is not None]
        best = min(rivals, default=None)
        for name, value in found.items():
            if best is not None and value is not None:
                ratios[name].append(value / best)
        took = [mean(select(records, case=case, method=name), "seconds") for name in methods]
        shown = [None if v is None or best is None else v / best for v in found.values()]
        rows.append([case, best, *shown, *took])
    overall = [geometric_mean(ratios[name]) for name in methods]
    rows.append(["geometric mean", None, *overall, *[None] * len(methods)])
    header = ["table", "best rival", *methods, *(f"{name} s" for name in methods)]
    show("Error on raw tables, relative to the best rival's", header, rows)
