"""The scikit-learn surface: validate, call the solver, copy attributes. No mathematics here."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from anmin import checks
from anmin.backends import get_backend
from anmin.callbacks import CallbackSupportMixin, fit_listener, with_callbacks
from anmin.checkpoint import Checkpoint, Ledger, fit_facts
from anmin.export import Exports
from anmin.history import Budget, Fit
from anmin.intervals import check_size, fit_intervals
from anmin.linsolve import Status
from anmin.model_file import storable
from anmin.network import Network
from anmin.probabilities import softmax, temperature
from anmin.report import Report, report_on
from anmin.solvers import Problem, Search, Task, VarPro, solve_early, solver_object
from anmin.sources import (
    RawSource,
    Scaling,
    batch_rows,
    counting_rows,
    is_source,
    open_source,
    pick,
    predict_source,
    without_gaps,
)

MOST_HIDDEN = 256  # for n_hidden="auto"

PARAMETERS = """
    Parameters
    ----------
    n_hidden : int or "auto", default=64
        Hidden units, at most: units that do nothing are removed when `lam` is chosen. "auto" lets
        the held-out rows decide, up to 256 (with lam="auto" only).
    slope : float in [0, 1), default=0.0
        Slope of the activation for negative arguments: 0 is ReLU, 0.1 a leaky ReLU.
    lam : float or "auto", default="auto"
        Penalty on the squared weights of both layers, beside the *mean* squared error. "auto"
        walks it down and chooses it on held-out rows; with solver="anmin" it is 0.001 over the
        number of rows, as in the paper.
    solver : "varpro", "anmin" or a solver object, default="varpro"
        "varpro" is variable projection with damped steps and relocation of neurons; "anmin" the
        paper's Algorithm 1. `anmin.solvers.VarPro(...)` and `Algorithm1(...)` set their details.
    max_iter : int, default=None
        Iterations: 30 for "anmin"; damped steps for "varpro", 400, or no limit with `max_time`.
    max_time : float, default=None
        Seconds after which the best network so far is returned.
    tol : float, default=1e-4
        Relative gain under which "varpro" stops; "anmin" does not use it.
    init : "random" or array of shape (n_features + 1, n_hidden), default="random"
        The first hidden layer, in standardised inputs, biases in row 0.
    n_init : int, default=1
        Random starts of "varpro"; the worse ones are dropped early.
    standardize : bool, default=True
        Bring X to mean 0 and deviation 1 and centre y before training. Predictions, `coefs_`
        and `intercepts_` are for raw X in any case.
    early_stopping : bool, default=False
        Hold rows out, stop when their error has not improved for 10 iterations, and keep the
        network that had the least; `history_` has the errors as held_out_mse.
    validation_fraction : float in (0, 1), default=0.2
        Share of the rows held out at a time, to choose `lam` and for `early_stopping`.
    cv : int, splitter or iterable of splits, default=None
        How many parts are held out in turn to choose `lam`: 3 below 2,000 rows, else 1. Or any
        splitter of scikit-learn, or the splits themselves.
    linear_solver : "auto", "cholesky" or "cg", default="auto"
        Form the hidden system, or only multiply by it; "auto" by its number of unknowns.
    device : str, default="cpu"
        "cpu", "cuda", or "auto" for a GPU where there is one. GPUs need PyTorch.
    dtype : "auto", "float64" or "float32", default="auto"
        Arithmetic of the fit; "auto" is float64, also for float32 input.
    batch_size : int or "auto", default="auto"
        Rows worked on at a time, rounded up to a multiple of 4096. It sets the working memory,
        not the result.
    checkpoint : path, default=None
        A file that each iteration is logged to. A fit that was killed and is started again with
        the same data and parameters goes on from there, to the same network.
    warm_start : bool, default=False
        Start from the hidden layer of the fit before, where it has as many inputs and no more
        than `n_hidden` units.
    random_state : int, RandomState or None, default=None
        Seed of every random draw.
    verbose : int, default=0
        1 prints a line an iteration.
"""

ATTRIBUTES = """
    Attributes
    ----------
    A_, B_, b0_ : arrays (n_features + 1, n_hidden_), (n_hidden_, n_outputs_), (n_outputs_,)
        The network in standardised X and centred y, as in the paper.
    coefs_, intercepts_ : lists of two arrays
        The same network for raw X, as in `MLPRegressor`.
    lam_ : float
        The penalty used.
    path_ : list of records lam, train_mse, held_out_mse, active
        The penalties that were tried, with lam="auto".
    loss_, best_loss_ : float
        Eq. (1) at the returned network, and at the best one met.
    history_ : list of records, `history_[0]` the start
        iteration, loss, mse, frozen_loss, logdet, condition, status, flips, dead, cells, seconds.
    loss_curve_ : list of float
    n_iter_, n_hidden_, n_outputs_, n_features_in_ : int
    feature_names_in_ : array, when X had names
"""


class _ANMIN(Exports, CallbackSupportMixin, BaseEstimator):
    """What the regressor and the classifier share."""

    def __init__(
        self,
        n_hidden: int | str = 64,
        *,
        slope: float = 0.0,
        lam: float | str = "auto",
        solver: Any = "varpro",
        max_iter: int | None = None,
        max_time: float | None = None,
        tol: float = 1e-4,
        init: Any = "random",
        n_init: int = 1,
        standardize: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        cv: Any = None,
        linear_solver: str = "auto",
        device: str = "cpu",
        dtype: str = "auto",
        batch_size: int | str = "auto",
        intervals: bool = False,
        checkpoint: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.slope = slope
        self.lam = lam
        self.solver = solver
        self.max_iter = max_iter
        self.max_time = max_time
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.standardize = standardize
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.linear_solver = linear_solver
        self.device = device
        self.dtype = dtype
        self.batch_size = batch_size
        self.intervals = intervals
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, rows: RawSource, X: Any, y: Any, weight: np.ndarray | None = None) -> None:
        """Train on checked rows; X, y and weight are what the user gave, for callbacks and cv."""
        checks.whole_number("verbose", self.verbose, least=0)
        solver = solver_object(self.solver)
        h, search = self._size(), self._search(rows, X, y, weight)
        d, q = rows.width
        if checks.true_or_false("intervals", self.intervals):
            check_size(d + 1, h, q)
        problem = self._problem(rows, h, solver)
        scaling = problem.source.scaling
        budget = self._budget(solver)

        def attributes(network: Network) -> dict:
            network = network.scaled(scaling.y_scale)
            return {"_network": network, "_scaling": scaling, "n_outputs_": q}

        listener, close = fit_listener(self, X, y, budget.max_iter, attributes)
        with problem.backend.session(), np.errstate(all="ignore"):
            n_init = checks.whole_number("n_init", self.n_init, least=1)
            init = self._start(d + 1, h)
            ledger, rng = self._ledger(problem, budget, init, search)
            task = Task(problem, h, budget, rng, listener, init, n_init, search, ledger)
            fit = self._solve(solver, task)
            self._report = report_on(problem, fit, h, budget)
            fit = fit.in_units(scaling.y_scale)
            self._intervals = fit_intervals(problem, fit) if self.intervals else None
        self._keep(fit, problem)
        close()

    def _solve(self, solver: Any, task: Task) -> Fit:
        """The solver's fit; after an interrupt, the best it had come to."""
        try:
            if checks.true_or_false("early_stopping", self.early_stopping):
                return solve_early(solver.solve, task, self.validation_fraction)
            return solver.solve(task)
        except KeyboardInterrupt:
            if task.ledger.best is None:
                raise
            warnings.warn("Interrupted; the best network so far is kept.", ConvergenceWarning, 4)
            return task.ledger.best
        finally:
            task.ledger.close()

    def _ledger(
        self, problem: Problem, budget: Budget, init: np.ndarray | None, search: Search | None
    ) -> tuple[Ledger, np.random.RandomState]:
        """Where the steps are logged, and the random numbers."""
        if self.checkpoint is None:
            return Ledger(), check_random_state(self.random_state)
        params = self.get_params(deep=False)
        if init is not None:
            params["warm_start" if self.warm_start else "init"] = init
        if search is not None and search.splits is not None:
            params["cv"] = search.splits
        path = checks.path("checkpoint", self.checkpoint)
        log = Checkpoint(path, fit_facts(params, problem.source), budget)
        unseeded = self.random_state is None or self.random_state is np.random
        return log, check_random_state(log.seed if unseeded else self.random_state)

    def _start(self, p: int, h: int) -> np.ndarray | None:
        """The first A; None for a random one."""
        if checks.true_or_false("warm_start", self.warm_start) and hasattr(self, "A_"):
            units = self.A_.shape[1]
            if len(self.A_) == p and 0 < units <= h:
                return self.A_
        return checks.start(self.init, (p, h))

    def _size(self) -> int:
        if self.n_hidden != "auto":
            return checks.whole_number("n_hidden", self.n_hidden, least=1)
        if self.lam != "auto" or not isinstance(solver_object(self.solver), VarPro):
            raise ValueError(
                'n_hidden="auto" needs lam="auto" and solver="varpro", which decide it; '
                f"got lam={self.lam!r}, solver={self.solver!r}. Give a number of units."
            )
        return MOST_HIDDEN

    def _search(self, rows: RawSource, X: Any, y: Any, weight: np.ndarray | None) -> Search | None:
        fraction = checks.real_number(
            "validation_fraction", self.validation_fraction, least=1e-9, below=1.0
        )
        if not isinstance(self.lam, str):
            return None
        checks.one_of("lam", self.lam, ("auto",))
        if self.cv is None or isinstance(self.cv, Integral):
            folds = None if self.cv is None else checks.whole_number("cv", self.cv, least=1)
            return Search(fraction, folds)
        if rows.streamed:  # a splitter sees numbers of rows
            X, y = np.empty((rows.tally()[0], 0)), None
        return Search(splits=checks.splits(self.cv, X, y, weight))

    def _budget(self, solver: Any) -> Budget:
        max_iter, max_time = self.max_iter, self.max_time
        if max_time is not None:
            max_time = checks.real_number("max_time", max_time, least=0.0)
        if max_iter is not None:
            max_iter = checks.whole_number("max_iter", max_iter, least=0)
        else:
            max_iter = solver.default_max_iter(max_time)
        return Budget(max_iter, max_time, checks.real_number("tol", self.tol, least=0.0))

    def _problem(self, rows: RawSource, h: int, solver: Any) -> Problem:
        d, q = rows.width
        scaling = Scaling.identity(d, q)
        if checks.true_or_false("standardize", self.standardize):
            scaling = Scaling.of(rows.measured)
        if self.lam == "auto" and isinstance(solver, VarPro):
            scaling = scaling.unit_target(rows.measured.y)
        size = self.batch_size
        if size != "auto":
            size = checks.whole_number("batch_size", size, least=1)
        dtype = checks.one_of("dtype", self.dtype, ("auto", "float64", "float32"))
        device = checks.text("device", self.device)
        backend = get_backend("cpu" if rows.remote else device, dtype)
        size = batch_rows(size, backend, h, d + 1, q)
        return Problem(
            rows.on(device).prepared(scaling, backend, size),
            0.0 if self.lam == "auto" else checks.real_number("lam", self.lam, least=0.0),
            checks.real_number("slope", self.slope, least=0.0, below=1.0),
            checks.one_of("linear_solver", self.linear_solver, ("auto", "cholesky", "cg")),
        )

    def _keep(self, fit: Fit, problem: Problem) -> None:
        lam = problem.lam if fit.lam is None else fit.lam
        self._adopt(replace(fit, lam=lam), problem.source.scaling)
        unsound = [step.logdet == -np.inf for step in fit.history[1:]]
        if fit.status is Status.STOPPED or (unsound and all(unsound)):
            warnings.warn(
                f"No hidden system was positive definite: {fit.status.value}", ConvergenceWarning, 3
            )

    def _adopt(self, fit: Fit, scaling: Scaling) -> None:
        """Copy the attributes of a fit that was made, or loaded from a file."""
        A, B = np.ascontiguousarray(fit.network.A), np.ascontiguousarray(fit.network.B)
        network = replace(fit.network, A=A, B=B)  # laid out as from a file: same rounding
        self._network, self._scaling = network, scaling
        self.A_, self.B_, self.b0_ = network.A, network.B, network.b0
        raw = network.fold(scaling.x_mean, scaling.x_scale, scaling.y_mean)
        self.coefs_, self.intercepts_ = [raw.A[1:], raw.B], [raw.A[0], raw.b0]
        self.lam_ = fit.lam
        self.path_, self.history_ = fit.path, fit.history
        self.loss_curve_ = [step.loss for step in fit.history]
        self.loss_, self.best_loss_ = fit.loss, min(self.loss_curve_)
        self.n_iter_ = len(fit.history) - 1
        self.n_hidden_, self.n_outputs_ = fit.network.B.shape

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_network")

    def report(self) -> Report:
        """What the fit came to: `print(model.report())` says it in words, with advice.

        >>> from anmin import ANMINRegressor
        >>> model = ANMINRegressor(random_state=0).fit([[0], [1], [2], [3]], [0, 1, 2, 3])
        >>> model.report().status
        'converged'
        """
        check_is_fitted(self)
        return self._report

    def _scores(self, X: Any) -> Any:
        """The outputs of the network for raw X: (n, q); lazy for a Dask collection."""
        if not is_source(X):
            return self._outputs(self._inputs(X))
        check_is_fitted(self)
        forward = partial(outputs, self._network, self._scaling)
        names = getattr(self, "feature_names_in_", None)
        return predict_source(forward, X, names, self.n_features_in_)

    def _inputs(self, X: Any) -> np.ndarray:
        """Raw X, checked and standardised."""
        check_is_fitted(self)
        return self._standardised(
            validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        )

    def _standardised(self, X: np.ndarray) -> np.ndarray:
        return (X - self._scaling.x_mean) / self._scaling.x_scale

    def _note_source(self, rows: RawSource) -> None:
        """What scikit-learn notes of X, and how many rows were left out."""
        self.n_features_in_, self.n_skipped_ = rows.width[0], rows.n_skipped_
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        """The outputs of the network for standardised X: (n, q)."""
        return self._network.forward(X) + self._scaling.y_mean


@storable
class ANMINRegressor(RegressorMixin, _ANMIN):
    __doc__ = f"""A two-layer ReLU network for regression, trained analytically.

    Minimises the mean squared error plus lam times the squared weights by solving least-squares
    problems, with the firing pattern of the hidden units held fixed in each of them.
    {PARAMETERS}
    intervals : bool, default=False
        Keep what `predict(X, return_std=True)` needs, for networks of up to 4,000 weights.
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

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ANMINRegressor:
        """Train on X (n, d) and y, (n,) or (n, q).

        X may also be a source (`anmin.sources.ParquetSource` and the like), which brings its y, a
        memory map, or a Dask array or dataframe.
        """
        rows = open_source(X, y, sample_weight)
        if rows is not None:
            self._note_source(rows)
            self._one_dimensional = rows.flat
            self._fit(rows, X, y)
            return self
        checks.dense_target(y)
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True
        )
        y = np.asarray(y, dtype=np.float64)
        self._one_dimensional = y.ndim == 1
        weight = checks.positive_weights(row_weights(sample_weight, X))
        self._fit(counting_rows(X, y.reshape(len(y), -1), weight), X, y, weight)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The outputs for X: (n,) when y had one axis, else (n, q).

        X may be a source, read in a stream, or a Dask collection, for which they are lazy. With
        `return_std`, also the standard deviation of a new observation at each of them; the model
        must have been fitted with intervals=True.
        """
        if return_std:
            return self._predict_with_std(X)
        scores = self._scores(X)
        return scores[:, 0] if self._one_dimensional else scores

    def _predict_with_std(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        if is_source(X):
            raise ValueError("return_std=True needs X in memory; predict a part at a time.")
        X, intervals = self._inputs(X), getattr(self, "_intervals", None)
        if intervals is None:
            raise ValueError("return_std=True needs a model that was fitted with intervals=True.")
        both = self._outputs(X), intervals.std(self._network, X)
        return (both[0][:, 0], both[1][:, 0]) if self._one_dimensional else both

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@storable
class ANMINClassifier(ClassifierMixin, _ANMIN):
    __doc__ = f"""A two-layer ReLU network for classification, trained analytically.

    Least squares on one-hot targets (one 0/1 target for two classes), through the same core as
    the regressor. `predict_proba` is a softmax of the outputs times one temperature, which is
    chosen by the log-loss on the training rows but never sharper than 8.
    {PARAMETERS}
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

    def __init__(
        self,
        n_hidden: int | str = 64,
        *,
        slope: float = 0.0,
        lam: float | str = "auto",
        solver: Any = "varpro",
        max_iter: int | None = None,
        max_time: float | None = None,
        tol: float = 1e-4,
        init: Any = "random",
        n_init: int = 1,
        standardize: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        cv: Any = None,
        linear_solver: str = "auto",
        device: str = "cpu",
        dtype: str = "auto",
        batch_size: int | str = "auto",
        checkpoint: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        class_weight: Any = None,
    ) -> None:
        super().__init__(
            n_hidden, slope=slope, lam=lam, solver=solver, max_iter=max_iter, max_time=max_time,
            tol=tol, init=init, n_init=n_init, standardize=standardize,
            early_stopping=early_stopping, validation_fraction=validation_fraction, cv=cv,
            linear_solver=linear_solver, device=device, dtype=dtype, batch_size=batch_size,
            checkpoint=checkpoint, warm_start=warm_start, random_state=random_state,
            verbose=verbose,
        )  # fmt: skip
        self.class_weight = class_weight

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ANMINClassifier:
        """Train on X (n, d) and labels y (n,)."""
        if is_source(X) and not isinstance(X, np.memmap):
            raise TypeError(
                "ANMINClassifier trains on arrays and frames in memory. For rows elsewhere, fit "
                "ANMINRegressor to one 0/1 column a class."
            )
        checks.dense_target(y)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            only = self.classes_[0]
            raise ValueError(f"y must hold two classes or more; got one class, {only!r}.")
        weight = row_weights(sample_weight, X)
        if self.class_weight is not None:
            weight = class_weighted(self.class_weight, y, weight)
        Y = LabelBinarizer().fit(self.classes_).transform(y).astype(np.float64)
        self._fit(counting_rows(X, Y, checks.positive_weights(weight)), X, y, weight)
        label = np.searchsorted(self.classes_, y)
        scores = self._class_scores(self._outputs(self._standardised(X)))
        self._temperature = temperature(scores, label, weight)
        return self

    def _class_scores(self, scores: np.ndarray) -> np.ndarray:
        """One score for each class: (n, n_classes)."""
        return np.hstack([1 - scores, scores]) if len(self.classes_) == 2 else scores

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs minus 1/2: (n,) for two classes, else (n, n_classes)."""
        scores = self._scores(X) - 0.5
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities: a softmax of the outputs times one temperature."""
        return softmax(getattr(self, "_temperature", 1.0) * self._class_scores(self._scores(X)))

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest output."""
        scores = without_gaps(self.decision_function(X))
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return pick(self.classes_, best)


def outputs(network: Network, scaling: Scaling, X: np.ndarray) -> np.ndarray:
    """The outputs for raw X: (n, d) → (n, q)."""
    return network.forward((X - scaling.x_mean) / scaling.x_scale) + scaling.y_mean


def row_weights(sample_weight: Any, X: np.ndarray) -> np.ndarray | None:
    return (
        None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
    )


def class_weighted(class_weight: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Row weights times class weights; "balanced" counts the rows by their weight."""
    weight = np.ones(len(y)) if weight is None else weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        classes, label = np.unique(y[weight > 0], return_inverse=True)
        share = np.bincount(label, weights=weight[weight > 0])
        class_weight = dict(zip(classes, share.sum() / (len(classes) * share), strict=True))
    return weight * compute_sample_weight(class_weight, y)
