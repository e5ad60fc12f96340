"""
Tables: against an MLP and boosted trees
========================================

Which learner to use for a table? This page runs four of them at their defaults on four tables: one
of measurements on patients, two smooth functions with noise, and a table of yes-or-no rules. The
first three suit a network. On the last, trees win, and that is the honest advice: where the
answer jumps at thresholds, use trees.
"""

# %%
# Four tables
# -----------
# The rows that the learners see, and rows to judge them by.

import warnings
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import ShuffleSplit
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anmin import ANMINRegressor


def rules(n, seed):
    """Points for rules kept: what a decision tree can say in a few words."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 6))
    on = X > [0.3, 0.5, 0.7, 0.4, 0.6, 0.5]
    y = 2.0 * on[:, 0] + 3.0 * (on[:, 1] & on[:, 2]) - 2.0 * (on[:, 3] ^ on[:, 4]) + on[:, 5]
    return X, y + 0.3 * rng.normal(size=n)


TABLES = {
    "diabetes\n442 rows, 10 inputs": load_diabetes(return_X_y=True),
    "Friedman 1\nsmooth, 5 idle inputs": make_friedman1(1000, noise=1.0, random_state=0),
    "Friedman 2\nsmooth, 4 inputs": make_friedman2(1000, noise=100.0, random_state=0),
    "rules\nthresholds": rules(1000, seed=0),
}

# %%
# Four learners
# -------------
# ``ANMINRegressor`` takes the rows as they are. The other network needs X *and* y standardised, or
# it does badly, so it gets that.


def scaled(model):
    return TransformedTargetRegressor(
        make_pipeline(StandardScaler(), model), transformer=StandardScaler()
    )


LEARNERS = {
    "ANMINRegressor": lambda: ANMINRegressor(random_state=0),
    "MLPRegressor": lambda: scaled(
        MLPRegressor(hidden_layer_sizes=64, max_iter=500, random_state=0)
    ),
    "boosted trees": lambda: HistGradientBoostingRegressor(random_state=0),
    "ridge regression": lambda: scaled(RidgeCV(np.logspace(-3, 3, 7))),
}

# %%
# Three splits each
# -----------------

warnings.simplefilter("ignore", ConvergenceWarning)
scores = {name: np.zeros((len(TABLES), 3)) for name in LEARNERS}
seconds = dict.fromkeys(LEARNERS, 0.0)
for row, (X, y) in enumerate(TABLES.values()):
    for fold, (train, test) in enumerate(ShuffleSplit(3, test_size=0.3, random_state=0).split(X)):
        for name, make in LEARNERS.items():
            start = perf_counter()
            model = make().fit(X[train], y[train])
            seconds[name] += perf_counter() - start
            scores[name][row, fold] = model.score(X[test], y[test])
for name, found in scores.items():
    print(f"{name:17s} R² {found.mean(axis=1).round(3)}   {seconds[name]:.1f} s in all")

# %%
# The result
# ----------
# The part of the variance that is left unexplained on rows not seen: a dot a split, a bar for their
# mean. No learner is best everywhere.

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#8C8C8C")
figure, axes = plt.subplots(1, 4, figsize=(12, 3.8), layout="constrained")
for row, (axis, title) in enumerate(zip(axes, TABLES, strict=True)):
    for place, ((name, found), colour) in enumerate(zip(scores.items(), COLOURS, strict=True)):
        axis.bar(place, 1 - found[row].mean(), color=colour, alpha=0.75, label=name)
        axis.plot(np.full(3, place), 1 - found[row], "k.", markersize=4)
    axis.set(title=title, xticks=[])
axes[0].set_ylabel("1 − R² (lower is better)")
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
)
plt.show()
