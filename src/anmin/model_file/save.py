"""Writing a fitted model: the network, the scaling, what `fit` recorded, and the parameters."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anmin.files import write_atomically
from anmin.history import Step
from anmin.model_file.container import Arrays, Facts, pack
from anmin.model_file.load import CLASSES, FILES, LABEL_BYTES, NUMBERS
from anmin.model_file.values import NotKeptError, encode, plain, table
from anmin.history import PathStep


def save_model(model: Any, path: str | os.PathLike[str], extra: Facts | None = None) -> None:
    """Write a fitted model to a file, all or nothing.

    `extra` is a dictionary of plain JSON that travels with the model and comes back as its
    attribute `extra_`; without it, the `extra_` that the model has.

    >>> import tempfile
    >>> import numpy as np
    >>> from anmin import ANMINRegressor, load_model
    >>> from anmin.model_file import save_model
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, np.abs(X).ravel())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/m.anmin", extra={"target": "price"})
    ...     again = load_model(f"{folder}/m.anmin")
    >>> again.extra_, bool((again.predict(X) == model.predict(X)).all())
    ({'target': 'price'}, True)
    """
    check_is_fitted(model, "history_")
    name = type(model).__name__
    if type(model) not in CLASSES.values():
        raise TypeError(f"a model file holds {' or '.join(CLASSES)}; got {name}.")
    arrays: Arrays = {name: getattr(model._network, name) for name in ("A", "B", "b0")}
    arrays |= {name: getattr(model._scaling, name) for name in ("x_mean", "x_scale", "y_mean")}
    facts = {
        "library": import_module("anmin").__version__,  # which imports this module
        "estimator": name,
        "parameters": keep_parameters(model, arrays),
        "slope": float(model._network.slope),
        "y_scale": float(model._scaling.y_scale),
        "lam": float(model.lam_),
        "loss": plain(model.loss_),
        "history": table(model.history_, Step),
        "path": table(model.path_, PathStep),
        "report": None if model._report is None else model._report.as_dict(),
        "skipped": getattr(model, "n_skipped_", None),
        "feature_names": list(map(str, getattr(model, "feature_names_in_", ()))),
        "extra": getattr(model, "extra_", {}) if extra is None else extra,
    }
    facts |= target_facts(model)
    if getattr(model, "_intervals", None) is not None:
        arrays |= {"interval_root": model._intervals.root, "noise": model._intervals.noise}
    write_atomically(path, pack(facts, arrays))


def keep_parameters(model: Any, arrays: Arrays) -> Facts:
    """The parameters as JSON; one that cannot be kept is left at its default, with a warning."""
    kept: Facts = {}
    for name, value in model.get_params(deep=False).items():
        if name in FILES:
            continue
        try:
            if name == "init" and not isinstance(value, str):
                arrays["init"] = np.asarray(value, dtype=np.float64)
            else:
                kept[name] = encode(value)
        except NotKeptError:
            warnings.warn(
                f"{name}={value!r:.60} cannot be kept in a model file; a loaded model has the "
                "default. Predictions do not depend on it.",
                UserWarning,
                stacklevel=4,
            )
    return kept


def target_facts(model: Any) -> Facts:
    """What turns the network's outputs into predictions."""
    if not hasattr(model, "classes_"):
        return {"one_dimensional": bool(model._one_dimensional)}
    classes = model.classes_
    kind = str(classes.dtype)
    if classes.dtype.kind == "U":
        kind = "str" if classes.nbytes <= LABEL_BYTES else "object"
    if kind == "object" and not all(isinstance(label, str) for label in classes):
        kind = "mixed"
    if kind not in (*NUMBERS, "str", "object"):
        raise TypeError(f"class labels must be numbers or strings to be kept; these are {kind}.")
    return {
        "classes": {"dtype": kind, "labels": classes.tolist()},
        "temperature": float(model._temperature),
    }
