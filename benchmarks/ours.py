"""This library's solvers, as the benchmarks and the reproduction of the paper call them.

Every estimator is built by `regressor`, so that a change of the constructor is a change here.
"""

from __future__ import annotations

import resource
from functools import partial
from typing import Any

from anmin import ANMINRegressor
from anmin.solvers import SOLVERS
from benchmarks.cases import Split
from benchmarks.record import Budget, Curve, Fit, Stopwatch, mse

LAM = 1e-3  # on sums over the rows, as in the paper's experiments; on means it is LAM / n


def regressor(
    *args: Any, solver: str = "varpro", solver_options: dict[str, Any] | None = None, **options: Any
) -> ANMINRegressor:
    """An estimator; `solver_options` are the parameters that belong to the solver object."""
    kind, wanted = SOLVERS[solver], solver_options or {}
    own = {name: wanted[name] for name in kind().get_params() if name in wanted}
    rest = {name: value for name, value in wanted.items() if name not in own}
    return ANMINRegressor(*args, solver=kind(**own), **options, **rest)


def anmin(split: Split, budget: Budget, **solver_options: Any) -> Fit:
    """The paper's Algorithm 1, from the same start as the paper's algorithm in PyTorch."""
    model = regressor(
        split.h,
        solver="anmin",
        solver_options=solver_options,
        lam=LAM / len(split.X),
        max_iter=budget.iterations,
        init=split.start(),
        standardize=not split.scaled,
        device=budget.device,
    )
    return fitted(model, split)


def varpro(split: Split, budget: Budget, max_iter: int | None = None, **solver_options: Any) -> Fit:
    """The default solver at the paper's penalty, to its own limit or that of the clock."""
    model = regressor(
        split.h,
        solver_options=solver_options,
        lam=LAM / len(split.X),
        max_iter=max_iter,
        max_time=budget.max_time,
        device=budget.device,
        random_state=split.seed,
    )
    return fitted(model, split)


anmin_direct = partial(anmin, linear_solver="cholesky")
anmin_cg = partial(anmin, linear_solver="cg")
varpro_direct = partial(varpro, linear_solver="cholesky")
varpro_cg = partial(varpro, linear_solver="cg")


def varpro_wide(split: Split, budget: Budget) -> Fit:
    """The default solver on a system too large to form, at a penalty that suits the noise."""
    model = regressor(
        split.h,
        solver_options={"linear_solver": "cg"},
        lam=1e-3,
        max_time=budget.max_time,
        device=budget.device,
        random_state=split.seed,
    )
    fit = fitted(model, split)
    fit.info["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return fit


def default(split: Split, _: Budget) -> Fit:
    """What a user gets who gives no argument but the seed."""
    return fitted(ANMINRegressor(random_state=split.seed), split)


def trees(split: Split, _: Budget) -> Fit:
    """The default, with thresholds and rules of boosted trees in its choice."""
    return fitted(ANMINRegressor(init="trees", random_state=split.seed), split)


def single(split: Split, _: Budget) -> Fit:
    """One small network on standardised inputs."""
    model = ANMINRegressor(n_networks=1, encoding=None, random_state=split.seed)
    return fitted(model, split)


def sized(split: Split, _: Budget) -> Fit:
    """The default with as many units as the case calls for."""
    return fitted(ANMINRegressor(split.h, random_state=split.seed), split)


def compact(split: Split, _: Budget) -> Fit:
    """A small network that learns from several large ones."""
    large = ANMINRegressor(n_networks=3, encoding="auto", random_state=split.seed)
    taught = fitted(large, split)
    watch = Stopwatch()
    small = large.compact(split.h, split.X)
    info = {"large_rmse": mse(large.predict(split.X_test), split.y_test) ** 0.5,
            "large_units": large.n_hidden_, "large_seconds": taught.seconds}  # fmt: skip
    return Fit(watch.seconds(), small.predict, info=info)


def averaged(split: Split, _: Budget) -> Fit:
    """Three networks, over encodings that compete, as one."""
    model = ANMINRegressor(n_networks=3, encoding="auto", random_state=split.seed)
    return fitted(model, split)


def fitted(model: Any, split: Split) -> Fit:
    """Fit and time an estimator; its history gives the curve."""
    watch = Stopwatch()
    model.fit(split.X, split.y)
    seconds = watch.seconds()
    outputs = split.Y.shape[1]
    curve: Curve = [(step.seconds, step.mse / outputs) for step in model.history_]
    return Fit(seconds, model.predict, curve, {"iterations": model.n_iter_})
