"""The paper's hidden step: the best A for a frozen pattern, formed or by products alone."""

import numpy as np
import pytest
from backend_cases import BACKENDS, PRECISIONS, make_problem, numpy_backend, start
from conftest import in_solver, make_data

from anmin import ANMINRegressor
from anmin.solvers.frozen import FormedLayer, ProductLayer, hidden_layer
from anmin.solvers.problem import gradient
from anmin.status import Status

NEVER, NOTHING = -1e6, 1e-300  # tau and floor that leave a sound system alone


def frozen_loss(problem, here, A):
    """Eq. (5): the loss of A with the pattern and the output layer of `here`."""
    backend = problem.backend
    batch = problem.source.rows(slice(None))
    X, Y = backend.to_numpy(batch.X), backend.to_numpy(batch.Y)
    old, W = backend.to_numpy(here.point.A), backend.to_numpy(here.point.W)
    G = np.where(X @ old > 0, 1.0, problem.slope)
    A = A if isinstance(A, np.ndarray) else backend.to_numpy(A)
    R = Y - (G * (X @ A)) @ W[:-1] - X[:, :1] * W[-1]
    penalty = (A**2).sum() + (W**2).sum()
    return (R**2).sum() / (X[:, 0] ** 2).sum() + problem.lam * penalty


@BACKENDS
@PRECISIONS
def test_one_visit_gives_the_output_layer_and_the_loss(make_backend, dtype, rtol):
    problem = make_problem(make_backend(dtype))
    A = start(problem)
    here, plain = FormedLayer(problem).visit(A, None, Status.START), problem.at(A)
    assert here.point.loss == pytest.approx(plain.loss, rel=1e-12)
    found, wanted = (problem.backend.to_numpy(z.W) for z in (here.point, plain))
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@BACKENDS
@PRECISIONS
def test_the_step_leads_to_the_minimum_for_the_pattern(make_backend, dtype, rtol):
    """No slope is left there, and what was promised is what Eq. (5) gives."""
    problem = make_problem(make_backend(dtype))
    layer = FormedLayer(problem)
    here = layer.visit(start(problem), None, Status.START)
    step = layer.step(here.point, NEVER, NOTHING)
    assert not step.solution.floored
    least = frozen_loss(problem, here, step.A)
    assert step.frozen_loss == pytest.approx(least, rel=rtol)
    assert least < here.point.loss
    rng, A = np.random.default_rng(0), problem.backend.to_numpy(step.A)
    for _ in range(5):
        nudge = rng.normal(size=A.shape)
        up, down = (frozen_loss(problem, here, A + sign * 1e-3 * nudge) for sign in (1, -1))
        assert min(up, down) > least
        assert (up - down) / 2e-3 == pytest.approx(0.0, abs=20 * rtol)


@BACKENDS
def test_conjugate_gradients_come_to_the_same_step(make_backend):
    problem = make_problem(make_backend())
    layers = FormedLayer(problem), ProductLayer(problem)
    one, other = (layer.visit(start(problem), None, Status.START) for layer in layers)
    a, b = (
        layer.step(z.point, NEVER, NOTHING) for layer, z in zip(layers, (one, other), strict=True)
    )
    fall = one.point.loss - frozen_loss(problem, one, a.A)
    assert one.point.loss - frozen_loss(problem, other, b.A) >= 0.99 * fall
    assert b.frozen_loss == pytest.approx(a.frozen_loss, rel=0.01)


def test_a_step_from_a_log_forms_its_sums_anew():
    problem = make_problem(numpy_backend())
    layer = FormedLayer(problem)
    here = layer.visit(start(problem), None, Status.START)
    one, other = (z.step(here.point, NEVER, NOTHING) for z in (layer, FormedLayer(problem)))
    np.testing.assert_array_equal(one.A, other.A)


@pytest.mark.parametrize(
    ("linear_solver", "kind"),
    [("cholesky", FormedLayer), ("cg", ProductLayer), ("auto", FormedLayer)],
)
def test_the_form_is_that_asked_for(linear_solver, kind):
    problem = make_problem(numpy_backend(), linear_solver=linear_solver)
    assert isinstance(hidden_layer(problem, 4), kind)


@BACKENDS
@pytest.mark.parametrize("lam", [0.0, 1e-300, 1e-45, 1e-12])
def test_products_need_no_penalty(make_backend, lam):
    """The preconditioner once divided by lam."""
    problem = make_problem(make_backend(), lam=lam)
    layer = ProductLayer(problem)
    here = layer.visit(start(problem), None, Status.START)
    step = layer.step(here.point, NEVER, NOTHING)
    assert np.isfinite(problem.backend.to_numpy(step.A)).all()
    assert frozen_loss(problem, here, step.A) < here.point.loss


@pytest.mark.parametrize("lam", [0.0, 1e-45])
@pytest.mark.parametrize("solver", ["anmin", "varpro"])
def test_a_fit_by_conjugate_gradients_needs_no_penalty(lam, solver):
    X, y = make_data(300, 3)
    settings = {"solver": solver, "linear_solver": "cg", "max_iter": 5, "random_state": 0}
    model = ANMINRegressor(6, lam=lam, **in_solver(**settings)).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.best_loss_ < model.loss_curve_[0]


@BACKENDS
def test_the_gradient_is_that_of_the_hidden_system(make_backend):
    """g = c − (M + lam I)a: the first product of conjugate gradients starts from it."""
    problem = make_problem(make_backend())
    layer = FormedLayer(problem)
    here = layer.visit(start(problem), None, Status.START)
    v = problem.backend.to_numpy(layer.step(here.point, NEVER, NOTHING).A - here.point.A)
    g = problem.backend.to_numpy(gradient(problem, here.point))
    fall = here.point.loss - frozen_loss(problem, here, here.point.A + problem.backend.double(v))
    assert (v * g).sum() == pytest.approx(fall, rel=1e-9)
