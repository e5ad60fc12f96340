"""Rows that a sceptical reader wants beside the paper's, from scikit-learn.

A line-searched L-BFGS on standardised targets does not blow up; boosted trees are no network.
"""

import warnings
from time import perf_counter

from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from anmin.reproduce.protocol import Setup, Split
from anmin.reproduce.record import Fit


def line_searched(split: Split, setup: Setup) -> Fit:
    """MLPRegressor's L-BFGS, 1,000 iterations, standardised targets."""
    net = MLPRegressor(
        hidden_layer_sizes=(split.h,),
        solver="lbfgs",
        max_iter=setup.size.line_search_steps,
        random_state=split.number,
    )
    model = TransformedTargetRegressor(net, transformer=StandardScaler())
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(split.X, split.y)
    seconds = perf_counter() - start
    return Fit(seconds, model.predict, {}, f"{model.regressor_.n_iter_} iterations")


def boosted_trees(split: Split, _: Setup) -> Fit:
    """HistGradientBoostingRegressor at its defaults; it takes one output."""
    model = HistGradientBoostingRegressor(random_state=split.number)
    start = perf_counter()
    model.fit(split.X, split.y)
    return Fit(perf_counter() - start, model.predict, {})
