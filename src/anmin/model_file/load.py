"""Reading a model: every fact is checked before an estimator is built from it."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np

from anmin.history import Fit, Step
from anmin.intervals import Intervals
from anmin.model_file.container import (
    Arrays,
    Facts,
    ModelFileError,
    file_size,
    natural,
    require,
    unpack,
)
from anmin.model_file.values import decode, number, read_float, read_table
from anmin.network import Network
from anmin.report import Report
from anmin.solvers.penalty import PathStep
from anmin.sources import Scaling
from anmin.status import Status

FILES = {"checkpoint"}  # parameters that name files: a model file never does
CLASSES: dict[str, type] = {}
NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "float32", "float64")  # fmt: skip
LABEL_BYTES = 2**26  # that an array of class labels may take


def storable(cls: type) -> type:
    """Make a class of estimators known to `load_model`, under its name.

    >>> from anmin.model_file.load import CLASSES
    >>> sorted(CLASSES)
    ['ANMINClassifier', 'ANMINRegressor']
    """
    CLASSES[cls.__name__] = cls
    return cls


def load_model(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator in a file; its predictions are those of the one that was saved.

    A file that is damaged, of another kind, or of a newer version is refused with
    `ModelFileError`, a ValueError. Nothing in a file is ever run.

    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from anmin import ANMINClassifier, load_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ANMINClassifier(4, lam=1e-3, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/iris.anmin")
    ...     again = load_model(f"{folder}/iris.anmin")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    try:
        with open(path, "rb") as file:
            return build(*unpack(file, file_size(file)))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}.") from error


def build(facts: Facts, arrays: Arrays) -> Any:
    """An estimator from what a file holds."""
    name = facts.get("estimator")
    require(isinstance(name, str) and name in CLASSES, f"a {name!r:.60} is unknown here")
    cls: Any = CLASSES[name]  # type: ignore[index]
    model = cls(**read_parameters(cls, facts, arrays))
    network, scaling = read_network(facts, arrays)
    fit = Fit(
        network, read_float(facts.get("loss")), read_table(facts, "history", Step), Status.SOLVED,
        number(facts, "lam"), read_table(facts, "path", PathStep),
    )  # fmt: skip
    require(len(fit.history) > 0, "its history is empty")
    model._adopt(fit, scaling)
    model._report = read_report(facts)
    read_names(model, facts, len(scaling.x_mean))
    read_target(model, facts, len(network.b0))
    read_intervals(model, network, arrays)
    require(not arrays, f"it holds arrays that are unknown here: {', '.join(arrays):.60}")
    model.extra_ = facts.get("extra")
    require(isinstance(model.extra_, dict), "its extra is not a dictionary")
    return model


def read_network(facts: Facts, arrays: Arrays) -> tuple[Network, Scaling]:
    """The network and the scaling, with shapes that agree."""
    wanted = ("A", "B", "b0", "x_mean", "x_scale", "y_mean")
    require(set(wanted) <= arrays.keys(), "an array is missing")
    A, B, b0, x_mean, x_scale, y_mean = (arrays.pop(name) for name in wanted)
    require(A.ndim == B.ndim == 2, "its layers are not matrices")
    (p, h), q = A.shape, B.shape[1]
    agree = B.shape[0] == h and b0.shape == y_mean.shape == (q,)
    agree = agree and x_mean.shape == x_scale.shape == (p - 1,)
    require(agree and p >= 2 and q >= 1, "the shapes of its arrays do not agree")
    slope, y_scale = number(facts, "slope"), number(facts, "y_scale")
    require(0 <= slope < 1, f"its slope is {slope:g}")
    require(bool((x_scale > 0).all()) and y_scale > 0, "a scale is not positive")
    return Network(A, B, b0, slope), Scaling(x_mean, x_scale, y_mean, y_scale)


def read_parameters(cls: Any, facts: Facts, arrays: Arrays) -> Facts:
    """The parameters of the constructor; those that the file does not know keep their default."""
    kept: Any = facts.get("parameters")
    require(isinstance(kept, dict), "its parameters are not a dictionary")
    unknown = kept.keys() - (set(cls._get_param_names()) - FILES)
    require(not unknown, f"its parameters {sorted(unknown)!r:.60} are unknown here; update anmin")
    found = {name: decode(value) for name, value in kept.items()}
    if "init" in arrays:
        found["init"] = arrays.pop("init")
    return found


def read_report(facts: Facts) -> Report | None:
    """The convergence report, where the fit got so far as to make it."""
    report = facts.get("report")
    if report is None and "report" in facts:
        return None
    require(isinstance(report, dict), "its report is not a dictionary")
    try:
        return Report.from_dict(report)  # type: ignore[arg-type]
    except ValueError as error:
        raise ModelFileError(f"its report cannot be read: {error!s:.100}") from error


def read_names(model: Any, facts: Facts, d: int) -> None:
    """Set the number of inputs, their names where they have some, and the rows left out."""
    model.n_features_in_ = d
    skipped = facts.get("skipped")
    require(skipped is None or natural(skipped), "the number of its skipped rows is none")
    if skipped is not None:
        model.n_skipped_ = skipped
    names = facts.get("feature_names")
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    require(good, "its feature names are no texts")
    if names:
        require(len(names) == d == len(set(names)), f"{len(names)} feature names for {d} inputs")
        model.feature_names_in_ = np.array(names, dtype=object)


def read_intervals(model: Any, network: Network, arrays: Arrays) -> None:
    """Set what the standard deviations need, where the file has it."""
    root, noise = arrays.pop("interval_root", None), arrays.pop("noise", None)
    require((root is None) == (noise is None), "its intervals are incomplete")
    model._intervals = None
    if root is None or noise is None:
        return
    size = network.A.size + network.B.size + network.b0.size
    good = root.shape == (size, size) and noise.shape == network.b0.shape
    require(good and bool((noise >= 0).all()), "its intervals do not go with its network")
    model._intervals = Intervals(root, noise)


def read_target(model: Any, facts: Facts, q: int) -> None:
    """Set what turns the network's outputs into predictions."""
    if "classes" not in facts:
        flat = facts.get("one_dimensional")
        good = type(model).__name__ == "ANMINRegressor" and isinstance(flat, bool)
        require(good and (q == 1 or not flat), "it does not say what it predicts")
        model._one_dimensional = flat
        return
    require(type(model).__name__ == "ANMINClassifier", "it does not say what it predicts")
    classes = read_classes(facts["classes"])
    require(len(classes) == (2 if q == 1 else q), f"{len(classes)} classes for {q} outputs")
    model.classes_ = classes
    model._temperature = number(facts, "temperature")
    require(model._temperature > 0, "its temperature is not positive")


def read_classes(entry: Any) -> np.ndarray:
    """The labels in the type that they had, sorted and distinct."""
    require(isinstance(entry, dict) and entry.keys() == {"dtype", "labels"}, "bad classes")
    kind, labels = entry["dtype"], entry["labels"]
    require(isinstance(labels, list) and isinstance(kind, str), "bad classes")
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    require(kind != "str" or 4 * longest * len(labels) <= LABEL_BYTES, "its labels are too long")
    if kind in ("str", "object"):
        good = all(isinstance(label, str) for label in labels)
    else:
        good = kind in NUMBERS and all(isinstance(label, (bool, int, float)) for label in labels)
    require(good, "its class labels are not of the type that it says")
    try:
        classes = np.array(labels, dtype=kind)
    except (ValueError, OverflowError, TypeError) as error:
        raise ModelFileError(f"its class labels are not of type {kind}") from error
    require(classes.tolist() == labels, f"its class labels are not of type {kind}")
    require(all(a < b for a, b in pairwise(labels)), "its classes repeat")
    return classes
