"""lam="auto": the penalty is walked down and chosen on held-out rows."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from conftest import in_solver, make_data, make_problem
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, ShuffleSplit, train_test_split

from anmin import ANMINClassifier, ANMINRegressor
from anmin.engine import Budget, Engine, listening
from anmin.moves import Conclusion, Spent, Stage
from anmin.solvers import Algorithm1, Search, Start, VarPro
from anmin.solvers.members import ViewPath
from anmin.solvers.networks import HeldOutPart, race, with_networks
from anmin.solvers.path import (
    PATH_SHARE,
    Run,
    grow,
    held_out_parts,
    prune,
    refit,
    walk,
)  # fmt: skip
from anmin.solvers.problem import Point
from anmin.solvers.views import View
from anmin.status import Status

pytestmark = pytest.mark.slow


def fit(X, y, w=None, **kwargs):
    settings = {"n_hidden": 12, "random_state": 0} | kwargs
    settings = {"n_networks": 1, "encoding": None} | settings
    return ANMINRegressor(**in_solver(**settings)).fit(X, y, sample_weight=w)


def check_path(model, most):
    lams = [step.lam for step in model.path_]
    assert lams == sorted(lams, reverse=True)
    assert len(set(lams)) == len(lams) > 0
    assert all(0 <= step.active <= most for step in model.path_)
    assert all(step.train_mse >= 0 and step.held_out_mse >= 0 for step in model.path_)
    best = min(model.path_, key=lambda step: step.held_out_mse)
    assert model.lam_ == best.lam
    assert 0 <= model.n_hidden_ <= most
    assert model.A_.shape[1] == len(model.B_) == model.n_hidden_


# ---- the path -----------------------------------------------------------------------------------

KINDS = {
    "plain": {},
    "many outputs": {"q": 3},
    "weights": {"weighted": True},
    "leaky": {"slope": 0.1},
    "one unit": {"n_hidden": 1},
    "raw": {"standardize": False},
    "cg": {"linear_solver": "cg"},
    "many rows": {"n": 2500, "max_iter": 30},
    "starts": {"n_init": 4},
    "single precision": {"dtype": "float32"},
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_the_penalty_is_the_best_one_of_a_descending_path(kind):
    kind = dict(kind)
    n, q, weighted = kind.pop("n", 200), kind.pop("q", 1), kind.pop("weighted", False)
    X, y = make_data(n, 3, q)
    w = np.random.default_rng(1).uniform(0.2, 3.0, n) if weighted else None
    model = fit(X, y, w, **kind)
    check_path(model, kind.get("n_hidden", 12))
    assert model.loss_ == min(model.loss_curve_)
    assert model.score(X, y, sample_weight=w) > (0.2 if kind.get("n_hidden") == 1 else 0.8)


def test_the_training_error_falls_down_the_path():
    model = fit(*make_data(300, 3))
    errors = [step.train_mse for step in model.path_]
    assert errors == sorted(errors, reverse=True)


def test_it_is_deterministic():
    X, y = make_data(200, 2, 2)
    one, other = fit(X, y), fit(X, y)
    assert one.path_ == other.path_
    assert one.predict(X).tobytes() == other.predict(X).tobytes()


@pytest.mark.parametrize(("scale", "shift"), [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e4), (-3.0, 5.0)])
@pytest.mark.parametrize("q", [1, 2])
def test_units_of_y_do_not_matter(scale, shift, q):
    """Also a shift: y is centred, and scaled, before anything else.

    Few units: a long fit of many can amplify the last digits into another network.
    """
    X, y = make_data(150, 2, q)
    one, other = (fit(X, target, n_hidden=4) for target in (y, scale * y + shift))
    if scale > 0:
        np.testing.assert_allclose(
            (other.predict(X) - shift) / scale, one.predict(X), rtol=1e-6, atol=1e-6
        )
        assert other.lam_ == pytest.approx(scale * one.lam_, rel=1e-6)
        assert other.loss_ == pytest.approx(scale**2 * one.loss_, rel=1e-6)
    else:  # a flipped sign is a mirrored problem
        assert other.score(X, scale * y + shift) == pytest.approx(one.score(X, y), abs=0.05)


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_only_ratios_of_weights_count(factor):
    X, y = make_data(150, 2)
    weighted, plain = (fit(X, y, w, n_hidden=4) for w in (np.full(150, factor), None))
    np.testing.assert_allclose(weighted.predict(X), plain.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("given", [True, False], ids=["splits", "auto"])
def test_weights_are_repeated_rows(given):
    """A row and its copies lie on the same side."""
    X, y = make_data(120, 2)
    w = np.random.default_rng(0).integers(0, 4, len(X))
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    copies = np.repeat(np.arange(len(X)), w)
    repeated = [tuple(np.flatnonzero(np.isin(copies, part)) for part in s) for s in splits]
    one = fit(X, y, w, n_hidden=4, cv=splits if given else None)
    other = fit(X[copies], y[copies], n_hidden=4, cv=repeated if given else None)
    assert one.lam_ == pytest.approx(other.lam_, rel=1e-6)
    for i, (a, b) in enumerate(zip(one.path_, other.path_, strict=True)):
        rounding = 1e-8 if i < 3 else 1e-2  # it grows down the path
        assert a.held_out_mse == pytest.approx(b.held_out_mse, rel=rounding)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-2, atol=1e-2)


def test_copies_of_a_row_do_not_judge_it():
    """Each row four times: the path must not go on to where it fits the noise (8 times the error).

    Over some sets, since one fit differs by half from another, whatever its rows.
    """
    ways = (lambda V: V, lambda V: np.repeat(V, 4, axis=0), lambda V: np.concatenate([V] * 4))
    errors, lams = [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1200, 3))
        y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=1200)
        truth = np.sin(2 * X[200:, 0]) + 0.3 * X[200:, 1]
        models = [fit(again(X[:200]), again(y[:200]), n_hidden=16) for again in ways]
        errors.append([np.mean((m.predict(X[200:]) - truth) ** 2) for m in models])
        lams.append([m.lam_ for m in models])
    plain, copied, tiled = np.mean(errors, axis=0)
    assert max(copied, tiled) < 1.2 * plain
    typical = np.median(np.array(lams) / np.array(lams)[:, :1], axis=0)
    np.testing.assert_allclose(typical, 1.0, rtol=1e-6)


# ---- held-out rows ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cv",
    [
        1, 2, 5, KFold(4), ShuffleSplit(2, test_size=0.3, random_state=0),
        [(np.arange(50), np.arange(50, 150))],
    ],
    ids=["1", "2", "5", "KFold", "ShuffleSplit", "splits"],
)  # fmt: skip
def test_any_kind_of_cv(cv):
    X, y = make_data(150, 2)
    model = fit(X, y, cv=cv)
    check_path(model, 12)
    assert model.score(X, y) > 0.5


def test_a_larger_budget_does_no_harm():
    """A part whose path is cut short by the budget must not cut the path of the others."""
    budgets, errors = [20, 60, 100, 150, 200, 400], np.zeros(6)
    for seed in range(6):
        X, y = make_data(1000, 3, seed=seed)
        models = [fit(X[:500], y[:500], n_hidden=32, max_iter=k) for k in budgets]
        errors += [1 - model.score(X[500:], y[500:]) for model in models]
    for less, more in pairwise(errors):
        assert more < 1.5 * less


def test_a_generator_of_splits():
    X, y = make_data(150, 2)
    splitter = KFold(3)
    one, other = fit(X, y, cv=splitter), fit(X, y, cv=splitter.split(X))
    assert one.path_ == other.path_


def test_the_share_held_out_counts():
    X, y = make_data(150, 2)
    assert fit(X, y, cv=0.1).path_ != fit(X, y, cv=0.4).path_


@pytest.mark.parametrize("share", [-0.1, 0.0, 1.0, 2.5, float("nan"), float("inf")])
def test_the_share_is_checked(data, share):
    with pytest.raises(ValueError, match=r"cv must be a finite number.* below 1; got"):
        fit(*data, cv=share)


@pytest.mark.parametrize(
    ("n", "search", "n_init", "parts"),
    [
        (150, Search(0.25), 1, 3),
        (150, Search(0.25, folds=2), 1, 2),
        (150, Search(0.25), 4, 4),
        (150, Search(0.25, max_iter=60), 4, 1),  # a path takes a hundred steps
        (5000, Search(0.2), 1, 1),
        (150, Search(0.6), 1, 2),  # there are no more rows
    ],
)
def test_the_parts_that_are_held_out(n, search, n_init, parts):
    problem = make_problem(np.arange(n, dtype=float)[:, None], np.zeros(n))
    found = held_out_parts(problem.source, search, n_init, np.random.RandomState(0))
    assert len(found) == parts
    for train, out in found:
        assert sorted([*train, *out]) == list(range(n))
    assert len(found[0][1]) == round(search.fraction * n)
    assert sum(len(out) for _, out in found) == len(set().union(*(out for _, out in found)))


PARTS = {
    "no splits": ([], "no splits"),
    "nothing held out": ([(np.arange(10), np.array([], int))], "holds no row"),
    "nothing to fit": ([(np.array([], int), np.arange(10))], "holds no row"),
    "a row that is not there": ([([0, 1], [10_000])], "numbers of rows from 0"),
    "a row from the end": ([([0, 1], [-1])], "numbers of rows from 0"),
    "halves of rows": ([([0, 1], [2.5])], "numbers of rows from 0"),
}


@pytest.mark.parametrize(("cv", "words"), PARTS.values(), ids=PARTS.keys())
def test_splits_are_checked(data, cv, words):
    with pytest.raises(ValueError, match=f"cv.*{words}"):
        fit(*data, cv=cv)


def test_held_out_rows_of_no_weight_are_refused(data):
    X, y = data
    rows = np.arange(len(X))
    weight = (rows < len(X) // 2).astype(float)
    with pytest.raises(ValueError, match="weight above 0"):
        fit(X, y, weight, cv=[(rows[weight > 0], rows[weight == 0])])


def test_lists_and_masks_are_splits(data):
    first = np.arange(len(data[0])) < len(data[0]) // 2
    kinds = [(first, ~first), tuple(np.flatnonzero(part).tolist() for part in (first, ~first))]
    one, other = (fit(*data, cv=[split]) for split in kinds)
    assert one.path_ == other.path_


@pytest.mark.parametrize("settings", [{}, {"early_stopping": True}])
def test_a_row_is_left_to_fit_on(settings):
    X, y = make_data(10, 2)
    assert np.isfinite(fit(X, y, cv=0.99, **settings).predict(X)).all()


@pytest.mark.parametrize("cv", [0, -1, True])
def test_cv_is_checked(data, cv):
    with pytest.raises(ValueError, match="cv must be"):
        fit(*data, cv=cv)


@pytest.mark.parametrize("lam", ["best", "AUTO", -1.0, None])
def test_lam_is_checked(data, lam):
    with pytest.raises(ValueError, match="lam must be"):
        fit(*data, lam=lam)


def test_a_given_penalty_has_no_path(data):
    model = fit(*data, lam=1e-3, max_iter=3)
    assert model.path_ == []
    assert model.lam_ == 1e-3


@pytest.mark.parametrize("solver", ["anmin", Algorithm1()])
def test_the_papers_algorithm_takes_the_papers_penalty(solver):
    X, y = make_data(80, 2)
    w = np.arange(80) % 3
    assert fit(X, y, solver=solver, max_iter=2).lam_ == pytest.approx(0.001 / 80)
    assert fit(X, y, w, solver=solver, max_iter=2).lam_ == pytest.approx(0.001 / w.sum())
    explicit = fit(X, y, solver=solver, max_iter=2, lam=0.001 / 80)
    assert fit(X, y, solver=solver, max_iter=2).loss_curve_ == explicit.loss_curve_


# ---- the stages ---------------------------------------------------------------------------------


def drive(moves, budget=None):
    """What a generator of moves returns, the engine that drove it, and the steps that it told."""
    found, heard = [], []

    def through():
        found.append((yield from moves))
        return Conclusion(Status.CONVERGED)

    engine = Engine(budget or Budget())
    engine.listeners.append(lambda step, _: heard.append(step))
    engine.run(through())
    return found[0], engine, heard


def parts(n=200, q=1):
    problem = make_problem(*make_data(n, 2, q))
    rows = np.arange(n)
    out = rows % 5 == 0
    return problem, problem.source.part(rows[~out]), problem.source.part(rows[out])


def view_of(problem, power=0.0):
    """The inputs as they are; relevance has no part unless asked for."""
    return View(problem.source.scaling, np.arange(problem.source.shape[1] - 1), power)


def test_a_walk_goes_down_the_penalties():
    problem, train, out = parts()
    part, start = replace(problem, source=train), Start(8, np.random.RandomState(0))
    run, engine, heard = drive(walk(part, out, view_of(problem), 0.3, start, Stage("path", "part")))
    assert not run.cut
    assert len(run.points) == len(run.errors) > 3
    assert max(point.A.shape[1] for point in run.points) <= 8
    looks = [step for step in heard if step.held_out_mse == step.held_out_mse]
    assert [step.held_out_mse for step in looks] == run.errors
    np.testing.assert_allclose([step.lam for step in looks], 0.3 / 3.0 ** np.arange(len(looks)))
    for point, error in zip(run.points, run.errors, strict=True):
        batch = out.rows(slice(0, len(out)))
        R = np.maximum(batch.X @ point.A, 0) @ point.W[:-1] + point.W[-1] - batch.Y
        assert error == pytest.approx((R**2).sum(1).mean(), rel=1e-9)
    assert engine.history == []


@pytest.mark.parametrize("steps", [0, 1, 12])
def test_a_walk_that_is_cut_has_what_it_found(steps):
    problem, train, out = parts()
    part, start = replace(problem, source=train), Start(8, np.random.RandomState(0))
    walked = walk(part, out, view_of(problem), 0.3, start, Stage("path", "part"))
    run, _, heard = drive(walked, Budget(steps))
    assert run.cut
    assert len(run.points) == len(run.errors) >= 1
    assert sum(step.held_out_mse != step.held_out_mse for step in heard) == steps


def test_the_steps_of_a_walk_that_is_cut_are_not_lost():
    """Each step counts, though the penalty that it belongs to is not done with."""
    problem, train, out = parts()
    part, losses = replace(problem, source=train), []
    for steps in range(8):
        start = Start(8, np.random.RandomState(0))
        run, *_ = drive(
            walk(part, out, view_of(problem), 0.1, start, Stage("path", "part")), Budget(steps)
        )
        losses.append(run.points[0].loss)
    assert losses == sorted(losses, reverse=True)
    assert len(set(losses)) > 4


@pytest.mark.parametrize("folds", [1, 3])
def test_the_path_keeps_to_its_share_of_the_budget(folds):
    problem, *_ = parts()
    search, start = Search(folds=folds, max_iter=60), Start(8, np.random.RandomState(0))
    splits = held_out_parts(problem.source, search, 1, start.rng)
    held_out = [HeldOutPart.of(problem.source, *split, start.rng) for split in splits]
    raced = race(problem, [ViewPath(view_of(problem), 0.3)], held_out, start)
    [path], engine, heard = drive(raced, Budget(60))
    steps = [step for step in heard if step.held_out_mse != step.held_out_mse]
    assert len(steps) <= np.ceil(PATH_SHARE * 60)
    assert all(step.share <= PATH_SHARE + 1 / 60 for step in heard)
    assert len(path.runs) == folds
    best = min(path.steps(), key=lambda step: step.held_out_mse)
    assert path.steps()[path.best] == best
    assert engine.budget.iterations == len(steps)


def came_to(*errors):
    """A run whose training errors are those on the held-out rows."""
    points = [Point(None, None, error, error, None) for error in errors]
    return Run(None, np.ones(1), 8, points, [None] * len(points), list(errors))


def test_a_part_that_came_to_a_halt_does_not_hold_the_others_back():
    falling, halted = came_to(1e-2, 1e-4, 1e-5, 1e-6), came_to(1e-2, 1e-4, 1e-4)
    path = ViewPath(None, 0.3, [falling, came_to(1e-2, 1e-4, 2e-5, 2e-6), halted])
    assert path.best == 3
    assert path.noise_free
    assert path.averaged == path.runs[:2]
    assert not came_to(1.0, 0.1, *[1e-5] * 8).over(0.3)  # it may fall on
    assert came_to(1.0, 0.1, *[1e-5] * 8, 1e-13).over(0.3)
    assert came_to(1.0, *[0.1] * 8).over(0.3)
    noisy = ViewPath(None, 0.3, [came_to(2.0, 0.1, 0.2), came_to(2.0, 0.5, 0.6)])
    assert noisy.best == 1
    assert not noisy.noise_free
    assert noisy.averaged == noisy.runs


def test_the_stages_come_in_order(monkeypatch):
    monkeypatch.setattr("anmin.solvers.shares.DOUBT", -np.inf)
    problem, *_ = parts()
    start, heard = Start(8, np.random.RandomState(0)), []
    engine = Engine(Budget(300))
    engine.listeners.append(lambda step, _: heard.append(step.phase))
    search = Search(max_iter=300, views=[view_of(problem)])
    end = engine.run(with_networks(VarPro(), problem, start, search))
    order = [phase for k, phase in enumerate(heard) if k == 0 or heard[k - 1] != phase]
    assert order[:3] == ["path", "refit", "descend"]
    assert set(order[3:]) <= {"explore", "descend"}
    assert not end.path_cut
    assert len(end.path) > 3


def test_new_neurons_lower_the_loss_and_keep_to_their_number():
    problem, *_ = parts()
    empty = problem.at(np.zeros((3, 0)))
    for room in (1, 4, 9):
        grown = grow(problem, empty, room, np.random.RandomState(0))
        assert 1 <= grown.A.shape[1] <= room
        assert grown.loss < empty.loss
    nothing = replace(problem, lam=1e3)  # more than any neuron is worth
    assert grow(nothing, empty, 9, np.random.RandomState(0)) is empty


def test_neurons_that_do_nothing_are_dropped():
    problem, *_ = parts()
    A = np.random.default_rng(0).normal(size=(3, 5))
    A[:, 1] = [-100.0, 0.0, 0.0]  # never fires
    point = problem.balance(problem.at(A))
    kept = prune(problem, point)
    X = problem.source.rows(slice(0, 200)).X
    assert 0 < kept.A.shape[1] < 5
    assert (X @ kept.A > 0).any(axis=0).all()
    assert kept.loss < point.loss
    assert prune(problem, kept) is kept


def test_the_best_start_is_taken_up():
    problem, *_ = parts()
    rng = np.random.default_rng(0)
    points = [problem.balance(problem.at(rng.normal(size=(3, 4)))) for _ in range(3)]
    points.sort(key=lambda point: point.loss)
    starts = [(problem, point) for point in points]

    def best_of(budget=None):
        [(_, best)], _, heard = drive(refit(starts, np.random.RandomState(0), 1), budget)
        return best.loss, heard

    best, heard = best_of()
    assert best < points[0].loss
    assert {step.phase for step in heard} == {"refit"}
    some, heard = best_of(Budget(2))
    assert best < some < points[0].loss
    assert len(heard) == 2
    assert best_of(Budget(0)) == (points[0].loss, [])


# ---- no budget ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "status"),
    [({"max_iter": 0}, "out of iterations"), ({"max_time": 0.0}, "out of time")],
)
def test_without_a_budget_there_is_a_network_of_the_first_penalty(limits, status):
    X, y = make_data(300, 3)
    model = fit(X, y, **limits)
    assert model.n_hidden_ > 0
    assert model.report().status == status
    assert model.n_iter_ == 0
    assert model.score(X, y) > 0.1


def test_nothing_fitted_is_said(monkeypatch):
    """0 units with the word "converged" would be a lie."""
    monkeypatch.setattr("anmin.solvers.path.grow", lambda *_: out_of_time())
    X, y = make_data(300, 3)
    with pytest.warns(ConvergenceWarning, match=r"Nothing fitted: .* Raise max_time or max_iter"):
        model = fit(X, y, n_hidden=4)  # too few for one to be the trend
    assert model.n_hidden_ == 0
    assert model.report().status == "nothing fitted"
    np.testing.assert_allclose(model.predict(X), y.mean())


def out_of_time():
    raise Spent(Status.OUT_OF_TIME)


def test_a_listener_stops_the_path():
    X, y = make_data(300, 3)
    for after in (1, 5, 30):
        with listening(
            lambda step, _, after=after: step.phase == "path" and step.iteration == after
        ):
            model = fit(X, y)
        assert model.report().status == "interrupted"
        assert model.n_hidden_ > 0
        assert model.score(X, y) > 0.1


# ---- the number of units ------------------------------------------------------------------------


def test_the_number_of_units_can_be_found():
    X, y = make_data(120, 2)
    model = fit(X, y, n_hidden="auto")
    check_path(model, 64)
    assert model.score(X, y) > 0.9
    kink = fit(X, np.abs(X[:, 0] - 1), n_hidden="auto")
    assert kink.score(X, np.abs(X[:, 0] - 1)) > 0.98


@pytest.mark.parametrize("settings", [{"lam": 1e-3}, {"solver": "anmin"}, {"solver": Algorithm1()}])
def test_without_a_path_there_are_64_units(data, settings):
    one, other = (fit(*data, n_hidden=h, max_iter=3, **settings) for h in ("auto", 64))
    np.testing.assert_array_equal(one.A_, other.A_)


@pytest.mark.slow
def test_held_out_rows_ask_for_more_units_where_they_gain():
    """Up to 128 a network: a wavy surface without noise wants them, a noisy plane does not."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    wavy = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1])
    noisy = X[:, 0] + rng.normal(size=3000)
    many, few = (
        ANMINRegressor(encoding=None, n_networks=2, random_state=0).fit(X, y) for y in (wavy, noisy)
    )
    assert 2 * 64 < many.n_hidden_ <= 2 * 128
    assert few.n_hidden_ < 64


def test_another_word_is_no_number(data):
    with pytest.raises(ValueError, match="n_hidden must be"):
        fit(*data, n_hidden="many")


# ---- what it is for -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_noise_alone_ends_near_the_mean(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(1300, 5)), rng.normal(size=1300)
    model = fit(X[:300], y[:300], n_hidden=64)
    assert model.score(X[300:], y[300:]) > -0.15
    assert model.n_hidden_ < 10


def test_it_beats_ridge_regression_where_the_function_bends():
    X, y = make_data(1000, 3)
    train, test = slice(0, 400), slice(400, None)
    ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(X[train], y[train])
    model = fit(X[train], y[train], n_hidden=64)
    assert 1 - model.score(X[test], y[test]) < 0.5 * (1 - ridge.score(X[test], y[test]))


def test_it_is_not_far_from_ridge_regression_where_it_does_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=1000)
    ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(X[:150], y[:150])
    model = fit(X[:150], y[:150], n_hidden=64)
    assert 1 - model.score(X[150:], y[150:]) < 1.3 * (1 - ridge.score(X[150:], y[150:]))


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, -1e9])
@pytest.mark.parametrize("n", [60, 300])
def test_a_constant_target_is_that_constant(value, n):
    X, _ = make_data(n, 2)
    model = fit(X, np.full(n, value))
    np.testing.assert_allclose(model.predict(3 * X), value, rtol=1e-12)
    assert model.n_hidden_ == 0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("cv", [None, 1, 5])
def test_a_handful_of_rows(n, cv):
    X, y = make_data(n, 2)
    model = fit(X, y, cv=cv)
    assert np.isfinite(model.predict(X)).all()
    assert np.abs(model.predict(X) - y.mean()).max() <= 2 * np.abs(y - y.mean()).max() + 1e-12


def test_a_given_start_may_compete():
    X, y = make_data(150, 2)
    A = np.random.default_rng(0).normal(size=(3, 12))
    assert fit(X, y, init=A).score(X, y) > 0.8


def test_digits_with_defaults():
    """Mean log-loss on rows not seen; guessing gives 2.3."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, train_size=450, stratify=y, random_state=0)
    model = ANMINClassifier(random_state=0).fit(X, y)
    assert log_loss(y_new, model.predict_proba(X_new)) < 0.25
    assert model.score(X_new, y_new) > 0.92


@pytest.mark.parametrize("seed", range(3))
def test_a_trend_hides_nothing_beside_it(seed):
    """Nine tenths of y are a line in one input, and the rest is a parabola in another."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 10, 600), rng.normal(size=600)])
    y = 3 * X[:, 0] + X[:, 1] ** 2
    model = ANMINRegressor(n_networks=1, encoding=None, random_state=seed)
    model.fit(X[:300], y[:300] + 0.1 * rng.normal(size=300))
    assert np.sqrt(np.mean((model.predict(X[300:]) - y[300:]) ** 2)) < 0.4
