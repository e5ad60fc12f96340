"""Several networks that are one: the same predictions, shares by held-out rows, simple rivals."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import make_data, make_problem
from scipy.optimize import minimize
from sklearn.linear_model import RidgeCV

from anmin import ANMINRegressor
from anmin.network import Network
from anmin.objective import SQUARED_ERROR
from anmin.solvers import VarPro
from anmin.solvers.linear import ridge_network
from anmin.solvers.members import ViewPath
from anmin.solvers.networks import Member, clearly_better, useful
from anmin.solvers.path import Run
from anmin.solvers.shares import Products, best_alone, gain, side_by_side, simplex
from anmin.solvers.views import View
from anmin.sources import counting_rows


def some_network(p, h, q=1, seed=0):
    rng = np.random.default_rng(seed)
    return Network(rng.normal(size=(p, h)), rng.normal(size=(h, q)), rng.normal(size=q))


# ---- shares -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_shares_have_the_least_error_of_all_that_sum_to_at_most_one(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=200)
    F = y[:, None] * rng.uniform(0.2, 1.2, 3) + rng.normal(size=(200, 3))
    FtF, FtY = F.T @ F, F.T @ y
    found = simplex(FtF, FtY)

    def error(w):
        return w @ FtF @ w - 2 * w @ FtY

    limits = {"type": "ineq", "fun": lambda w: 1 - w.sum()}
    best = minimize(error, np.full(3, 0.3), bounds=[(0, 1)] * 3, constraints=limits).x
    assert (found >= 0).all()
    assert found.sum() <= 1 + 1e-9
    assert error(found) <= error(best) + 0.01 * (y @ y)  # slight shares are left out


def test_a_slight_share_is_left_out():
    rng = np.random.default_rng(0)
    y = rng.normal(size=1000)
    F = np.column_stack([y + 0.1 * rng.normal(size=1000), rng.normal(size=1000)])
    w = simplex(F.T @ F, F.T @ y)
    assert w[1] == 0
    assert w[0] > 0.97


def test_models_of_no_use_have_no_share():
    y = np.ones(10)
    F = -np.ones((10, 2)) * [1.0, 2.0]
    assert not simplex(F.T @ F, F.T @ y).any()
    assert not best_alone(F.T @ F, F.T @ y).any()


def test_one_alone_is_the_best():
    y = np.arange(10.0)
    F = np.column_stack([0.5 * y, 0.9 * y, 1.3 * y])
    assert best_alone(F.T @ F, F.T @ y).tolist() == [0, 1, 0]


def test_products_of_predictions():
    X, Y = make_data(50, 2, 2)
    problem = make_problem(X, Y)
    networks = [some_network(3, h, 2, seed=h) for h in (2, 5)]
    found = problem.source.reduce(side_by_side(problem, networks))
    batch = problem.source.rows(slice(None))
    F = np.column_stack([net.forward(batch.X[:, 1:]).ravel() for net in networks])
    np.testing.assert_allclose(found.FtF, F.T @ F, rtol=1e-12)
    np.testing.assert_allclose(found.FtY, F.T @ batch.Y.ravel(), rtol=1e-12)


# ---- members ------------------------------------------------------------------------------------


def test_a_member_is_the_same_function_in_another_scale():
    problem = make_problem(*make_data(50, 3))
    scaling = problem.source.scaling
    other = replace(scaling, x_scale=scaling.x_scale * [0.1, 1.0, 7.0])
    member = Member(some_network(4, 5), scaling)
    X = np.random.default_rng(1).normal(size=(20, 3))
    moved = member.on(other)
    expected = member.network.forward(scaling.inputs(X))
    np.testing.assert_allclose(moved.forward(other.inputs(X)), expected, rtol=1e-12)


def test_ridge_regression_is_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    Y = X @ rng.normal(size=(6, 2)) + 3 * rng.normal(size=(300, 2)) + 5
    problem = make_problem(X, Y)
    net, scaling = ridge_network(problem), problem.source.scaling
    Z = scaling.inputs(X)
    found = net.forward(Z) + scaling.y_mean
    theirs = RidgeCV(alphas=np.logspace(-3, 5, 40)).fit(Z, Y).predict(Z)
    assert np.abs(found - theirs).max() < 0.05 * Y.std()
    assert net.A.shape == (7, 4)  # two units a direction


def test_relevance_changes_no_function_and_favours_what_is_used():
    problem = make_problem(*make_data(50, 3))
    view = View(problem.source.scaling, np.arange(3))
    net = some_network(4, 6)
    net.A[1] = 0  # the first input is not used
    s = view.relevance(net.A, net.B, np.ones(3))
    assert s[0] < 0.1 * s[1:].min()
    assert (s**2).mean() == pytest.approx(1)
    A = np.append(1.0, 1 / s)[:, None] * net.A
    X = np.random.default_rng(1).normal(size=(20, 3))
    there = replace(net, A=A).forward(view.stretched(s).inputs(X))
    np.testing.assert_allclose(there, net.forward(view.scaling.inputs(X)), rtol=1e-10)
    np.testing.assert_allclose(view.relevance(A, net.B, s), s, rtol=1e-10)  # and stays so


# ---- fits ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("encoding", [None, "auto"])
def test_the_mean_of_networks_is_one_network(encoding):
    X, y = make_data(400, 3)
    model = ANMINRegressor(8, n_networks=3, encoding=encoding, random_state=0).fit(X, y)
    Z = model._scaling.inputs(X)
    np.testing.assert_allclose(
        model.predict(X), (model._network.forward(Z) + model._scaling.y_mean).ravel()
    )
    assert model.n_hidden_ == model.B_.shape[0] <= 3 * 3 * 8 + 1
    assert model.report().mse == pytest.approx(np.mean((model.predict(X) - y) ** 2), rel=1e-6)
    again = ANMINRegressor(8, n_networks=3, encoding=encoding, random_state=0).fit(X, y)
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.slow
def test_three_networks_are_no_worse_than_one_and_hinges_better_than_none():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(900, 4))
    y = np.sign(X[:, 0]) * X[:, 1] + np.floor(4 * X[:, 2]) + 0.05 * rng.normal(size=900)
    errors = {}
    for n, encoding in [(1, None), (3, None), (3, "auto")]:
        several = [
            ANMINRegressor(16, n_networks=n, encoding=encoding, random_state=seed)
            for seed in range(3)
        ]
        predicted = [model.fit(X[:500], y[:500]).predict(X[500:]) for model in several]
        errors[n, encoding] = np.mean([(f - y[500:]) ** 2 for f in predicted])
    assert errors[1, None] < 0.12  # a line in x2 has 0.39
    assert errors[3, None] < 1.02 * errors[1, None]
    assert errors[3, "auto"] < 0.9 * errors[3, None]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d"), [(200, 30), (150, 10), (60, 5)])
@pytest.mark.parametrize(("n_networks", "bar"), [(1, 1.06), (3, 1.03)])
def test_pure_noise_is_no_worse_than_ridge_regression(n, d, n_networks, bar):
    ours, theirs = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n + 1000, d)), rng.normal(size=n + 1000)
        model = ANMINRegressor(16, n_networks=n_networks, random_state=0).fit(X[:n], y[:n])
        rival = RidgeCV(alphas=np.logspace(-2, 6, 30)).fit(X[:n], y[:n])
        for errors, one in ((ours, model), (theirs, rival)):
            errors.append(np.mean((one.predict(X[n:]) - y[n:]) ** 2))
    assert np.mean(ours) < bar * np.mean(theirs)


@pytest.mark.slow
def test_a_far_row_is_not_blown_up():
    X, y = make_data(300, 3)
    model = ANMINRegressor(8, n_networks=2, encoding="auto", random_state=0).fit(X, y)
    far = model.predict(np.full((1, 3), 1e6))
    assert abs(far[0] - y.mean()) < 20 * np.ptp(y)


def test_parameters_are_checked(data):
    for params in ({"n_networks": 0}, {"n_networks": 1.5}, {"encoding": "many"}):
        name = next(iter(params))
        with pytest.raises(ValueError, match=name):
            ANMINRegressor(2, **params).fit(*data)


def test_a_budget_that_is_short_for_the_rows_goes_into_one_network():
    rows = counting_rows(np.zeros((4000, 2)), np.zeros((4000, 1)), None)
    plans = {t: ANMINRegressor(max_time=t)._plan(VarPro(), rows) for t in (3.9, 4.0)}
    assert plans == {3.9: (1, None), 4.0: (3, "auto")}


def test_a_view_whose_error_still_falls_stays_in_the_race():
    falls = Run(SQUARED_ERROR, np.ones(1), 8, errors=[8.0, 4.0, 2.0, 1.0, 0.5])
    rests = Run(SQUARED_ERROR, np.ones(1), 8, errors=[8.0, 1.1, 1.05, 1.0, 1.0])
    assert falls.may_win(0.1)
    assert not rests.may_win(0.1)
    assert rests.may_win(1.0)
    assert not Run(SQUARED_ERROR, np.ones(1), 8, errors=[2.0, 1.0]).may_win(0.1)


def test_of_few_rows_every_view_walks_every_part():
    """One part of 70 rows has chosen views on which the others then were 20 % worse."""
    problem = make_problem(*make_data(n=100))
    view = View(problem.source.scaling, np.arange(problem.source.shape[1] - 1))
    walked, empty = (ViewPath(view, 1.0, [Run(SQUARED_ERROR, np.ones(3), 8)]) for _ in range(2))
    paths = [replace(walked, runs=[replace(walked.runs[0], points=[None])]) for _ in range(3)]
    assert useful(problem, [*paths, empty], []) == (paths, paths)
    assert useful(problem, [empty], []) == ([empty], [empty])


@pytest.mark.slow
def test_a_curve_without_noise_is_not_left_to_hinges():
    """Hinges at quantiles are good at first; units that move are a hundred times better."""
    x = np.linspace(0, 1, 5000)
    model = ANMINRegressor(19, random_state=0).fit(x[:, None], x ** (2 / 3))
    rmse = np.sqrt(np.mean((model.predict(x[:, None]) - x ** (2 / 3)) ** 2))
    assert rmse < 1.3 * 1.39e-4  # of the best function of 20 pieces


def test_one_row_does_not_decide_what_stands_alone():
    class Part:
        def __init__(self, loss):
            self.loss = lambda w: loss

    w, others = np.ones(1), [Part(1.0), Part(1.0), Part(1.0)]
    assert clearly_better([0.1, 0.1, 5.0], others, w)  # an outlier in the last
    assert not clearly_better([0.95, 0.95, 0.95], others, w)
    assert clearly_better([0.0, 0.0, 0.0], others, w)


@pytest.mark.parametrize("seed", [1, 9])
def test_a_line_in_inputs_of_heavy_tails_is_left_as_it_is(seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_cauchy((200, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=200)
    X_test = rng.standard_cauchy((500, 5))
    line = RidgeCV().fit(X, y).predict(X_test)
    model = ANMINRegressor(random_state=0).fit(X, y)
    assert np.median(np.abs(model.predict(X_test) - line)) < 0.5


def test_a_line_stands_alone_also_against_one_network():
    rng = np.random.RandomState(0)
    X = rng.standard_cauchy((3000, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.01 * rng.normal(size=3000)
    model = ANMINRegressor(n_networks=1, random_state=0, encoding="auto").fit(X, y)
    np.testing.assert_allclose(model.predict(X), RidgeCV().fit(X, y).predict(X), rtol=0, atol=0.1)


def test_rounding_leaves_no_error_below_zero():
    """An exact line: the error is a difference of equal sums."""
    total = Products(np.full((2, 2), 3.0), np.full(2, 3.0 + 4e-16), 3.0 - 4e-16, 9.0)
    assert total.error(np.array([0.0, 1.0])) == 0
    assert gain(total, np.array([1.0, 0.0]), np.array([0.0, 1.0]), 9) == 0
    rng = np.random.default_rng(31)
    k, d = int(rng.integers(50, 200)), int(rng.integers(1, 4))
    X = rng.choice([-1.0, 0, 1, 2], size=(k, d))
    y = X @ rng.integers(-3, 4, d)
    model = ANMINRegressor(16, random_state=31, n_networks=3).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)
