"""Standard deviations: against a Jacobian written out, the laws they obey, and their coverage."""

import numpy as np
import pytest
from conftest import make_data
from scipy.stats import norm
from sklearn.base import clone

from anmin import ANMINClassifier, ANMINRegressor
from anmin.inspect.intervals import LARGEST, check_size
from anmin.solvers import VarPro

UNITS = pytest.mark.filterwarnings("ignore:The outputs have deviations")
WIDTH = norm.ppf(0.95)  # of a 90 % interval


def model_of(**options):
    options = {"n_hidden": 5, "max_iter": 20, "random_state": 0, "intervals": True} | options
    return ANMINRegressor(**options)


def jacobian(model, X, step=1e-6):
    """∂f/∂(A, B, b0) by central differences, neurons first, then outputs: (q, n, unknowns)."""
    network, scaling = model._network, model._scaling
    X = (X - scaling.x_mean) / scaling.x_scale
    X = np.column_stack([np.ones(len(X)), X])
    (p, h), q = network.A.shape, len(network.b0)
    theta = np.concatenate([network.A.T.ravel(), np.vstack([network.B, network.b0]).T.ravel()])

    def f(theta):
        A, W = theta[: p * h].reshape(h, p).T, theta[p * h :].reshape(q, h + 1).T
        P = X @ A
        return np.maximum(P, network.slope * P) @ W[:-1] + W[-1]

    columns = []
    for i in range(len(theta)):
        delta = step * (np.arange(len(theta)) == i)
        columns.append((f(theta + delta) - f(theta - delta)) / (2 * step))
    return np.array(columns).transpose(2, 1, 0)


def written_out(model, X, y, w, new):
    """The formulas of the module, with every matrix formed."""
    J, Y = jacobian(model, X), y.reshape(len(y), -1)
    q, _, m = J.shape
    h = model.n_hidden_
    penalty = np.full(m, w.sum() * model.lam_)
    penalty[m - q * (h + 1) + h :: h + 1] /= model._scaling.y_scale
    JtJ = [j.T @ (w[:, None] * j) for j in J]
    inverse = np.linalg.inv(sum(JtJ) + np.diag(penalty))
    degrees = np.array([np.trace(inverse @ M) for M in JtJ])
    squares = w @ (Y - model.predict(X).reshape(Y.shape)) ** 2
    noise = squares / (w.sum() - degrees)
    noises = np.concatenate([np.full(m - q * (h + 1), noise.min()), np.repeat(noise, h + 1)])
    middle = sum(s * M for s, M in zip(noise, JtJ, strict=True)) + np.diag(noises * penalty)
    C = inverse @ middle @ inverse
    new = jacobian(model, new)
    return np.sqrt(noise + np.einsum("kni,ij,knj->nk", new, C, new))


@pytest.mark.parametrize(
    "options",
    [
        {"lam": 1e-2},
        {"lam": "auto", "max_iter": 20},
        {"lam": 1e-2, "slope": 0.2},
        {"lam": 1e-2, "solver": "anmin"},
        {"lam": 1e-2, "standardize": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("q", [1, 3])
def test_against_a_jacobian_written_out(q, options):
    X, y = make_data(n=120, q=q)
    if q > 1:
        y = y * [1.0, 3.0, 0.2]
    w = np.random.default_rng(0).uniform(0.5, 2.0, 120)
    init = np.random.default_rng(1).normal(size=(3, 5))  # no hinge goes through a row
    options = {"init": init, "max_iter": 0} | options
    model = model_of(**options).fit(X, y, sample_weight=w)
    new = make_data(n=15, seed=1)[0]
    _, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(std.reshape(15, q), written_out(model, X, y, w, new), rtol=1e-5)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1), (-1, 2)])
def test_shapes_are_those_of_the_predictions(shape):
    X, y = make_data(n=60, q=2)
    y = y.reshape(shape)[:60] if shape[-1] == 2 else y[:, :1].reshape(shape)
    model = model_of(lam=1e-2).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == y.shape
    np.testing.assert_array_equal(mean, model.predict(X))
    assert (std > 0).all()


def test_weights_count_as_rows():
    X, y = make_data(n=60)
    times = np.random.default_rng(0).integers(0, 4, 60)
    weighted = model_of(lam=1e-2).fit(X, y, sample_weight=times)
    repeated = model_of(lam=1e-2).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    one, other = (model.predict(X, return_std=True)[1] for model in (weighted, repeated))
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_batches_do_not_matter():
    X, y = make_data(n=9000)
    stds = [
        model_of(lam=1e-2, max_iter=3, solver=VarPro(batch_size=size))
        .fit(X, y)
        .predict(X[:50], True)[1]
        for size in (1, 100_000)
    ]
    np.testing.assert_allclose(*stds, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_units_of_y_do_not_matter(unit):
    X, y = make_data(n=80)
    plain, scaled = (model_of(lam="auto").fit(X, s * y) for s in (1.0, unit))
    std = plain.predict(X, True)[1]
    np.testing.assert_allclose(scaled.predict(X, True)[1], unit * std, rtol=1e-4)


def test_single_precision_agrees():
    X, y = make_data(n=200)
    stds = [model_of(lam=1e-2, max_iter=0, solver=VarPro(dtype=dtype)).fit(X, y).predict(X, True)[1]
            for dtype in ("float64", "float32")]  # fmt: skip
    np.testing.assert_allclose(*stds, rtol=1e-3)


@pytest.mark.parametrize("device", ["torch"])
def test_other_backends_agree(device, monkeypatch):
    pytest.importorskip("torch")
    from anmin import backends, base
    from anmin.backends.torch import TorchBackend

    X, y = make_data(n=200, q=2)
    ours = model_of(lam=1e-2, max_iter=0).fit(X, y)
    monkeypatch.setattr(base, "get_backend", lambda *_: TorchBackend("cpu", "float64"))
    theirs = model_of(lam=1e-2, max_iter=0).fit(X, y)
    assert backends.get_backend
    np.testing.assert_allclose(theirs.predict(X, True)[1], ours.predict(X, True)[1], rtol=1e-8)


def test_far_from_the_rows_less_is_known():
    X, y = make_data(n=200, d=1)
    _, std = model_of(lam=1e-3).fit(X, y).predict([[X.mean()], [50.0], [500.0]], True)
    assert std[0] < std[1] < std[2]


def test_no_penalty_and_dead_units_are_fine():
    X, y = make_data(n=100)
    init = np.random.default_rng(0).normal(size=(3, 5))
    init[:, 0] = [-100.0, 0.1, 0.1]  # fires on no row
    model = model_of(lam=0.0, init=init, solver="anmin", max_iter=0).fit(X, y)
    mean, std = model.predict(X, True)
    assert np.isfinite(std).all()
    assert (std < 10 * np.abs(y - mean).max()).all()


def two_outputs(scale, seed):
    """Outputs whose noise has deviations 0.1 and 0.3 times the scale."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    noise = rng.normal(size=(300, 2)) * [0.1, 0.3]
    return X, (np.column_stack([np.abs(X[:, 0]), np.sin(2 * X[:, 1])]) + noise) * [1.0, scale]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", ["varpro", "anmin"])
def test_two_outputs_without_a_penalty(solver, seed):
    X, Y = two_outputs(1.0, seed)
    model = model_of(n_hidden=12, lam=0.0, solver=solver).fit(X, Y)
    _, std = model.predict(X, return_std=True)
    assert (np.median(std, axis=0) < 2 * np.sqrt(model._intervals.noise)).all()
    assert (std**2 >= model._intervals.noise).all()


@UNITS
@pytest.mark.parametrize("lam", [0.0, 1e-8, 1e-4])
@pytest.mark.parametrize("seed", range(3))
def test_outputs_whose_scales_differ_a_million_times(lam, seed):
    X, Y = two_outputs(1e6, seed)
    _, std = model_of(n_hidden=12, lam=lam, max_iter=60).fit(X, Y).predict(X, return_std=True)
    assert np.isfinite(std).all()
    assert 0.2e6 < np.median(std[:, 1]) < 0.5e6


@UNITS
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_an_output_does_not_widen_the_interval_of_another(scale):
    """Both need the hidden layer, so a single fit may still leave the quieter one unsure."""
    ratios = []
    for seed in range(5):
        X, Y = two_outputs(scale, seed)
        model = model_of(n_hidden=12, lam=1e-4 * min(scale, 1.0), max_iter=60).fit(X, Y)
        _, std = model.predict(X, return_std=True)
        ratios.append(np.median(std, axis=0) / np.sqrt(model._intervals.noise))
    assert (np.median(ratios, axis=0) < 2).all()


def test_a_perfect_fit_and_a_constant():
    X = np.linspace(-1, 1, 50)[:, None]
    std = model_of().fit(X, np.full(50, 3.0)).predict(X, True)[1]
    np.testing.assert_allclose(std, 0, atol=1e-12)
    std = model_of(lam=1e-6).fit(X, 2 * X.ravel()).predict(X, True)[1]
    assert std.max() < 0.01


def test_too_few_rows_warn():
    X, y = make_data(n=12)
    with pytest.warns(UserWarning, match="leave no freedom"):
        model_of(n_hidden=20, lam=0.0).fit(X, y)


# ---- coverage -----------------------------------------------------------------------------


def coverage(model, X, y):
    mean, std = model.predict(X, return_std=True)
    return (np.abs(y - mean) <= WIDTH * std).mean(axis=0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", ["auto", 1e-3])
def test_a_90_percent_interval_covers_90_percent(seed, lam):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (3600, 2))
    y = np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + 0.3 * rng.normal(size=3600)
    model = model_of(n_hidden=24, lam=lam, max_iter=60).fit(X[:600], y[:600])
    assert 0.85 <= coverage(model, X[600:], y[600:]) <= 0.95


def test_outputs_of_different_noise_have_different_intervals():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (3800, 2))
    noise = rng.normal(size=(3800, 2)) * [0.05, 1.0]
    Y = np.column_stack([np.sin(2 * X[:, 0]), np.abs(X[:, 1])]) + noise
    model = model_of(n_hidden=16, lam=1e-3, max_iter=60).fit(X[:800], Y[:800])
    covered = coverage(model, X[800:], Y[800:])
    assert (covered >= 0.85).all()
    assert (covered <= 0.97).all()


@pytest.mark.slow
def test_coverage_on_abalone(paper_data):
    table = np.loadtxt(paper_data / "abalone.csv", delimiter=",")
    table = table[np.random.default_rng(0).permutation(len(table))]
    X, y = table[:, :-1], table[:, -1]
    model = ANMINRegressor(16, intervals=True, random_state=0).fit(X[:3000], y[:3000])
    assert 0.85 <= coverage(model, X[3000:], y[3000:]) <= 0.95


# ---- what is refused ----------------------------------------------------------------------


def test_a_model_without_intervals_says_what_to_do():
    X, y = make_data(n=60)
    model = model_of(lam=1e-2).fit(X, y)
    model.set_params(intervals=False).fit(X, y)
    with pytest.raises(ValueError, match="fitted with intervals=True"):
        model.predict(X, return_std=True)
    assert clone(model_of()).intervals


def test_too_large_a_network_is_refused_before_the_fit():
    X, y = make_data(n=30, d=40)
    with pytest.raises(ValueError, match=rf"at most {LARGEST:,} weights .* n_hidden=95 or fewer"):
        model_of(n_hidden=500).fit(X, y)
    check_size(p=41, h=95, q=1)
    with pytest.raises(ValueError, match="n_hidden=0 or fewer"):
        check_size(p=5000, h=1, q=1)
    with pytest.raises(ValueError, match="intervals must be True, False or"):
        model_of(intervals="yes").fit(X, y)


def test_a_classifier_has_probabilities_instead():
    assert "intervals" not in ANMINClassifier().get_params()
