"""Several networks on encoded inputs: all that stands behind a fit works on the one network."""

import containers
import numpy as np
import pytest
from conftest import Recorder, make_data
from scipy.stats import norm
from sklearn.base import clone

from anmin import ANMINClassifier, ANMINRegressor
from anmin.checkpoint import describe
from anmin.encoding import Encoding
from anmin.engine import listening
from anmin.logfile import CheckpointError
from anmin.plotting import PathDisplay, TrainingDisplay

pytestmark = pytest.mark.slow

AUTO = {"n_hidden": 4, "n_networks": 2, "encoding": "auto", "max_iter": 80, "random_state": 0}


def rows(n=150, d=3, q=1, seed=0):
    """An input with few values, and a step that hinges follow well."""
    X, y = make_data(n, d, q, seed)
    X[:, 1] = np.round(X[:, 1])
    return X, (y.T + 3 * (X[:, 1] == 1) * (X[:, 0] > -1)).T


def encoded(model):
    assert model._scaling.encoding is not None
    assert len(model.A_) == 1 + len(model._scaling.encoding.inputs)
    return model


@pytest.fixture(scope="module")
def data():
    return rows()


@pytest.fixture(scope="module")
def fitted(data):
    return encoded(ANMINRegressor(**AUTO).fit(*data))


def test_it_knows_raw_inputs_alone(data, fitted):
    X, _ = data
    assert fitted.n_features_in_ == 3
    assert fitted.coefs_[0].shape == (len(fitted.A_) - 1, fitted.n_hidden_)
    assert fitted.encode(X).shape == (len(X), len(fitted.A_) - 1)
    with pytest.raises(ValueError, match="expecting 3 features"):
        fitted.encode(X[:, :2])


def test_the_report_and_the_pictures(fitted):
    pytest.importorskip("matplotlib")
    report = fitted.report()
    assert report.inputs == 3
    assert report.unknowns == fitted.A_.size
    assert "inputs: 3" in str(report)
    for display in (TrainingDisplay, PathDisplay):
        display.from_estimator(fitted)


def test_single_precision_inputs_have_an_encoding_in_double(data):
    X, y = data
    model = encoded(ANMINRegressor(**AUTO).fit(X.astype(np.float32), y))
    assert model._scaling.encoding.low.dtype == np.float64


# ---- where rows live ----------------------------------------------------------------------------


@pytest.mark.parametrize("container", ["memmap", "parquet", "csv", "iterable"])
@pytest.mark.parametrize("most", [50_000, 100])
def test_the_same_network_from_files_and_streams(data, tmp_path, monkeypatch, container, most):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("anmin.solvers.views.ENCODED", most)
    made = containers.as_arguments(getattr(containers, container)(tmp_path, *data))
    ours, theirs = (encoded(ANMINRegressor(**AUTO).fit(*given)) for given in (data, made))
    for name in ("A_", "B_", "b0_"):
        np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), rtol=1e-9)
    np.testing.assert_allclose(theirs.predict(made[0]), ours.predict(data[0]), rtol=1e-9)


def test_dask_collections(tmp_path):
    dask = pytest.importorskip("dask")
    X, y = data = rows(700)
    with dask.config.set(scheduler="synchronous"):
        made = containers.as_arguments(containers.dask_array(tmp_path, X, y))
        given = AUTO | {"max_iter": 10, "encoding": Encoding.fit(X, None, 6)}
        ours, theirs = (ANMINRegressor(**given).fit(*args) for args in (data, made))
        lazy = encoded(theirs).predict(made[0])
        assert hasattr(lazy, "compute")
        np.testing.assert_allclose(lazy.compute(), theirs.predict(X), rtol=1e-12)
        np.testing.assert_allclose(theirs.predict(X), ours.predict(X), rtol=1e-6)
        given = AUTO | {"max_iter": 10}
        ours, theirs = (ANMINRegressor(**given).fit(*args) for args in (data, made))
    np.testing.assert_allclose(encoded(theirs).predict(X), ours.predict(X), rtol=1e-6)


def test_another_device(data):
    """ "cpu:0" is PyTorch on the CPU. Of three seeds, as one may lead to another minimum."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    X, y = data

    def score(device):
        settings = [AUTO | {"n_hidden": 8, "random_state": k, "device": device} for k in range(3)]
        return np.mean([encoded(ANMINRegressor(**s).fit(X, y)).score(X, y) for s in settings])

    assert score("cpu:0") == pytest.approx(score("cpu"), abs=0.05)


# ---- fits that are cut short, or go on from another ---------------------------------------------


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("turns", [3, 30, 60])
def test_a_killed_fit_goes_on_to_the_same_bits(data, fitted, tmp_path, turns):
    heard = []

    def kill(*_):
        heard.append(1)
        if len(heard) == turns:
            raise Killed

    model = ANMINRegressor(**AUTO, checkpoint=tmp_path / "run.ckpt")
    with pytest.raises(Killed), listening(kill):
        model.fit(*data)
    model.fit(*data)
    for name in ("A_", "B_", "b0_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(fitted, name))
    np.testing.assert_array_equal(model.predict(data[0]), fitted.predict(data[0]))


def test_a_checkpoint_knows_its_encoding(data, tmp_path):
    X, y = data
    one, other = Encoding.fit(X, None, 4), Encoding.fit(X + 1e-12, None, 4)
    assert describe(one) == describe(Encoding.fit(X, None, 4)) != describe(other)
    given = AUTO | {"max_iter": 2, "checkpoint": tmp_path / "run.ckpt"}
    ANMINRegressor(**given | {"encoding": one}).fit(X, y)
    with pytest.raises(CheckpointError, match="encoding="):
        ANMINRegressor(**given | {"encoding": other}).fit(X, y)


@pytest.mark.parametrize("hinges", [0, 6])
def test_a_warm_start_is_for_plain_inputs(data, hinges):
    X, y = data
    given = AUTO | {"encoding": Encoding.fit(X, None, hinges), "warm_start": True, "max_iter": 20}
    model = ANMINRegressor(**given).fit(X, y)
    cold = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), cold.predict(X))
    model.set_params(encoding=None).fit(X, y)
    assert model._scaling.encoding is None
    assert model.set_params(lam=1e-3, n_networks=1).fit(X, y).A_.shape[0] == 4


def test_what_does_not_go_together(data):
    X, y = data
    given = AUTO | {"encoding": Encoding.fit(X, None, 4)}
    with pytest.raises(ValueError, match="use encoding=None with it"):
        ANMINRegressor(**given, init=np.ones((4, 4))).fit(X, y)
    with pytest.raises(ValueError, match="encoding is for 2 inputs, and X has 3"):
        ANMINRegressor(**AUTO | {"encoding": Encoding.fit(X[:, :2], None, 4)}).fit(X, y)


@pytest.mark.parametrize("encoding", [None, "auto"])
@pytest.mark.parametrize("make", [rows, make_data])
def test_models_on_the_way_predict(make, encoding):
    if not hasattr(ANMINRegressor, "set_callbacks"):
        pytest.skip("scikit-learn has no callbacks")
    recorder, data = Recorder(), make(150, 3)
    model = ANMINRegressor(**AUTO | {"encoding": encoding}).set_callbacks(recorder).fit(*data)
    assert recorder.scores[-1] == pytest.approx(model.score(*data))
    assert min(recorder.scores) > -1


def test_a_classifier():
    X, y = rows()
    label = np.digitize(y, [3.0, 4.5])
    model = encoded(ANMINClassifier(**AUTO).fit(X, label))
    assert model.score(X, label) > 0.8
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1)


# ---- intervals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_networks", "largest"), [(1, 20), (3, 4000)])
def test_the_hidden_layer_is_held_fixed(monkeypatch, n_networks, largest):
    X, y = rows(q=2)
    y = y * [1.0, 5.0]
    monkeypatch.setattr("anmin.inspect.intervals.LARGEST", largest)
    given = AUTO | {"n_networks": n_networks, "intervals": True, "max_iter": 300}
    model = encoded(ANMINRegressor(**given).fit(X, y))
    assert model._intervals.root.shape == (model.n_hidden_ + 1,) * 2
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X))
    P = model.encode(X) @ model.coefs_[0] + model.intercepts_[0]
    S = np.column_stack([np.maximum(P, 0), np.ones(len(X))])
    penalty = np.full(S.shape[1], len(X) * model.lam_)
    penalty[-1] /= model._scaling.y_scale
    H = np.linalg.inv(S.T @ S + np.diag(penalty))
    noise = ((mean - y) ** 2).sum(0) / (len(X) - np.trace(H @ S.T @ S))
    freedom = np.trace(H @ S.T @ S) / len(X)
    held_out = min(step.held_out_mse for step in model.path_)
    noise *= held_out / (noise.sum() * (1 + freedom))
    expected = np.sqrt(np.outer(1 + ((S @ H) * S).sum(1), noise))
    np.testing.assert_allclose(std, expected, rtol=1e-5)
    assert (std**2).sum(1).mean() == pytest.approx(held_out)


def test_too_many_units_for_intervals_are_refused_before_the_fit(data):
    with pytest.raises(ValueError, match=r"fewer than 4,000 hidden units .* n_networks"):
        ANMINRegressor(2000, n_networks=2, intervals=True).fit(*data)


@pytest.mark.slow
@pytest.mark.parametrize("n_networks", [1, 3])
def test_coverage(n_networks):
    noise, inside = 0.3, []
    for seed in range(4):
        X, y = rows(2500, seed=seed)
        y = y + noise * np.random.default_rng(seed).normal(size=len(y))
        given = AUTO | {"n_hidden": 8, "n_networks": n_networks, "intervals": True}
        model = ANMINRegressor(**given).fit(X[:500], y[:500])
        mean, std = model.predict(X[500:], return_std=True)
        inside.append((np.abs(y[500:] - mean) < norm.ppf(0.95) * std).mean())
    assert 0.85 < np.mean(inside) < 0.95


GIVEN = Encoding(np.zeros(3), np.ones(3), np.zeros(0, int), np.zeros(0), np.zeros(0))


@pytest.mark.parametrize("params", [{"n_networks": 2}, {"encoding": GIVEN}])
@pytest.mark.parametrize("given", [{"lam": 1e-3}, {"solver": "anmin"}])
def test_where_held_out_rows_choose_nothing_it_is_said(data, params, given):
    with pytest.raises(ValueError, match='needs lam="auto" and a solver'):
        ANMINRegressor(**params, **given).fit(*data)
