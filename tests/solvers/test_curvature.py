"""Curvature and gradient of the loss with the output layer eliminated, against the textbook."""

import numpy as np
import pytest
from conftest import activate, make_data

from anmin.backends import NumpyBackend
from anmin.solvers.curvature import (
    CurvatureRows,
    DenseCurvature,
    Effort,
    ProductCurvature,
    output_root,
)
from anmin.solvers.problem import Problem, gradient
from anmin.sources import ArraySource, Scaling

LAM, H = 1e-2, 4
SETTINGS = pytest.mark.parametrize(
    ("q", "weighted", "slope"), [(1, False, 0.0), (3, True, 0.0), (2, True, 0.1)]
)
PRECISIONS = pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-4), ("float32", 5e-4)])


class Setting:
    """A point of a small problem, with everything that is in the formulas formed explicitly."""

    def __init__(self, q=2, weighted=True, slope=0.1, n=300, batch_size=128):
        rng = np.random.default_rng(5)
        X, y = make_data(n, 3, q)
        Y = y.reshape(n, q)
        w = rng.uniform(0.2, 2.0, n) if weighted else None
        scaling = Scaling.fit(X, Y, w)
        self.source = ArraySource(X, Y, w, scaling, NumpyBackend(), batch_size)
        self.problem = Problem(self.source, LAM, slope)
        self.point = self.problem.at(rng.normal(size=(4, H)))
        batch = self.source.rows(slice(0, n))
        self.X, self.Y = batch.X, batch.Y  # with √w
        self.n = (self.X[:, 0] ** 2).sum()
        self.slope, self.B = slope, self.point.W[:-1]

    @property
    def S(self):
        return np.column_stack([activate(self.X @ self.point.A, self.slope), self.X[:, 0]])

    @property
    def Z(self):
        G = np.where(self.X @ self.point.A > 0, 1.0, self.slope)
        return (G[:, :, None] * self.X[:, None, :]).reshape(len(G), -1)

    def spread(self, W):
        """W ⊗ 11ᵀ for the p inputs of each neuron."""
        return np.kron(W, np.ones((4, 4)))

    def textbook(self):
        """H, as in the docstring."""
        S, Z = self.S, self.Z
        K = S.T @ S + self.n * LAM * np.eye(H + 1)
        ZtS = Z.T @ S
        inner = Z.T @ Z - ZtS @ np.linalg.solve(K, ZtS.T)
        return inner * self.spread(self.B @ self.B.T) / self.n

    def paper(self):
        """M of Theorem 1."""
        return self.Z.T @ self.Z * self.spread(self.B @ self.B.T) / self.n

    def rows(self, dtype="float64"):
        return CurvatureRows(self.source.using(NumpyBackend(dtype)))


def times(M, V):
    """M on a matrix of the shape of A, neuron by neuron."""
    return (M @ V.T.ravel()).reshape(V.T.shape).T


def assert_close(one, other, rtol):
    np.testing.assert_allclose(one, other, rtol=0, atol=rtol * np.abs(other).max())


@SETTINGS
@PRECISIONS
def test_dense_curvature_is_the_textbook_formula(q, weighted, slope, dtype, rtol):
    s = Setting(q, weighted, slope)
    found = DenseCurvature(s.rows(dtype), s.point, s.problem, None)
    assert_close(found.unit * found.H, s.textbook(), rtol)


@SETTINGS
def test_dense_curvature_is_the_gauss_newton_matrix(q, weighted, slope):
    """JᵀJ/n, J the differences of σ(XA)B with what S can take up projected out of them."""
    s, step = Setting(q, weighted, slope), 1e-7
    A, S = s.point.A, s.S
    K = np.linalg.inv(S.T @ S + s.n * LAM * np.eye(H + 1))
    J = np.empty((q, len(S), A.size))
    for j in range(H):
        for a in range(4):
            nudge = np.zeros_like(A)
            nudge[a, j] = step
            up, down = (activate(s.X @ (A + sign * nudge), slope) @ s.B for sign in (1, -1))
            J[:, :, 4 * j + a] = ((up - down) / (2 * step)).T
    gauss_newton = sum(Jk.T @ Jk - (Jk.T @ S) @ K @ (S.T @ Jk) for Jk in J) / s.n
    found = DenseCurvature(s.rows(), s.point, s.problem, None)
    assert_close(found.unit * found.H, gauss_newton, 1e-4)


@SETTINGS
@PRECISIONS
def test_product_is_that_of_the_matrix(q, weighted, slope, dtype, rtol):
    s = Setting(q, weighted, slope)
    found = ProductCurvature(s.rows(dtype), s.point, s.problem, None)
    for seed in range(3):
        V = np.random.default_rng(seed).normal(size=(4, H)).astype(dtype)
        assert_close(found.unit * found.product(V), times(s.textbook(), V), rtol)


@SETTINGS
@PRECISIONS
def test_product_without_projection_is_that_of_the_paper(q, weighted, slope, dtype, rtol):
    s = Setting(q, weighted, slope)
    found = ProductCurvature(s.rows(dtype), s.point, s.problem, None, project=False)
    V = np.random.default_rng(0).normal(size=(4, H)).astype(dtype)
    assert_close(found.unit * found.product(V), times(s.paper(), V), rtol / 10)


@SETTINGS
@pytest.mark.parametrize("mu", [1e-3, 1.0, 1e3])
def test_dense_solve_solves_its_system(q, weighted, slope, mu):
    s = Setting(q, weighted, slope)
    g = gradient(s.problem, s.point)
    found = DenseCurvature(s.rows(), s.point, s.problem, None)
    v = found.solve(g, mu)
    left = found.unit * (times(found.H, v) + mu * found.D.T * v) + LAM * v
    assert_close(left, g, 1e-10)


@SETTINGS
@pytest.mark.parametrize("mu", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("project", [True, False])
def test_conjugate_gradients_solve_their_system(q, weighted, slope, mu, project):
    s = Setting(q, weighted, slope)
    g = gradient(s.problem, s.point)
    found = ProductCurvature(s.rows(), s.point, s.problem, None, project)
    for tolerance in (1e-3, 1e-9):  # the second one starts where the first one ended
        v = found.solve(g, mu, Effort(200, tolerance))
        left = found.unit * (found.product(v) + mu * found.D.T * v) + LAM * v
        assert np.linalg.norm(left - g) <= 1.01 * tolerance * np.linalg.norm(g)


def test_both_forms_lead_the_same_way():
    s = Setting()
    g = gradient(s.problem, s.point)
    forms = [
        form(s.rows(), s.point, s.problem, None) for form in (DenseCurvature, ProductCurvature)
    ]
    one, other = forms[0].solve(g, 0.0), forms[1].solve(g, 0.0, Effort(500, 1e-10))
    assert_close(other, one, 1e-5)


@SETTINGS
def test_gradient_is_the_slope_of_the_loss(q, weighted, slope):
    s, step = Setting(q, weighted, slope), 1e-6
    A, g = s.point.A, gradient(s.problem, s.point)
    F = s.X @ A > 0
    seen = 0
    for a, j in np.ndindex(*A.shape):
        nudge = np.zeros_like(A)
        nudge[a, j] = step
        if any(((s.X @ (A + sign * nudge) > 0) != F).any() for sign in (1, -1)):
            continue
        up, down = (s.problem.at(A + sign * nudge).loss for sign in (1, -1))
        assert (up - down) / (2 * step) == pytest.approx(-2 * g[a, j], rel=1e-5, abs=1e-7)
        seen += 1
    assert seen >= A.size / 2


@pytest.mark.parametrize("form", [DenseCurvature, ProductCurvature])
def test_flips_are_counted_against_the_pattern_before(form):
    s = Setting()
    A, before = s.point.A, s.point.A + 0.3
    counts = form(s.rows(), s.point, s.problem, before).counts
    F, old = s.X @ A > 0, s.X @ before > 0
    assert counts.flip_share == pytest.approx((old != F).mean())
    assert (np.asarray(counts.fired) == F.sum(0)).all()


def test_output_root_of_a_singular_matrix_in_single_precision():
    """Units that are alike make SᵀS singular, and rounding even indefinite."""
    backend = NumpyBackend("float32")
    S = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    S = np.hstack([S, S, 1000 * S])
    StS = S.T @ S
    StS[0, 3] = StS[3, 0] = 1.001 * StS[0, 0]  # worse than rounding
    assert backend.cholesky(StS) is None
    assert np.isfinite(output_root(backend, StS, 50.0, 0.0)).all()


def test_output_root_refuses_what_is_not_finite():
    with pytest.raises(ValueError, match="too large in scale"):
        output_root(NumpyBackend(), np.full((3, 3), np.nan), 1.0, 0.0)
