"""Training a method on a split: ours, and the rivals of `benchmarks/rivals`.

The paper's experiments put 0.001 (λ), −10,000 (τ) and 0.0001 (the floor) on *sums* over the rows,
which is what `Algorithm1` does by itself. The ablation also takes them as the text has them, on
means, and in the arithmetic of the paper's program (`benchmarks/rivals/paper_torch.py`).
"""

import math
import warnings
from dataclasses import dataclass, replace
from math import nan
from time import perf_counter
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from anmin import ANMINRegressor
from anmin.history import Step
from anmin.network import Network
from benchmarks.cases import Split
from benchmarks.ours import LAM, fitted, regressor
from benchmarks.record import Budget, Fit
from benchmarks.rivals import SGD_RATES, hgb, mlp

GROWTH_ITERATIONS = 3
ON_MEANS = {"tau": -10_000.0, "floor": 1e-4}
Curve = dict[str, list[float]]  # column → values: step, seconds, train_mse, test_mse, …
Heard = list[tuple[Step, Network]]


@dataclass(frozen=True, slots=True)
class Size:
    """How large the experiments are: the paper's, or small ones for a try."""

    rows: int | None = None  # of a data set, at most
    epochs: int = 300  # of SGD and Adam
    iterations: int = 30  # of ANMIN
    lbfgs_steps: int = 60
    line_search_steps: int = 1000
    varpro_steps: int | None = None  # None: the solver's own limit
    simulations: tuple[tuple[int, int], ...] = (
        (1000, 1), (1000, 3), (1000, 10), (10_000, 10), (10_000, 30),
    )  # fmt: skip
    growth: int = 20_000  # rows from which the growth of the cost is measured
    landscape: tuple[int, ...] = (0, 2, 6, 14, 29)  # iterations at which a large M is formed


@dataclass(frozen=True, slots=True)
class Setup:
    """What a method is told beside its rows."""

    size: Size
    device: str = "cpu"
    sgd_rate: float = nan

    @property
    def budget(self) -> Budget:
        return Budget(self.size.iterations, self.size.epochs, device=self.device)


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
    dtype: str = "float64"
    sums: bool = True


ARITHMETICS = {
    "float32-sums": Arithmetic("float32, constants on sums", "float32"),
    "float32-means": Arithmetic("float32, constants on means", "float32", sums=False),
    "float64": Arithmetic("float64, constants on sums"),
}


# ---- ours -------------------------------------------------------------------------------------


def paper_model(
    split: Split,
    setup: Setup,
    experiment: Experiment = ABLATION[4],
    arithmetic: Arithmetic = ARITHMETICS["float64"],
    linear_solver: str = "auto",
    **options: Any,
) -> ANMINRegressor:
    """Algorithm 1 from a standard normal A; the protocol has scaled the rows already."""
    solver_options: dict[str, Any] = {"dtype": arithmetic.dtype, "linear_solver": linear_solver}
    solver_options |= experiment._asdict() | ({} if arithmetic.sums else ON_MEANS)
    lam = LAM / len(split.X) if arithmetic.sums else LAM
    start = {"init": split.start(), "max_iter": setup.size.iterations}
    return regressor(
        split.h, solver="anmin", lam=lam, standardize=False, device=setup.device,
        random_state=split.seed, solver_options=solver_options, **(start | options),
    )  # fmt: skip


def heard_fit(model: ANMINRegressor, split: Split) -> tuple[Fit, Heard]:
    """Fit on the clock, and listen to every iteration: its step and its network."""
    from anmin.engine import listening

    heard: Heard = []

    def hear(step: Step, network: Network) -> None:
        heard.append((step, network))

    with listening(hear), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the ablation stops on purpose
        fit = fitted(model, split)
    return fit, heard


def anmin(
    split: Split,
    setup: Setup,
    *,
    slope: float = 0.0,
    experiment: Experiment = ABLATION[4],
    arithmetic: Arithmetic = ARITHMETICS["float64"],
) -> Fit:
    """The paper's Algorithm 1, 30 iterations."""
    fit, heard = heard_fit(paper_model(split, setup, experiment, arithmetic, slope=slope), split)
    steps, outputs = [step for step, _ in heard], split.Y.shape[1]
    fit.curve = [(step.seconds, step.mse / outputs) for step in steps]
    fit.columns = {
        "step": [step.iteration for step in steps],
        "test_mse": best_test_errors(split, heard),
        "logdet": [step.logdet for step in steps],
        "condition": [step.condition for step in steps],
        "flips": [step.flips for step in steps],
        "dead": [step.dead for step in steps],
    }
    return fit


def best_test_errors(split: Split, heard: Heard) -> list[float]:
    """The test MSE of the best network so far, by training loss."""
    errors: list[float] = []
    lowest = math.inf
    for step, network in heard:
        if step.loss < lowest or not errors:
            lowest = step.loss
            errors.append(float(((network.forward(split.X_test) - split.Y_test) ** 2).mean()))
        else:
            errors.append(errors[-1])
    return errors


def varpro(split: Split, setup: Setup) -> Fit:
    """The default solver at the paper's penalty, until it converges."""
    model = regressor(
        split.h, lam=LAM / len(split.X), max_iter=setup.size.varpro_steps, standardize=False,
        device=setup.device, random_state=split.seed,
    )  # fmt: skip
    return fitted(model, split)


def default(split: Split, setup: Setup) -> Fit:
    """What a user gets who gives no argument: the penalty is chosen too."""
    model = regressor(
        split.h, max_iter=setup.size.varpro_steps, device=setup.device, random_state=split.seed
    )
    return fitted(model, split)


def landscape(split: Split, setup: Setup, *, slope: float = 0.0) -> Fit:
    """ln|M + lam I| and the condition number on the way, where M is too large for every step.

    The way is that of `anmin`; at a few iterations M is formed and factorised once.
    """
    start = perf_counter()
    _, heard = heard_fit(paper_model(split, setup, slope=slope), split)
    networks = {step.iteration: network for step, network in heard}
    columns: Curve = {"step": [], "logdet": [], "condition": []}
    for k in setup.size.landscape:
        model = paper_model(
            split, setup, slope=slope, init=networks[k].A, max_iter=1, linear_solver="cholesky"
        )
        here = model.fit(split.X, split.y).history_[1]
        for name, value in zip(columns, (k + 1, here.logdet, here.condition), strict=True):
            columns[name].append(value)
    return Fit(perf_counter() - start, None, columns=columns)


def growth(split: Split, setup: Setup, *, linear_solver: str) -> Fit:
    """Seconds an iteration."""
    model = paper_model(split, setup, max_iter=GROWTH_ITERATIONS, linear_solver=linear_solver)
    steps = model.fit(split.X, split.y).history_
    return Fit((steps[-1].seconds - steps[0].seconds) / GROWTH_ITERATIONS, None)


# ---- rivals; PyTorch is imported when one of its methods runs ----------------------------------


def adam(split: Split, setup: Setup, **options: Any) -> Fit:
    from benchmarks.rivals.torch_gradient import ADAM, ADAM_RATE, train

    return train(split, setup.budget, ADAM, ADAM_RATE, **options)


def sgd(split: Split, setup: Setup) -> Fit:
    from benchmarks.rivals.torch_gradient import SGD, train

    fit = train(split, setup.budget, SGD, setup.sgd_rate)
    fit.info["note"] = f"rate {setup.sgd_rate:g}"
    return fit


def sgd_trial(split: Split, setup: Setup) -> Fit:
    """A whole run at each rate of the list, the largest first, until one ends worse than before."""
    start = perf_counter()
    trial: Curve = {"rate": [], "train_mse": []}
    lowest = math.inf
    for rate in SGD_RATES:
        error = sgd(split, replace(setup, sgd_rate=rate)).curve[-1][1]
        trial["rate"].append(rate)
        trial["train_mse"].append(error)
        if error > lowest:
            break
        lowest = min(lowest, error if math.isfinite(error) else math.inf)
    return Fit(perf_counter() - start, None, columns=trial)


def best_rate(trial: Curve) -> float:
    """The rate with the lowest training MSE; one that blew up has none.

    >>> best_rate({"rate": [0.1, 0.01, 0.001], "train_mse": [math.nan, 3.0, 5.0]})
    0.01
    """
    known = zip(trial["train_mse"], trial["rate"], strict=True)
    return min((loss if math.isfinite(loss) else math.inf, rate) for loss, rate in known)[1]


def lbfgs(split: Split, setup: Setup) -> Fit:
    from benchmarks.rivals.torch_gradient import lbfgs_unsearched

    return lbfgs_unsearched(split, setup.budget, setup.size.lbfgs_steps)


def printed(split: Split, setup: Setup, *, experiment: Experiment, nan_is_low: bool) -> Fit:
    """The paper's program: float32, constants on sums, the determinant by LU."""
    from benchmarks.rivals import paper_torch

    rules = paper_torch.Rules(experiment.keep, experiment.degenerate, nan_is_low)
    return paper_torch.printed(split, setup.budget, rules=rules)


def line_searched(split: Split, setup: Setup) -> Fit:
    """MLPRegressor's L-BFGS, which does not blow up, on standardised targets."""
    return mlp.lbfgs(split, setup.budget, setup.size.line_search_steps)


def boosted_trees(split: Split, setup: Setup) -> Fit:
    """HistGradientBoostingRegressor at its defaults; it takes one output."""
    return hgb.hgb(split, setup.budget)
