"""A solver that a user wrote, in a few lines: it gets what ours get, or a clear error."""

import pickle

import numpy as np
import pytest
from conftest import make_data
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from anmin import ANMINClassifier, ANMINRegressor
from anmin.engine import listening
from anmin.logfile import Log
from anmin.moves import Conclusion, Move, Spent, Stage, Visit
from anmin.solvers import Solver
from anmin.status import Status


class RandomSearch(Solver):
    """Random hidden layers, of which the best counts."""

    removes_idle_units = False

    def __init__(self, tries=30):
        self.tries = tries

    def moves(self, problem, start):
        shape = (problem.source.shape[1], start.h)
        for k in range(self.tries):
            A = problem.backend.asarray(start.rng.standard_normal(shape))
            kind = "step" if k else "start"
            yield Move(lambda A=A: Visit(problem.at(A)), problem, A, kind=kind)
        return Conclusion(Status.CONVERGED)


X, Y = make_data(200, 2)
SETTINGS = {"n_hidden": 10, "solver": RandomSearch(), "random_state": 0}
SETTINGS |= {"n_networks": 1, "encoding": None}
LAMS = pytest.mark.parametrize("lam", [1e-4, "auto"])


def fit(**kwargs):
    return ANMINRegressor(**(SETTINGS | kwargs)).fit(X, Y)


@LAMS
def test_it_fits(lam):
    model = fit(lam=lam)
    assert model.n_iter_ == 29
    assert model.loss_ == min(model.loss_curve_)
    assert model.score(X, Y) > 0.85
    assert model.report().status in ("converged", "settled")  # by its gradient
    assert (len(model.path_) > 3) == (lam == "auto")
    if lam == "auto":
        assert model.lam_ == min(model.path_, key=lambda step: step.held_out_mse).lam


def test_eq_1_is_what_it_minimises():
    model = fit(lam=1e-4, standardize=False)
    norms = sum((W**2).sum() for W in (model.A_, model.B_, model.b0_))
    mse = np.mean((model.predict(X) - Y) ** 2)
    assert model.loss_ == pytest.approx(mse + 1e-4 * norms, rel=1e-9)


@LAMS
def test_it_is_resumed_to_the_same_bits(lam, tmp_path, monkeypatch):
    whole, append, left = fit(lam=lam), Log.append, iter(range(11, -1, -1))

    def counted(log, *record):
        append(log, *record)
        if next(left) == 0:
            raise ConnectionError

    monkeypatch.setattr(Log, "append", counted)
    with pytest.raises(ConnectionError):
        fit(lam=lam, checkpoint=tmp_path / "run")
    monkeypatch.setattr(Log, "append", append)
    model = fit(lam=lam, checkpoint=tmp_path / "run")
    assert np.array_equal(model.A_, whole.A_)
    assert model.loss_curve_ == whole.loss_curve_
    assert model.path_ == whole.path_
    with pytest.raises(ValueError, match=r"made with solver=RandomSearch\(\), now"):
        fit(lam=lam, checkpoint=tmp_path / "run", solver=RandomSearch(31))


@LAMS
def test_its_progress_is_heard(lam):
    steps = []
    with listening(lambda step, network: steps.append((step, network))):
        model = fit(lam=lam)
    told = [step for step, _ in steps if step.phase == ""]
    assert [(step.iteration, step.loss) for step in told] == [
        (step.iteration, step.loss) for step in model.history_
    ]
    assert ({step.phase for step, _ in steps} >= {"", "path"}) == (lam == "auto")
    best = min(range(len(told)), key=lambda k: told[k].loss)
    network = steps[len(steps) - len(told) + best][1]
    np.testing.assert_array_equal(network.A, model.A_)


def test_budgets_listeners_and_early_stopping_end_it():
    assert fit(lam=1e-4, max_iter=5).report().status == "out of iterations"
    assert fit(lam=1e-4, max_iter=5).n_iter_ == 5
    assert fit(lam=1e-4, max_time=0.0).report().status == "out of time"
    with listening(lambda step, _: step.iteration == 4):
        model = fit(lam=1e-4)
    assert (model.n_iter_, model.report().status) == (4, "interrupted")
    early = fit(lam=1e-4, early_stopping=True, solver=RandomSearch(1000))
    assert early.n_iter_ < 999
    assert early.report().status == "stopped early"


def test_a_listener_may_answer_with_a_bool_of_numpy():
    with listening(lambda step, _: np.bool_(step.iteration == 4)):
        model = fit(lam=1e-4)
    assert (model.n_iter_, model.report().status) == (4, "interrupted")


@LAMS
def test_a_stage_that_has_used_its_share_goes_on_to_the_next(lam):
    ends = []

    class TwoStages(RandomSearch):
        def moves(self, problem, start):
            A = problem.backend.asarray(start.rng.standard_normal((problem.source.shape[1], 4)))
            yield Move(lambda: Visit(problem.at(A)), problem, A, kind="start")
            for until in (0.5, 1.0):
                try:
                    while True:
                        stage = Stage(str(until), until=until)
                        yield Move(lambda: Visit(problem.at(A)), problem, A, stage)
                except Spent:
                    ends.append(until)
            return Conclusion(Status.FINISHED)

    fit(lam=lam, solver=TwoStages(), max_iter=40)
    assert ends == ([0.5, 1.0] if lam != "auto" else [0.5])  # the end of all is told to no solver


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_it_runs_on_every_backend(device):
    if device != "cpu":
        pytest.importorskip("torch")
    np.testing.assert_allclose(
        fit(lam=1e-4, device=device).loss_curve_, fit(lam=1e-4).loss_curve_, rtol=1e-8
    )


def test_it_is_an_estimator_parameter_like_ours():
    model = ANMINRegressor(**SETTINGS, lam=1e-4)
    assert clone(model).set_params(solver__tries=3).fit(X, Y).n_iter_ == 2
    search = GridSearchCV(model, {"solver__tries": [2, 20]}, cv=2).fit(X, Y)
    assert set(search.cv_results_["param_solver__tries"]) == {2, 20}
    again = pickle.loads(pickle.dumps(model.fit(X, Y)))
    assert np.array_equal(again.predict(X), model.predict(X))
    labels = ANMINClassifier(**SETTINGS, lam=1e-4).fit(X, Y > 3)
    assert labels.score(X, Y > 3) > 0.9


# ---- what is none -------------------------------------------------------------------------------


class NotASolver:
    def moves(self, problem, start):
        """The right name, but none of what a solver inherits."""


class NoMoves(Solver):
    pass


@pytest.mark.parametrize("solver", [NotASolver(), NoMoves(), RandomSearch, Solver(), object()])
def test_what_is_no_solver_is_refused(solver):
    with pytest.raises(
        ValueError, match=r"solver must be one of .* subclass of anmin\.solvers\.So"
    ):
        fit(solver=solver)


def test_its_own_check_is_asked():
    class Strict(RandomSearch):
        def check(self):
            super().check()
            if self.tries < 1:
                raise ValueError(f"tries must be 1 or more; got {self.tries}.")

    with pytest.raises(ValueError, match="tries must be 1 or more; got 0"):
        fit(solver=Strict(0))


def test_moves_that_do_not_conclude_are_refused():
    class Endless(RandomSearch):
        def moves(self, problem, start):
            yield from super().moves(problem, start)

    with pytest.raises(TypeError, match="must end with `return Conclusion"):
        fit(solver=Endless(3), lam=1e-4)
    with pytest.raises(TypeError, match="moves ended without a point"):
        fit(solver=RandomSearch(0), lam=1e-4)
