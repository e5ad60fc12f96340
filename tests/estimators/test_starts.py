"""Starts from trees: a tree is a network of rules, whatever library it comes from."""

import numpy as np
import pytest
from conftest import make_problem
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeRegressor

from anmin import ANMINClassifier, ANMINRegressor
from anmin.encoding import Encoding
from anmin.network import Network
from anmin.solvers.members import Member
from anmin.solvers.planting import forward, planted
from anmin.sources import Scaling
from anmin.starts import Rules, TreeStart, grown_rules
from anmin.tree_models import trees_of


def steps(n=400, d=3, seed=0):
    """Few-valued inputs, and a target that two of them act on together."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(n, d)).astype(float)
    y = 2.0 * ((X[:, 0] > 3) & (X[:, 1] <= 5)) - (X[:, 1] > 6) + 0.1 * rng.normal(size=n)
    return X, y


def hidden(rules, scaling, X):
    """The outputs of the units of rules for raw X."""
    A = rules.units(scaling)
    return np.maximum(A[0] + scaling.inputs(X) @ A[1:], 0)


def behind(encoding, X):
    return Scaling.fit(X, np.zeros((len(X), 1)), None).encoded_by(encoding, X, None)


def kept(rules, X):
    """Which rows keep each rule: (n, k)."""
    holds = np.ones((len(X), len(rules)), dtype=bool)
    for k, j, t, above in zip(rules.rule, rules.input, rules.threshold, rules.above, strict=True):
        holds[:, k] &= (X[:, j] > t) == above
    return holds


# ---- rules --------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_with_hinges_a_unit_is_its_rule(depth):
    X, y = steps()
    rules = Rules.of(trees_of(DecisionTreeRegressor(max_depth=depth).fit(X, y)))
    scaling = behind(rules.encoding(X, None), X)
    assert len(rules) == 2 ** (depth + 1) - 2
    np.testing.assert_allclose(hidden(rules, scaling, X), kept(rules, X), atol=1e-9)


def test_a_tree_is_a_network():
    X, y = steps()
    tree = DecisionTreeRegressor(max_depth=3).fit(X, y)
    rules = Rules.of(trees_of(tree))
    S = np.column_stack([hidden(rules, behind(rules.encoding(X, None), X), X), np.ones(len(X))])
    W = np.linalg.lstsq(S, tree.predict(X), rcond=None)[0]
    np.testing.assert_allclose(S @ W, tree.predict(X), atol=1e-9)


def test_of_a_smooth_input_a_unit_is_its_rule_outside_of_the_ramps():
    X = np.random.default_rng(0).normal(size=(500, 2))
    y = ((X[:, 0] > 0.3) & (X[:, 1] > -0.5)).astype(float)
    rules = grown_rules(X, y[:, None], None)
    encoding = rules.encoding(X, None)
    far = np.ones((len(X), len(rules)), dtype=bool)
    column, hinged = rules.columns(encoding)
    assert hinged.all()
    for c, k in zip(column - 2, rules.rule, strict=True):
        x = X[:, encoding.column[c]]
        far[:, k] &= (x <= encoding.low[c]) | (x >= encoding.high[c])
    units = hidden(rules, behind(encoding, X), X)
    assert far.mean() > 0.5
    np.testing.assert_allclose(units[far], kept(rules, X)[far], atol=1e-9)


def test_without_hinges_a_unit_bends_at_the_corner_of_its_rule():
    X, y = steps()
    rules = Rules.of(trees_of(DecisionTreeRegressor(max_depth=2).fit(X, y)))
    plain = Scaling.fit(X, y[:, None], None)
    clipped = behind(Encoding.fit(X, None, 0), X)
    for scaling in (plain, clipped):
        A = rules.units(scaling)
        for k in range(len(rules)):
            mine = rules.rule == k
            if len(set(rules.input[mine])) < mine.sum():
                continue  # between two thresholds of one input there is no corner
            corner = X[:1].copy()
            corner[0, rules.input[mine]] = rules.threshold[mine]
            assert abs(A[0, k] + scaling.inputs(corner) @ A[1:, k])[0] < 1e-9


def test_rules_are_the_last_splits_of_a_path_and_gains_add_up():
    X, y = steps()
    tree = DecisionTreeRegressor(max_depth=6).fit(X, y)
    once, twice = Rules.of(trees_of(tree)), Rules.of(trees_of(tree) * 2)
    assert np.bincount(once.rule).max() <= 3
    assert (np.diff(once.gain) <= 0).all()
    np.testing.assert_allclose(twice.gain, 2 * once.gain)


def test_the_order_of_the_inputs_does_not_matter():
    X, y = steps()
    one, other = (grown_rules(V, y[:, None], None) for V in (X, X[:, ::-1]))
    np.testing.assert_allclose(np.sort(one.gain), np.sort(other.gain), rtol=1e-6)


def test_many_outputs_take_few_trees():
    X, y = steps()
    Y = np.outer(y, np.arange(1.0, 9.0))
    assert len(grown_rules(X, Y, None)) > 0


# ---- models of others ---------------------------------------------------------------------------


def leaves(split, X, rows, path=()):
    """The rows of each leaf below a split."""
    if split is None:
        return [frozenset(rows)]
    left = X[rows, split.input] <= split.threshold
    return leaves(split.left, X, rows[left]) + leaves(split.right, X, rows[~left])


def same_parts(trees, numbers, X):
    """Whether trees part the rows as the numbers of the leaves of a model (n, trees) do."""
    everyone = np.arange(len(X))
    for tree, leaf in zip(trees, numbers.T, strict=True):
        parts = {frozenset(everyone[leaf == value]) for value in np.unique(leaf)}
        assert {part for part in leaves(tree, X, everyone) if part} == parts


def test_trees_of_scikit_learn():
    X, y = steps()
    for model in (ExtraTreesRegressor(5, max_depth=4), GradientBoostingRegressor(n_estimators=5)):
        model.fit(X, y)
        same_parts(trees_of(model), model.apply(X).reshape(len(X), -1), X)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y > 0)
    same_parts(trees_of(forest), forest.apply(X), X)


def test_histogram_boosting_with_categories():
    X, y = steps()
    model = HistGradientBoostingRegressor(max_iter=3, categorical_features=[0], min_samples_leaf=5)
    inputs = Rules.of(trees_of(model.fit(X, y))).input
    assert 0 not in inputs
    assert 1 in inputs
    assert len(trees_of(HistGradientBoostingClassifier(max_iter=2).fit(X, y.round()))) >= 2


def test_lightgbm():
    library = pytest.importorskip("lightgbm")
    X, y = steps()
    model = library.LGBMRegressor(n_estimators=4, verbose=-1).fit(X, y)
    same_parts(trees_of(model), model.predict(X, pred_leaf=True), X)
    assert len(trees_of(model.booster_)) == 4


def test_xgboost():
    library = pytest.importorskip("xgboost")
    X, y = steps()
    model = library.XGBRegressor(n_estimators=4, max_depth=3).fit(X, y)
    same_parts(trees_of(model), model.apply(X), X)
    assert len(trees_of(model.get_booster())) == 4


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
def test_catboost(policy):
    library = pytest.importorskip("catboost")
    X, y = steps()
    model = library.CatBoostRegressor(
        iterations=4, depth=3, grow_policy=policy, verbose=False, allow_writing_files=False
    ).fit(X, y)
    same_parts(trees_of(model), model.calc_leaf_indexes(X), X)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (HistGradientBoostingRegressor(), "that is not fitted"),
        (GradientBoostingRegressor(), "that is not fitted"),
        (3, "init must.*got int"),
        ("leaves", "init must be one of 'random', 'trees'"),
    ],
)
def test_what_is_no_ensemble_is_refused(init, message):
    with pytest.raises(ValueError, match=message):
        ANMINRegressor(4, init=init).fit(*steps(60))


def test_an_ensemble_of_other_inputs_is_refused():
    X, y = steps(d=3)
    model = GradientBoostingRegressor(n_estimators=3).fit(X[:, ::-1], y)
    with pytest.raises(ValueError, match="splits on input 2, and X has 2 inputs"):
        ANMINRegressor(4, init=model).fit(X[:, :2], y)


# ---- a first layer ------------------------------------------------------------------------------


def test_forward_selection_takes_what_explains_most():
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(80, 6)), rng.normal(size=(80, 2))
    one, chosen = np.ones((80, 1)), []

    def left(columns):
        S = np.column_stack([one, Z[:, columns]])
        return ((Y - S @ np.linalg.lstsq(S, Y, rcond=None)[0]) ** 2).sum()

    for _ in range(4):
        chosen.append(min(set(range(6)) - set(chosen), key=lambda k: left([*chosen, k])))
    assert forward(Z, one, Y, 4) == chosen
    assert forward(np.column_stack([Z, Z]), one, Y, 12) == forward(Z, one, Y, 6)  # no copies


def test_a_first_layer_has_as_many_units_as_asked_for():
    X, y = steps()
    A = planted(make_problem(X, y), 700, TreeStart(), np.random.RandomState(0))
    assert A.shape == (4, 700)
    assert np.isfinite(A).all()


def test_a_first_layer_is_better_than_a_random_one():
    X, y = steps()
    losses = {}
    for init in ("random", "trees"):
        model = ANMINRegressor(8, lam=1e-4, init=init, max_iter=0, random_state=0)
        losses[init] = model.fit(X, y).loss_curve_[0]
    assert losses["trees"] < 0.8 * losses["random"]


# ---- networks behind different hinges -----------------------------------------------------------


def test_finer_hinges_carry_the_same_function():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    coarse = Encoding.fit(X, None, 5)
    other = grown_rules(X, X[:, :1] * X[:, 1:], None).encoding(X, None)
    one, two = behind(coarse, X), behind(other, X)
    both = behind(coarse.refined(other), X)
    assert both.n_inputs > max(one.n_inputs, two.n_inputs)
    again = both.encoding.refined(coarse)
    np.testing.assert_array_equal(again.low, both.encoding.low)  # no knot is new
    fresh = 3 * rng.normal(size=(200, 2))  # also where no hinge rises
    for scaling in (one, two):
        net = Network(
            rng.normal(size=(scaling.n_inputs + 1, 4)), rng.normal(size=(4, 1)), np.zeros(1)
        )
        there = Member(net, scaling).on(both)
        np.testing.assert_allclose(
            there.forward(both.inputs(fresh)), net.forward(scaling.inputs(fresh)), atol=1e-9
        )


# ---- fits ---------------------------------------------------------------------------------------

SHORT = {"n_hidden": 6, "n_networks": 2, "max_iter": 60, "random_state": 0}


@pytest.mark.slow
def test_a_fit_from_trees_is_a_fit():
    X, y = steps(300)
    model = ANMINRegressor(init="trees", **SHORT).fit(X, y)
    assert model.score(X, y) > 0.9
    again = ANMINRegressor(init="trees", **SHORT).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.slow
def test_a_fitted_ensemble_is_a_start_also_in_clones():
    from sklearn.frozen import FrozenEstimator

    X, y = steps(300)
    trees = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, y)
    one = ANMINRegressor(init=trees, **SHORT).fit(X, y)
    other = clone(ANMINRegressor(init=FrozenEstimator(trees), **SHORT)).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.slow
def test_a_fit_from_an_ensemble_goes_on_from_a_checkpoint(tmp_path):
    X, y = steps(200)
    how = {"n_hidden": 4, "lam": 1e-3, "max_iter": 5, "random_state": 0}

    class Model:  # whose name holds its address, as that of CatBoost does
        estimators_ = GradientBoostingRegressor(n_estimators=3).fit(X, y).estimators_

    one, other = (
        ANMINRegressor(init=Model(), checkpoint=tmp_path / "log", **how).fit(X, y) for _ in range(2)
    )
    np.testing.assert_array_equal(one.A_, other.A_)


@pytest.mark.slow
@pytest.mark.parametrize("plain", [{"encoding": None, "n_networks": 1}, {"lam": 1e-3}, {}])
def test_other_losses_and_classes_start_from_trees(plain):
    X, y = steps(200)
    how = {"n_hidden": 4, "max_iter": 30, "random_state": 0, "init": "trees"} | plain
    ANMINRegressor(loss="absolute_error", **how).fit(X, y)
    labels = y.round().clip(-1, 1)
    assert ANMINClassifier(**how).fit(X, labels).score(X, labels) > 0.7


@pytest.mark.slow
def test_on_noise_trees_are_no_worse_than_the_mean():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    model = ANMINRegressor(init="trees", max_iter=600, random_state=0).fit(X, y)
    fresh = rng.normal(size=(2000, 5))
    assert model.predict(fresh).std() < 0.2
