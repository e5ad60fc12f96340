"""The methods by name: what the tables call them, and the function that trains one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.record import Fit
from paper import published, trainers
from paper.trainers import printed


@dataclass(frozen=True, slots=True)
class Method:
    """A method: its title, how it is trained on a split with a setup, and what it needs."""

    title: str
    train: Callable[..., Fit]
    torch: bool = False


METHODS = {
    "sgd": Method("SGD", trainers.sgd, torch=True),
    "adam": Method("Adam", trainers.adam, torch=True),
    "adam-l": Method("Adam-L", partial(trainers.adam, slope=0.1), torch=True),
    "lbfgs": Method("LBFGS", trainers.lbfgs, torch=True),
    "anmin": Method("ANMIN", trainers.anmin),
    "anmin-l": Method("ANMIN-L", partial(trainers.anmin, slope=0.1)),
    "adam-scaled": Method("Adam, y standardised", partial(trainers.adam, scale_y=True), torch=True),
    "lbfgs-wolfe": Method("L-BFGS, line search", trainers.line_searched),
    "trees": Method("Boosted trees", trainers.boosted_trees),
    "varpro": Method('solver="varpro"', trainers.varpro),
    "default": Method("ANMINRegressor()", trainers.default),
}
PAPER = published.METHODS
FAIR = tuple(name for name in METHODS if name not in PAPER)
SIMULATED = ("adam", "anmin")

SGD_TRIAL = "sgd-rate"
GROWTH = {"growth-cholesky": "ANMIN, M formed", "growth-cg": "ANMIN, M only multiplied"}
LANDSCAPE = {"anmin": "landscape", "anmin-l": "landscape-l"}
ARITHMETICS = {
    **{
        name: Method(a.title, partial(trainers.anmin, arithmetic=a))
        for name, a in trainers.ARITHMETICS.items()
    },
    "printed": Method("as printed, NaN degenerate", partial(printed, nan_is_low=True), torch=True),
    "printed-nan": Method("as printed, NaN solved", partial(printed, nan_is_low=False), torch=True),
}
ABLATION = {
    f"ablation-{name}-{number}": (number, name)
    for name in ARITHMETICS
    for number in trainers.ABLATION
}

SPECIAL = {
    SGD_TRIAL: Method("trial of the rate of SGD", trainers.sgd_trial, torch=True),
    **{
        name: Method(title, partial(trainers.growth, linear_solver=name.partition("-")[2]))
        for name, title in GROWTH.items()
    },
    LANDSCAPE["anmin"]: Method("ln|M + λI|", trainers.landscape),
    LANDSCAPE["anmin-l"]: Method("ln|M + λI|, leaky", partial(trainers.landscape, slope=0.1)),
    **{
        name: replace(
            ARITHMETICS[arithmetic],
            train=partial(ARITHMETICS[arithmetic].train, experiment=trainers.ABLATION[number]),
        )
        for name, (number, arithmetic) in ABLATION.items()
    },
}


def find_method(name: str) -> Method:
    """A method by its name in the table on disk.

    >>> find_method("adam-l").title
    'Adam-L'
    """
    return METHODS.get(name) or SPECIAL[name]
