"""The facts of a finished network, against slow arithmetic, on both backends and precisions."""

import numpy as np
import pytest
from backend_cases import BACKENDS, PRECISIONS, make_problem, numpy_backend, start
from conftest import activate

from anmin.inspect.audit import audit, rank_floor
from anmin.network import Network
from anmin.solvers.frozen import FormedLayer
from anmin.status import Status

TIGHT = {"float64": 1e-9, "float32": 1e-4}


class Setting:
    """Some network on a small problem, and Eq. (1) written out for its rows."""

    def __init__(self, backend, lam=1e-3, h=4):
        self.problem = problem = make_problem(backend, lam=lam)
        rng, A = np.random.default_rng(5), backend.to_numpy(start(problem, h))
        B, b0 = rng.normal(size=(h, 2)), rng.normal(size=2)
        self.network = Network(A, B, b0, problem.slope)
        batch = problem.source.rows(slice(None))
        self.X, self.Y = backend.to_numpy(batch.X), backend.to_numpy(batch.Y)
        self.n = (self.X[:, 0] ** 2).sum()

    @property
    def point(self):
        return np.concatenate([self.network.A.ravel(), self.network.B.ravel(), self.network.b0])

    def loss(self, point):
        (p, h), q = self.network.A.shape, 2
        A, B = point[: p * h].reshape(p, h), point[p * h : -q].reshape(h, q)
        F = activate(self.X @ A, self.network.slope) @ B + self.X[:, :1] * point[-q:]
        return ((self.Y - F) ** 2).sum() / self.n + self.problem.lam * (point**2).sum()

    def audit(self):
        return audit(self.problem, self.network, 4)


@BACKENDS
@PRECISIONS
def test_loss_and_gradient(make_backend, dtype, rtol):
    s = Setting(make_backend(dtype))
    found, at, step = s.audit(), s.point, 1e-7
    slopes = np.array([
        (s.loss(at + step * e) - s.loss(at - step * e)) / (2 * step) for e in np.eye(len(at))
    ])  # fmt: skip
    assert found.loss == pytest.approx(s.loss(at), rel=1e-12)
    assert found.mse == pytest.approx(found.loss - s.problem.lam * (at**2).sum(), rel=1e-12)
    assert found.gradient == pytest.approx(np.linalg.norm(slopes), rel=1e-5)
    total = (s.Y**2).sum() / s.n - ((s.X[:, :1] * s.Y).sum(0) ** 2).sum() / s.n**2
    assert found.total == pytest.approx(total, rel=1e-9)


@BACKENDS
@PRECISIONS
def test_the_cosine_is_the_share_that_one_weight_can_gain(make_backend, dtype, rtol):
    """Along the steepest weight the loss, a parabola there, falls by cos² of itself."""
    s = Setting(make_backend(dtype))
    B, W = s.network.B, np.vstack([s.network.B, s.network.b0])
    P = s.X @ s.network.A
    G, S = np.where(P > 0, 1.0, s.network.slope), np.column_stack([activate(P, 0.1), s.X[:, 0]])
    R, lam = s.Y - S @ W, s.problem.lam
    g = s.X.T @ (G * (R @ B.T)) / s.n - lam * s.network.A
    D = (s.X**2).T @ G**2 * (B**2).sum(1) / s.n + lam
    gW, DW = S.T @ R / s.n - lam * W, (S**2).sum(0)[:, None] / s.n + lam
    gains = np.concatenate([(g**2 / D).ravel(), (gW**2 / DW).ravel()])
    assert s.audit().cosine ** 2 == pytest.approx(gains.max() / s.loss(s.point), rel=1e-9)


@BACKENDS
@PRECISIONS
def test_the_gain_is_what_the_hidden_step_takes(make_backend, dtype, rtol):
    problem = make_problem(make_backend(dtype))
    layer = FormedLayer(problem)
    here = layer.visit(start(problem), None, Status.START)
    step = layer.step(here.point, -1e6, 1e-300)
    net = problem.network(here.point)
    found = audit(problem, net, 4)
    fall = (here.point.loss - step.frozen_loss) / here.point.loss
    assert found.system.gain == pytest.approx(fall, rel=TIGHT[dtype] * 100)
    assert (found.system.rank, found.system.rows) == (16, 300)


@BACKENDS
@PRECISIONS
def test_no_network_of_few_units_goes_below_the_floor(make_backend, dtype, rtol):
    problem = make_problem(make_backend(dtype), q=4)
    mean, n = np.zeros(4), problem.source.weight
    batch = problem.source.rows(slice(None))
    values = np.linalg.svd(problem.backend.to_numpy(batch.Y), compute_uv=False) ** 2
    found = rank_floor(problem, mean, n, 2)
    assert found == pytest.approx(values[2:].sum() / n, rel=20 * rtol)
    assert rank_floor(problem, mean, n, 4) is None


def test_no_units_and_too_many_unknowns_are_said_so():
    problem = make_problem(numpy_backend())
    none = Network(np.zeros((4, 0)), np.zeros((0, 2)), np.zeros(2))
    many = Network(np.ones((4, 400)), np.ones((400, 2)), np.zeros(2))
    for net, why in ((none, "no hidden units"), (many, "1,600 unknowns")):
        found = audit(problem, net, 4)
        assert found.system.rank is None
        assert why in found.system.note
