"""What the two estimators say of their parameters and attributes, once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any


def extended(base: type) -> Callable[[Callable], Callable]:
    """For an `__init__` that takes `**shared` for those of `base`: the signature says all of them.

    scikit-learn reads the parameters of an estimator from there.
    """

    def extend(init: Callable) -> Callable:
        own = signature(init).parameters
        shared = signature(base.__init__).parameters  # type: ignore[misc]
        both = {**shared, **{k: v for k, v in own.items() if v.kind is not Parameter.VAR_KEYWORD}}

        @wraps(init)
        def known(self: Any, *args: Any, **given: Any) -> None:
            if unknown := given.keys() - both.keys():
                what = f"{type(self).__name__}() has no parameter {min(unknown)!r}"
                raise TypeError(f"{what}; it has {', '.join([*both][1:])}.")
            init(self, *args, **given)

        known.__signature__ = signature(init).replace(parameters=list(both.values()))  # type: ignore[attr-defined]
        return known

    return extend


PARAMETERS = """
    Parameters
    ----------
    n_hidden : int or "auto", default="auto"
        Hidden units of a network, at most: units that do nothing are removed when `lam` is chosen.
        "auto" is 64, and up to 128 in each of several networks under the squared error, where
        held-out rows still gain by more.
    slope : float in [0, 1), default=0.0
        Slope of the activation for negative arguments: 0 is ReLU, 0.1 a leaky ReLU.
    lam : float or "auto", default="auto"
        Penalty on the squared weights of both layers, beside the *mean* squared error. "auto"
        walks it down and chooses it on held-out rows; with solver="anmin" it is 0.001 over the
        number of rows, as in the paper.
    solver : "varpro", "anmin" or a solver object, default="varpro"
        "varpro" is variable projection with damped steps and relocation of neurons; "anmin" the
        paper's Algorithm 1. `anmin.solvers.VarPro(...)` and `Algorithm1(...)` set their details:
        tolerance, random starts, precision, rows at a time.
    max_iter : int, default=None
        Iterations: 30 for "anmin"; damped steps for "varpro", 1,000 a network, or no limit with
        `max_time`.
    max_time : float, default=None
        Seconds after which the best network so far is returned, at most a tenth and 0.2 s late.
        Where it is short for the rows, lam="auto" is fitted to a sample of them, with a warning.
        Seconds in which loops are compiled, at the first fit of an installation, do not count.
    init : "random", "trees", a fitted ensemble of trees, or array, default="random"
        An array (n_features + 1, n_hidden) is the first hidden layer, in standardised inputs,
        biases in row 0. "trees" grows small boosted trees, and takes thresholds and rules from
        them: with lam="auto" in one more view of the inputs, which held-out rows may choose. An
        ensemble of scikit-learn, LightGBM, XGBoost or CatBoost, fitted to the same columns, serves
        in their place; within `FrozenEstimator` it stays fitted in clones.
    standardize : bool, default=True
        Bring X to mean 0 and deviation 1 and centre y before training. Predictions, `coefs_`
        and `intercepts_` are for raw X in any case.
    n_networks : int or "auto", default="auto"
        Networks that are fitted, without another part of the rows each, and averaged into one
        network. "auto" is three where held-out rows choose `lam`, and five below 2,000 rows under
        the squared error without intervals; one with a `lam`, `init`,
        `warm_start`, `early_stopping`, solver or short budget of your own (below 500 iterations,
        or two seconds and one for every 2,000 rows), or fewer than 50 rows, which leaves Eq. (1)
        as it is.
    encoding : "auto", None or an `anmin.encoding.Encoding`, default="auto"
        "auto" clips the inputs, cuts them at quantiles, and lets held-out rows decide which of
        that to use; under the same condition (standardize=False switches it off). None leaves
        them as they are. n_networks=1, encoding=None is one small network.
    connections : int or boolean array of shape (n_features, n_hidden), default=None
        How many inputs a unit sees, beside its bias, chosen as it enters; or which ones each unit
        may see. None is all of them. For many inputs of which few matter; X may then be a SciPy
        sparse matrix. One network, unless `n_networks` says otherwise, and no encoding.
    categorical_features : "from_dtype", None, names, numbers or mask, default="from_dtype"
        Columns that hold categories: by their types (text, pandas' and polars' categories,
        Arrow's dictionaries), or those that are named. Dates become numbers and parts of the
        calendar. Gaps (NaN, None) may be in any column.
    monotonic_cst : array of -1, 0 and 1, or dict by name, default=None
        Columns of X that predictions, of a classifier the probability of the second class, are to
        rise in (1) or to fall in (-1), wherever the others and the column itself lie; 0 for any.
    early_stopping : bool, default=False
        Hold rows out, stop when their error has not improved for 10 iterations, and keep the
        network that had the least; `history_` has the errors as held_out_mse.
    cv : int, float, splitter or iterable of splits, default=None
        Rows held out in turn to choose `lam`: so many parts (as many as networks; for one network 3
        below 2,000 rows, else 1), a share of the rows (0.2), any splitter of scikit-learn, or the
        splits. `early_stopping` holds out such a share too, or the rows of the first split, and
        chooses `lam` by the other splits.
    device : str or list of str, default="cpu"
        "cpu", "cuda", or "auto" for a GPU where there is one. A list such as ["cuda:0", "cuda:1"],
        or "cuda:all", shares the rows out between GPUs. GPUs need PyTorch.
    checkpoint : path, default=None
        A file that each iteration is logged to. A fit that was killed and is started again with
        the same data and parameters goes on from there, to the same network.
    warm_start : bool, default=False
        Start from the hidden layer of the fit before, where it has as many inputs, no encoding,
        and no more than `n_hidden` units.
    random_state : int, RandomState or None, default=None
        Seed of the networks and of the rows held out for them. Rows kept apart for
        intervals="conformal" or a quantile do not depend on it.
    n_jobs : int, default=None
        Cores that a fit uses: networks and rows are shared out between them. None and -1 are all
        that the process may use; the network is the same to the bit.
    verbose : int, default=0
        1 prints one line for each iteration.
"""

ATTRIBUTES = """
    Attributes
    ----------
    A_, B_, b0_ : arrays (n_features + 1, n_hidden_), (n_hidden_, n_outputs_), (n_outputs_,)
        The network in standardised X and centred y, as in the paper. With an encoding, of its
        columns: there is a row of A_ for each.
    coefs_, intercepts_ : lists of two arrays
        The same network for raw X, as in `MLPRegressor`; with an encoding, for `encode(X)`.
    lam_ : float
        The penalty used.
    path_ : list of records lam, train_mse, held_out_mse, active
        The penalties that were tried, with lam="auto".
    loss_, best_loss_ : float
        Eq. (1) at the returned network, and at the best one met.
    history_ : list of records, `history_[0]` the start
        iteration, loss, mse, frozen_loss, logdet, condition, status, flips, dead, cells, seconds.
    loss_curve_ : list of float
    n_iter_, n_hidden_, n_outputs_, n_features_in_ : int
    feature_names_in_ : array, when X had names
    feature_importances_ : array (n_features_in_,)
        How much the network uses each column of X: its gradient, squared and summed, over the
        training rows. They sum to 1.
"""
