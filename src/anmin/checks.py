"""Parameters and arrays that a user gave: accepted, or refused with what to do instead."""

from __future__ import annotations

import os
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import cpu_count
from scipy.sparse import issparse
from sklearn.model_selection import GroupKFold, check_cv

NO_SHARE = ("cpu", "auto", "cuda:all")  # names of devices that do not share rows with others
APART = 1e3  # between the units of outputs, from which the smaller ones are lost


def whole_number(name: str, value: Any, least: int, word: str = "") -> int:
    """A number that was checked; `word` is what may stand for one."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        other = f', or "{word}"' if word else ""
        raise ValueError(f"{name} must be a whole number, {least} or more{other}; got {value!r}.")
    return int(value)


def real_number(name: str, value: Any, least: float, below: float = np.inf) -> float:
    number = isinstance(value, Real) and not isinstance(value, bool)
    good = number and least <= float(value) < below
    if not good:
        bound = "" if below == np.inf else f" and below {below:g}"
        raise ValueError(
            f"{name} must be a finite number, at least {least:g}{bound}; got {value!r}."
        )
    return float(value)


def true_or_false(name: str, value: Any, known: str = "True or False") -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be {known}; got {value!r}.")
    return bool(value)


def devices(device: Any, remote: bool) -> str | list[str]:
    """The name of a device, or a list of several; workers elsewhere have one each."""
    names = [device] if isinstance(device, str) else device
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        names = ()
    if not names:
        raise ValueError(
            f"device must be a string; got {device!r}. Several devices are a list of strings, such "
            'as ["cuda:0", "cuda:1"].'
        )
    if len(names) > 1 and (odd := [name for name in names if name in NO_SHARE]):
        raise ValueError(
            f"device is a list with {odd[0]!r}: rows are shared out between devices of PyTorch, "
            'each by its own name, such as ["cuda:0", "cuda:1"]. "cpu", which is NumPy on all '
            'cores, "auto" and "cuda:all" stand alone.'
        )
    if remote and (len(names) > 1 or names[0] == "cuda:all"):
        raise ValueError(
            f"device={device!r}, and the rows are on a cluster, where each worker computes with "
            'one device. Start a worker for each card, and use device="cuda", or "auto" where '
            "some workers have none."
        )
    return names[0] if len(names) == 1 else list(names)


def path(name: str, value: Any) -> str | os.PathLike[str]:
    if not isinstance(value, (str, os.PathLike)):
        raise ValueError(f"{name} must be a path; got {value!r}.")
    return value


def one_of(name: str, value: Any, choices: tuple[str, ...], besides: str = "") -> str:
    """One of some words; the message names what else there is."""
    if not isinstance(value, str) or value not in choices:
        known = (
            f"{besides} or {choices[0]!r}" if besides else f"one of {', '.join(map(repr, choices))}"
        )
        raise ValueError(f"{name} must be {known}; got {value!r}.")
    return value


def fits_in_memory(h: int, p: int) -> int:
    """h hidden units of p weights, if the least that they need is there."""
    needed = 8 * h * (h + p)
    if needed > memory_bytes():
        raise ValueError(
            f"n_hidden={h:,} needs at least {needed / 2**30:,.0f} GiB of memory here; "
            "give fewer units."
        )
    return h


def memory_bytes() -> float:
    """The memory of this machine; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def is_array(init: Any) -> bool:
    return isinstance(init, (list, tuple)) or hasattr(init, "__array__")


def jobs(n_jobs: Any) -> int | None:
    """Threads of a fit, counted as joblib does: −1 is all cores; None leaves them to the fit."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a whole number other than 0; got {n_jobs!r}.")
    asked = int(n_jobs)
    return asked if asked > 0 else max(cpu_count() + 1 + asked, 1)


def from_trees(init: Any) -> bool:
    return init == "trees" if isinstance(init, str) else not is_array(init)


def start(init: Any, shape: tuple[int, int]) -> np.ndarray | None:
    """The first A that was given, or None for a random one."""
    if isinstance(init, str):
        one_of("init", init, ("random", "trees"))
        return None
    A = np.array(init, dtype=np.float64)
    if A.shape != shape:
        raise ValueError(
            f"init must have shape (n_features + 1, n_hidden) = {shape}, biases in row 0; "
            f"got {A.shape}."
        )
    if not np.isfinite(A).all():
        raise ValueError("init must be finite; it contains NaN or infinity.")
    return A


def positive_weights(weight: np.ndarray | None) -> np.ndarray | None:
    """Weights without negative values, and not all zero."""
    if weight is None:
        return None
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight must not be negative; {int((weight < 0).sum())} of {len(weight)} are."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    return weight


def dense_target(y: Any) -> None:
    if issparse(y):
        raise TypeError("y is sparse, and must be dense: use y.toarray().")


def numeric_target(y: np.ndarray) -> np.ndarray:
    """The targets of a regression as numbers; an error that says where else to go."""
    if y.dtype.kind in "mM":
        raise ValueError(
            "y holds dates or durations, and must hold numbers, such as days: "
            '(y - y.min()) / np.timedelta64(1, "D").'
        )
    try:
        return np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        text = next(str(v) for v in np.ravel(y) if not is_number(v))
        raise ValueError(
            f"could not convert string to float: y holds {text!r:.60}. ANMINRegressor predicts "
            "numbers; for classes use ANMINClassifier."
        ) from None


def labels_known(y: np.ndarray) -> None:
    """Refuse labels that are missing, which cannot be put in order with others."""
    gaps = sum(label is None for label in y) if y.dtype.kind == "O" else 0
    if gaps:
        raise ValueError(f"y has no label in {gaps:,} of {len(y):,} rows; leave these rows out.")


def is_number(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False


def is_splitter(cv: Any) -> bool:
    """Whether cv says which rows are held out, and not only how many."""
    return cv is not None and not isinstance(cv, Real)


def held_out(cv: Any) -> dict[str, Any]:
    """How many parts are held out in turn, or which share of the rows."""
    if cv is None:
        return {}
    if not isinstance(cv, Integral):
        return {"fraction": real_number("cv", cv, least=1e-9, below=1.0)}
    folds = whole_number("cv", cv, least=1)
    return {"folds": folds, "fraction": min(0.2, 1 / folds)}


def group_splits(cv: Any, groups: np.ndarray, folds: int) -> list[tuple]:
    """As many parts as `cv` says, else `folds`; the rows of a group stay together."""
    given, distinct = held_out(cv), len(np.unique(groups))
    if distinct < 2:
        raise ValueError("groups must hold two groups or more; all rows are of one.")
    folds = given.get("folds") or folds
    parts = min(max(round(1 / given.get("fraction", 0.2)), folds, 2), distinct)
    splitter = GroupKFold(parts, shuffle=True, random_state=0)
    return [*splitter.split(groups, groups=groups)][:folds]


def in_memory(source: Any, **given: Any) -> None:
    """Refuse what goes with rows in memory alone."""
    if named := [name for name, value in given.items() if value is not None]:
        raise ValueError(f"{named[0]} needs X in memory; got {type(source).__name__}.")


def one_a_row(name: str, values: Any, n: int) -> np.ndarray:
    """Values of one axis, one for each of n rows."""
    found = np.asarray(values)
    if found.shape != (n,):
        raise ValueError(f"{name} has shape {found.shape}; expected ({n},), one for each row of X.")
    return found


def splits(cv: Any, X: Any, y: Any, weight: np.ndarray | None, groups: Any = None) -> list[tuple]:
    """The splits of a splitter or an iterable, without the rows of weight zero."""
    if not hasattr(cv, "split"):
        cv = [split if np.iterable(split) else () for split in cv]
        if any(len(split) != 2 for split in cv):
            raise ValueError(
                "cv must be a number, a share, a splitter, or pairs of rows to fit on and rows to "
                "judge by; it gave something else than a pair."
            )
    found = [tuple(map(np.asarray, split)) for split in check_cv(cv, y).split(X, y, groups)]
    if not found:
        raise ValueError("cv has no splits.")
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    counts = np.ones(n, dtype=bool) if weight is None else weight > 0
    place = np.cumsum(counts) - 1  # of a row among those that count
    return [tuple(place[rows_of_part(part, counts)] for part in split) for split in found]


def rows_of_part(part: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The rows of one part of a split that count."""
    n = len(counts)
    if part.dtype == bool and part.shape == (n,):
        part = np.flatnonzero(part)
    if part.ndim != 1 or not (part.dtype.kind in "iu" and (part >= 0).all() and (part < n).all()):
        raise ValueError(f"cv must give numbers of rows from 0 to {n - 1}; got {part!r}.")
    part = part[counts[part]]
    if not part.size:
        raise ValueError("cv: a part of a split holds no row, or none with a weight above 0.")
    return part


def warn_of_units(deviation: np.ndarray) -> None:
    """Say that small outputs will hardly be fitted beside large ones."""
    varying = deviation[deviation > 0]
    if varying.size > 1 and varying.max() > APART * varying.min():
        warnings.warn(
            f"The outputs have deviations from {varying.min():.3g} to {varying.max():.3g}, and the "
            "squared error hardly sees the smallest. Bring them to one scale: "
            "TransformedTargetRegressor(ANMINRegressor(), transformer=StandardScaler()).",
            UserWarning,
            stacklevel=6,
        )
