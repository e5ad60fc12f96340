"""Damped steps of several networks as one: the same as each alone, whatever the company."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from conftest import make_data, make_problem
from sklearn.base import clone

pytest.importorskip("torch")

from anmin import ANMINRegressor
from anmin.backends import NumpyBackend
from anmin.backends.torch import TorchBackend
from anmin.engine import Budget, Engine, listening
from anmin.logfile import Log
from anmin.moves import Conclusion, Stage
from anmin.solvers import stacked
from anmin.solvers.levenberg import DampedStep, Descent, Stop, descend
from anmin.solvers.members import aside
from anmin.solvers.path import candidates
from anmin.solvers.problem import Problem
from anmin.solvers.relocate import relocate
from anmin.solvers.stacked import Stacks
from anmin.solvers.together import together
from anmin.sources import ArraySource, Scaling
from anmin.status import Status
from anmin.sums import slabs

# rows, units, penalty, damping
CASES = [(500, 4, 1e-3, 0.1), (700, 6, 1e-4, 1e-6), (7000, 5, 1e-2, 10.0), (450, 1, 1e-6, 1e-3)]


def step(
    case=CASES[0], seed=0, q=2, slope=0.1, single=False, rough=True, wide=3, linear_solver="cg"
):
    """A damped step of a small network in PyTorch; every other one has weights of rows."""
    (n, h, lam, mu), rng = case, np.random.default_rng(seed)
    X, y = make_data(n, wide, q, seed)
    Y, w = y.reshape(n, q), rng.uniform(0.2, 2.0, n) if seed % 2 else None
    backend = TorchBackend("cpu:0", "float32" if single else "float64")
    source = ArraySource(X, Y, w, Scaling.fit(X, Y, w), backend, 8192)
    problem = Problem(source, lam, slope, linear_solver, rough=single)
    point = problem.balance(problem.at(backend.double(rng.normal(size=(wide + 1, h)))))
    descent = Descent(problem, h, np.random.RandomState(0), rough)
    return DampedStep(descent, point, mu, point.A + 0.1 if seed % 2 else None)


def steps(**kind):
    return [step(case, seed, **kind) for seed, case in enumerate(CASES)]


def close(one, other, rtol=1e-3):
    """Whether two visits are the same but for the rounding of the curvature, a model."""
    assert one.point.loss == pytest.approx(other.point.loss, rel=rtol)
    assert one.facts == pytest.approx(other.facts, rel=1e-5)
    for name in ("A", "W"):
        V, U = getattr(one.point, name), getattr(other.point, name)
        assert V.shape == U.shape
        np.testing.assert_allclose(V, U, atol=5e-3 * float(abs(U).max()))
    assert one.counts.flips == other.counts.flips
    assert one.counts.rows == other.counts.rows
    np.testing.assert_array_equal(one.counts.fired, other.counts.fired)


@pytest.mark.parametrize(
    "kind",
    [
        *({}, {"q": 1, "slope": 0.0}, {"single": True}, {"rough": False}, {"q": 9}, {"wide": 12}),
        *({"linear_solver": "cholesky"}, {"linear_solver": "cholesky", "q": 1, "slope": 0.0}),
    ],
    ids=str,
)
def test_steps_as_one_are_those_of_each_alone(kind):
    some = steps(**kind)
    assert len({step.kind for step in some}) == 1
    for one, visit in zip(some, Stacks().visits(some), strict=True):
        close(visit, one.alone())


@pytest.mark.parametrize("limit", [1, 2**20])
def test_who_shares_a_slab_makes_no_odds(limit, monkeypatch):
    known = Stacks().visits(steps())
    monkeypatch.setattr(slabs, "SLAB", limit)
    for visit, before in zip(Stacks().visits(steps()), known, strict=True):
        close(visit, before)


def test_the_company_makes_no_odds_beyond_rounding():
    some = steps()
    together, apart = Stacks().visits(some), [Stacks().visits([one])[0] for one in some]
    for one, other in zip(together, apart, strict=True):
        close(one, other)


def test_the_same_company_gives_the_same_bits():
    stacks = Stacks()
    one, same, other = stacks.visits(some := steps()), stacks.visits(some), Stacks().visits(some)
    for visits in zip(one, same, other, strict=True):
        assert len({visit.point.loss for visit in visits}) == 1
        assert len({visit.point.A.numpy().tobytes() for visit in visits}) == 1


def test_the_memory_bounds_a_stack(monkeypatch):
    known = Stacks().visits(steps())
    sizes, taken = [], stacked.taken

    def noted(some, rows):
        sizes.append(len(some))
        return taken(some, rows)

    monkeypatch.setattr(stacked, "taken", noted)
    monkeypatch.setattr(TorchBackend, "working", 1)
    for visit, before in zip(Stacks().visits(steps()), known, strict=True):
        close(visit, before)
    assert sizes == [1, 1, 1, 1]


def test_one_source_is_not_copied():
    first = step()
    others = [replace(first, mu=mu) for mu in (1e-3, 10.0)]
    rows = stacked_rows([first, *others])
    assert rows.slabs.slabs[0].X.stride(0) == 0
    assert rows.slabs.slabs[0].X.data_ptr() == batch_of(first.descent.problem.source).X.data_ptr()
    for one, visit in zip(others, Stacks().visits([first, *others])[1:], strict=True):
        close(visit, one.alone())


def test_units_of_zeros_stay_what_they_are():
    """Those that fill a network up to the size of the largest."""
    few, many = step((500, 2, 1e-3, 1e-2)), step((500, 9, 1e-3, 1e-2), seed=2)
    rows = stacked_rows([few, many])
    A = slabs.padded([few.point.A, many.point.A])
    W = slabs.padded_outputs([few.point.W, many.point.W])
    g = rows.slabs.gradient(A, W, 0.1)
    assert not g[0, :, 2:].any()
    terms = stacked.Terms(*(A.new_ones(2) for _ in range(4)))
    idle = A.new_tensor([[0] * 2 + [1] * 7 + [0], [0] * 10])
    terms = replace(terms, idle=idle, n=rows.slabs.n, YtY=rows.slabs.YtY)
    points = terms.balance(terms.points(A, *rows.slabs.output([0, 1], A, 0.1, False)))
    assert not points.A[0, :, 2:].any()
    assert not points.W[0, 2:9].any()
    assert points.W[0, 9].any()


def test_rows_of_zeros_add_nothing():
    few, many = step((450, 3, 1e-3, 1e-2)), step((2000, 3, 1e-3, 1e-2), seed=1)
    rows = stacked_rows([few, many])
    assert rows.slabs.slabs[0].X.shape == (2, 2000, 4)
    sums = rows.slabs.output([0, 1], slabs.padded([few.point.A, many.point.A]), 0.1, False)
    np.testing.assert_allclose(sums[0][0], few.point.sums.StS, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sums[1][0], few.point.sums.StY, rtol=1e-10, atol=1e-10)
    assert rows.slabs.n.tolist() == pytest.approx([few.point.sums.n, many.point.sums.n])


@pytest.mark.parametrize("device", [{}, {"single": True}], ids=["double", "single"])
def test_losses_never_rise(device):
    some = steps(**device)
    losses: list[list[float]] = [[one.point.loss] for one in some]

    def noted(moves, k):
        move = next(moves)
        try:
            while True:
                visit = yield move
                losses[k].append(visit.point.loss)
                move = moves.send(visit)
        except StopIteration as end:
            return end.value

    def moves():
        walks = [
            noted(descend(s.descent, s.point, Stop(16), Stage()), k) for k, s in enumerate(some)
        ]
        yield from together([aside(walk) for walk in walks], 1)
        return Conclusion(Status.CONVERGED)

    Engine(Budget(500)).run(moves())
    for curve in losses:
        assert len(curve) > 5
        assert all(after <= before for before, after in pairwise(curve))
        assert curve[-1] < 0.7 * curve[0]


def test_where_no_damping_helps_the_point_stays():
    stay, go = step(), step(CASES[1], 2)
    point = replace(stay.point, loss=0.0)  # which nothing is better than
    visit, moved = Stacks().visits([replace(stay, point=point), go])
    assert visit.point is point
    assert (visit.facts["stuck"], visit.facts["damping"]) == (1.0, stay.mu)
    close(moved, go.alone())


def test_an_odd_one_is_made_alone():
    """Without noise and penalty digits cancel, and a unit that never fires leaves no system."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    backend = TorchBackend("cpu:0")
    source = ArraySource(X, X[:, :1], None, Scaling.fit(X, X[:, :1], None), backend, 8192)
    problem = Problem(source, 0.0, 0.0, "cg")
    A = backend.double([[0.0, 0.0, -9.0], [1.0, -1.0, 0.1], [0.0, 0.0, 0.1]])
    descent = Descent(problem, 3, np.random.RandomState(0), True)
    odd, plain = DampedStep(descent, problem.at(A), 1e-2, None), step(q=1, slope=0.0, wide=2)
    alone = odd.alone()
    for visit in (Stacks().visits([odd])[0], Stacks().visits([plain, odd])[1]):
        assert visit.point.loss == alone.point.loss <= 1e-20
        assert visit.facts == alone.facts


def test_what_can_not_be_made_as_one_has_no_kind():
    known = step()
    assert known.kind is not None

    def kind(**other):
        descent = known.descent.on(replace(known.descent.problem, **other))
        return replace(known, descent=descent).kind

    assert kind(linear_solver="cholesky") not in (known.kind, None)
    assert step(rough=False, linear_solver="cholesky").kind is None  # which tries many dampings
    assert kind(source=replace_batch(known, 100)) == known.kind  # of several batches
    assert kind(lam=1.0) == known.kind
    assert kind(slope=0.2) != known.kind
    empty = known.descent.problem.at(known.point.A[:, :0])
    assert replace(known, point=empty).kind is None


def test_a_sample_need_not_travel():
    source = step().descent.problem.source
    some, places = source.rows(np.array([7, 3, 400])), [7, 3, 400]
    np.testing.assert_array_equal(some.X, batch_of(source).X[places])
    again = source.raw.prepared(source.scaling, source.backend, 100).rows(np.array(places))
    np.testing.assert_array_equal(some.X, again.X)
    np.testing.assert_array_equal(some.Y, again.Y)


def stacked_rows(steps):
    return stacked.StackedRows(steps, [stacked.batches_of(step) for step in steps])


def batch_of(source):
    [batch] = source.batches()
    return batch


def replace_batch(step, size):
    source = step.descent.problem.source
    return source.raw.prepared(source.scaling, source.backend, size)


def test_candidates_on_a_device_are_those_of_the_cpu():
    X, y = make_data(5000, 4, 2)
    w = np.random.default_rng(0).uniform(0.2, 2.0, 5000)
    found = []
    for backend in (NumpyBackend(), TorchBackend("cpu:0")):
        problem = make_problem(X, y, w, slope=0.1, backend=backend)
        point = problem.at(backend.double(np.random.default_rng(2).normal(size=(5, 3))))
        found.append(candidates(problem, point, np.random.RandomState(0)))
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-8)
    np.testing.assert_allclose(found[1][0], found[0][0], atol=1e-8)


def test_neurons_move_on_a_device_as_on_the_cpu():
    X, y = make_data(5000, 4, 2)
    found = []
    for backend in (NumpyBackend(), TorchBackend("cpu:0")):
        problem = make_problem(X, y, slope=0.1, backend=backend)
        point = problem.at(backend.double(np.random.default_rng(2).normal(size=(5, 6))))
        found.append(relocate(problem, point, np.array([4, 1]), np.random.RandomState(0)))
    np.testing.assert_allclose(found[1], found[0], atol=1e-8)
    assert not np.allclose(found[0][:, [4, 1]], backend.to_numpy(point.A)[:, [4, 1]])


def test_inputs_in_memory_travel_once():
    """To a device that has room for them, however they are scaled there."""
    source = step().descent.problem.source
    other = source.scaled(replace(source.scaling, x_scale=2 * source.scaling.x_scale))
    kept = batch_of(source), *source.raw.sent.values()
    np.testing.assert_allclose(batch_of(other).X[:, 1:], kept[0].X[:, 1:] / 2)
    assert [V is kept[1] for V in source.raw.sent.values()] == [True]


# ---- whole fits -------------------------------------------------------------------------------

NETWORKS = ANMINRegressor(12, n_networks=3, encoding=None, random_state=0, device="cpu:0")


@pytest.fixture(scope="module")
def rows():
    return make_data(2500, 6)


@pytest.fixture
def sizes(monkeypatch):
    """How many steps were made at a time."""
    found, taken = [], stacked.taken

    def noted(some, rows):
        found.append(len(some))
        return taken(some, rows)

    monkeypatch.setattr(stacked, "taken", noted)
    return found


@pytest.mark.slow
def test_a_fit_is_as_good_as_one_by_one(rows, sizes, monkeypatch):
    X, y = rows
    one, again = clone(NETWORKS).fit(X, y), clone(NETWORKS).fit(X, y)
    np.testing.assert_array_equal(one.A_, again.A_)
    np.testing.assert_array_equal(one.B_, again.B_)
    assert max(sizes) == 3

    def errors(seed):
        model = clone(NETWORKS).set_params(random_state=seed).fit(X, y)
        return np.log(np.mean((model.predict(X) - y) ** 2))

    stacks = np.mean([errors(seed) for seed in range(4)])
    monkeypatch.setattr(TorchBackend, "stacks", False)
    alone = np.mean([errors(seed) for seed in range(4)])  # one fit differs by a third from another
    assert np.exp(stacks - alone) < 1.25


@pytest.mark.slow
def test_sixteen_networks_are_one_stack(rows, sizes):
    """Their paths without the first, and their refinement."""
    walked = []
    with listening(lambda step, _: walked.append(step.phase)):
        clone(NETWORKS).set_params(n_networks=16, n_hidden=6).fit(*rows)
    assert max(sizes) == 16
    assert sizes.count(15) > 3
    assert len(sizes) < 0.3 * len(walked)


@pytest.fixture(scope="module")
def unbroken(rows):
    """A small fit that nobody kills."""
    X, y = rows[0][:600], rows[1][:600]
    return X, y, clone(NETWORKS).set_params(n_hidden=5, max_iter=150).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("k", [7, 40, 95])
def test_a_killed_fit_goes_on_to_the_same_bits(k, unbroken, tmp_path, monkeypatch):
    """Also where it was killed in the middle of a round."""
    X, y, whole = unbroken
    append, left = Log.append, iter(range(k - 1, -1, -1))

    def counted(log, *record):
        append(log, *record)
        if next(left) == 0:
            raise SystemExit

    model = clone(whole).set_params(checkpoint=tmp_path / "run.ckpt")
    monkeypatch.setattr(Log, "append", counted)
    with pytest.raises(SystemExit):
        clone(model).fit(X, y)
    monkeypatch.setattr(Log, "append", append)
    again = model.fit(X, y)
    np.testing.assert_array_equal(again.A_, whole.A_)
    np.testing.assert_array_equal(again.B_, whole.B_)
    assert again.loss_curve_ == whole.loss_curve_


@pytest.mark.slow
def test_the_clock_is_looked_at(rows):
    model = clone(NETWORKS).set_params(max_time=0.4, n_networks=5)
    model.fit(*rows)
    assert model.history_[-1].seconds < 1.5
    assert model.score(*rows) > 0.2


def test_rows_of_several_batches_are_summed_in_their_order():
    known = [step(seed=k) for k in range(3)]
    pieces = [
        replace(
            one,
            descent=one.descent.on(replace(one.descent.problem, source=replace_batch(one, 100))),
        )
        for one in known
    ]
    for many in (1, 3):
        ours, theirs = (stacked.Stacks().visits(steps[:many]) for steps in (pieces, known))
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.point.loss == pytest.approx(other.point.loss, rel=1e-6)
            assert mine.facts["damping"] == other.facts["damping"]
