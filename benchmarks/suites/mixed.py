"""Tables as people have them, raw, against boosted trees and a linear model: five folds.

The tables are CSV files in the folder ANMIN_MIXED. The error is the root mean square for numbers
and the log-loss for classes; a table shows each relative to the best of the rivals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

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
METHODS = ("default", "averaged", "hgb", "catboost", "linear")
OURS = ("default", "averaged")

Load = Callable[[str], tuple[pd.DataFrame, np.ndarray]]


def mixed(settings: Settings) -> None:
    on_tables(settings, settings.cases or TARGETS, load, FOLDS)


def on_tables(settings: Settings, cases: Iterable[str], load: Load, folds: int) -> None:
    """All methods on so many of five folds of each table."""
    methods = list(settings.methods or METHODS)
    for case in cases:
        frame, y = load(case)
        splitter = StratifiedKFold if y.dtype == object else KFold
        splits = splitter(FOLDS, shuffle=True, random_state=0).split(frame, y)
        for fold, (train, test) in enumerate(splits):
            if fold >= (settings.seeds or folds) or (settings.quick and fold):
                break
            for name in methods:
                record: Record = {"case": case, "method": name, "seed": fold} | stamp(name in OURS)
                if not settings.results.known(**record, skipped=None):
                    settings.results.add(record | run(name, frame, y, (train, test), fold))
    summary(settings.results.records, methods)
    if "default" in methods:
        against(settings.results.records, [name for name in methods if name not in OURS])


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


def against(records: list[Record], rivals: list[str]) -> None:
    """The default beside each rival, on the tables and folds that both have."""
    rows = []
    for rival in rivals:
        theirs = {(r["case"], r["seed"]): r for r in select(records, method=rival)}
        mine = [r for r in select(records, method="default") if (r["case"], r["seed"]) in theirs]
        found: dict[str, list[float]] = {}
        for r in mine:
            pair = found.setdefault(r["case"], [0.0, 0.0])
            pair[0], pair[1] = pair[0] + r["error"], pair[1] + theirs[r["case"], r["seed"]]["error"]
        if mine:
            ratios = [own / other for own, other in found.values()]
            seconds = (
                sum(r["seconds"] for r in mine),
                sum(theirs[r["case"], r["seed"]]["seconds"] for r in mine),
            )
            rows.append([rival, len(ratios), sum(ratio < 1 for ratio in ratios),
                         geometric_mean(ratios), float(np.median(ratios)), max(ratios),
                         seconds[0] / seconds[1]])  # fmt: skip
    header = ["rival", "tables", "ahead on", "geometric mean", "median", "largest", "seconds"]
    show("The default over each rival", header, rows)
