"""Damped descent: every step lowers the loss, and it ends where it should."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from conftest import make_data, make_problem

from anmin.backends import get_backend
from anmin.engine import Budget, Engine
from anmin.moves import Conclusion, Spent, Stage
from anmin.solvers.levenberg import LEAST, MOST, Descent, Stop, descend
from anmin.solvers.problem import gradient
from anmin.status import Status

KINDS = {
    "plain": {},
    "leaky": {"slope": 0.1},
    "many outputs": {"q": 3},
    "weights": {"weighted": True},
    "cg": {"linear_solver": "cg"},
    "rough": {"rough": True},
    "single precision": {"dtype": "float32"},
    "single precision, cg": {"dtype": "float32", "linear_solver": "cg"},
    "many rows": {"n": 5000},
}


def set_up(n=120, q=1, weighted=False, rough=False, h=5, dtype="float64", device="cpu", **kwargs):
    X, y = make_data(n, 2, q)
    w = np.random.default_rng(1).uniform(0.2, 3.0, n) if weighted else None
    problem = make_problem(X, y, w, backend=get_backend(device, dtype), **kwargs)
    A = problem.backend.asarray(np.random.default_rng(2).normal(size=(3, h)))
    point = problem.balance(problem.at(A))
    return Descent(problem, h, np.random.RandomState(0), rough), point


def run(descent, point, stop=Stop(), budget=None, stage=Stage()):  # noqa: B008
    """Where a descent ends, and the engine that drove it."""
    ends = []

    def moves():
        try:
            ends.append((yield from descend(descent, point, stop, stage)))
        except Spent as ended:
            ends.append(ended.best)
        return Conclusion(Status.CONVERGED)

    engine = Engine(budget or Budget(500))
    engine.run(moves())
    return ends[0], engine


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_every_step_lowers_the_loss(kind, device):
    if device != "cpu":
        pytest.importorskip("torch")
    descent, point = set_up(device=device, **kind)
    end, engine = run(descent, point, Stop(tol=1e-3))
    losses = [point.loss, *(step.loss for step in engine.history)]
    assert all(after < before for before, after in pairwise(losses[:6]))
    assert all(after <= before for before, after in pairwise(losses))
    assert end.loss == losses[-1] < 0.6 * losses[0]
    assert all(LEAST <= step.damping <= MOST for step in engine.history)


@pytest.mark.parametrize("linear_solver", ["cholesky", "cg"])
@pytest.mark.parametrize("q", [1, 3])
def test_a_step_is_at_a_point_with_the_best_output_layer(linear_solver, q):
    descent, point = set_up(q=q, linear_solver=linear_solver)
    visit = descent.step(point, 1e-2, None)
    again = descent.problem.at(visit.point.A)
    assert visit.point.loss == pytest.approx(again.loss, rel=1e-9)
    np.testing.assert_allclose(visit.point.W, again.W, rtol=1e-6, atol=1e-9)
    g = gradient(descent.problem, point)
    assert visit.facts["gradient"] == pytest.approx(np.linalg.norm(g), rel=1e-9)
    assert visit.facts["stuck"] == 0.0


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_it_ends_when_five_steps_gain_too_little(tol):
    descent, point = set_up()
    _, engine = run(descent, point, Stop(tol=tol))
    losses = [point.loss, *(step.loss for step in engine.history)]
    gains = [
        before - after <= tol * after for before, after in zip(losses, losses[5:], strict=False)
    ]
    assert gains[-1] or losses[-1] == losses[-2]
    assert not any(gains[:-1])


def test_less_tolerance_goes_further():
    ends = [run(*set_up(), Stop(tol=tol))[0].loss for tol in (1e-1, 1e-3, 1e-6)]
    assert ends[0] > ends[1] > ends[2]


def test_a_small_gradient_at_the_end():
    descent, point = set_up()
    end, _ = run(descent, point, Stop(tol=1e-10))
    before, after = (np.linalg.norm(gradient(descent.problem, p)) for p in (point, end))
    assert after < 1e-2 * before


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_a_number_of_steps(steps):
    descent, point = set_up()
    assert len(run(descent, point, Stop(steps, tol=0.0))[1].history) == steps


def test_the_budget_ends_it():
    descent, point = set_up()
    end, engine = run(descent, point, Stop(tol=0.0), Budget(4))
    assert len(engine.history) == 4
    assert end.loss == engine.history[-1].loss


def test_it_gives_up_where_a_loss_is_out_of_reach():
    descent, point = set_up()
    far = run(descent, point, Stop(15, 0.0, beat=1e-9 * point.loss))[1]
    near = run(descent, point, Stop(15, 0.0, beat=point.loss))[1]
    assert 5 <= len(far.history) < len(near.history) == 15


def test_where_no_damping_helps_the_point_stays():
    """At a minimum: the penalty alone, with nothing to fit."""
    problem = make_problem(make_data(30, 2)[0], np.ones(30))
    point = problem.at(np.zeros((3, 2)))
    descent = Descent(problem, 2, np.random.RandomState(0))
    visit = descent.step(point, 1e-2, None)
    assert visit.point is point
    assert visit.facts["stuck"] == 1.0
    end, engine = run(descent, point)
    assert end is point
    assert len(engine.history) == 1


@pytest.mark.parametrize(
    ("unknowns", "linear_solver", "formed"),
    [
        (480, "auto", [True]),
        (600, "auto", [False, True]),
        (1005, "auto", [False]),
        (600, "cg", [False]),
        (600, "cholesky", [True]),
    ],
)
def test_products_come_first_where_there_is_a_choice(unknowns, linear_solver, formed):
    problem = replace(set_up()[0].problem, linear_solver=linear_solver)
    h = unknowns // problem.fan_in
    point = problem.at(np.random.default_rng(0).normal(size=(problem.fan_in, h)))
    turns = Descent.in_turn(problem, h, np.random.RandomState(0))
    assert [descent.forms_matrix(point) for descent in turns] == formed


def test_another_penalty_has_the_same_rows():
    descent, point = set_up()
    stronger = replace(descent.problem, lam=1e-1)
    other = descent.on(stronger)
    assert other.rows is descent.rows
    assert (other.problem.lam, descent.problem.lam) == (1e-1, 1e-3)
    end, _ = run(other, stronger.at(point.A))
    weak, _ = run(descent, point)
    assert (end.A**2).sum() < (weak.A**2).sum()


def test_flips_are_counted_from_the_layer_before():
    """Entries of the firing pattern that differ, over all rows and units."""
    descent, point = set_up()
    second = descent.step(point, 1e-2, None).point
    counts = descent.step(second, 1e-2, point.A).counts
    rows = descent.problem.source.rows(slice(0, 120)).X
    flipped = (rows @ point.A > 0) != (rows @ second.A > 0)
    assert counts.flips == flipped.sum()
    assert counts.flip_share == pytest.approx(flipped.mean())


def test_the_same_seed_gives_the_same_bits():
    one, other = (run(*set_up(n=5000), Stop(5))[0] for _ in range(2))
    assert np.array_equal(one.A, other.A)
