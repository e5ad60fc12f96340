"""Rows as a user gives them, checked, and made numbers: for `fit` and for `predict`.

What a table needs beyond numbers is in the estimator's `_columns`, None for plain numbers.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import (
    _check_y,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from anmin.columns import Columns, Table, warn_of_long
from anmin.columns.cells import columns_of, is_frame, names_of, numbers, plain
from anmin.sources import RawSource, Scaling, counting_rows
from anmin.sources.chunk import LARGEST
from anmin.sources.raw import ArrayRows

NUMBERS = (np.float64, np.float32)


class TableRows:
    """What an estimator does with X."""

    _columns: Columns | None = None
    _scaling: Scaling

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        tags.input_tags.sparse = getattr(self, "connections", None) is not None
        return tags

    def _inputs(self, X: Any) -> np.ndarray:
        """Raw X, checked, made numbers, encoded and standardised."""
        X = prediction_matrix(self, X)
        return self._scaling.inputs(X)

    def encode(self, X: Any) -> np.ndarray:
        """X as `coefs_[0]` takes it: the columns of the encoding, or X itself without one.

        >>> from anmin import ANMINRegressor
        >>> model = ANMINRegressor(random_state=0).fit([[0], [1], [2], [3]], [0, 1, 2, 3])
        >>> model.encode([[5.0]])
        array([[5.]])
        """
        X = prediction_matrix(self, X)
        return self._scaling.encoded(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """The names of the columns of `encode(X)`, which `coefs_[0]` has a row for.

        >>> import pandas as pd
        >>> from anmin import ANMINRegressor
        >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "heat": ["gas", "oil", "wood"]})
        >>> frame = pd.concat([frame] * 6)
        >>> model = ANMINRegressor(2, lam=0.1, random_state=0).fit(frame, [1, 2, 3] * 6)
        >>> list(model.get_feature_names_out())
        ['size', 'size is missing', 'heat=gas', 'heat=oil', 'heat=wood']
        """
        check_is_fitted(self)
        model: Any = self
        d, e = model.n_features_in_, self._scaling.encoding
        names = [*getattr(model, "feature_names_in_", (f"x{j}" for j in range(d)))]
        made = names if self._columns is None else self._columns.made
        if e is not None:
            hinges = zip(e.column, e.low, e.high, strict=True)
            made = [*made, *(f"{made[c]} from {low:g} to {high:g}" for c, low, high in hinges)]
        return np.array(made, dtype=object)

    def _note_source(self, rows: RawSource) -> None:
        """What scikit-learn notes of X, and how many rows were left out."""
        model: Any = self
        model._began = perf_counter()
        self._columns = rows.fit_columns(model.categorical_features)
        self.n_features_in_, self.n_skipped_ = rows.width[0], rows.n_skipped_
        if self._columns is not None:
            self.n_features_in_ = len(self._columns.columns)
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def training_table(model: Any, X: Any, y: Any, **options: Any) -> tuple[Any, np.ndarray]:
    """X as an array of numbers without gaps, or else as a `Table`; and y, checked.

    With it a fit begins, and the clock of `max_time`.
    """
    model._began = perf_counter()
    model.__dict__.pop("n_skipped_", None)  # of an earlier fit to a source
    refuse_strange(X)
    table = Table.of(X, model.categorical_features)
    if is_frame(X) and isinstance(model.categorical_features, str):
        warn_of_long(X)
    if table is None:
        sparse = sparse_formats(model, X)
        Z, y = validate_data(model, X, y, dtype=list(NUMBERS), accept_sparse=sparse, **options)
        return (Table.of_numbers(X, Z) if codes_count(model) else None) or compressed(Z), y
    validate_data(model, X, y, skip_check_array=True)
    y = _check_y(y, estimator=model, **options)
    check_consistent_length(table.columns[0], y)
    return table, y


def codes_count(model: Any) -> bool:
    """Whether numbers may be taken for codes: not where the user says which columns are what."""
    return isinstance(model.categorical_features, str) and model.monotonic_cst is None


def refuse_strange(X: Any) -> None:
    """Say what to do with what is almost a table."""
    if isinstance(X, dict) and not issparse(X):  # SciPy has a matrix that is a dict too
        raise TypeError("X is a dict, and must be a frame or an array: use pandas.DataFrame(X).")
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, whose rows are not there yet: use X.collect().")
    names = names_of(X) if is_frame(X) else []
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has more than one column {twice!r}; give each its own name.")


def sparse_formats(model: Any, X: Any) -> Any:
    """What scikit-learn may let through; an error that says what to do, where that is nothing."""
    if issparse(X) and model.connections is None:
        raise TypeError(
            "X is sparse: say with connections=8, or so, how many inputs a unit may see; a network "
            "that sees all of them needs X.toarray()."
        )
    return False if model.connections is None else ["csr", "csc"]


def compressed(X: Any) -> Any:
    """X, or where it is sparse its compressed rows, checked to be in range."""
    if not issparse(X):
        return X
    X = csr_array(X)
    X.sum_duplicates()
    if X.nnz and not np.abs(X.data).max() <= LARGEST:
        raise ValueError(f"X must be finite, and at most {LARGEST:g} in size.")
    return X


def training_matrix(
    model: Any, X: Any, Y: np.ndarray, weight: np.ndarray | None, groups: Any = None
) -> np.ndarray:
    """The numbers to train on, from what `training_table` returned; sets `_columns`."""
    model._columns = None
    if not isinstance(X, Table):
        return X
    if codes_count(model) and groups is None:  # values of new groups are not known
        X = X.with_codes(Y, weight)
    if X.plain is not None and "code" not in X.kinds:
        return X.plain
    model._columns, made = Columns.fit(X, Y, weight, groups)
    return made


def with_judge(model: Any, rows: ArrayRows, X: Any, Y: np.ndarray | None) -> ArrayRows:
    """Training rows, and rows X with targets Y (n, q) to judge on, where they were given."""
    if (X is None) != (Y is None):
        raise ValueError("X_val and y_val go together; one of them is missing.")
    if X is None or Y is None:
        return rows
    if model._columns is None:
        X = compressed(
            validate_data(model, X, reset=False, dtype=list(NUMBERS), accept_sparse="csr")
        )
    else:
        X = table_matrix(model, X)
    check_consistent_length(X, Y)
    q = rows.width[1]
    if Y.shape[1] != q:
        raise ValueError(f"y_val has {Y.shape[1]} outputs and y has {q}; they must match.")
    rows.judge = counting_rows(X, Y, None)
    return rows


def prediction_matrix(model: Any, X: Any) -> np.ndarray:
    """Rows for which to predict, as numbers."""
    check_is_fitted(model)
    if model._columns is not None:
        return table_matrix(model, X)
    formats = sparse_formats(model, X)
    gaps = True if issparse(X) else "allow-nan"
    refuse_text(X)
    X = validate_data(
        model, X, reset=False, dtype=list(NUMBERS), ensure_all_finite=gaps, accept_sparse=formats
    )
    return compressed(X) if issparse(X) else without_gaps_in(model, X)


def refuse_text(X: Any) -> None:
    """Name the cell of a frame that is no number, where the training rows held numbers alone."""
    if not is_frame(X) or len(X.shape) != 2:
        return
    for name, column in zip(names_of(X), columns_of(X), strict=True):
        values = plain(column)[0]
        if values.dtype.kind not in "biufc":
            numbers(name, values)


def table_matrix(model: Any, X: Any) -> np.ndarray:
    """The numbers that a table's columns make."""
    if issparse(X):
        raise TypeError("X is sparse, and must be dense: use X.toarray().")
    X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got {len(X.shape)}D array instead. Reshape X.")
    validate_data(model, X, reset=False, skip_check_array=True)
    if X.shape[0] == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return model._columns.matrix(X)


def without_gaps_in(model: Any, X: np.ndarray) -> np.ndarray:
    """X with the centre of an input in the place of a gap, where the training rows had none."""
    if not np.isnan(X.min()):
        return X
    scaling = model._scaling
    if scaling.encoding is None and not model.standardize:
        raise ValueError(
            "X contains NaN, and with standardize=False nothing is known that could stand for a "
            "gap. Fill the gaps, or fit to rows that have some."
        )
    centre = scaling.x_mean if scaling.encoding is None else scaling.encoding.centre
    return np.where(np.isnan(X), centre.astype(X.dtype), X)
