"""Ctrl-C: control at once, and the best network so far."""

import pickle
import signal
import time

import numpy as np
import pytest
from conftest import make_data
from killable import save_rows
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import anmin.base as base
import anmin.solvers.members as members
import anmin.solvers.varpro as varpro
from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.solvers import Algorithm1, VarPro
from anmin.solvers.early import EarlyStopping
from anmin.solvers.frozen import FormedLayer
from anmin.solvers.levenberg import Descent
from anmin.solvers.relocate import relocate
from anmin.sources.draws import Groups

GIVEN = {"n_hidden": 6, "lam": 1e-3, "max_iter": 60, "random_state": 0}
PAPER = {"n_hidden": 6, "solver": "anmin", "lam": 1e-3, "random_state": 0}
AUTO = {"n_hidden": 6, "random_state": 0, "n_networks": 1, "encoding": None}
ONE, MANY_ROWS = make_data(n=120), make_data(n=1000)


@pytest.fixture
def press(monkeypatch):
    """press(k, at): Ctrl-C in the k-th call of a step, counted from the first call of `at` on."""

    def at_step(k, at=None):
        seen = {"begun": at is None, "steps": 0}

        def begin(*args, **kwargs):
            seen["begun"] = True
            return at[1](*args, **kwargs)

        def stepping(original):
            def step(*args):
                seen["steps"] += seen["begun"]
                if seen["steps"] == k:
                    raise KeyboardInterrupt
                return original(*args)

            return step

        if at is not None:
            monkeypatch.setattr(at[0], at[1].__name__, begin)
        monkeypatch.setattr(Descent, "step", stepping(Descent.step))
        monkeypatch.setattr(Algorithm1, "iterate", stepping(Algorithm1.iterate))

    yield at_step
    monkeypatch.undo()


def interrupted(model, *data):
    with pytest.warns(ConvergenceWarning, match=r"Interrupted; the best network so far is kept\."):
        return model.fit(*data)


REFIT, REFINE, EXPLORE = (members, members.refit), (VarPro, VarPro.improve), (varpro, relocate)
STAGES = {
    "the start of the path": (AUTO, ONE, 2, None),
    "the path": (AUTO, ONE, 25, None),
    "the path without its second part": (AUTO, ONE, 80, None),
    "the refit": (AUTO, ONE, 2, REFIT),
    "after the refit": (AUTO, ONE, 2, REFINE),
    "the first step": (GIVEN, ONE, 1, None),
    "descent": (GIVEN, ONE, 6, None),
    "exploration": (GIVEN, ONE, 4, EXPLORE),
    "descent on a sample": (GIVEN, MANY_ROWS, 8, None),
    "exploration on a sample": (GIVEN, MANY_ROWS, 4, EXPLORE),
    "Algorithm 1": (PAPER, ONE, 5, None),
    "early stopping": (GIVEN | {"early_stopping": True}, ONE, 6, None),
    "early stopping, the path": (AUTO | {"early_stopping": True}, ONE, 25, None),
    "early stopping, Algorithm 1": (PAPER | {"early_stopping": True}, ONE, 5, None),
}


@pytest.mark.parametrize(("params", "data", "k", "at"), STAGES.values(), ids=STAGES)
def test_in_any_stage_there_is_a_whole_model(params, data, k, at, press, tmp_path):
    X, y = data
    press(k, at)
    model = interrupted(ANMINRegressor(**params), X, y)
    d, h = X.shape[1], model.n_hidden_
    assert model.A_.shape == (d + 1, h)
    assert (model.B_.shape, model.b0_.shape) == ((h, 1), (1,))
    assert [W.shape for W in model.coefs_] == [(d, h), (h, 1)]
    assert model.n_iter_ == len(model.history_) - 1 == len(model.loss_curve_) - 1
    assert np.isfinite([model.loss_, model.best_loss_, model.lam_]).all()
    assert model.score(X, y) > (0.5 if k > 2 or at is not None else 0)
    assert model.report().status == "interrupted"
    assert "interrupted: it was asked to stop" in str(model.report())
    model.save(tmp_path / "model")
    for copy in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(copy.predict(X), model.predict(X))


@pytest.mark.parametrize("part", ["report_on", "fit_intervals"])
def test_an_interrupt_after_the_fit_leaves_the_network(part, monkeypatch, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    X, y = ONE
    whole = ANMINRegressor(**GIVEN, intervals=True).fit(X, y)
    monkeypatch.setattr(base, part, interrupt)
    model = clone(whole)
    with pytest.warns(ConvergenceWarning, match="Interrupted; the network is kept"):
        model.fit(X, y)
    model.save(tmp_path / "model")
    for copy in (model, load_model(tmp_path / "model")):
        assert np.array_equal(copy.predict(X), whole.predict(X))
        with pytest.raises(ValueError, match="intervals"):
            copy.predict(X, return_std=True)
        if part == "report_on":
            with pytest.raises(ValueError, match="There is no report: the fit was interrupted"):
                copy.report()
        else:
            assert copy.report().status == whole.report().status


EQUATION = ["the first step", "descent", "exploration", "descent on a sample", "Algorithm 1"]


@pytest.mark.parametrize("stage", EQUATION)
def test_the_loss_is_that_of_the_best_network(stage, press):
    params, (X, y), k, at = STAGES[stage]
    press(k, at)
    model = interrupted(ANMINRegressor(**params), X, y)
    assert model.loss_ == min(model.loss_curve_)
    penalty = sum((W**2).sum() for W in (model.A_, model.B_, model.b0_))
    mse = np.mean((model.predict(X) - y) ** 2)
    assert model.loss_ == pytest.approx(mse + 1e-3 * penalty, rel=1e-9)


def test_what_a_sample_of_the_rows_has_taught_is_not_lost(press):
    X, y = MANY_ROWS
    press(20)
    model = interrupted(ANMINRegressor(**GIVEN), X, y)
    assert model.history_[-2].loss == model.history_[0].loss  # all steps were on the sample
    assert model.loss_ < 0.5 * model.history_[0].loss


def test_a_second_path_begins_without_forgetting_the_first(press, monkeypatch):
    X, y = ONE
    steps, step = [], Descent.step

    def counted(descent, *args):
        steps.append(descent.problem.source.raw)
        return step(descent, *args)

    monkeypatch.setattr(Descent, "step", counted)
    ANMINRegressor(**AUTO).fit(X, y)
    first = sum(source is steps[0] for source in steps)  # the first part's
    monkeypatch.setattr(Descent, "step", step)
    models = []
    for k in (1, 16):
        press(first + k)
        models.append(interrupted(ANMINRegressor(**AUTO), X, y))
        monkeypatch.setattr(Descent, "step", step)
    assert np.array_equal(models[0].A_, models[1].A_)
    assert models[0].score(X, y) > 0.9


def test_early_stopping_keeps_what_the_rows_held_out_prefer(press):
    X, y = make_data(n=120)
    y = y + np.random.default_rng(1).normal(size=y.shape)
    params = {"n_hidden": 16, "lam": 1e-9, "random_state": 0, "early_stopping": True}
    press(9)
    model = interrupted(ANMINRegressor(**params), X, y)
    errors = [step.held_out_mse for step in model.history_]
    assert len(errors) == 9
    assert np.argmin(errors) < 8  # it had begun to follow the noise
    _, out = Groups.of(np.arange(len(X))).folds(0.2, 1, np.random.RandomState(0))[0]
    mse = np.mean((model.predict(X[out]) - y[out]) ** 2)
    assert mse == pytest.approx(min(errors), rel=1e-9)


@pytest.mark.parametrize("k", [1, 4])
def test_while_the_rows_held_out_are_looked_at(k, monkeypatch):
    X, y = ONE
    error, left = EarlyStopping.error, iter(range(k - 1, -1, -1))

    def pressed(judge, problem, point):
        if next(left) == 0:
            raise KeyboardInterrupt
        return error(judge, problem, point)

    monkeypatch.setattr(EarlyStopping, "error", pressed)
    model = interrupted(ANMINRegressor(early_stopping=True, **GIVEN), X, y)
    assert len(model.history_) == max(k - 1, 1)
    assert np.isfinite(model.predict(X)).all()


# ---- nothing found yet --------------------------------------------------------------------------


def test_before_there_is_a_network_it_goes_through(press, monkeypatch):
    X, y = ONE
    press(1)
    model = ANMINRegressor(**AUTO)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)

    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(FormedLayer, "visit", pressed)
    for early in (False, True):
        with pytest.raises(KeyboardInterrupt):
            ANMINRegressor(early_stopping=early, **PAPER).fit(X, y)


def test_a_model_that_was_fitted_before_stays_as_it_was(press):
    X, y = ONE
    model = ANMINRegressor(**AUTO).fit(X, y)
    before = model.predict(X)
    press(1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -y)
    assert np.array_equal(model.predict(X), before)


# ---- and then -----------------------------------------------------------------------------------


def test_a_classifier(press):
    X, y = ONE
    press(6)
    model = interrupted(ANMINClassifier(**GIVEN), X, y > y.mean())
    assert model.predict_proba(X).shape == (len(X), 2)
    assert model.score(X, y > y.mean()) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("params", [GIVEN, PAPER, AUTO], ids=["given", "paper", "auto"])
def test_with_a_checkpoint_the_fit_can_be_taken_up_again(params, press, tmp_path, monkeypatch):
    X, y = ONE
    whole = ANMINRegressor(**params).fit(X, y)
    press(12)
    model = ANMINRegressor(checkpoint=tmp_path / "run", **params)
    interrupted(model, X, y)
    monkeypatch.undo()
    assert np.array_equal(model.fit(X, y).A_, whole.A_)


@pytest.mark.slow
@pytest.mark.parametrize("params", [{"lam": 1e-5}, {"solver": "anmin"}], ids=["varpro", "anmin"])
def test_a_real_signal_returns_control_soon(params, nursery, tmp_path):
    file = tmp_path / "run"
    rows = save_rows(tmp_path / "rows.npz", *make_data(n=20_000, d=8))
    params = params | {"n_hidden": 40, "max_iter": 10_000, "random_state": 0}
    nursery.start(rows, checkpoint=str(file), **params)
    while not file.exists() or file.stat().st_size < 50_000:  # a step or two
        time.sleep(0.01)
    pressed = time.time()
    nursery.signal(signal.SIGINT)
    status, (returned, score, _) = nursery.end()
    assert status == 0
    assert score > 0.5
    assert returned - pressed < 3  # a fraction of a second on a machine that is not busy
