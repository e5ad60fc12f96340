"""early_stopping: the network that is best on rows held out, and no iterations beyond need."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import make_data
from sklearn.model_selection import KFold, LeaveOneOut

from anmin import ANMINClassifier, ANMINRegressor
from anmin.solvers.early import PATIENCE
from anmin.sources.draws import Groups

SHARE = 0.2
GIVEN = {"n_hidden": 16, "lam": 1e-9, "random_state": 0, "early_stopping": True}
PAPER = {"n_hidden": 12, "solver": "anmin", "max_iter": 60, "random_state": 0}
PAPER |= {"early_stopping": True, "lam": 1e-5}
AUTO = {"n_hidden": 8, "random_state": 0, "early_stopping": True}
SOLVERS = {"given": GIVEN, "paper": PAPER, "auto": AUTO}


def noisy(n=120, q=1):
    """More noise than a network of that many units should follow."""
    X, y = make_data(n=n, q=q)
    return X, y + np.random.default_rng(1).normal(size=y.shape)


def parts(n):
    """The rows trained on and those held out, with the seed 0."""
    return Groups.of(np.arange(n)).folds(SHARE, 1, np.random.RandomState(0))[0]


def mean_square(model, X, y, weight=None):
    """Over rows, summed over outputs."""
    R = (model.predict(X) - y).reshape(len(y), -1)
    return np.average((R**2).sum(1), weights=weight)


def held_out(model):
    return np.array([step.held_out_mse for step in model.history_])


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("params", SOLVERS.values(), ids=SOLVERS)
def test_the_best_network_for_the_rows_held_out(params, q, weighted):
    X, y = noisy(q=q)
    weight = np.linspace(0.2, 3, len(X)) if weighted else None
    model = ANMINRegressor(**params).fit(X, y, weight)
    train, out = parts(len(X))
    w = [None, None] if weight is None else [weight[train], weight[out]]
    assert np.isfinite(held_out(model)).all()
    least = held_out(model).min()
    assert mean_square(model, X[out], y[out], w[1]) == pytest.approx(least, rel=1e-8)
    penalty = sum((W**2).sum() for W in (model.A_, model.B_))
    b0 = model.b0_ / model._scaling.y_scale**0.5  # lam="auto" is in units of y's deviation
    loss = mean_square(model, X[train], y[train], w[0]) + model.lam_ * (penalty + (b0**2).sum())
    assert model.loss_ == pytest.approx(loss, rel=1e-8)
    best = int(held_out(model).argmin())
    assert model.loss_ <= model.history_[best].loss * (1 + 1e-8)  # less where units were removed


@pytest.mark.parametrize("params", [GIVEN, PAPER], ids=["given", "paper"])
def test_it_stops_after_ten_networks_that_are_no_better(params):
    X, y = noisy()
    model = ANMINRegressor(**params).fit(X, y)
    best = int(held_out(model).argmin())
    after = [step.loss for step in model.history_[best:]]
    new = sum(one != other for one, other in pairwise(after))
    assert new == PATIENCE
    assert model.n_iter_ < ANMINRegressor(**params | {"early_stopping": False}).fit(X, y).n_iter_
    assert model.report().status == "stopped early"


def test_it_helps():
    X, y = noisy()
    clean = make_data(n=2000)
    early, late = (ANMINRegressor(**GIVEN | {"early_stopping": on}) for on in (True, False))
    assert mean_square(early.fit(X, y), *clean) < mean_square(late.fit(X, y), *clean)


@pytest.mark.parametrize("params", SOLVERS.values(), ids=SOLVERS)
def test_deterministic_under_a_seed(params):
    X, y = noisy()
    one, two = (ANMINRegressor(**params).fit(X, y) for _ in range(2))
    assert np.array_equal(one.A_, two.A_)
    assert (held_out(one) == held_out(two)).all()


def test_steps_on_a_sample_of_the_rows_are_no_reason_to_stop():
    """With many rows the first steps see a few of them, and bring no network on all rows."""
    X, y = make_data(n=3000)
    params = {"n_hidden": 8, "lam": 1e-5, "max_iter": 40, "random_state": 0}
    plain, early = (ANMINRegressor(early_stopping=on, **params).fit(X, y) for on in (False, True))
    assert early.n_iter_ > PATIENCE
    assert early.score(X, y) > plain.score(X, y) - 0.01


@pytest.mark.parametrize("cv", [KFold(3), LeaveOneOut(), [(np.arange(60), np.arange(60, 80))]])
def test_splits_that_were_given_are_kept_to_the_rows_trained_on(cv):
    X, y = noisy(n=80)
    model = ANMINRegressor(2, cv=cv, max_iter=20, early_stopping=True, random_state=0).fit(X, y)
    assert model.path_
    assert np.isfinite(model.predict(X)).all()


def test_idle_units_are_removed_and_counted():
    X, y = noisy()
    start = np.random.default_rng(0).normal(size=(3, 5))
    start[:, 4] = [-100.0, 0.0, 0.0]  # never fires
    model = ANMINRegressor(
        5, lam=1e-4, init=start, max_iter=4, early_stopping=True, random_state=0
    ).fit(X, y)
    report = model.report()
    assert model.n_hidden_ == 5 - report.removed
    assert report.removed >= 1


def test_a_row_alone_cannot_be_held_out():
    with pytest.raises(ValueError, match="early_stopping holds rows out and needs two different"):
        ANMINRegressor(**GIVEN).fit([[1.0, 2.0]], [3.0])
    with pytest.raises(ValueError, match="early_stopping must be True or False; got 1"):
        ANMINRegressor(early_stopping=1).fit([[1.0], [2.0]], [3.0, 4.0])
    for rows in (2, 3):
        X, y = noisy(n=rows)
        assert np.isfinite(ANMINRegressor(**GIVEN).fit(X, y).loss_)


def test_a_classifier():
    X, y = noisy()
    model = ANMINClassifier(**AUTO).fit(X, y > y.mean())
    assert np.isfinite(held_out(model)).all()
    assert model.predict_proba(X).shape == (len(X), 2)


def test_without_it_no_row_is_held_out():
    model = ANMINRegressor(n_hidden=3, lam=1e-3, max_iter=3, random_state=0).fit(*noisy())
    assert np.isnan(held_out(model)).all()
