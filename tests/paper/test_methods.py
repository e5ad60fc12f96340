"""The protocol, the tasks, and what each method computes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from paper_tools import REAL, TINY, make_small, needs_engine, needs_torch, synthetic
from sklearn.model_selection import train_test_split

from anmin import ANMINRegressor
from benchmarks import cases
from benchmarks.cases import load
from paper import trainers
from paper.methods import ABLATION, FAIR
from paper.plan import Plan, can_run, tasks
from paper.run import curve_of, scores
from paper.trainers import Setup, printed


@pytest.fixture
def small(monkeypatch):
    cases.paper_rows.cache_clear()
    make_small(monkeypatch)
    yield
    cases.paper_rows.cache_clear()


def test_a_split_is_the_papers(small):
    split = load("abalone", 7)
    X, y = synthetic("abalone")
    X = (X - X.mean(0)) / X.std(0, ddof=1)
    expected = train_test_split(X, y - y.mean(), test_size=0.2, random_state=7)
    for ours_, theirs in zip((split.X, split.X_test, split.y, split.y_test), expected, strict=True):
        np.testing.assert_allclose(ours_, theirs)
    assert split.start().shape == (4, 64)
    assert load("dae", 0).h == 32


def test_some_rows_for_a_quick_run(small):
    split = load("bike", 0, rows=50)
    assert (len(split.X), len(split.X_test)) == (40, 10)


def test_the_papers_data_have_the_papers_sizes(paper_data):
    cases.paper_rows.cache_clear()
    split = load("bike", 0)
    assert split.X.shape == (13_903, 13)
    assert split.X_test.shape == (3_476, 13)
    assert abs(split.y.mean()) < 5


@needs_torch
def test_tasks_of_each_stage(tmp_path):
    plan = Plan(tmp_path, splits=3, data=REAL)
    first, then = tasks(plan, "tables")
    assert len(first) == 5
    assert len(then) == 3 * 5 * 6
    assert {task.split for task in then[: 5 * 6]} == {0}
    assert len(tasks(plan, "simulations")[0]) == 3 * 5 * 2
    ablation = [name for name in ABLATION if can_run(name)]
    assert len(tasks(plan, "ablation")[0]) == 3 * len(ablation)
    (fair,) = tasks(plan, "fair")
    assert {task.method for task in fair} == set(FAIR)
    assert {task.data for task in fair if task.method == "trees"} == {"sdf", "abalone", "bike"}
    landscapes = [t for t in tasks(plan, "diagnostics")[0] if t.method.startswith("landscape")]
    assert {task.data for task in landscapes} == {"dae", "dae-clean"}


def test_scores_are_about_the_mean_of_the_training_targets():
    split = load("sin-n50-d2", 0)
    mean = split.y.mean()
    found = scores(split, lambda X: np.full(len(X), mean))
    assert found["train_r2"] == pytest.approx(0)
    assert found["test_r2"] == pytest.approx(0)
    assert found["test_mse"] == pytest.approx(((split.y_test - mean) ** 2).mean())


@needs_engine
def test_anmin_is_the_library_at_the_papers_constants():
    split = load("sin-n200-d2-h8", 3)
    fit = trainers.anmin(split, Setup(replace(TINY, iterations=8)), slope=0.1)
    model = ANMINRegressor(
        8, solver="anmin", lam=1e-3 / 200, slope=0.1, max_iter=8, standardize=False,
        init=split.start(),
    ).fit(split.X, split.y)  # fmt: skip
    np.testing.assert_allclose(fit.predict(split.X), model.predict(split.X), rtol=1e-8)
    best = ((model.predict(split.X_test) - split.y_test) ** 2).mean()
    assert curve_of(fit)["test_mse"][-1] == pytest.approx(best)
    assert len(curve_of(fit)["logdet"]) == 9


@needs_engine
@needs_torch
@pytest.mark.parametrize("nan_is_low", [True, False])
def test_the_printed_program_takes_the_steps_of_the_fast_one(nan_is_low):
    split = load("sin-n300-d2-h3", 2)  # few units, well conditioned
    setup, last = Setup(replace(TINY, iterations=2)), trainers.ABLATION[3]
    fast = trainers.anmin(split, setup, experiment=last)
    literal = printed(split, setup, experiment=last, nan_is_low=nan_is_low)
    np.testing.assert_allclose(literal.predict(split.X)[:, 0], fast.predict(split.X), atol=1e-3)
    on_sums = np.array(curve_of(fast)["logdet"][1:]) + 9 * math.log(300)
    np.testing.assert_allclose(curve_of(literal)["logdet"][1:], on_sums, rtol=1e-3)


@needs_torch
@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("nan_is_low", [True, False])
def test_a_determinant_that_is_lost(number, nan_is_low, monkeypatch):
    monkeypatch.setattr("torch.Tensor.logdet", lambda _: math.nan)
    split = load("sin-n100-d2-h8", 0)
    setup, experiment = Setup(replace(TINY, iterations=4)), trainers.ABLATION[number]
    fit = printed(split, setup, experiment=experiment, nan_is_low=nan_is_low)
    losses = curve_of(fit)["loss"]
    assert len(losses) == (1 if number == 1 and nan_is_low else 5)
    assert np.isfinite(fit.predict(split.X_test)).all()
    if number == 3:
        best = printed(split, setup, experiment=trainers.ABLATION[4], nan_is_low=nan_is_low)
        assert curve_of(best)["loss"] == losses


@needs_engine
def test_ablation_keeps_and_stops_as_it_says():
    split = load("sin-n100-d2-h8", 0)
    setup = Setup(replace(TINY, iterations=6))
    best, last = (trainers.anmin(split, setup, experiment=trainers.ABLATION[k]) for k in (4, 3))
    final = curve_of(last)["train_mse"][-1]
    assert ((last.predict(split.X) - split.y) ** 2).mean() == pytest.approx(final)
    assert ((best.predict(split.X) - split.y) ** 2).mean() <= final * (1 + 1e-9)
    means = trainers.paper_model(split, setup, arithmetic=trainers.ARITHMETICS["float32-means"])
    assert (means.lam, means.solver.tau, means.solver.floor) == (1e-3, -10_000, 1e-4)


@needs_engine
def test_the_landscape_agrees_with_the_way():
    split = load("sin-n100-d2-h6", 0)
    setup = Setup(replace(TINY, iterations=4, landscape=(0, 3)))
    seen, way = trainers.landscape(split, setup).columns, trainers.anmin(split, setup).columns
    assert seen["step"] == [1, 4]
    np.testing.assert_allclose(seen["logdet"], [way["logdet"][k] for k in (1, 4)], rtol=1e-4)


@needs_torch
def test_gradient_methods_follow_their_schedule():
    split = load("sin-n200-d1-h8", 0)
    setup = Setup(replace(TINY, epochs=30, lbfgs_steps=4), sgd_rate=0.1)
    for train in (trainers.adam, trainers.sgd, trainers.lbfgs):
        fit = train(split, setup)
        steps, errors = curve_of(fit)["step"], curve_of(fit)["train_mse"]
        assert steps == list(range(len(steps)))
        final = ((fit.predict(split.X)[:, 0] - split.y) ** 2).mean()
        assert final < errors[0]
        wanted = min(errors) if train is trainers.lbfgs else errors[-1]
        assert final == pytest.approx(wanted, rel=1e-4)
    scaled = trainers.adam(split, setup, scale_y=True)
    final = ((scaled.predict(split.X)[:, 0] - split.y) ** 2).mean()
    assert curve_of(scaled)["train_mse"][-1] == pytest.approx(final, rel=1e-3)


@needs_torch
def test_a_rate_that_blows_up_is_not_chosen():
    split = load("sin-n200-d2-h8", 0)
    split = replace(split, y=1e6 * split.y)
    trial = trainers.sgd_trial(split, Setup(TINY)).columns
    rate = trainers.best_rate(trial)
    assert not math.isfinite(trial["train_mse"][0])
    assert rate < 0.1
