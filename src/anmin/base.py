"""What the regressor and the classifier share: from checked rows to fitted attributes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from anmin import checks
from anmin.backends import get_backend
from anmin.callbacks import CallbackSupportMixin, fit_listener
from anmin.checkpoint import Checkpoint, Ledger, fit_facts
from anmin.export import Exports
from anmin.history import Budget, Fit
from anmin.intervals import check_size, fit_intervals
from anmin.network import Network
from anmin.report import Report, report_on
from anmin.solvers import Problem, Search, Task, VarPro, solve_early, solver_object
from anmin.sources import (
    RawSource,
    Scaling,
    batch_rows,
    is_source,
    predict_source,
)
from anmin.status import Status

MOST_HIDDEN = 256  # for n_hidden="auto"


class BaseANMIN(Exports, CallbackSupportMixin, BaseEstimator):
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
            self._keep(fit.in_units(scaling.y_scale), problem)
            self._look_back(fit, problem, h, budget)
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

    def _look_back(self, fit: Fit, problem: Problem, h: int, budget: Budget) -> None:
        """The report and the intervals; the network is kept already."""
        self._report: Report | None = None
        self._intervals = None
        try:
            self._report = report_on(problem, fit, h, budget)
            if self.intervals:
                fit = fit.in_units(problem.source.scaling.y_scale)
                self._intervals = fit_intervals(problem, fit)
        except KeyboardInterrupt:
            what = "the network is kept, but without a full report or intervals."
            warnings.warn(f"Interrupted; {what}", ConvergenceWarning, 4)

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
        if self._report is None:
            raise ValueError("There is no report: the fit was interrupted while it was made.")
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


def outputs(network: Network, scaling: Scaling, X: np.ndarray) -> np.ndarray:
    """The outputs for raw X: (n, d) → (n, q)."""
    return network.forward((X - scaling.x_mean) / scaling.x_scale) + scaling.y_mean
