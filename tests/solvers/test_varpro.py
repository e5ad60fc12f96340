"""Laws of the default solver: the loss never rises, and budgets, starts and bad data are safe."""

from time import perf_counter

import numpy as np
import pytest
import sklearn
from conftest import Recorder, activate, in_solver, make_data, standardised
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from anmin import ANMINRegressor
from anmin.solvers import Algorithm1, VarPro

SETTINGS = {"n_hidden": 6, "lam": 1e-3, "max_iter": 40, "random_state": 0}


def fit(X, y, w=None, **kwargs):
    return ANMINRegressor(**in_solver(**(SETTINGS | kwargs))).fit(X, y, sample_weight=w)


def mse(model, X, y, w=None):
    """The data term of Eq. (1)."""
    R = (model.predict(X) - y).reshape(len(X), -1)
    return np.average((R**2).sum(axis=1), weights=w)


def equation_1(model, X, y, lam, slope=0.0, w=None):
    X1, Y = standardised(X, y, w)
    A, B, b0 = model.A_, model.B_, model.b0_
    R = activate(X1 @ A, slope) @ B + b0 - Y
    penalty = lam * sum((W**2).sum() for W in (A, B, b0))
    return np.average((R**2).sum(axis=1), weights=w) + penalty


# ---- what is returned ---------------------------------------------------------------------------

VARIETY = {
    "plain": {},
    "many outputs": {"q": 3},
    "weights": {"weighted": True},
    "leaky": {"slope": 0.1},
    "cg": {"linear_solver": "cg"},
    "all": {"q": 2, "weighted": True, "slope": 0.05, "linear_solver": "cg"},
    "a sample first": {"n": 3000, "d": 1, "n_hidden": 3},
    "starts": {"n_init": 4},
    "no step": {"max_iter": 0},
    "one step": {"max_iter": 1},
    "linear": {"max_iter": 0, "noise": True},
    "nearly no penalty": {"lam": 1e-9},
    "single precision": {"dtype": "float32", "rtol": 1e-3},
}


@pytest.mark.parametrize("case", VARIETY.values(), ids=VARIETY.keys())
def test_the_loss_never_rises_and_the_best_network_is_returned(case):
    case = dict(case)
    n, d, q, weighted, noise, rtol = (
        case.pop(name, default)
        for name, default in [
            ("n", 300), ("d", 3), ("q", 1), ("weighted", False), ("noise", False), ("rtol", 1e-8),
        ]
    )  # fmt: skip
    X, y = make_data(n, d, q)
    y = X @ np.ones(d) if noise else y
    w = np.random.default_rng(1).uniform(0.2, 3.0, n) if weighted else None
    model = fit(X, y, w, **case)
    assert (np.diff(model.loss_curve_) <= 0).all()
    lam, slope = case.get("lam", SETTINGS["lam"]), case.get("slope", 0.0)
    assert model.loss_ == pytest.approx(equation_1(model, X, y, lam, slope, w), rel=rtol)
    assert model.loss_ == model.best_loss_ == min(model.loss_curve_)
    assert model.n_iter_ <= case.get("max_iter", SETTINGS["max_iter"])
    assert model.lam_ == lam


@pytest.mark.parametrize("n_hidden", [1, 2, 4, 12])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_iter", [0, 30])
def test_never_above_least_squares(n_hidden, weighted, max_iter):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * [1, 10, 0.1, 1, 3]
    y = X @ rng.normal(size=5) + rng.standard_cauchy(200)
    w = rng.uniform(0.1, 2, 200) if weighted else None
    line = LinearRegression().fit(X, y, sample_weight=w)
    model = fit(X, y, w, lam=1e-12, n_hidden=n_hidden, max_iter=max_iter)
    assert mse(model, X, y, w) <= mse(line, X, y, w) * (1 + 1e-6)


@pytest.mark.parametrize("max_iter", [0, 1, 3, 8])
def test_never_above_least_squares_where_a_sample_comes_first(max_iter):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = X @ [1.0, -2.0] + rng.standard_cauchy(3000)
    line = LinearRegression().fit(X, y)
    A = np.array([[-9.0, -9.0], [0.1, 0.0], [0.0, 0.1]])  # fires nowhere
    model = fit(X, y, lam=1e-12, n_hidden=2, init=A, max_iter=max_iter)
    assert mse(model, X, y) <= mse(line, X, y) * (1 + 1e-6)


@pytest.mark.parametrize("n_hidden", [1, 2, 3])
@pytest.mark.parametrize("max_iter", [0, 30])
def test_never_above_reduced_rank_regression(n_hidden, max_iter):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    Y = X @ rng.normal(size=(6, 5)) + 0.5 * rng.normal(size=(150, 5))
    fitted = LinearRegression().fit(X, Y).predict(X)
    centre = fitted.mean(axis=0)
    V = np.linalg.svd(fitted - centre, full_matrices=False)[2][:n_hidden]
    reduced = centre + (fitted - centre) @ V.T @ V
    model = fit(X, Y, lam=1e-12, n_hidden=n_hidden, max_iter=max_iter)
    assert mse(model, X, Y) <= ((reduced - Y) ** 2).sum(axis=1).mean() * (1 + 1e-6)


def test_it_beats_the_papers_algorithm():
    X, y = make_data(400, 3)
    theirs = fit(X, y, solver="anmin", max_iter=30)
    assert fit(X, y, max_iter=200).loss_ < theirs.loss_


# ---- budgets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_iter", [0, 1, 2, 7, 23])
@pytest.mark.parametrize("n", [100, 3000])
def test_max_iter_is_respected_exactly(max_iter, n):
    X, y = make_data(n, 1 if n > 1000 else 2)
    patient = VarPro(patience=1000)
    model = fit(X, y, n_hidden=3, tol=0.0, max_iter=max_iter, solver=patient)
    assert model.n_iter_ == max_iter == len(model.history_) - 1
    assert [step.iteration for step in model.history_] == list(range(max_iter + 1))


@pytest.mark.parametrize("lam", [1e-4, "auto"])
@pytest.mark.parametrize("max_time", [0.0, 0.3])
def test_max_time_is_respected_within_a_second(lam, max_time):
    X, y = make_data(20_000, 4)
    start = perf_counter()
    model = fit(X, y, lam=lam, n_hidden=20, max_iter=None, max_time=max_time)
    assert perf_counter() - start < max_time + 1.0
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.slow
def test_max_time_alone_sets_no_limit_on_the_steps():
    X, y = make_data(60, 1)
    eager = VarPro(patience=10**6)
    model = fit(X, y, n_hidden=2, max_iter=None, max_time=4.0, solver=eager)
    assert model.n_iter_ > 400


def test_it_stops_when_it_has_converged():
    X, y = make_data(100, 1)
    model = fit(X, y, n_hidden=2, max_iter=100_000, solver=VarPro(patience=2))
    assert model.n_iter_ < 1000


def test_a_callback_stops_it():
    if not hasattr(ANMINRegressor, "set_callbacks"):
        pytest.skip(f"scikit-learn {sklearn.__version__} has no callbacks")
    X, y = make_data(100, 2)
    model = ANMINRegressor(**SETTINGS).set_callbacks(Recorder(stop=3)).fit(X, y)
    assert model.n_iter_ == 4  # the callback counts from 0
    assert model.loss_ == min(model.loss_curve_)


# ---- starts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_init", [1, 2, 5])
@pytest.mark.parametrize("lam", [1e-3, "auto"])
def test_same_seed_same_bits(n_init, lam):
    X, y = make_data(150, 2, 2)
    one, other = (fit(X, y, n_init=n_init, lam=lam) for _ in range(2))
    for a, b in zip(
        [*one.coefs_, *one.intercepts_], [*other.coefs_, *other.intercepts_], strict=True
    ):
        assert a.tobytes() == b.tobytes()
    assert one.loss_curve_ == other.loss_curve_


def test_another_seed_is_another_fit():
    X, y = make_data(150, 2)
    assert fit(X, y, random_state=0).loss_ != fit(X, y, random_state=1).loss_


def test_several_starts_share_the_iterations():
    X, y = make_data(150, 2)
    assert fit(X, y, n_init=5, max_iter=60).n_iter_ < 60


def test_a_given_start_is_used():
    X, y = make_data(100, 2)
    A = np.random.default_rng(0).normal(size=(3, 6))
    one, other = (fit(X, y, init=A, random_state=seed, max_iter=3) for seed in (0, 1))
    assert one.loss_curve_ == other.loss_curve_
    assert one.loss_curve_[0] <= fit(X, y, init=A, solver="anmin", max_iter=0).loss_ * (1 + 1e-9)


# ---- odd data -----------------------------------------------------------------------------------


def odd_data():
    X, y = make_data(80, 3)
    one_hot = np.eye(4)[np.arange(80) % 4]
    yield pytest.param(X[:4], y[:4], id="fewer rows than units")
    yield pytest.param(X[:1], y[:1], id="one row")
    yield pytest.param(X[:, :1], y, id="one column")
    yield pytest.param(np.repeat(X[:5], 16, axis=0), np.repeat(y[:5], 16), id="duplicated rows")
    yield pytest.param(X, np.full(80, 7.0), id="constant y")
    yield pytest.param(np.zeros((80, 2)), y, id="constant X")
    yield pytest.param(np.column_stack([X, X @ [1, 2, 3]]), y, id="collinear columns")
    yield pytest.param(np.column_stack([X, X, X]), y, id="columns three times")
    yield pytest.param(one_hot, y, id="one-hot")
    yield pytest.param(X * [1e-9, 1.0, 1e9], y, id="columns of all sizes")
    yield pytest.param(X, np.where(np.arange(80) == 3, 1e6, y), id="an outlier in y")


@pytest.mark.parametrize(("X", "y"), list(odd_data()))
@pytest.mark.parametrize("linear_solver", ["cholesky", "cg"])
@pytest.mark.parametrize("lam", [1e-3, 0.0, "auto"])
def test_odd_data_do_no_harm(X, y, linear_solver, lam):
    model = fit(X, y, n_hidden=8, linear_solver=linear_solver, lam=lam, max_iter=20)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.loss_)
    assert (np.diff(model.loss_curve_) <= 0).all()
    assert mse(model, X, y) <= y.var() * (1 + 1e-9) + 1e-20


def scaled(s):
    """The fit of s y at the penalty s lam, from a start where both layers share the factor s."""
    X, y = make_data(100, 2)
    A = np.random.default_rng(0).normal(size=(3, 6))
    return fit(X, s * (y - y.mean()), lam=s * 1e-3, init=s**0.5 * A, max_iter=5)


SCALES = [(1e-4, 1e-9, 0.15), (1e-9, 1e-12, 1e-3), (1e8, 1e12, 1e-3)]


@pytest.mark.parametrize(("scale", "more", "tol"), SCALES)
def test_the_scale_of_y_does_not_matter_at_a_scaled_penalty(scale, more, tol):
    """s f has the loss s² L at the penalty s lam.

    b0 shares no factor: it is free where y is small, and 0 where y is large.
    """
    one, other = scaled(scale), scaled(more)
    assert other.loss_curve_[0] / more**2 == pytest.approx(one.loss_curve_[0] / scale**2, rel=1e-4)
    assert other.loss_ / more**2 == pytest.approx(one.loss_ / scale**2, rel=tol)
    X, y = make_data(100, 2)
    difference = other.predict(X) / more - one.predict(X) / scale
    assert np.sqrt(np.mean(difference**2)) < tol * y.std()


def test_units_that_start_dead_come_alive():
    X, y = make_data(200, 2)
    A = np.vstack([np.full(6, -1e3), np.zeros((2, 6))])
    model = fit(X, y, init=A, lam=1e-6, max_iter=100)
    assert model.score(X, y) > 0.9


# ---- the object ---------------------------------------------------------------------------------


def test_the_solver_object_is_clonable_and_has_parameters():
    model = ANMINRegressor(**SETTINGS, solver=VarPro(patience=2))
    copied = clone(model)
    assert copied.solver is not model.solver
    assert copied.solver.patience == 2
    copied.set_params(solver__patience=5)
    assert (copied.solver.patience, model.solver.patience) == (5, 2)
    assert copied.get_params()["solver__patience"] == 5


def test_more_patience_explores_longer():
    X, y = make_data(150, 2)
    short, long = (fit(X, y, solver=VarPro(patience=k), max_iter=400) for k in (0, 8))
    assert short.n_iter_ < long.n_iter_
    assert long.loss_ <= short.loss_
    assert {step.phase for step in short.history_[1:]} == {"descend"}
    assert {step.phase for step in long.history_[1:]} == {"descend", "explore"}


def test_the_name_is_the_object_with_its_defaults():
    X, y = make_data(100, 2)
    assert fit(X, y, solver="varpro").loss_curve_ == fit(X, y, solver=VarPro()).loss_curve_


@pytest.mark.parametrize("patience", [-1, 1.5, "many"])
def test_patience_is_checked(patience):
    X, y = make_data(20, 1)
    with pytest.raises(ValueError, match="patience must be a whole number"):
        fit(X, y, solver=VarPro(patience=patience))


@pytest.mark.parametrize("tol", [-1e-3, float("nan"), "small", None])
def test_tol_is_checked(tol):
    with pytest.raises(ValueError, match="tol must be a finite number"):
        fit(*make_data(20, 1), solver=VarPro(tol=tol))


@pytest.mark.parametrize("n_init", [0, -1, 1.5, "many", None])
def test_n_init_is_checked(n_init):
    with pytest.raises(ValueError, match="n_init must be a whole number"):
        fit(*make_data(20, 1), solver=VarPro(n_init=n_init))


@pytest.mark.parametrize("linear_solver", ["lu", None, 3])
def test_linear_solver_is_checked(linear_solver):
    with pytest.raises(ValueError, match="linear_solver must be one of 'auto', 'cholesky', 'cg'"):
        fit(*make_data(20, 1), solver=VarPro(linear_solver=linear_solver))


def test_the_papers_algorithm_has_one_start():
    with pytest.raises(TypeError, match="n_init"):
        Algorithm1(n_init=3)


def test_patience_counts_at_the_end_of_a_path_too():
    X, y = make_data(150, 2)
    how = {"lam": "auto", "n_networks": 1, "encoding": None, "max_iter": 1000}
    usual, none, long = (fit(X, y, **how, solver=VarPro(k)) for k in (None, 0, 8))
    assert usual.lam_ == none.lam_ == long.lam_
    assert none.n_iter_ < long.n_iter_
    assert long.loss_ <= min(none.loss_, usual.loss_)
