"""Fitted models as files: `model.save(path)` and `load_model(path)`.

A file holds the network, the scaling, what `fit` recorded, and the parameters. `anmin.files` is its
layout and refuses what is damaged, `values` turns parameters and records into JSON, and this module
knows what an estimator is made of: every fact is checked before one is built. docs/model-file.md
lists it all.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import fields
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anmin import files
from anmin.conformal import Distances
from anmin.encoding import Encoding
from anmin.files import Arrays, Facts, ModelFileError, PathLike, natural, require
from anmin.history import Fit, PathStep, Step
from anmin.inspect.intervals import Intervals
from anmin.inspect.report import Report
from anmin.losses import SQUARED
from anmin.model_file import values
from anmin.model_file.stored_columns import column_facts, read_columns
from anmin.model_file.values import number, read_table
from anmin.network import Network
from anmin.solvers import SOLVERS
from anmin.sources import Scaling
from anmin.status import Status

__all__ = ["ModelFileError", "load_model", "save_model", "storable"]

FILES = {"checkpoint"}  # parameters that name files: a model file never does
MOVED = ("tol", "n_init", "linear_solver", "dtype", "batch_size", "validation_fraction")
CLASSES: dict[str, type] = {}
NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "float32", "float64")  # fmt: skip
LABEL_BYTES = 2**26  # that an array of class labels may take


def storable(cls: type) -> type:
    """Make a class of estimators known to `load_model`, under its name."""
    CLASSES[cls.__name__] = cls
    return cls


def library_version() -> str:
    """The version of anmin, whose `__init__` imports this module."""
    return import_module("anmin").__version__


# ---- writing ------------------------------------------------------------------------------


def save_model(model: Any, path: PathLike, extra: Facts | None = None) -> None:
    """Write a fitted model to a file, all or nothing.

    `extra` is a dictionary of plain JSON that travels with the model and comes back as its
    attribute `extra_`; without it, the `extra_` that the model has.

    >>> import tempfile
    >>> from anmin import ANMINRegressor, load_model
    >>> from anmin.model_file import save_model
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit([[-1], [0], [1]], [1, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/m.anmin", extra={"target": "price"})
    ...     load_model(f"{folder}/m.anmin").extra_
    {'target': 'price'}
    """
    check_is_fitted(model, "history_")
    if type(model) not in CLASSES.values():
        raise TypeError(f"a model file holds {' or '.join(CLASSES)}; got {type(model).__name__}.")
    extra = getattr(model, "extra_", {}) if extra is None else extra
    values.check_extra(extra)
    arrays: Arrays = {name: getattr(model._network, name) for name in ("A", "B", "b0")}
    arrays |= {name: getattr(model._scaling, name) for name in ("x_mean", "x_scale", "y_mean")}
    arrays |= encoding_arrays("encoding_", model._scaling.encoding)
    if getattr(model, "_intervals", None) is not None:
        arrays |= {"interval_root": model._intervals.root, "noise": model._intervals.noise}
    if getattr(model, "_distances", None) is not None:
        arrays["distances"] = model._distances.values
    facts = target_facts(model)  # an error, where a file cannot hold them
    facts |= {"parameters": keep_parameters(model, arrays), "extra": extra} | result_facts(model)
    facts |= column_facts(model._columns, arrays)
    files.write_atomically(path, files.pack(facts, arrays))


def result_facts(model: Any) -> Facts:
    """What the fit came to, and who made it."""
    return {
        "library": library_version(),
        "estimator": type(model).__name__,
        "slope": float(model._network.slope),
        "y_scale": float(model._scaling.y_scale),
        "lam": float(model.lam_),
        "loss": values.plain(model.loss_),
        "history": values.table(model.history_, Step),
        "path": values.table(model.path_, PathStep),
        "report": None if model._report is None else model._report.as_dict(),
        "skipped": getattr(model, "n_skipped_", None),
        "importances": [*map(float, getattr(model, "feature_importances_", ()))],
        "feature_names": list(map(str, getattr(model, "feature_names_in_", ()))),
    }


def keep_parameters(model: Any, arrays: Arrays) -> Facts:
    """The parameters as JSON; one that cannot be kept is left at its default, with a warning."""
    kept: Facts = {}
    for name, value in model.get_params(deep=False).items():
        if name in FILES:
            continue
        try:
            if name == "init" and not isinstance(value, str):
                arrays["init"] = np.asarray(value, dtype=np.float64)
            elif isinstance(value, Encoding):
                arrays |= encoding_arrays("given_encoding_", value)
            else:
                kept[name] = values.encode(value)
        except TypeError:
            warnings.warn(
                f"{name}={value!r:.60} cannot be kept in a model file; a loaded model has the "
                "default. Predictions do not depend on it.",
                UserWarning,
                stacklevel=4,
            )
    return kept


def encoding_arrays(prefix: str, encoding: Encoding | None) -> Arrays:
    """The arrays of an encoding, where there is one."""
    if encoding is None:
        return {}
    return {prefix + field.name: getattr(encoding, field.name) for field in fields(encoding)}


def target_facts(model: Any) -> Facts:
    """What turns the network's outputs into predictions."""
    loss = values.encode_loss(model._loss)
    if not hasattr(model, "classes_"):
        return {"one_dimensional": bool(model._one_dimensional)} | loss
    classes = model.classes_
    kind = "str" if classes.dtype.kind == "U" else str(classes.dtype)
    labels = {"dtype": kind, "labels": classes.tolist()}
    read_classes(labels)  # what could not be loaded is refused now
    return {"classes": labels, "temperature": float(model._temperature)} | loss


# ---- reading ------------------------------------------------------------------------------


def load_model(path: PathLike) -> Any:
    """The fitted estimator in a file; its predictions are those of the one that was saved.

    A file that is damaged, of another kind, or of a newer version is refused with
    `ModelFileError`, a ValueError. Nothing in a file is ever run.

    >>> import tempfile
    >>> from anmin import ANMINRegressor, load_model
    >>> X, y = [[-1], [0], [1]], [1, 0, 1]
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/m.anmin")
    ...     again = load_model(f"{folder}/m.anmin")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    try:
        with open(path, "rb") as file:
            return build(*files.unpack(file, os.fstat(file.fileno()).st_size))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}.") from error


def build(facts: Facts, arrays: Arrays) -> Any:
    """An estimator from what a file holds."""
    name: Any = facts.get("estimator")
    require(isinstance(name, str) and name in CLASSES, f"a {name!r:.60} is unknown here")
    cls: Any = CLASSES[name]
    model = cls(**read_parameters(cls, facts, arrays))
    network, scaling = read_network(facts, arrays)
    loss = values.read(float, facts.get("loss"), "its loss")
    history, path = read_table(facts, "history", Step), read_table(facts, "path", PathStep)
    require(len(history) > 0, "its history is empty")
    report = facts.get("report", "missing")
    model._report = None if report is None else values.read_record(report, "report", Report)
    cut = model._report is not None and model._report.path_cut
    fit = Fit(network, loss, history, Status.SOLVED, number(facts, "lam"), path, cut)
    model._adopt(fit, scaling)
    model._columns = read_columns(facts, arrays, scaling.n_features)
    d = scaling.n_features if model._columns is None else len(model._columns.columns)
    read_names(model, facts, d)
    read_target(model, facts, len(network.b0))
    model._intervals = read_intervals(network, arrays)
    model._distances = read_distances(network, arrays)
    require(not arrays, f"it holds arrays that are unknown here: {', '.join(arrays):.60}")
    model.extra_ = facts.get("extra")
    values.check_extra(model.extra_)
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
    encoding = read_encoding("encoding_", arrays)
    columns = p - 1 if encoding is None else len(encoding.inputs)
    require(columns == p - 1, "its encoding does not go with its network")
    return Network(A, B, b0, slope), Scaling(x_mean, x_scale, y_mean, y_scale, encoding)


def read_encoding(prefix: str, arrays: Arrays) -> Encoding | None:
    """The encoding whose arrays have this prefix, where the file has one."""
    names = [prefix + field.name for field in fields(Encoding)]
    if not any(name in arrays for name in names):
        return None
    require(all(name in arrays for name in names), "its encoding is incomplete")
    centre, scale, column, low, high = (arrays.pop(name) for name in names)
    agree = centre.ndim == column.ndim == 1 and centre.shape == scale.shape and len(centre) > 0
    agree = agree and column.shape == low.shape == high.shape
    require(agree, "the shapes of its encoding do not agree")
    whole = (column == np.floor(column)) & (column >= 0) & (column < len(centre))
    require(bool(whole.all()), "a hinge of its encoding belongs to no input")
    with np.errstate(over="ignore"):
        width = high - low
    good = bool((scale > 0).all() and (width > 0).all() and np.isfinite(width).all())
    require(good, "a scale or a hinge of its encoding is not positive")
    return Encoding(centre, scale, column.astype(np.int64), low, high)


def read_parameters(cls: Any, facts: Facts, arrays: Arrays) -> Facts:
    """The parameters of the constructor; those that the file does not know keep their default."""
    kept: Any = facts.get("parameters")
    require(isinstance(kept, dict), "its parameters are not a dictionary")
    known = set(cls._get_param_names())
    unknown = kept.keys() - (known - FILES) - set(MOVED)
    require(not unknown, f"its parameters {sorted(unknown)!r:.60} are unknown here; update anmin")
    found = {name: values.decode(value) for name, value in kept.items()}
    if "init" in arrays:
        found["init"] = arrays.pop("init")
    if (encoding := read_encoding("given_encoding_", arrays)) is not None:
        found["encoding"] = encoding
    moved = {name: found.pop(name) for name in MOVED if name in found and name not in known}
    if "loss" in known:
        found.setdefault("loss", SQUARED)  # of versions that knew no other
    solver = with_moved(found.get("solver", cls().solver), moved)
    return found | {"solver": solver}


def with_moved(solver: Any, moved: Facts) -> Any:
    """The solver with what older versions gave to the estimator, where it has such parameters."""
    own = SOLVERS[solver]() if isinstance(solver, str) and solver in SOLVERS else solver
    has = own.get_params(deep=False) if hasattr(own, "get_params") else {}
    changed = {name: value for name, value in moved.items() if name in has and has[name] != value}
    return own.set_params(**changed) if changed else solver


def read_names(model: Any, facts: Facts, d: int) -> None:
    """Set the number of inputs, their names where they have some, and the rows left out."""
    model.n_features_in_ = d
    skipped = facts.get("skipped")
    if skipped is not None:
        require(natural(skipped), "its number of skipped rows is not a whole number")
        model.n_skipped_ = skipped
    values.read_importances(model, facts.get("importances"), d)
    names: Any = facts.get("feature_names")
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    require(good, "its feature names are not strings")
    if names:
        require(len(names) == d == len(set(names)), f"{len(names)} feature names for {d} inputs")
        model.feature_names_in_ = np.array(names, dtype=object)


def read_intervals(network: Network, arrays: Arrays) -> Intervals | None:
    """What the standard deviations need, where the file has it."""
    root, noise = arrays.pop("interval_root", None), arrays.pop("noise", None)
    require((root is None) == (noise is None), "its intervals are incomplete")
    if root is None or noise is None:
        return None
    size = network.A.size + network.B.size + network.b0.size
    units = len(network.B) + 1  # where the output layer alone is uncertain
    good = root.shape in ((size, size), (units, units)) and noise.shape == network.b0.shape
    require(good and bool((noise >= 0).all()), "its intervals do not go with its network")
    return Intervals(root, noise)


def read_distances(network: Network, arrays: Arrays) -> Distances | None:
    """What conformal intervals need, where the file has it."""
    values = arrays.pop("distances", None)
    if values is None:
        return None
    good = values.ndim == 2 and len(values) > 0 and values.shape[1] in (1, len(network.b0))
    require(good and bool((np.diff(values, axis=0) >= 0).all()), "its intervals are not in order")
    return Distances(values)


def read_target(model: Any, facts: Facts, q: int) -> None:
    """Set what turns outputs into predictions."""
    model._loss = values.decode_loss(facts["loss_function"]) if "loss_function" in facts else None
    name, flat = type(model).__name__, facts.get("one_dimensional")
    if "classes" not in facts:
        good = name == "ANMINRegressor" and isinstance(flat, bool) and (q == 1 or not flat)
        require(good, "it does not say what it predicts")
        model._one_dimensional = flat
        return
    require(name == "ANMINClassifier", "it does not say what it predicts")
    model.classes_ = read_classes(facts["classes"])
    require(len(model.classes_) == max(q, 2), f"{len(model.classes_)} classes for {q} outputs")
    model._temperature = number(facts, "temperature")
    require(model._temperature > 0, "its temperature is not positive")


def read_classes(entry: Any) -> np.ndarray:
    """The labels in the type that they had, sorted and distinct."""
    require(isinstance(entry, dict) and entry.keys() == {"dtype", "labels"}, "bad classes")
    kind, labels = entry["dtype"], entry["labels"]
    strings = kind in ("str", "object")
    good = isinstance(labels, list) and (strings or kind in NUMBERS)
    good = good and all(isinstance(label, str if strings else (int, float)) for label in labels)
    require(good, "its class labels must be numbers of one type, or strings")
    longest = max(map(len, labels), default=0) if kind == "str" else 0
    require(4 * longest * len(labels) <= LABEL_BYTES, "its labels are too long")
    try:
        classes = np.array(labels, dtype=kind)
    except (ValueError, OverflowError, TypeError) as error:
        raise ModelFileError(f"its class labels are not of type {kind}") from error
    require(classes.tolist() == labels, f"its class labels are not of type {kind}")
    require(all(a < b for a, b in pairwise(labels)), "its classes repeat")
    return classes
