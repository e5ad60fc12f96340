"""What the regressor and the classifier share: from checked rows to fitted attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from anmin import checks
from anmin.backends import get_backend
from anmin.backends.compiled import waiting_for_compiler
from anmin.callbacks import CallbackSupportMixin, fit_listener
from anmin.checkpoint import Checkpoint
from anmin.compact import Compacts
from anmin.encoding import MOST_COLUMNS, Encoding
from anmin.engine import Budget, Engine
from anmin.export import Exports
from anmin.history import Fit, warn_of
from anmin.inspect.importance import Understanding, importances, on_used_inputs
from anmin.inspect.intervals import check_size, fit_intervals
from anmin.inspect.report import SQUARES, Report, report_on
from anmin.losses import Loss, bound
from anmin.monotone import constrained
from anmin.rows import TableRows
from anmin.short_time import affordable, ending
from anmin.solvers import Problem, Search, Solver, Start, hold_out, solve, solver_object
from anmin.solvers.connections import Connections
from anmin.solvers.path import FEW, FOLDS
from anmin.solvers.planting import planted, with_trees
from anmin.solvers.views import View, encoded_views
from anmin.sources import RawSource, Scaling, batch_rows, is_source, predict_source
from anmin.sources.draws import Beside
from anmin.starts import TreeStart, tree_start

HIDDEN, MOST_HIDDEN = 64, 128  # for n_hidden="auto": as a rule, and where held-out rows ask for it
NETWORKS, MORE = 3, 5  # that are averaged, of the best encoding; with few rows they differ more
ENOUGH, ENOUGH_TIME, ENOUGH_ROWS = 500, 2.0, 50  # iterations, seconds, rows: for several of them,
ROWS_A_SECOND = 2000  # and rows that they take a second besides
ONLY_SQUARES = 'solver={!r} minimises the squared error only; use solver="varpro" for loss={!r}.'
NUMBER = (int, float, np.integer, np.floating)
HUGE = 1e250  # a penalty that leaves nothing of any network
NOT_ENCODED = (
    "init is a hidden layer on the inputs themselves, and an encoding makes others of them; use "
    "encoding=None with it."
)
NO_USE = (
    'X_val chooses lam="auto" and stops with early_stopping=True: use one of them, and leave cv '
    "at None, whose place X_val takes."
)


def as_found(problem: Problem, fit: Fit) -> Fit:  # noqa: ARG001
    return fit


class BaseANMIN(TableRows, Understanding, Compacts, Exports, CallbackSupportMixin, BaseEstimator):
    """What the regressor and the classifier share."""

    _loss: Loss | None = None  # of the last fit; None is the squared error

    def __init__(
        self,
        n_hidden: int | str = "auto",
        *,
        slope: float = 0.0,
        lam: float | str = "auto",
        solver: str | Solver = "varpro",
        max_iter: int | None = None,
        max_time: float | None = None,
        init: Any = "random",
        standardize: bool = True,
        n_networks: int | str = "auto",
        encoding: str | Encoding | None = "auto",
        connections: Any = None,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        early_stopping: bool = False,
        cv: Any = None,
        device: str | list[str] = "cpu",
        checkpoint: str | PathLike[str] | None = None,
        warm_start: bool = False, random_state: Any = None, n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:  # fmt: skip
        self.n_hidden, self.slope = n_hidden, slope
        self.lam, self.solver = lam, solver
        self.max_iter, self.max_time = max_iter, max_time
        self.init, self.standardize = init, standardize
        self.n_networks, self.encoding = n_networks, encoding
        self.categorical_features, self.monotonic_cst = categorical_features, monotonic_cst
        self.early_stopping, self.cv = early_stopping, cv
        self.connections, self.device = connections, device
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.random_state, self.n_jobs, self.verbose = random_state, n_jobs, verbose

    def _fit(
        self, rows: RawSource, X: Any, y: Any, weight: np.ndarray | None = None,
        groups: Any = None, finish: Callable[[Problem, Fit], Fit] = as_found,
    ) -> None:  # fmt: skip
        """Train on checked rows; the others are what the user gave, for callbacks and cv."""
        solver = solver_object(self.solver)
        h, first = self._size(solver, rows)
        free = groups is None and not checks.is_splitter(self.cv)
        if self.max_time is not None and free and self._chooses(solver):
            rows = affordable(rows, h, self.max_time)
        networks, encoding = self._plan(solver, rows)
        budget = self._budget(solver, networks, rows, h)
        search = self._search(solver, rows, X, y, weight, groups)
        search = replace(search, n_networks=networks, max_iter=budget.max_iter)
        if self._wants_intervals():
            alone = networks == 1 and encoding is None
            check_size(rows.width[0] + 1, h * networks, rows.width[1], alone)
        trees = tree_start(self.init, rows.width[0]) if checks.from_trees(self.init) else None
        whole = self._problem(rows, h, solver)
        with whole.backend.session(), np.errstate(all="ignore"):
            rng = check_random_state(self.random_state)
            start = Start(h, rng, first, self._start(whole, h, encoding, trees, rng))
            log = self._log(whole, start, search)
            if log is not None and (self.random_state is None or self.random_state is np.random):
                start = replace(start, rng=check_random_state(log.seed))
            engine = Engine(budget, whole.units, log)
            close = self._listen(engine, X, y, lambda: (engine.told or whole).source.scaling)
            if self.lam == "auto":
                search = replace(search, views=self._views(whole, encoding, start.rng, trees))
            try:
                problem, fit = self._solve(solver, whole, start, search, engine)
                fit = finish(problem, fit)
            finally:
                if log is not None:
                    log.close()
            self._adopt(fit, problem.source.scaling)
            warn_of(fit)
            seen = whole.source.scaled(problem.source.scaling)
            self._look_back(replace(whole, source=seen, lam=problem.lam), fit, h)
        close()

    def _listen(
        self, engine: Engine, X: Any, y: Any, scaling: Callable[[], Scaling]
    ) -> Callable[[], Any]:
        """Let `verbose` and the callbacks of scikit-learn hear; returns how to close them."""
        heard = getattr(self, "_skl_callbacks", None)
        if not (checks.whole_number("verbose", self.verbose, least=0) or heard):
            return lambda: None
        listener, close = fit_listener(self, X, y, engine.budget.max_iter, scaling)
        engine.listeners += [listener]
        return close

    def _solve(
        self, solver: Solver, problem: Problem, start: Start, search: Search, engine: Engine
    ) -> tuple[Problem, Fit]:
        """The fit, on all rows or on those that early_stopping leaves."""
        if checks.true_or_false("early_stopping", self.early_stopping):
            problem, search, judge = hold_out(problem, search, start.rng)
            engine.held_out = judge.error
            engine.listeners += [judge]
        return solve(solver, problem, start, search if self.lam == "auto" else None, engine)

    def _views(
        self, problem: Problem, encoding: str | Encoding | None, rng: np.random.RandomState,
        trees: TreeStart | None,
    ) -> list[View]:  # fmt: skip
        """The ways of looking at the inputs that compete."""
        scaling = problem.source.scaling
        if not self.standardize or encoding is None:
            relevance = 1.0 if self.standardize and self.connections is None else 0.0
            return [View(scaling, np.arange(scaling.n_inputs), relevance, trees=trees)]
        most = MOST_COLUMNS // (1 if problem.objective.least_squares else 2)
        views = encoded_views(problem.source, encoding, rng, most)
        return views if trees is None else with_trees(views, problem, trees, rng)

    def _plan(self, solver: Solver, rows: RawSource) -> tuple[int, str | Encoding | None]:
        """How many networks, and behind which encoding: one and none, where the user says so."""
        alone = self.warm_start or self.early_stopping or checks.is_array(self.init)
        n = rows.tally()[0]
        given = ((self.max_iter, ENOUGH), (self.max_time, ENOUGH_TIME + n / ROWS_A_SECOND))
        short = self.n_networks == "auto" and (
            any(isinstance(limit, NUMBER) and limit < enough for limit, enough in given)
            or n < ENOUGH_ROWS
        )
        several = self._chooses(solver) and not (alone or short) and self.connections is None
        few = n < FEW and self._loss is None and not self._wants_intervals()
        networks = (MORE if few else NETWORKS) if several else 1
        if self.n_networks != "auto":
            networks = checks.whole_number("n_networks", self.n_networks, 1, "auto")
        encoding = self.encoding
        if encoding is not None and not isinstance(encoding, Encoding):
            checks.one_of("encoding", encoding, ("auto",), "None, an Encoding")
            encoding = encoding if several else None
        if networks > 1 or encoding is not None:
            self._chooses(solver, f"n_networks={networks}, encoding={self.encoding!r:.20}")
        return networks, encoding

    def _wants_intervals(self) -> bool:
        intervals = getattr(self, "intervals", False)
        known = 'True, False or "conformal"'
        return intervals != "conformal" and checks.true_or_false("intervals", intervals, known)

    def _look_back(self, problem: Problem, fit: Fit, h: int) -> None:
        """The report and the intervals; the network is kept already."""
        self._report, self._intervals = None, None
        self.__dict__.pop("feature_importances_", None)  # of an earlier fit
        try:
            columns = self._columns_of_inputs()
            used = on_used_inputs(problem, self._network, columns)
            self.feature_importances_ = importances(*used)
            self._report = report_on(problem, fit, h, getattr(self._loss, "label", SQUARES))
            if self._wants_intervals():
                self._intervals = fit_intervals(problem, fit)
        except KeyboardInterrupt:
            what = "the network is kept, but without a full report or intervals."
            warnings.warn(f"Interrupted; {what}", ConvergenceWarning, 4)

    def _log(self, problem: Problem, start: Start, search: Search) -> Checkpoint | None:
        """Where the moves are logged."""
        if self.checkpoint is None:
            return None
        params = self.get_params(deep=False)
        if start.A is not None:
            params["warm_start" if self.warm_start else "init"] = start.A
        if search.splits is not None:
            judge = problem.source.raw.judge
            params["cv"] = search.splits if judge is None else judge.chunk.columns  # type: ignore[attr-defined]
        return Checkpoint(checks.path("checkpoint", self.checkpoint), params, problem.source)

    def _start(
        self, whole: Problem, h: int, encoding: Any, trees: TreeStart | None,
        rng: np.random.RandomState,
    ) -> np.ndarray | None:  # fmt: skip
        """The first A, on standardised inputs; None for a random one."""
        d, scale = whole.source.shape[1] - 1, whole.source.scaling.x_scale
        if checks.true_or_false("warm_start", self.warm_start) and hasattr(self, "A_"):
            units, plain = self.A_.shape[1], self._scaling.encoding is None
            if plain and len(self.A_) == d + 1 and 0 < units <= h:
                return self.A_ * np.append(1.0, scale / self._scaling.x_scale)[:, None]
        if trees is not None:
            chooses = self._chooses(solver_object(self.solver))
            return None if chooses else planted(whole, h, trees, rng)
        if (A := checks.start(self.init, (d + 1, h))) is not None and encoding is not None:
            raise ValueError(NOT_ENCODED)
        return A

    def _chooses(self, solver: Solver, what: str = "") -> bool:
        """Whether held-out rows choose lam; an error where `what` needs that."""
        chooses = self.lam == "auto" and solver.default_lam(1.0) is None
        if what and not chooses:
            raise ValueError(
                f'{what} needs lam="auto" and a solver that lets held-out rows decide, such as '
                f'"varpro"; got lam={self.lam!r}, solver={self.solver!r}.'
            )
        return chooses

    def _size(self, solver: Solver, rows: RawSource) -> tuple[int, int]:
        """Units of a network at most, and until held-out rows ask for more."""
        if self.n_hidden == "auto":
            several = self._plan(solver, rows)[0] > 1 and self._loss is None
            return MOST_HIDDEN if several and not self._wants_intervals() else HIDDEN, HIDDEN
        h = checks.whole_number("n_hidden", self.n_hidden, 1, "auto")
        return checks.fits_in_memory(h, rows.width[0] + 1), h

    def _search(
        self, solver: Solver, rows: RawSource, X: Any, y: Any, weight: np.ndarray | None,
        groups: Any,
    ) -> Search:  # fmt: skip
        """How rows are held out, to choose lam and for early_stopping."""
        if isinstance(self.lam, str):
            checks.one_of("lam", self.lam, ("auto",), "a number")
        search, n, cv = Search(), rows.tally()[0], self.cv
        if rows.judge is not None:
            if cv is not None or not (self._chooses(solver) or self.early_stopping):
                raise ValueError(NO_USE)
            return replace(search, splits=[(np.arange(n), Beside())])
        if groups is not None and not checks.is_splitter(cv):
            folds = max(FOLDS if n < FEW else 1, self._plan(solver, rows)[0], solver.n_init)
            cv = checks.group_splits(cv, groups, folds)
        if not checks.is_splitter(cv):
            return replace(search, **checks.held_out(cv))
        if rows.streamed:  # a splitter sees numbers of rows
            X, y = np.empty((n, 0)), None
        return replace(search, splits=checks.splits(cv, X, y, weight, groups))

    def _budget(self, solver: Solver, networks: int, rows: RawSource, h: int) -> Budget:
        clock = self.__dict__.pop("_began", None) or perf_counter(), waiting_for_compiler()
        most, max_time = self.max_iter, self.max_time
        if max_time is not None:
            max_time = checks.real_number("max_time", max_time, least=0.0)
            max_time -= ending(rows, h, max_time, self._loss is None)
        if most is not None:
            return Budget(checks.whole_number("max_iter", most, least=0), max_time, 0, *clock)
        return Budget(networks * solver.default_max_iter(max_time), max_time, 0, *clock)

    def _problem(self, rows: RawSource, h: int, solver: Solver) -> Problem:
        if self._loss is not None and not solver.any_loss:
            raise ValueError(ONLY_SQUARES.format(self.solver, self._loss))
        d, q = rows.width
        scaling = Scaling.identity(d, q)
        if checks.true_or_false("standardize", self.standardize):
            scaling = Scaling.of(rows.measured)
        terms = scaling, self.standardize, self._chooses(solver)
        scaling, objective = bound(self._loss, rows, *terms)
        device = checks.devices(self.device, rows.remote)
        place, threads = "cpu" if rows.remote else device, checks.jobs(self.n_jobs)
        backend = get_backend(place, solver.dtype, threads).for_width(d + 1)
        connections = None
        if self.connections is not None:
            connections = Connections.asked(self, solver, rows, h, backend)
        size = batch_rows(solver.batch_size, backend, h, d + 1, len(scaling.y_mean))
        problem = Problem(
            rows.on(device).prepared(scaling, backend, size),
            0.0 if self.lam == "auto" else checks.real_number("lam", self.lam, 0.0, HUGE),
            checks.real_number("slope", self.slope, least=0.0, below=1.0),
            solver.linear_solver,
            objective,
            connections,
        )
        return problem if self.monotonic_cst is None else constrained(self, solver, problem)

    def _adopt(self, fit: Fit, scaling: Scaling) -> None:
        """Copy the attributes of a fit that was made, or loaded from a file."""
        self.__dict__.pop("extra_", None)  # of an earlier fit
        A, B = map(np.ascontiguousarray, (fit.network.A, fit.network.B))
        network = replace(fit.network, A=A, B=B)  # laid out as from a file: same rounding
        self._network, self._scaling = network, scaling
        self.A_, self.B_, self.b0_ = network.A, network.B, network.b0
        raw = network.fold(scaling.x_mean, scaling.x_scale, scaling.y_mean)
        self.coefs_, self.intercepts_ = [raw.A[1:], raw.B], [raw.A[0], raw.b0]
        self.lam_, self.path_, self.history_ = fit.lam, fit.path, fit.history
        self.loss_curve_ = [step.loss for step in fit.history]
        self.loss_, self.best_loss_ = fit.loss, min(self.loss_curve_)
        walked = bool(fit.path) and not fit.path_cut  # a whole path alone is one iteration
        self.n_iter_ = len(fit.history) - 1 or int(walked)
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
        forward = partial(self._scaling.outputs, self._network)
        names = getattr(self, "feature_names_in_", None)
        return predict_source(forward, X, names, self._scaling.n_features, self._columns)

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        """The outputs of the network for standardised X: (n, q)."""
        return self._network.forward(X) + self._scaling.y_mean
