"""monotonic_cst: predictions rise or fall as they are told, everywhere."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from conftest import make_data, make_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.linsolve import solve_signed
from anmin.solvers.levenberg import Descent
from anmin.solvers.problem import gradient
from anmin.solvers.signs import SignedProblem

ROUNDING = 1e-10


def assert_obeys(model, X, cst, rng=None):
    """The signs of all paths, and the predictions along lines that leave the rows far behind."""
    e = np.asarray(cst, dtype=float)
    encoding = model._scaling.encoding
    e = e if encoding is None else e[encoding.inputs]
    paths = e[:, None, None] * model.A_[1:, :, None] * model.B_[None]
    assert (paths >= 0).all()
    rng = rng or np.random.default_rng(0)
    reach = np.ptp(X, axis=0).max() + 1
    steps = np.sort(np.concatenate([np.linspace(-1, 1, 60), [-1e4, -30, -3, 3, 30, 1e4]]))
    for j in np.flatnonzero(cst):
        for row in X[rng.integers(len(X), size=5)] + rng.normal(size=(5, X.shape[1])):
            line = np.tile(row, (len(steps), 1))
            line[:, j] = X[:, j].mean() + reach * steps
            f = model._scores(line)
            assert (cst[j] * np.diff(f, axis=0) >= -ROUNDING * np.abs(f).max()).all()


def rising(n, seed, noise=0.3):
    """Rows of a function that rises in x0 and x1, each in an S, falls in x2, and turns in x3."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 4))
    y = np.tanh(2 * X[:, 0]) + np.exp(X[:, 1] / 2) * (1 + np.tanh(X[:, 0])) - np.abs(X[:, 2] + 2)
    return X, y + np.sin(2 * X[:, 3]) + noise * rng.normal(size=n)


RISING = [1, 1, -1, 0]


# ---- laws ----------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 3))
def test_signed_systems_agree_with_a_general_solver(seed, m, q):
    rng = np.random.default_rng(seed)
    V, signs = rng.normal(size=(2 * m, m)), rng.integers(-1, 2, m)
    M, c = V.T @ V + 0.1 * np.eye(m), rng.normal(size=(m, q))
    found = solve_signed(M, c, signs)
    L = np.linalg.cholesky(M)
    bounds = np.where(signs > 0, 0, -np.inf), np.where(signs < 0, 0, np.inf)
    for k in range(q):
        wanted = lsq_linear(L.T, np.linalg.solve(L, c[:, k]), bounds, tol=1e-14)
        np.testing.assert_allclose(found[:, k], wanted.x, atol=1e-6)
    assert (signs[:, None] * found >= 0).all()


@pytest.mark.slow
@settings(max_examples=40)
@given(st.data())
def test_any_fit_obeys(data):
    d, seed = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 10**6))
    cst = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=d, max_size=d))
    X, y = make_data(data.draw(st.integers(5, 60)), d, seed=seed)
    options = {
        "lam": data.draw(st.sampled_from([1e-5, 1e-2, "auto"])),
        "slope": data.draw(st.sampled_from([0.0, 0.1])),
        "standardize": data.draw(st.booleans()),
        "max_iter": 12,
        "monotonic_cst": cst,
        "random_state": seed % 100,
    }
    if data.draw(st.booleans()):
        y = np.column_stack([y, X[:, 0] - y])
    assert_obeys(ANMINRegressor(data.draw(st.integers(1, 6)), **options).fit(X, y), X, cst)
    label = y.reshape(len(y), -1)[:, 0] > np.median(y)
    if 0 < label.sum() < len(label):
        assert_obeys(ANMINClassifier(4, **options).fit(X, label), X, cst)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile", "poisson"])
@pytest.mark.parametrize("options", [{}, {"n_networks": 1}, {"n_networks": 1, "encoding": None}])
def test_the_default_fit_obeys(loss, options):
    X, y = rising(150, 0)
    y = np.exp(y / 4) if loss == "poisson" else y
    model = ANMINRegressor(16, loss=loss, monotonic_cst=RISING, random_state=0, **options)
    assert_obeys(model.fit(X, y), X, RISING)


def test_no_constraint_changes_no_bit():
    X, y = make_data(60, 2)
    free = ANMINRegressor(4, random_state=0).fit(X, y)
    same = ANMINRegressor(4, monotonic_cst=[0, 0], random_state=0).fit(X, y)
    np.testing.assert_array_equal(free.A_, same.A_)
    np.testing.assert_array_equal(free.B_, same.B_)


def test_a_constraint_that_holds_by_itself_costs_little():
    x = np.linspace(-1, 1, 80)[:, None]
    y = np.maximum(x[:, 0], 0)
    options = {"lam": 1e-6, "random_state": 0}
    free = ANMINRegressor(4, **options).fit(x, y)
    signed = ANMINRegressor(4, monotonic_cst=[1], **options).fit(x, y)
    assert signed.loss_ < 1.05 * free.loss_


def test_against_the_data_it_is_flat():
    X, _ = make_data(100, 2)
    y = -X[:, 0]
    model = ANMINRegressor(8, monotonic_cst=[1, 0], random_state=0).fit(X, y)
    assert np.ptp(model.predict(X)) < 0.6 * np.ptp(y)  # but for what x1 tells of x0
    assert_obeys(model, X, [1, 0])


def signed_problem(X, y, cst, lam=1e-3):
    plain = make_problem(X, y, lam=lam)
    return SignedProblem(plain.source, lam, directions=np.array(cst, dtype=float))


@pytest.mark.parametrize("linear_solver", ["cholesky", "cg"])
def test_descent_ends_where_no_weight_may_go_downhill(linear_solver):
    X, y = make_data(200, 2)
    plain = make_problem(X, y, lam=1e-2, linear_solver=linear_solver)
    problem = SignedProblem(plain.source, 1e-2, 0.0, linear_solver, directions=np.array([1.0, -1]))
    rng = np.random.RandomState(0)
    point = problem.at(rng.standard_normal((3, 3)))
    descent, mu, losses = Descent(problem, 3, rng), 1e-2, [point.loss]
    for _ in range(200):
        with np.errstate(all="ignore"):  # as in a fit
            visit = descent.step(point, mu, None)
        point, mu = visit.point, visit.facts["damping"]
        losses.append(point.loss)
        if visit.facts["stuck"]:
            break
    assert (np.diff(losses) <= 0).all()
    assert losses[-1] < losses[0]
    g = gradient(problem, point)
    left, free = problem.downhill(point.A, point.W, g)
    assert np.abs(left).max() < 1e-3
    assert not np.any(left[free == 0])


# ---- accuracy ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_is_no_worse_on_a_function_that_rises():
    X_new, y_new = rising(2000, 99, noise=0.0)
    ratios = {}
    for n in (100, 600):  # chance is large: ten of each
        errors = np.zeros(2)
        for seed in range(10):
            X, y = rising(n, seed, noise=1.0)
            for k, cst in enumerate((None, RISING)):
                model = ANMINRegressor(monotonic_cst=cst, random_state=0).fit(X, y)
                errors[k] += np.mean((model.predict(X_new) - y_new) ** 2)
        ratios[n] = np.sqrt(errors[1] / errors[0])
    assert max(ratios.values()) < 1.08, ratios  # of fits that begin with a trend, as these do not


# ---- the surface ---------------------------------------------------------------------------------


def frame_of(n=120):
    X, y = rising(n, 0)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame.loc[::7, "a"] = np.nan
    frame["town"] = np.where(X[:, 3] > 0, "here", "there")
    return frame, y


@pytest.mark.slow
def test_frames_by_name_with_gaps():
    frame, y = frame_of()
    model = ANMINRegressor(8, monotonic_cst={"a": 1, "c": -1}, random_state=0).fit(frame, y)
    line = frame.iloc[[1] * 50].assign(a=np.linspace(-50, 50, 50))
    assert (np.diff(model.predict(line)) >= -ROUNDING).all()
    line = frame.iloc[[0] * 50].assign(c=np.linspace(-50, 50, 50))
    assert (np.diff(model.predict(line)) <= ROUNDING).all()


@pytest.mark.parametrize(
    ("cst", "options", "message"),
    [
        ({"town": 1}, {}, "'town' holds dates or categories"),
        ({"nothing": 1}, {}, "nothing"),
        ([1, 0], {}, "5 features"),
        ([2, 0, 0, 0, 0], {}, "-1, 0 or 1"),
        ({"a": 1}, {"solver": "anmin"}, 'solver="varpro"'),
    ],
)
def test_what_cannot_be_is_refused(cst, options, message):
    frame, y = frame_of()
    with pytest.raises(ValueError, match=message):
        ANMINRegressor(4, monotonic_cst=cst, **options).fit(frame, y)


def test_many_classes_are_refused():
    X, y = make_data(60, 2)
    with pytest.raises(ValueError, match="two classes; y has 3"):
        ANMINClassifier(4, monotonic_cst=[1, 0]).fit(X, np.digitize(y, np.quantile(y, [0.3, 0.6])))


@pytest.mark.slow
def test_files_and_small_networks_obey(tmp_path):
    X, y = rising(120, 0)
    model = ANMINRegressor(8, monotonic_cst=np.array(RISING), random_state=0).fit(X, y)
    model.save(tmp_path / "m.anmin")
    again = load_model(tmp_path / "m.anmin")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.monotonic_cst == RISING
    assert_obeys(again, X, RISING)
    assert_obeys(again.compact(4, X), X, RISING)


@pytest.mark.slow
def test_a_killed_fit_goes_on_to_the_same_network(tmp_path):
    X, y = rising(80, 0)
    options = {"monotonic_cst": RISING, "checkpoint": tmp_path / "c", "random_state": 0}
    whole = ANMINRegressor(4, **options).fit(X, y)
    log = (tmp_path / "c").read_bytes()
    (tmp_path / "c").write_bytes(log[: len(log) // 2])
    again = ANMINRegressor(4, **options).fit(X, y)
    np.testing.assert_array_equal(again.A_, whole.A_)
    assert_obeys(again, X, RISING)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_exports_rise(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    import ctypes

    X, y = rising(150, 0)
    model = ANMINRegressor(8, monotonic_cst=RISING, random_state=0).fit(X, y)
    model.to_c(tmp_path / "m.c", dtype="float64")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O2", tmp_path / "m.c", "-o", tmp_path / "m.so"], check=True
    )
    function = ctypes.CDLL(str(tmp_path / "m.so")).model_predict
    model.to_onnx(tmp_path / "m.onnx", dtype="float64")
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    line = np.tile(X[3], (80, 1))
    line[:, 2] = np.linspace(-40, 40, 80)
    found, out = [], (ctypes.c_double * 1)()
    for row in line:
        function((ctypes.c_double * 4)(*row), out)
        found.append(out[0])
    for f in (np.array(found), session.run(None, {"X": line})[0][:, 0]):
        np.testing.assert_allclose(f, model.predict(line), rtol=1e-9)
        assert (np.diff(f) <= ROUNDING).all()
