"""This library's rows: the paper's Algorithm 1, its ablation, and the default solver.

The paper's experiments put 0.001 (λ), −10,000 (τ) and 0.0001 (the floor) on *sums* over the rows,
which is what `Algorithm1` does by itself. The ablation also takes them as the text has them, on
means (and `printed.py` transcribes the program).
"""

import warnings
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from anmin import ANMINRegressor
from anmin.history import Fit as Trained
from anmin.history import Step
from anmin.network import Network
from anmin.reproduce.protocol import Setup, Split
from anmin.reproduce.record import Curve, Fit
from anmin.solvers import Algorithm1, Task
from anmin.solvers.algorithm1 import FLOOR, LAM, TAU

GROWTH_ITERATIONS = 3


class Experiment(NamedTuple):
    """A row of the ablation: which network is kept, and what a degenerate system leads to."""

    keep: str = "best"
    degenerate: str = "floor"


ABLATION = {
    1: Experiment("last", "stop"),
    2: Experiment("best", "reinit"),
    3: Experiment("last", "floor"),
    4: Experiment("best", "floor"),
}


class Arithmetic(NamedTuple):
    """A column of the ablation: the precision, and whether the constants are on sums or means."""

    title: str
    dtype: str = "auto"
    sums: bool = True


ARITHMETICS = {
    "float32-sums": Arithmetic("float32, constants on sums", "float32"),
    "float32-means": Arithmetic("float32, constants on means", "float32", sums=False),
    "float64": Arithmetic("float64, constants on sums", "float64"),
}


class Watched(Algorithm1):
    """Algorithm 1 that remembers the network after each iteration."""

    networks: list[Network]

    def solve(self, task: Task) -> Trained:
        self.networks = []

        def listen(step: Step, network: Network) -> bool:
            self.networks.append(network)
            return task.listener(step, network)

        return super().solve(replace(task, listener=listen))


def paper_model(
    split: Split,
    setup: Setup,
    experiment: Experiment = ABLATION[4],
    arithmetic: Arithmetic = ARITHMETICS["float64"],
    **options: Any,
) -> ANMINRegressor:
    """Algorithm 1 from a standard normal A; the protocol has scaled the rows already."""
    solver = Watched(**experiment._asdict())
    start: dict[str, Any] = {"init": split.start(), "max_iter": setup.size.iterations}
    if not arithmetic.sums:
        solver.set_params(tau=TAU, floor=FLOOR)
        start["lam"] = LAM
    return ANMINRegressor(
        split.h, solver=solver, standardize=False, device=setup.device,
        dtype=arithmetic.dtype, random_state=split.number, **(start | options),
    )  # fmt: skip


def anmin(
    split: Split,
    setup: Setup,
    *,
    slope: float = 0.0,
    experiment: Experiment = ABLATION[4],
    arithmetic: Arithmetic = ARITHMETICS["float64"],
) -> Fit:
    """The paper's Algorithm 1, 30 iterations."""
    model = paper_model(split, setup, experiment, arithmetic, slope=slope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the ablation stops on purpose
        fit = timed(model, split)
    fit.curve["test_mse"] = best_test_errors(split, model.history_, model.solver.networks)
    return fit


def best_test_errors(split: Split, history: list[Step], networks: list[Network]) -> list[float]:
    """The test MSE of the best network so far, by training loss."""
    errors: list[float] = []
    lowest = float("inf")
    for step, network in zip(history, networks, strict=True):
        if step.loss < lowest or not errors:
            lowest = step.loss
            errors.append(float(((network.forward(split.X_test) - split.Y_test) ** 2).mean()))
        else:
            errors.append(errors[-1])
    return errors


def varpro(split: Split, setup: Setup) -> Fit:
    """The default solver at the paper's penalty, until it converges."""
    model = ANMINRegressor(
        split.h, lam=LAM / len(split.X), max_iter=setup.size.varpro_steps, standardize=False,
        device=setup.device, random_state=split.number,
    )  # fmt: skip
    return timed(model, split)


def default(split: Split, setup: Setup) -> Fit:
    """What a user gets who gives no argument: the penalty is chosen too."""
    model = ANMINRegressor(
        split.h, max_iter=setup.size.varpro_steps, device=setup.device, random_state=split.number
    )
    return timed(model, split)


def timed(model: ANMINRegressor, split: Split) -> Fit:
    """Fit on the clock; the curve comes from the history."""
    start = perf_counter()
    model.fit(split.X, split.y)
    return Fit(perf_counter() - start, model.predict, history_curve(model, split))


def history_curve(model: ANMINRegressor, split: Split) -> Curve:
    q, steps = split.Y.shape[1], model.history_
    return {
        "step": [step.iteration for step in steps],
        "seconds": [step.seconds for step in steps],
        "train_mse": [step.mse / q for step in steps],
        "logdet": [step.logdet for step in steps],
        "condition": [step.condition for step in steps],
        "flips": [step.flips for step in steps],
        "dead": [step.dead for step in steps],
    }


def landscape(split: Split, setup: Setup, *, slope: float = 0.0) -> Fit:
    """ln|M + lam I| and the condition number on the way, where M is too large for every step.

    The way is that of `anmin`; at a few iterations M is formed and factorised once.
    """
    start = perf_counter()
    way = paper_model(split, setup, slope=slope).fit(split.X, split.y)
    curve: Curve = {"step": [], "logdet": [], "condition": []}
    for k in setup.size.landscape:
        A = way.solver.networks[k].A
        model = paper_model(split, setup, slope=slope, init=A, max_iter=1, linear_solver="cholesky")
        here = model.fit(split.X, split.y).history_[1]
        for name, value in zip(curve, (k + 1, here.logdet, here.condition), strict=True):
            curve[name].append(value)
    return Fit(perf_counter() - start, None, curve)


def growth(split: Split, setup: Setup, *, linear_solver: str) -> Fit:
    """Seconds an iteration."""
    model = paper_model(split, setup, max_iter=GROWTH_ITERATIONS, linear_solver=linear_solver)
    steps = model.fit(split.X, split.y).history_
    return Fit((steps[-1].seconds - steps[0].seconds) / GROWTH_ITERATIONS, None, {})
