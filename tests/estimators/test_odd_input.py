"""Odd input, one line a case: constant columns, extreme scales, few rows. All give sound results.

What must be refused is in `test_bad_input.py`.
"""

import re
import warnings

import numpy as np
import pytest
from conftest import in_solver, make_data

from anmin import ANMINRegressor
from anmin.solvers import Algorithm1

N, D, H = 40, 2, 5
X, Y = make_data(N, D)
INIT = np.ones((D + 1, H))
INF = float("inf")


def regressor(**kwargs):
    settings = {"n_hidden": H, "solver": "anmin", "lam": 1e-2, "max_iter": 3, "random_state": 0}
    return ANMINRegressor(**in_solver(**(settings | kwargs)))


def with_column(column):
    return np.column_stack([X, np.broadcast_to(column, N)])


# ---- name -> (X, y, sample_weight, parameters) ---------------------------------------------------

TWICE = np.column_stack([X, X[:, 0]])
FROZEN = [v.copy() for v in (X, Y, np.ones(N), INIT)]
for _array in FROZEN:
    _array.setflags(write=False)
FINE = {
    "one column": (X[:, :1], Y, None, {}),
    "two rows": (X[:2], Y[:2], None, {}),
    "fewer rows than units": (X, Y, None, {"n_hidden": 3 * N, "max_iter": 2}),
    "fewer rows than columns": (make_data(5, 12)[0], Y[:5], None, {}),
    "one unit": (X, Y, None, {"n_hidden": 1}),
    "constant column": (with_column(3.0), Y, None, {}),
    "constant column that rounds": (with_column(0.1), Y, None, {}),
    "large constant column that rounds": (with_column(1e10 + 0.1), Y, None, {}),
    "all columns constant": (np.ones((N, 3)), Y, None, {}),
    "all of X zero": (np.zeros((N, 3)), Y, None, {}),
    "all of X zero, raw": (np.zeros((N, 3)), Y, None, {"standardize": False}),
    "constant y": (X, np.full(N, 2.5), None, {}),
    "constant y that rounds": (X, np.full(N, 0.1), None, {}),
    "y all zero": (X, np.zeros(N), None, {}),
    "y whose square is zero": (X, 1e-200 * Y, None, {"lam": "auto", "solver": "varpro"}),
    "same row again and again": (np.repeat(X[:1], N, axis=0), Y, None, {}),
    "duplicated rows": (np.repeat(X[:8], 5, axis=0), np.repeat(Y[:8], 5), None, {}),
    "column twice": (TWICE, Y, None, {}),
    "column twice, tiny lam": (TWICE, Y, None, {"lam": 1e-14}),
    "column twice, no lam": (TWICE, Y, None, {"lam": 0.0}),
    "no lam": (X, Y, None, {"lam": 0.0}),
    "no lam, many units": (X, Y, None, {"lam": 0.0, "n_hidden": 2 * N}),
    "huge lam": (X, Y, None, {"lam": 9e29}),
    "tiny lam": (X, Y, None, {"lam": 1e-300}),
    "integers": (np.round(5 * X).astype(int), np.round(5 * Y).astype(int), None, {}),
    "small integers": (np.round(5 * X).astype(np.int8), np.round(5 * Y).astype(np.int8), None, {}),
    "booleans": (X > 0, Y > 3, None, {}),
    "objects that are numbers": (X.astype(object), Y.astype(object), None, {}),
    "lists": (X.tolist(), Y.tolist(), np.ones(N).tolist(), {}),
    "float32": (X.astype(np.float32), Y.astype(np.float32), None, {}),
    "float16": (X.astype(np.float16), Y.astype(np.float16), None, {}),
    "long double": (X.astype(np.longdouble), Y.astype(np.longdouble), None, {}),
    "other byte order": (X.astype(">f8"), Y.astype(">f8"), None, {}),
    "not contiguous": (np.repeat(X, 2, axis=1)[::-1, ::2], Y[::-1], None, {}),
    "read only": (*FROZEN[:3], {"init": FROZEN[3]}),
    "read only, raw": (*FROZEN[:3], {"init": FROZEN[3], "standardize": False}),
    "y as a column": (X, Y[:, None], None, {}),
    "some weights zero": (X, Y, np.arange(N) % 2, {}),
    "one weight not zero": (X, Y, np.eye(N)[0], {}),
    "integer weights": (X, Y, np.arange(1, N + 1), {}),
    "tiny weights": (X, Y, np.full(N, 1e-300), {}),
    "huge weights": (X, Y, np.full(N, 1e300), {}),
    "weights of all sizes": (X, Y, 10.0 ** np.linspace(-12, 12, N), {}),
    "X of 1e150": (X * 1e150, Y, None, {}),
    "X of 1e-150": (X * 1e-150, Y, None, {}),
    "X of 1e150 and 1e-150": (X * [1e150, 1e-150], Y, None, {}),
    "X far from zero": (X + 1e9, Y, None, {}),
    "y of 1e-150": (X, Y * 1e-150, None, {}),
    "zero slope": (X, Y, None, {"slope": 0}),
    "slope nearly one": (X, Y, None, {"slope": 1 - 1e-12}),
    "init of zeros": (X, Y, None, {"init": np.zeros((D + 1, H))}),
    "init of zeros, no lam": (X, Y, None, {"init": np.zeros((D + 1, H)), "lam": 0.0}),
    "init of equal neurons": (X, Y, None, {"init": INIT}),
    "init of dead neurons": (X, Y, None, {"init": np.vstack([INIT[:1] * -1e3, INIT[1:]])}),
    "init of huge numbers": (X, Y, None, {"init": INIT * 1e100}),
    "init as a list": (X, Y, None, {"init": INIT.tolist()}),
    "init of integers": (X, Y, None, {"init": INIT.astype(int)}),
    "no iteration": (X, Y, None, {"max_iter": 0}),
    "one turn of time": (X, Y, None, {"max_time": 1e-9}),
    "batches of one row": (X, Y, None, {"batch_size": 1}),
    "numpy scalars": (X, Y, None, {"n_hidden": np.int64(4), "lam": np.float32(0.01)}),
    "every system degenerate": (X, Y, None, {"solver": Algorithm1(tau=1e6)}),
    "tau of -inf": (X, Y, None, {"solver": Algorithm1(tau=-INF)}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", FINE.values(), ids=FINE.keys())
def test_odd_input_gives_a_sound_result(case):
    """Finite, with the history in order, and no worse than predicting the mean."""
    X, y, w, parameters = case
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = regressor(**parameters).fit(X, y, sample_weight=w)
        predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    assert predicted.shape == np.shape(y)
    for part in (model.A_, model.B_, model.b0_, *model.coefs_, *model.intercepts_):
        assert np.isfinite(part).all()
    assert np.isfinite(model.loss_curve_).all()
    assert model.loss_ == min(model.loss_curve_)
    if model.standardize:
        target = np.array(y, dtype=float).reshape(len(X), -1)
        mean = np.average(target, axis=0, weights=w)
        spread = np.average(((target - mean) ** 2).sum(axis=1), weights=w)
        error = np.average(((predicted.reshape(target.shape) - target) ** 2).sum(axis=1), weights=w)
        assert error <= spread * (1 + 1e-9) + 1e-24 * np.max(np.abs(target)) ** 2


# ---- where the result is known -------------------------------------------------------------------


def same(one, other, tolerance=1e-7):
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.abs(other).max())


@pytest.mark.parametrize("scale", [1e150, 1e-150, [1e150, 1e-150]])
def test_scale_of_X_does_not_matter(scale):
    huge = X * np.array(scale)
    same(regressor().fit(huge, Y).predict(huge), regressor().fit(X, Y).predict(X))


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_scale_of_X_without_standardising(scale):
    """Huge inputs dwarf the biases and tiny ones vanish beside them; both are finite."""
    model = regressor(standardize=False).fit(X * scale, Y)
    assert np.isfinite(model.predict(X * scale)).all()
    assert np.isfinite(model.loss_curve_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e60, 1e100, 1e150])
def test_huge_y_is_fitted_or_refused(scale):
    """lam is nothing against such a loss, and M overflows before y does."""
    model, message = fitted_or_refused(regressor(), X, Y * scale)
    if model is None:
        assert re.search(r"y.*(scale|large|units)", message)
    else:
        assert np.isfinite(model.predict(X)).all()
        assert model.score(X, Y * scale) > 0.1


def fitted_or_refused(model, X, y):
    try:
        return model.fit(X, y), ""
    except ValueError as error:
        return None, str(error)


def test_y_of_1e_minus_150():
    """All of it is below the penalty: the mean is the answer."""
    y = Y * 1e-150
    same(regressor().fit(X, y).predict(X), np.full(N, y.mean()), 1e-3)


@pytest.mark.parametrize("constant", [0.0, 3.0, 0.1, 1e10 + 0.1, 1e15 + 0.1, -1e-20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1.0, N)], ids=["", "weights"])
def test_constant_column_changes_nothing(constant, dtype, weights):
    A = np.random.default_rng(0).normal(size=(D + 2, H))
    last = {"solver": Algorithm1(keep="last")}
    plain, wide = X.astype(dtype), with_column(constant).astype(dtype)
    one = regressor(init=A[:-1], **last).fit(plain, Y, weights)
    other = regressor(init=A, **last).fit(wide, Y, weights)
    same(other.predict(wide), one.predict(plain))
    assert np.abs(other.coefs_[0][-1]).max() < 1e-9


def test_duplicated_rows_change_nothing():
    same(
        regressor().fit(np.vstack([X, X]), np.hstack([Y, Y])).predict(X),
        regressor().fit(X, Y).predict(X),
    )


def test_constant_y_is_predicted():
    same(regressor().fit(X, np.full(N, 0.1)).predict(X), np.full(N, 0.1), 1e-12)


def test_integers_are_numbers():
    whole, y = np.round(5 * X), np.round(5 * Y)
    as_int = regressor().fit(whole.astype(np.int32), y.astype(int))
    as_object = regressor().fit(whole.astype(object), y.astype(object))
    as_float = regressor().fit(whole, y)
    np.testing.assert_array_equal(as_int.predict(whole.astype(int)), as_float.predict(whole))
    np.testing.assert_array_equal(as_object.predict(whole), as_float.predict(whole))


@pytest.mark.parametrize("factor", [1e-300, 1e300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scale_of_weights_does_not_matter(factor, dtype):
    w, numbers = np.linspace(0.5, 1.0, N), X.astype(dtype)
    one, other = regressor().fit(numbers, Y, w), regressor().fit(numbers, Y, w * factor)
    same(other.predict(numbers), one.predict(numbers))


def test_one_row():
    """Its y is the mean, and the mean is predicted."""
    same(regressor().fit(X[:1], Y[:1]).predict(X[:1]), Y[:1])


def test_dead_units_are_reported():
    init = np.vstack([np.full((1, H), -1e3), np.ones((D, H))])
    model = regressor(init=init, max_iter=0).fit(X, Y)
    assert model.history_[0].dead == H
    same(model.predict(X), np.full(N, Y.mean()))


def test_too_large_for_float32_is_refused():
    """1e300 is a number in float64 and infinite in float32."""
    model = regressor(dtype="float32", standardize=False)
    with pytest.raises(ValueError, match=r"too large"):
        model.fit(X * 1e300, Y)


def test_the_papers_constants_act_on_sums_over_the_rows():
    named = Algorithm1(tau=-10_000 - (D + 2) * H * np.log(N), floor=1e-4 / N)
    solvers = ("anmin", named, Algorithm1(floor=1e-4))
    # With a column twice and no penalty, no system has a Cholesky factor.
    fits = [regressor(solver=solver, lam=0.0).fit(TWICE, Y).A_ for solver in solvers]
    assert np.array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])
    assert regressor(lam="auto").fit(X, Y).lam_ == pytest.approx(1e-3 / N)
