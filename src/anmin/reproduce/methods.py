"""The methods by name: what the tables call them, and the function that trains one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from anmin.reproduce import gradient, ours, paper, rivals
from anmin.reproduce.printed import printed
from anmin.reproduce.record import Fit

Trainer = Callable[..., Fit]  # of a split and a setup


@dataclass(frozen=True, slots=True)
class Method:
    """A method: its title, how it is trained, and what it needs."""

    title: str
    train: Trainer
    torch: bool = False
    outputs: int | None = None  # that it can take; None for any number


METHODS = {
    "sgd": Method("SGD", gradient.sgd, torch=True),
    "adam": Method("Adam", gradient.adam, torch=True),
    "adam-l": Method("Adam-L", partial(gradient.adam, slope=0.1), torch=True),
    "lbfgs": Method("LBFGS", gradient.lbfgs, torch=True),
    "anmin": Method("ANMIN", ours.anmin),
    "anmin-l": Method("ANMIN-L", partial(ours.anmin, slope=0.1)),
    "adam-scaled": Method("Adam, y standardised", partial(gradient.adam, scaled=True), torch=True),
    "lbfgs-wolfe": Method("L-BFGS, line search", rivals.line_searched),
    "trees": Method("Boosted trees", rivals.boosted_trees, outputs=1),
    "varpro": Method('solver="varpro"', ours.varpro),
    "default": Method("ANMINRegressor()", ours.default),
}
PAPER = paper.METHODS
FAIR = tuple(name for name in METHODS if name not in PAPER)
SIMULATED = ("adam", "anmin")

SGD_TRIAL = "sgd-rate"
GROWTH = {
    "growth-cholesky": "ANMIN, M formed",
    "growth-cg": "ANMIN, M only multiplied",
}
LANDSCAPE = {"anmin": "landscape", "anmin-l": "landscape-l"}
ARITHMETICS = {
    **{
        name: Method(a.title, partial(ours.anmin, arithmetic=a))
        for name, a in ours.ARITHMETICS.items()
    },
    "printed": Method("as printed, NaN degenerate", partial(printed, nan_is_low=True), torch=True),
    "printed-nan": Method("as printed, NaN solved", partial(printed, nan_is_low=False), torch=True),
}
ABLATION = {
    f"ablation-{name}-{number}": (number, name) for name in ARITHMETICS for number in ours.ABLATION
}

SPECIAL = {
    SGD_TRIAL: Method("trial of the rate of SGD", gradient.sgd_trial, torch=True),
    **{
        name: Method(title, partial(ours.growth, linear_solver=name.partition("-")[2]))
        for name, title in GROWTH.items()
    },
    LANDSCAPE["anmin"]: Method("ln|M + λI|", ours.landscape),
    LANDSCAPE["anmin-l"]: Method("ln|M + λI|, leaky", partial(ours.landscape, slope=0.1)),
    **{
        name: replace(
            ARITHMETICS[arithmetic],
            train=partial(ARITHMETICS[arithmetic].train, experiment=ours.ABLATION[number]),
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
