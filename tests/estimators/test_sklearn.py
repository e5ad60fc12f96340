"""The conventions of scikit-learn: its checks, frames, search, pipelines, routing, import."""

import pickle
import statistics
import subprocess
import sys
import warnings

import numpy as np
import pytest
from conftest import in_solver, make_data
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from anmin import ANMINClassifier, ANMINRegressor
from anmin.solvers import Algorithm1

QUICK = {"n_hidden": 6, "solver": "anmin", "lam": 1e-2, "max_iter": 4, "random_state": 0}


def regressor(**kwargs):
    return ANMINRegressor(**in_solver(**(QUICK | kwargs)))


def classifier(**kwargs):
    return ANMINClassifier(**in_solver(**(QUICK | kwargs)))


# Fits without a penalty worth the name: 1e-8 apart, and the check asks for 1e-9. That rows may be
# weighted or repeated is held by test_path.py, and by this check below.
ROUNDING = {"check_sample_weight_equivalence_on_dense_data": "equal to 1e-7"}


@pytest.mark.slow
@parametrize_with_checks([ANMINRegressor(), ANMINClassifier()])
def test_scikit_learns_own_checks_of_the_defaults(estimator, check):
    if check.func.__name__ in ROUNDING:  # rounding decides whether it passes
        pytest.skip(ROUNDING[check.func.__name__])
    check(estimator)


@parametrize_with_checks(
    [
        regressor(),
        classifier(),
        regressor(standardize=False, slope=0.1, solver=Algorithm1(keep="last")),
        classifier(batch_size=16, class_weight="balanced"),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# ---- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [regressor, classifier])
def test_clone_and_params(make):
    model = make(solver=Algorithm1(tau=-5.0, keep="last"), init=np.ones((3, 6)))
    copy = clone(model)
    assert copy.solver is not model.solver
    assert copy.solver.get_params() == model.solver.get_params()
    assert copy.get_params()["solver__tau"] == -5.0
    copy.set_params(solver__tau=-7.0, n_hidden=3)
    assert (copy.solver.tau, copy.n_hidden, model.solver.tau) == (-7.0, 3, -5.0)


def test_names_are_defaults(data):
    """solver="anmin" is Algorithm1() with its defaults."""
    X, y = data
    by_name, by_object = regressor().fit(X, y), regressor(solver=Algorithm1()).fit(X, y)
    assert by_name.loss_curve_ == by_object.loss_curve_


def test_repr_shows_what_was_changed():
    assert "n_hidden=6" in repr(regressor())
    assert "tau=-5.0" in repr(regressor(solver=Algorithm1(tau=-5.0)))


def test_fit_does_not_touch_parameters(data):
    X, y = data
    solver, A = Algorithm1(), np.ones((3, 6))
    model = regressor(solver=solver, init=A)
    before = model.get_params()
    model.fit(X, y)
    assert model.get_params() == before
    assert not [name for name in vars(solver) if name.endswith("_")]


def test_kinds():
    assert is_regressor(regressor())
    assert is_classifier(classifier())
    tags = get_tags(regressor())
    assert tags.target_tags.multi_output
    assert tags.target_tags.required
    assert not tags.input_tags.sparse
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical


def test_refitting_forgets(data):
    X, y = data
    model = regressor().fit(X[:, :1], np.column_stack([y, y]))
    model.fit(X, y)
    fresh = regressor().fit(X, y)
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


# ---- frames -------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(data, library):
    frames = pytest.importorskip(library)
    X, y = data
    frame = frames.DataFrame({"first": X[:, 0], "second": X[:, 1]})
    target = frames.Series(y)
    model = regressor().fit(frame, target)
    np.testing.assert_array_equal(model.feature_names_in_, ["first", "second"])
    np.testing.assert_allclose(model.predict(frame), regressor().fit(X, y).predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["second", "first"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_targets_and_labels(data, library):
    frames = pytest.importorskip(library)
    X, y = data
    targets = frames.DataFrame({"a": y, "b": -y})
    predicted = regressor().fit(X, targets).predict(X)
    assert predicted.shape == (len(X), 2)
    labels = frames.Series(np.where(y > 3, "high", "low"))
    assert set(classifier().fit(X, labels).predict(X)) <= {"high", "low"}


def test_integer_columns_of_pandas(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame({"a": np.round(X[:, 0]).astype(int), "b": X[:, 1] > 0})
    whole = np.column_stack([frame["a"], frame["b"]]).astype(float)
    by_frame = regressor().fit(frame, y).predict(frame)
    np.testing.assert_allclose(by_frame, regressor().fit(whole, y).predict(whole), rtol=1e-9)


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_set_output_is_for_transformers(data, output):
    """Predictions are arrays whatever the transformers of a pipeline are told to return."""
    if output != "default":
        pytest.importorskip(output)
    X, y = data
    with config_context(transform_output=output):
        pipeline = make_pipeline(StandardScaler(), regressor()).fit(X, y)
        assert isinstance(pipeline.predict(X), np.ndarray)


# ---- composition --------------------------------------------------------------------------------


def test_grid_search(data):
    X, y = data
    solvers = [Algorithm1(), Algorithm1(keep="last")]
    search = GridSearchCV(regressor(), {"n_hidden": [1, 8], "solver": solvers}, cv=3).fit(X, y)
    assert search.best_params_["n_hidden"] == 8
    assert search.best_score_ > 0.5


def test_pipeline(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), regressor()).fit(X, y)
    np.testing.assert_allclose(pipeline.predict(X), regressor().fit(X, y).predict(X), rtol=1e-7)
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.5


def test_multi_output_wrapper(data):
    X, y = data
    Y = np.column_stack([y, -y])
    wrapped = MultiOutputRegressor(regressor()).fit(X, Y)
    np.testing.assert_allclose(
        wrapped.predict(X)[:, 0], regressor().fit(X, y).predict(X), rtol=1e-10
    )


def test_score_takes_weights_and_many_outputs():
    X, Y = make_data(80, 2, 3)
    model = regressor().fit(X, Y)
    assert model.score(X, Y) <= 1
    assert model.score(X, Y, sample_weight=np.ones(len(X))) == pytest.approx(model.score(X, Y))


@pytest.mark.parametrize("make", [regressor, classifier])
def test_sample_weight_is_routed(data, make):
    X, y = data
    y = y if make is regressor else (y > 3).astype(int)
    w = np.random.default_rng(0).uniform(0.1, 2.0, len(X))
    w[::2] = 0.0
    with config_context(enable_metadata_routing=True):
        step = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), step)
        routed.fit(X, y, sample_weight=w)
        search = GridSearchCV(step, {"lam": [1e-2]}, cv=2).fit(X, y, sample_weight=w)
    direct = make().fit(StandardScaler().fit_transform(X), y, sample_weight=w)
    np.testing.assert_allclose(routed[-1].loss_curve_, direct.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(
        search.best_estimator_.loss_curve_, make().fit(X, y, sample_weight=w).loss_curve_
    )


@pytest.mark.parametrize("make", [regressor, classifier])
def test_pickling(data, make):
    X, y = data
    y = y if make is regressor else (y > 3).astype(int)
    model = make().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert repr(again.history_) == repr(model.history_)  # NaN is not equal to itself
    with pytest.raises(NotFittedError):
        pickle.loads(pickle.dumps(make())).predict(X)


# ---- warnings -----------------------------------------------------------------------------------


def test_quiet_when_all_is_well(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor().fit(*data)


def test_warns_when_stopped_by_a_degenerate_system(data):
    """The message says what happened and what to do."""
    with pytest.warns(ConvergenceWarning, match=r"(?s)(degenerate|tau).*(lam|standardi)"):
        regressor(solver=Algorithm1(tau=1e6, degenerate="stop")).fit(*data)


def test_verbose_prints_and_silence_does_not(data, capsys):
    regressor(verbose=0).fit(*data)
    assert capsys.readouterr().out == ""
    regressor(verbose=1).fit(*data)
    out, err = capsys.readouterr()
    assert out + err


# ---- importing ----------------------------------------------------------------------------------

EXTRAS = "torch dask pyarrow typer rich matplotlib pandas polars pooch onnx onnxruntime hypothesis"


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def loaded(module):
    """The packages that are there after `import module`."""
    return set(python(f"import sys, {module}; print(*sys.modules)").replace(".", " ").split())


@pytest.mark.slow
def test_import_brings_no_extra():
    """scikit-learn imports pandas where it is installed; nothing comes on top of that."""
    ours = loaded("anmin") - loaded("sklearn.linear_model")
    assert "anmin" in ours
    assert not ours & set(EXTRAS.split())


@pytest.mark.slow
def test_import_is_quick():
    """Under 1.5 times scikit-learn's linear models; the median of pairs, one after the other."""
    timer = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    ratios = []
    for _ in range(3):
        theirs = float(python(timer.format("sklearn.linear_model")))
        ratios.append(float(python(timer.format("anmin"))) / theirs)
    assert statistics.median(ratios) < 1.5
