"""The library against the paper written out as loops, iterate by iterate, to 1e-8."""

import numpy as np
import pytest
import reference as ref
from conftest import make_data

from anmin import ANMINRegressor
from anmin.solvers import Algorithm1

H, TURNS = 4, 5

CASES = {
    "plain": {},
    "leaky": {"slope": 0.1},
    "three outputs": {"q": 3},
    "leaky, three outputs": {"q": 3, "slope": 0.1},
    "weights": {"weights": True},
    "leaky, three outputs, weights": {"q": 3, "slope": 0.1, "weights": True},
    "raw": {"standardize": False},
    "raw, leaky, three outputs, weights": {
        "standardize": False,
        "q": 3,
        "slope": 0.1,
        "weights": True,
    },
    "one column": {"d": 1},
    "small lam": {"lam": 1e-4, "n": 120},
    "fewer rows than units": {"n": 3},
    # tau so high that every system counts as degenerate
    "floor": {"solver": {"tau": 1e3, "floor": 0.05}},
    "floor, leaky, three outputs": {"q": 3, "slope": 0.1, "solver": {"tau": 1e3, "floor": 0.05}},
    "reinit": {"solver": {"tau": 1e3, "degenerate": "reinit"}},
    "stop": {"solver": {"tau": 1e3, "degenerate": "stop"}},
    # tau between the log-determinants of the run, so that both branches are taken
    "floor sometimes": {"solver": {"tau": -46.0, "floor": 0.05}},
    "reinit sometimes": {"solver": {"tau": -42.4, "degenerate": "reinit"}},
    "stop later": {"standardize": False, "solver": {"tau": -36.0, "degenerate": "stop"}},
}


def compare(actual, expected):
    """Equal to 1e-8 of the size of what is compared."""
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-8 * scale)


def set_up(n=40, d=2, q=1, slope=0.0, weights=False, lam=1e-2, standardize=True, solver=None):
    """(X, y, weights, estimator's parameters, reference's problem, Algorithm 1's options)."""
    X, y = make_data(n, d, q, seed=n + d + q)
    w = np.random.default_rng(1).uniform(0.1, 3.0, n) if weights else None
    common = {"slope": slope, "lam": lam, "standardize": standardize}
    problem = ref.make_problem(X, y, sample_weight=w, **common)
    return X, y, w, common, problem, solver or {}


def reference_run(problem, options):
    """The reference's iterates from the start that the library draws for random_state=0."""
    rng = np.random.RandomState(0)
    A = rng.standard_normal((problem.X.shape[1], H))
    return ref.algorithm1(problem, A, max_iter=TURNS, rng=rng, **options)


def fit(X, y, w, common, options, **kwargs):
    model = ANMINRegressor(H, solver=Algorithm1(**options), random_state=0, **common, **kwargs)
    return model.fit(X, y, sample_weight=w)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
class TestIterates:
    def test_every_iterate(self, case):
        """`keep="last"` with max_iter = 0, 1, 2, ... shows the iterates one after the other."""
        X, y, w, common, problem, options = set_up(**case)
        for turns, expected in enumerate(reference_run(problem, options)):
            model = fit(X, y, w, common, options | {"keep": "last"}, max_iter=turns)
            assert model.n_iter_ == turns
            compare(model.A_, expected.A)
            compare(model.B_, expected.B)
            compare(model.b0_, expected.b0)
            compare(model.loss_, expected.loss)

    def test_history(self, case):
        X, y, w, common, problem, options = set_up(**case)
        expected = reference_run(problem, options)
        model = fit(X, y, w, common, options, max_iter=TURNS)
        assert len(model.history_) == len(expected) == model.n_iter_ + 1
        for step, it in zip(model.history_, expected, strict=True):
            compare(step.loss, it.loss)
            compare(step.mse, it.mse)
            assert step.dead == it.dead
            assert step.cells == it.cells
        for step, it in zip(model.history_[1:], expected[1:], strict=True):
            compare(step.logdet, it.logdet)
            assert step.flips == pytest.approx(it.flips)
            if it.status != "reinit":
                compare(step.frozen_loss, it.frozen_loss)
            if it.status == "solved":  # the norms differ, by no more than the size of M
                assert 1 / it.A.size <= step.condition / it.condition <= it.A.size
        compare(model.loss_curve_, [it.loss for it in expected])

    def test_best(self, case):
        X, y, w, common, problem, options = set_up(**case)
        expected = ref.best(reference_run(problem, options))
        model = fit(X, y, w, common, options, max_iter=TURNS)
        compare(model.A_, expected.A)
        compare(model.B_, expected.B)
        compare(model.b0_, expected.b0)
        compare(model.best_loss_, expected.loss)
        shift = 0.0
        if common["standardize"]:
            shift = np.average(y, axis=0, weights=w)
        predicted = ref.network(problem, expected.A, expected.B, expected.b0)
        compare(model.predict(X), predicted.reshape(y.shape) + shift)


def test_the_cases_take_every_branch():
    """The table above means what its names say."""
    met = {}
    for name, case in CASES.items():
        *_, problem, options = set_up(**case)
        met[name] = [it.status for it in reference_run(problem, options)]
    assert set(met["plain"][1:]) == {"solved"}
    assert set(met["floor"][1:]) == {"floored"}
    assert set(met["reinit"][1:]) == {"reinit"}
    assert met["stop"] == ["start"]
    assert {"solved", "floored"} <= set(met["floor sometimes"])
    assert {"solved", "reinit"} <= set(met["reinit sometimes"])
    assert 1 < len(met["stop later"]) <= TURNS


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("case", "name"), [("plain", "SOLVED"), ("floor", "FLOORED"), ("reinit", "REINITIALISED")]
)
def test_statuses_tell_the_branch(case, name):
    X, y, w, common, _, options = set_up(**CASES[case])
    model = fit(X, y, w, common, options, max_iter=2)
    assert [step.status.name for step in model.history_] == ["START", name, name]


# ---- the reference itself ----------------------------------------------------------------------


def gradient(function, at):
    """Central differences; exact up to rounding where the function is quadratic."""
    slopes = np.empty_like(at)
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = 1e-4
        slopes[index] = (function(at + step) - function(at - step)) / 2e-4
    return slopes


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("weights", [False, True])
class TestReferenceIsStationary:
    def test_output_layer(self, slope, q, weights):
        """Eq. (1) has no slope in B and b0 after Eq. (4)."""
        *_, p, _ = set_up(n=15, q=q, slope=slope, weights=weights)
        A = np.random.default_rng(0).normal(size=(3, H))
        B, b0 = ref.fit_output(p, A)
        assert np.abs(gradient(lambda v: ref.loss(p, A, v, b0), B)).max() < 1e-8
        assert np.abs(gradient(lambda v: ref.loss(p, A, B, v), b0)).max() < 1e-8

    def test_hidden_layer(self, slope, q, weights):
        """Eq. (5) has no slope in A after Eq. (9), and its minimum is no higher than the start."""
        *_, p, _ = set_up(n=15, q=q, slope=slope, weights=weights)
        A = np.random.default_rng(0).normal(size=(3, H))
        B, b0 = ref.fit_output(p, A)
        _, G = ref.firing(p, A)
        M, c = ref.hidden_system(p, B, b0, G)
        a = ref.solve_plain(M + p.lam * np.eye(len(M)), c).reshape(H, 3).T
        assert np.abs(gradient(lambda v: ref.frozen_loss(p, v, B, b0, G), a)).max() < 1e-8
        assert ref.frozen_loss(p, a, B, b0, G) <= ref.frozen_loss(p, A, B, b0, G)
        assert ref.frozen_loss(p, A, B, b0, G) == pytest.approx(ref.loss(p, A, B, b0), rel=1e-12)


def test_floored_solution_is_the_plain_one_where_nothing_is_floored():
    K = np.array([[2.0, 0.5], [0.5, 1.0]])
    c = np.array([1.0, -1.0])
    np.testing.assert_allclose(ref.solve_floored(K, c, 1e-4), ref.solve_plain(K, c), rtol=1e-12)


def test_floor_replaces_small_eigenvalues():
    K = np.diag([4.0, 1e-9, -3.0])
    np.testing.assert_allclose(ref.solve_floored(K, np.ones(3), 0.5), [0.25, 2.0, 2.0])
