"""early_stopping: the judge on rows held out, and the rows that are left."""

from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import make_data, make_problem

from anmin.history import Step
from anmin.network import Network
from anmin.solvers import Search, hold_out
from anmin.solvers.early import PATIENCE, EarlyStopping
from anmin.status import Status

NETWORK = Network(np.zeros((2, 0)), np.zeros((0, 1)), np.zeros(1))


def answers(errors, losses=None, phase=""):
    """What a judge answers to networks of these errors."""
    judge = EarlyStopping(SimpleNamespace(source=None))
    losses = range(len(errors)) if losses is None else losses
    steps = [
        Step(k, float(loss), 0.0, held_out_mse=error, phase=phase)
        for k, (loss, error) in enumerate(zip(losses, errors, strict=True))
    ]
    return [judge(step, NETWORK) for step in steps]


def test_it_counts_from_the_best():
    found = answers([3.0, 2.0, *[2.0] * PATIENCE])
    assert found == [None] * (PATIENCE + 1) + [Status.STOPPED_EARLY]


def test_a_better_error_starts_the_count_anew():
    almost = [5.0, *[6.0] * (PATIENCE - 1)]
    found = answers([*almost, 4.0, *[6.0] * PATIENCE])
    assert [status for status in found if status] == [Status.STOPPED_EARLY]
    assert found[-1] is Status.STOPPED_EARLY


def test_a_step_without_a_new_network_does_not_count():
    assert not any(answers([3.0] * 30 + [2.0] * 30, losses=[5] * 30 + [4] * 30))


def test_an_error_that_is_no_number_is_not_the_least():
    found = answers([3.0, nan, 2.0, nan, inf, *[2.5] * (PATIENCE - 2)])
    assert [status for status in found if status] == [Status.STOPPED_EARLY]
    assert found[-1] is Status.STOPPED_EARLY


@pytest.mark.parametrize("phase", ["path", "refit", "starts"])
def test_what_comes_before_the_fit_does_not_count(phase):
    assert not any(answers([2.0] * 50, phase=phase))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("q", [1, 3])
def test_the_error_is_the_mean_square_over_the_rows_held_out(weighted, q):
    X, y = make_data(60, 2, q)
    w = np.random.default_rng(0).uniform(0.2, 3.0, 60) if weighted else None
    problem = make_problem(X, y, w, slope=0.1)
    part, _, judge = hold_out(problem, Search(0.25), np.random.RandomState(0))
    assert (len(part.source), len(judge.held_out.source)) == (45, 15)
    point = part.at(np.random.default_rng(1).normal(size=(3, 4)))
    batch = judge.held_out.source.rows(slice(0, 15))  # with √w
    H = np.where(batch.X @ point.A > 0, 1.0, 0.1) * (batch.X @ point.A)
    R = H @ point.W[:-1] + batch.X[:, :1] * point.W[-1] - batch.Y
    assert judge.error(part, point) == pytest.approx((R**2).sum() / (batch.X[:, 0] ** 2).sum())


def test_rows_are_trained_on_or_held_out():
    X, y = make_data(40, 1)
    part, _, judge = hold_out(make_problem(X, y), Search(0.2), np.random.RandomState(0))
    both = [source.rows(slice(0, len(source))).X for source in (part.source, judge.held_out.source)]
    whole = make_problem(X, y).source.rows(slice(0, 40)).X
    assert np.array_equal(np.sort(np.vstack(both)[:, 1]), np.sort(whole[:, 1]))


def test_splits_keep_to_the_rows_that_are_left():
    """The first split's are held out; rows are known by their place among those trained on, and a
    split without rows is dropped."""
    problem = make_problem(*make_data(10, 1))
    rows = np.arange(10)
    splits = [
        (rows[:8], rows[8:]),
        (rows[:5], rows[5:]),
        (rows[:9], rows[9:]),
        (rows[1:], rows[:1]),
    ]
    part, search, judge = hold_out(problem, Search(0.2, splits=splits), np.random.RandomState(0))
    X = problem.source.rows(slice(0, 10)).X[:, 1]
    left = part.source.rows(slice(0, 8)).X[:, 1]
    out = judge.held_out.source.rows(slice(0, 2)).X[:, 1]
    assert np.array_equal(out, X[8:])
    expected = [
        pair
        for fit, test in splits
        if all(map(len, pair := [X[half][~np.isin(X[half], out)].tolist() for half in (fit, test)]))
    ]
    assert [[left[half].tolist() for half in split] for split in search.splits] == expected


def test_a_row_alone_cannot_be_held_out():
    problem = make_problem(np.ones((1, 1)), np.ones(1))
    with pytest.raises(ValueError, match="needs two different ones; got one row"):
        hold_out(problem, Search(), np.random.RandomState(0))
