"""The scikit-learn surface: validate, call the solver, copy attributes. No mathematics here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_pinball_score
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from anmin import checks
from anmin.base import ONLY_SQUARES, BaseANMIN, as_found
from anmin.calibration import FOR_SHIFT, shifted, worth_a_shift
from anmin.callbacks import with_callbacks
from anmin.conformal import SHARE, Distances, inputs_of, kept_apart
from anmin.first_look import first_look, first_network
from anmin.interval_methods import IntervalsMixin
from anmin.losses import SQUARED, Huber, Logistic, Loss, Quantile, Softmax, regression_loss
from anmin.losses.classes import labels_in
from anmin.model_file import storable
from anmin.parameters import ATTRIBUTES, PARAMETERS, extended
from anmin.probabilities import class_targets, class_weighted, one_hot, softmax, temperature
from anmin.rows import training_matrix, training_table, with_judge
from anmin.solvers import solver_object
from anmin.sources import RawSource, counting_rows, is_source, open_source, pick, without_gaps

LOG_LOSS = Logistic.name


def in_order(f: Any) -> Any:
    """Quantiles of one target in ascending order, which cannot make their loss larger."""
    return np.sort(f, axis=1) if isinstance(f, np.ndarray) else f.map_blocks(np.sort, axis=1)


RESPONSES: dict[str, Callable[[Any], Any]] = {"exp": np.exp, "sort": in_order}


@storable
class ANMINRegressor(RegressorMixin, IntervalsMixin, BaseANMIN):
    __doc__ = f"""A two-layer ReLU network for regression, trained analytically.

    Minimises the mean squared error plus lam times the squared weights by solving least-squares
    problems, with the firing pattern of the hidden units held fixed in each of them.
    {PARAMETERS}
    loss : "squared_error", "huber", "absolute_error", "quantile", "poisson", "gamma" or a loss
        object, default="squared_error"
        What is minimised beside the penalty, and judged on held-out rows. Names are scikit-learn's;
        `anmin.losses` has the objects, such as Huber(delta=2.0), and docs/extend/loss.md says how
        to write one. "poisson" and "gamma" predict exp of the network.
    quantile : float or list of floats, default=None
        With loss="quantile": the quantile, or several in ascending order, which then are columns of
        the predictions and do not cross. None is the median. With lam="auto" and 1,000 rows or more
        a tenth of them, at most 2,000, is kept apart and shifts the quantiles to hold new rows.
    intervals : bool or "conformal", default=False
        "conformal" keeps a fifth of the rows apart, at most 2,000, and measures on them how wide
        `predict_interval(X, coverage)` must be; with several quantiles the width varies with X.
        True: keep what `predict(X, return_std=True)` needs, for one network of up to 4,000 weights;
        several, or larger ones with an encoding, take the held-out error for what they leave out.
    {ATTRIBUTES}
    Examples
    --------
    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> model = ANMINRegressor(n_hidden=8, random_state=0).fit(x, np.abs(x).ravel())
    >>> bool(model.score(x, np.abs(x).ravel()) > 0.99)
    True
    """

    @extended(BaseANMIN)
    def __init__(
        self,
        n_hidden: int | str = "auto",
        *,
        loss: str | Loss = SQUARED,
        quantile: Any = None,
        intervals: bool | str = False,
        **shared: Any,
    ) -> None:
        super().__init__(n_hidden, **shared)
        self.loss = loss
        self.quantile = quantile
        self.intervals = intervals

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, X_val: Any = None,
        y_val: Any = None, groups: Any = None,
    ) -> ANMINRegressor:  # fmt: skip
        """Train on X (n, d) and y, (n,) or (n, q).

        X may be a frame with text, gaps and dates. It may also be a source
        (`anmin.sources.ParquetSource` and the like), which brings its y, a memory map, or a Dask
        array or dataframe. X_val and y_val are rows of your own to choose `lam` and to stop on,
        instead of a part of X; nothing is trained on them. Of `groups`, one for each row, none is
        trained on and held out at once.
        """
        rows = open_source(X, y, sample_weight)
        if rows is not None:
            checks.in_memory(X, X_val=X_val, y_val=y_val, groups=groups)
            self._note_source(rows)
            self._one_dimensional = rows.flat
            return self._fit_rows(rows, X, y)
        checks.dense_target(y)
        table, y = training_table(self, X, y, multi_output=True, y_numeric=True)
        y = checks.numeric_target(y)
        self._one_dimensional = y.ndim == 1
        weight = checks.positive_weights(row_weights(sample_weight, y))
        Y = y.reshape(len(y), -1)
        groups = None if groups is None else checks.one_a_row("groups", groups, len(y))
        numbers = training_matrix(self, table, Y, weight, groups)
        rows = with_judge(self, counting_rows(numbers, Y, weight), X_val, targets(y_val))
        return self._fit_rows(rows, X if self._columns else numbers, y, weight, groups)

    def _fit_rows(
        self, rows: RawSource, X: Any, y: Any, weight: np.ndarray | None = None, groups: Any = None
    ) -> ANMINRegressor:
        """Fit the rows, or most of them where others are kept apart for intervals or a shift."""
        own = not checks.is_splitter(self.cv)
        own, conformal = (
            own and groups is None and rows.judge is None,
            self.intervals == "conformal",
        )
        if conformal and not own:
            raise ValueError(
                'intervals="conformal" keeps rows apart itself: it needs cv to be a number or a '
                "share of rows, and neither groups nor X_val."
            )
        loss, finish = regression_loss(self.loss, self.quantile), as_found
        chosen = own and self._chooses(solver_object(self.solver))
        loss = loss if chosen and loss is not None and worth_a_shift(loss, rows) else None
        if conformal or loss is not None:
            share = SHARE if conformal else FOR_SHIFT
            rows, apart = kept_apart(rows, np.random.RandomState(0), share)
            finish = as_found if loss is None else partial(shifted, loss, apart)
        self._distances: Distances | None = None
        self._set_loss(rows)
        self._fit(rows, X, y, weight, groups, finish)
        if conformal:
            outputs = self._outputs(inputs_of(apart, self._scaling))
            self._distances = Distances.of(apart.Y, self._responses(outputs))
        return self

    def _responses(self, scores: Any) -> Any:
        """Predictions from outputs."""
        link = "identity" if self._loss is None else self._loss.link
        return RESPONSES[link](scores) if link in RESPONSES else scores

    def _set_loss(self, rows: RawSource) -> None:
        """The loss of this fit, with numbers that depend on the rows."""
        loss = regression_loss(self.loss, self.quantile)
        if loss is not None and self._wants_intervals():
            raise ValueError(
                f'intervals=True needs loss="squared_error"; got {self.loss!r}. '
                'intervals="conformal" takes any.'
            )
        if isinstance(loss, Quantile) and len(loss.levels) > 1:
            if rows.width[1] > 1:
                raise ValueError(f"several quantiles need one target; y has {rows.width[1]}.")
            self._one_dimensional = False
        if loss is not None and not solver_object(self.solver).any_loss:
            raise ValueError(ONLY_SQUARES.format(self.solver, self.loss))
        if isinstance(loss, Huber) and loss.delta is None:
            found = first_look(first_network(ANMINRegressor, self), rows)
            loss = found if loss.far == inf else replace(loss, delta=found.delta)
        self._loss = loss

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predictions for X: (n,) when y had one axis, else (n, q).

        They are what the loss is a loss of: means, medians, quantiles (a column each where several
        were asked for, in ascending order) or rates.

        X may be a source, read in a stream, or a Dask collection, for which they are lazy. With
        `return_std`, also the standard deviation of a new observation at each of them; the model
        must have been fitted with intervals=True.
        """
        if return_std:
            return self._predict_with_std(X)
        scores = self._responses(self._scores(X))
        return scores[:, 0] if self._one_dimensional else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R²; of several quantiles the mean of their D², which compares pinball losses."""
        if not (isinstance(self._loss, Quantile) and len(self._loss.levels) > 1):
            return super().score(X, y, sample_weight)
        pairs = zip(self.predict(X).T, self._loss.levels, strict=True)
        given: Any = {"sample_weight": sample_weight}
        return float(np.mean([d2_pinball_score(y, f, alpha=a, **given) for f, a in pairs]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@storable
class ANMINClassifier(ClassifierMixin, BaseANMIN):
    __doc__ = f"""A two-layer ReLU network for classification, trained analytically.

    Minimises the log-loss: `predict_proba` is the logistic function of one output for two classes,
    and the softmax of an output a class for more. Several networks are averaged in these outputs,
    with shares chosen by the log-loss on held-out rows.
    {PARAMETERS}
    loss : "auto", "log_loss" or "squared_error", default="auto"
        "auto" is "log_loss", but for a solver that knows the squared error only, as "anmin" does.
        "squared_error" is least squares on one-hot targets (one 0/1 target for two classes), which
        is faster. `predict_proba` is then a softmax of the outputs times one temperature, chosen by
        the log-loss on the training rows but never sharper than 8.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into `sample_weight`.
    {ATTRIBUTES}
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from anmin import ANMINClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(ANMINClassifier(n_hidden=8, random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    @extended(BaseANMIN)
    def __init__(
        self,
        n_hidden: int | str = "auto",
        *,
        loss: str = "auto",
        class_weight: Any = None,
        **shared: Any,
    ) -> None:
        super().__init__(n_hidden, **shared)
        self.loss = loss
        self.class_weight = class_weight

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, X_val: Any = None,
        y_val: Any = None, groups: Any = None,
    ) -> ANMINClassifier:  # fmt: skip
        """Train on X (n, d) and labels y (n,); X_val, y_val and groups as for the regressor.

        X may also be a source that brings its y, or a Dask array or dataframe; labels are then
        numbers, as whole numbers of any kind are.
        """
        if is_source(X) and not isinstance(X, np.memmap):
            checks.in_memory(X, X_val=X_val, y_val=y_val, groups=groups)
            return self._fit_source(X, y, sample_weight)
        checks.dense_target(y)
        table, y = training_table(self, X, y)
        checks.labels_known(y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            only = self.classes_[:1].tolist()[0]
            raise ValueError(f"y must hold two classes or more; got one class, {only!r}.")
        weight = row_weights(sample_weight, y)
        if self.class_weight is not None:
            weight = class_weighted(self.class_weight, y, weight)
        label, squares = np.searchsorted(self.classes_, y), self._squares()
        self._set_classes(None if squares else np.arange(len(self.classes_)))
        checks.positive_weights(weight)
        groups = None if groups is None else checks.one_a_row("groups", groups, len(y))
        numbers = training_matrix(self, table, one_hot(y, self.classes_), weight, groups)
        Y = class_targets(y, self.classes_, squares)
        if (Y_val := y_val) is not None:
            Y_val = class_targets(column_or_1d(y_val, warn=True), self.classes_, squares)
        rows = with_judge(self, counting_rows(numbers, Y, weight), X_val, Y_val)
        self._fit(rows, X if self._columns else numbers, y, weight, groups)
        if squares:
            scores = self._class_scores(self._outputs(self._scaling.inputs(numbers)))
            self._temperature = temperature(scores, label, weight)
        return self

    def _fit_source(self, X: Any, y: Any, sample_weight: Any) -> ANMINClassifier:
        rows = open_source(X, y, sample_weight)
        assert rows is not None
        if self._squares() or self.class_weight is not None:
            raise ValueError(
                'rows from a source need loss="log_loss" and class_weight=None; give the weights '
                "of the rows with the source."
            )
        self._note_source(rows)
        values = labels_in(rows)
        whole = (values == np.round(values)).all()
        self.classes_ = values.astype(np.int64) if whole else values
        self._set_classes(values)
        self._fit(rows, X, y)
        return self

    def _set_classes(self, values: np.ndarray | None) -> None:
        """The loss of labels with these values; None for the squared error."""
        two = len(self.classes_) == 2
        self._temperature = 0.5 if two else 1.0  # the softmax of (−f/2, f/2) is logistic
        self._loss = None
        if values is not None:
            self._loss = (Logistic if two else Softmax)(tuple(map(float, values)))

    def _squares(self) -> bool:
        """Whether the loss is the squared error."""
        if checks.one_of("loss", self.loss, ("auto", LOG_LOSS, SQUARED)) == "auto":
            return not solver_object(self.solver).any_loss
        return self.loss == SQUARED

    @property
    def _middle(self) -> float:
        """The output of one network that says nothing for or against a class."""
        return 0.5 if self._loss is None else 0.0

    def _class_scores(self, scores: np.ndarray) -> np.ndarray:
        """One score for each class: (n, n_classes)."""
        two = len(self.classes_) == 2
        return np.hstack([2 * self._middle - scores, scores]) if two else scores

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds of the second of two classes, (n,); else of each class, (n, n_classes).

        With loss="squared_error", outputs minus 1/2.
        """
        scores = self._scores(X) - self._middle
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities."""
        return softmax(getattr(self, "_temperature", 1.0) * self._class_scores(self._scores(X)))

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the class probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest output."""
        scores = self.decision_function(X)
        if is_source(X):
            without_gaps(scores)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return pick(self.classes_, best)


def targets(y: Any) -> np.ndarray | None:
    """y as (n, q), where there is one."""
    if y is None:
        return None
    found = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y_val")
    return found.reshape(len(found), -1)


def row_weights(sample_weight: Any, y: np.ndarray) -> np.ndarray | None:
    return (
        None if sample_weight is None else _check_sample_weight(sample_weight, y, dtype=np.float64)
    )
