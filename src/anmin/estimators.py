"""The scikit-learn surface: validate, call the solver, copy attributes. No mathematics here."""

from __future__ import annotations

import warnings
from typing import Any, Literal

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
from anmin.history import Budget, Fit
from anmin.linsolve import Status
from anmin.network import Network
from anmin.solvers import Problem, solver_object
from anmin.sources import ArraySource, Scaling
from anmin.sources.local import batch_rows

PARAMETERS = """
    Parameters
    ----------
    n_hidden : int, default=64
        Hidden units.
    slope : float in [0, 1), default=0.0
        Slope of the activation for negative arguments: 0 is ReLU, 0.1 a leaky ReLU.
    lam : float, default=1e-3
        Penalty on the squared weights of both layers, beside the *mean* squared error.
    solver : "anmin" or a solver object, default="anmin"
        "anmin" is the paper's Algorithm 1; `anmin.solvers.Algorithm1(...)` sets its details.
    max_iter : int, default=None
        Iterations; 30 for "anmin".
    max_time : float, default=None
        Seconds after which the best network so far is returned.
    init : "random" or array of shape (n_features + 1, n_hidden), default="random"
        The first hidden layer, in standardised inputs, biases in row 0.
    standardize : bool, default=True
        Bring X to mean 0 and deviation 1 and centre y before training. Predictions, `coefs_`
        and `intercepts_` are for raw X in any case.
    dtype : "auto", "float64" or "float32", default="auto"
        Arithmetic of the fit; "auto" is float64, also for float32 input.
    batch_size : int or "auto", default="auto"
        Rows worked on at a time, rounded up to a multiple of 4096. It sets the working memory,
        not the result.
    random_state : int, RandomState or None, default=None
        Seed of the start.
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
    loss_, best_loss_ : float
        Eq. (1) at the returned network, and at the best one met.
    history_ : list of records, `history_[0]` the start
        iteration, loss, mse, frozen_loss, logdet, condition, status, flips, dead, cells, seconds.
    loss_curve_ : list of float
    n_iter_, n_hidden_, n_outputs_, n_features_in_ : int
    feature_names_in_ : array, when X had names
"""


class _ANMIN(CallbackSupportMixin, BaseEstimator):
    """What the regressor and the classifier share."""

    def __init__(
        self,
        n_hidden: int = 64,
        *,
        slope: float = 0.0,
        lam: float = 1e-3,
        solver: Any = "anmin",
        max_iter: int | None = None,
        max_time: float | None = None,
        init: Any = "random",
        standardize: bool = True,
        dtype: Literal["auto", "float32", "float64"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.slope = slope
        self.lam = lam
        self.solver = solver
        self.max_iter = max_iter
        self.max_time = max_time
        self.init = init
        self.standardize = standardize
        self.dtype = dtype
        self.batch_size = batch_size
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: np.ndarray, y: Any, Y: np.ndarray, weight: np.ndarray | None) -> None:
        """Train on validated X (n, d), Y (n, q); `y` is what the user gave, for callbacks."""
        d, q = X.shape[1], Y.shape[1]
        checks.whole_number("verbose", self.verbose, least=0)
        h = checks.whole_number("n_hidden", self.n_hidden, least=1)
        solver = solver_object(self.solver)
        budget = self._budget(solver)
        rng = check_random_state(self.random_state)
        A = checks.start(self.init, (d + 1, h), rng)
        problem = self._problem(X, Y, checks.positive_weights(weight), h)
        scaling = problem.source.scaling

        def attributes(network: Network) -> dict:
            return {"_network": network, "_scaling": scaling, "n_outputs_": q}

        listener, close = fit_listener(self, X, y, budget.max_iter, attributes)
        with problem.backend.session(), np.errstate(over="ignore", invalid="ignore"):
            fit = solver.solve(problem, A, budget, rng, listener)
        self._keep(fit, scaling)
        close()

    def _budget(self, solver: Any) -> Budget:
        max_iter = solver.default_max_iter if self.max_iter is None else self.max_iter
        max_time = self.max_time
        return Budget(
            checks.whole_number("max_iter", max_iter, least=0),
            None if max_time is None else checks.real_number("max_time", max_time, least=0.0),
        )

    def _problem(self, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, h: int) -> Problem:
        if weight is not None and not weight.all():  # a row of weight 0 is no row
            X, Y, weight = X[weight > 0], Y[weight > 0], weight[weight > 0]
        d, q = X.shape[1], Y.shape[1]
        scaling = Scaling.fit(X, Y, weight) if checks.true_or_false("standardize", self.standardize) else Scaling.identity(d, q)
        size = self.batch_size
        if size != "auto":
            size = checks.whole_number("batch_size", size, least=1)
        backend = get_backend("cpu", checks.one_of("dtype", self.dtype, ("auto", "float64", "float32")))
        source = ArraySource(X, Y, weight, scaling, backend, batch_rows(size, h, d + 1, q))
        return Problem(
            source,
            checks.real_number("lam", self.lam, least=0.0),
            checks.real_number("slope", self.slope, least=0.0, below=1.0),
        )

    def _keep(self, fit: Fit, scaling: Scaling) -> None:
        self._network, self._scaling = fit.network, scaling
        self.A_, self.B_, self.b0_ = fit.network.A, fit.network.B, fit.network.b0
        raw = fit.network.fold(scaling.x_mean, scaling.x_scale, scaling.y_mean)
        self.coefs_, self.intercepts_ = [raw.A[1:], raw.B], [raw.A[0], raw.b0]
        self.history_ = fit.history
        self.loss_curve_ = [step.loss for step in fit.history]
        self.loss_, self.best_loss_ = fit.loss, min(self.loss_curve_)
        self.n_iter_ = len(fit.history) - 1
        self.n_hidden_, self.n_outputs_ = fit.network.B.shape
        steps = fit.history[1:]
        if fit.status is Status.STOPPED or (steps and all(s.status is Status.FLOORED for s in steps)):
            warnings.warn(f"No hidden step was sound: {fit.status.value}", ConvergenceWarning, 3)

    def _scores(self, X: Any) -> np.ndarray:
        """The outputs of the network for raw X: (n, q)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        s = self._scaling
        return self._network.forward((X - s.x_mean) / s.x_scale) + s.y_mean


class ANMINRegressor(RegressorMixin, _ANMIN):
    __doc__ = f"""A two-layer ReLU network for regression, trained analytically.

    Minimises the mean squared error plus lam times the squared weights by solving least-squares
    problems, with the firing pattern of the hidden units held fixed in each of them.
    {PARAMETERS}{ATTRIBUTES}
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ANMINRegressor:
        """Train on X (n, d) and y, (n,) or (n, q)."""
        checks.dense_target(y)
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True
        )
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        y = np.asarray(y, dtype=np.float64)
        self._one_dimensional = y.ndim == 1
        self._fit(X, y, y.reshape(len(y), -1), weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The outputs for X: (n,) when y had one axis, else (n, q)."""
        scores = self._scores(X)
        return scores[:, 0] if self._one_dimensional else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def class_weighted(class_weight: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Row weights times class weights; "balanced" counts the rows by their weight."""
    weight = np.ones(len(y)) if weight is None else weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        classes, label = np.unique(y[weight > 0], return_inverse=True)
        share = np.bincount(label, weights=weight[weight > 0])
        class_weight = dict(zip(classes, share.sum() / (len(classes) * share), strict=True))
    return weight * compute_sample_weight(class_weight, y)


class ANMINClassifier(ClassifierMixin, _ANMIN):
    __doc__ = f"""A two-layer ReLU network for classification, trained analytically.

    Least squares on one-hot targets (one 0/1 target for two classes), through the same core as
    the regressor. The outputs estimate the class probabilities directly; `predict_proba` clips
    them to [floor, 1] and normalises, with the floor 1 / (n + 2) for n training rows.
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
        n_hidden: int = 64,
        *,
        slope: float = 0.0,
        lam: float = 1e-3,
        solver: Any = "anmin",
        max_iter: int | None = None,
        max_time: float | None = None,
        init: Any = "random",
        standardize: bool = True,
        dtype: Literal["auto", "float32", "float64"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        random_state: Any = None,
        verbose: int = 0,
        class_weight: Any = None,
    ) -> None:
        super().__init__(
            n_hidden, slope=slope, lam=lam, solver=solver, max_iter=max_iter, max_time=max_time,
            init=init, standardize=standardize, dtype=dtype, batch_size=batch_size,
            random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.class_weight = class_weight

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ANMINClassifier:
        """Train on X (n, d) and labels y (n,)."""
        checks.dense_target(y)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold two classes or more; got one class, {self.classes_[0]!r}.")
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        if self.class_weight is not None:
            weight = class_weighted(self.class_weight, y, weight)
        Y = LabelBinarizer().fit(self.classes_).transform(y).astype(np.float64)
        rows = len(X) if weight is None else weight.sum()
        self._floor = 1 / (rows + 2)
        self._fit(X, y, Y, weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs minus 1/2: (n,) for two classes, else (n, n_classes)."""
        scores = self._scores(X) - 0.5
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities: outputs clipped to [floor, 1], normalised to sum 1."""
        scores = self._scores(X)
        if len(self.classes_) == 2:
            scores = np.hstack([1 - scores, scores])
        clipped = np.clip(scores, self._floor, 1.0)
        return clipped / clipped.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest output."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]
