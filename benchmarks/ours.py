"""This library's solvers, as the benchmarks call them."""

from __future__ import annotations

import resource
from functools import partial
from typing import Any

from anmin import ANMINRegressor
from benchmarks.cases import Split
from benchmarks.record import Budget, Curve, Fit, Stopwatch

LAM = 1e-3  # on sums over the rows, as in the paper's experiments; on means it is LAM / n


def anmin(split: Split, budget: Budget, **options: Any) -> Fit:
    """The paper's Algorithm 1, from the same start as the paper's algorithm in PyTorch."""
    model = ANMINRegressor(
        split.h,
        solver="anmin",
        lam=LAM / len(split.X),
        max_iter=budget.iterations,
        init=split.start(),
        standardize=not split.scaled,
        **options,
    )
    return fitted(model, split)


def varpro(split: Split, budget: Budget, **options: Any) -> Fit:
    """The default solver at the paper's penalty, to its own limit or that of the clock."""
    model = ANMINRegressor(
        split.h,
        solver="varpro",
        lam=LAM / len(split.X),
        max_time=budget.max_time,
        random_state=split.seed,
        **options,
    )
    return fitted(model, split)


anmin_direct = partial(anmin, linear_solver="cholesky")
anmin_cg = partial(anmin, linear_solver="cg")
varpro_direct = partial(varpro, linear_solver="cholesky")
varpro_cg = partial(varpro, linear_solver="cg")


def varpro_wide(split: Split, budget: Budget) -> Fit:
    """The default solver on a system too large to form, at a penalty that suits the noise."""
    model = ANMINRegressor(
        split.h, lam=1e-3, linear_solver="cg", max_time=budget.max_time, random_state=split.seed
    )
    fit = fitted(model, split)
    fit.info["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return fit


def default(split: Split, _: Budget) -> Fit:
    """What a user gets who gives no argument but the seed."""
    return fitted(ANMINRegressor(random_state=split.seed), split)


def fitted(model: Any, split: Split) -> Fit:
    """Fit and time an estimator; its history gives the curve."""
    watch = Stopwatch()
    model.fit(split.X, split.y)
    seconds = watch.seconds()
    outputs = split.Y.shape[1]
    curve: Curve = [(step.seconds, step.mse / outputs) for step in model.history_]
    return Fit(seconds, model.predict, curve, {"iterations": model.n_iter_})
