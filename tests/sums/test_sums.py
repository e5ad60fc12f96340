"""The sums of a pass against the formulas written out, on both backends in both precisions."""

import numpy as np
import pytest
from backend_cases import BACKENDS, PRECISIONS
from conftest import activate, make_data

from anmin.objective import SquaredError
from anmin.sources import ArraySource, Scaling
from anmin.sums.gram import PatternPass, output_blocks, output_sums, unpack
from anmin.sums.output import GradientPass, InputPass, OutputPass, ResidualPass, residual
from anmin.sums.patterns import CountPass

N, H, Q, SLOPE = 3000, 5, 2, 0.1
PASSES = {
    "output": lambda s: OutputPass(s.A, SLOPE),
    "residual": lambda s: ResidualPass(s.A, s.W, SLOPE),
    "gradient": lambda s: GradientPass(s.A, s.W, SLOPE),
    "inputs": lambda s: InputPass(),
    "pattern": lambda s: PatternPass(s.A, SLOPE),
    "counts": lambda s: CountPass(s.A, None),
}
passes = pytest.mark.parametrize("name", PASSES)


class Setting:
    """Weighted rows, some network, and what the formulas name."""

    def __init__(self, backend, batch_size=1024):
        rng = np.random.default_rng(3)
        X, Y = make_data(N, 3, Q)
        w = rng.uniform(0.2, 2.0, N)
        self.backend = backend
        self.source = ArraySource(X, Y, w, Scaling.fit(X, Y, w), backend, batch_size)
        batch = self.source.rows(slice(None))
        self.X, self.Y = backend.to_numpy(batch.X), backend.to_numpy(batch.Y)
        A, W = rng.normal(size=(4, H)), rng.normal(size=(H + 1, Q))
        self.A, self.W = backend.double(A), backend.double(W)
        P = self.X @ A
        self.F, self.G = P > 0, np.where(P > 0, 1.0, SLOPE)
        self.S = np.column_stack([activate(P, SLOPE), self.X[:, 0]])
        self.R = self.Y - self.S @ W
        self.B = W[:-1]

    def reduce(self, kernel):
        return self.source.reduce(kernel)

    def close(self, found, wanted, rtol):
        found = self.backend.to_numpy(found)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.abs(wanted).max())


@BACKENDS
@PRECISIONS
def test_output_sums_are_in_double_precision(make_backend, dtype, rtol):
    """In single precision a loss formed from them would be noise."""
    s = Setting(make_backend(dtype))
    sums = s.reduce(OutputPass(s.A, SLOPE))
    assert s.backend.eps(sums.StS) == s.backend.eps(sums.StY) == np.finfo(float).eps
    s.close(sums.StS, s.S.T @ s.S, 1e-13)
    s.close(sums.StY, s.S.T @ s.Y, 1e-13)
    assert sums.YtY == pytest.approx((s.Y**2).sum(), rel=1e-13)
    assert sums.n == pytest.approx((s.X[:, 0] ** 2).sum(), rel=1e-13)


@BACKENDS
@PRECISIONS
def test_a_loss_is_not_lost_in_rounding(make_backend, dtype, rtol):
    """σ(XA)B with |B| of a million that cancels: the objective is right all the same."""
    s = Setting(make_backend(dtype))
    A, W = np.repeat(s.backend.to_numpy(s.A)[:, :2], 2, axis=1), np.zeros((5, Q))
    W[0], W[1] = 1e6, -1e6 * (1 - 1e-9)
    found = s.reduce(ResidualPass(s.backend.double(A), s.backend.double(W), SLOPE))
    wanted = ((s.Y - activate(s.X @ A, SLOPE) @ W[:-1]) ** 2).sum()
    assert found == pytest.approx(wanted, rel=1e-8)


@BACKENDS
@PRECISIONS
def test_residual_and_its_squares(make_backend, dtype, rtol):
    s = Setting(make_backend(dtype))
    assert s.reduce(ResidualPass(s.A, s.W, SLOPE)) == pytest.approx((s.R**2).sum(), rel=1e-13)
    at, batch = ResidualPass(s.A, s.W, SLOPE).cast(s.backend.asarray), s.source.rows(slice(None))
    s.close(residual(s.backend, batch.X, batch.Y, at), s.R, rtol)


@BACKENDS
@PRECISIONS
def test_gradient(make_backend, dtype, rtol):
    s = Setting(make_backend(dtype))
    found = s.reduce(GradientPass(s.A, s.W, SLOPE))
    assert s.backend.eps(found) == np.finfo(dtype).eps
    s.close(found, s.X.T @ (s.G * (s.R @ s.B.T)), rtol)


@BACKENDS
@PRECISIONS
def test_inputs(make_backend, dtype, rtol):
    s = Setting(make_backend(dtype))
    sums = s.reduce(InputPass())
    s.close(sums.XtX, s.X.T @ s.X, 1e-13)
    s.close(sums.XtY, s.X.T @ s.Y, 1e-13)
    raw = s.X / s.X[:, :1]
    assert sums.largest == pytest.approx(np.linalg.norm(raw, axis=1).max(), rel=1e-6)


@BACKENDS
@PRECISIONS
def test_the_sums_of_a_pattern_give_those_of_the_output_layer(make_backend, dtype, rtol):
    s = Setting(make_backend(dtype))
    stats = s.reduce(PatternPass(s.A, SLOPE))
    U = unpack(s.backend, stats)
    Z = (s.G[:, :, None] * s.X[:, None, :]).reshape(N, -1)
    ZtS, StS = output_blocks(s.backend, stats, U, s.A)
    s.close(ZtS.reshape(H * 4, H + 1), Z.T @ s.S, rtol)
    s.close(StS, s.S.T @ s.S, rtol)
    sums = output_sums(s.backend, stats, U, s.A)
    s.close(sums.StS, s.S.T @ s.S, rtol)
    s.close(sums.StY, s.S.T @ s.Y, rtol)


@BACKENDS
def test_counts(make_backend):
    s = Setting(make_backend())
    before = s.backend.double(s.backend.to_numpy(s.A) + 0.3)
    counts = s.reduce(CountPass(s.A, before))
    old = s.X @ s.backend.to_numpy(before) > 0
    assert s.backend.to_numpy(counts.fired).tolist() == s.F.sum(0).tolist()
    assert counts.flip_share == (old != s.F).mean()
    assert (counts.rows, counts.dead) == (N, 0)


@BACKENDS
@PRECISIONS
@passes
def test_batches_change_a_sum_by_rounding_alone(make_backend, dtype, rtol, name):
    """What holds of `batch_size`: sums agree to rounding, and to the bit where one batch does."""
    one, parts, more = (
        numbers(s, s.reduce(PASSES[name](s)))
        for s in (Setting(make_backend(dtype), rows) for rows in (4096, 1024, 8192))
    )
    for a, b, c in zip(one, parts, more, strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=rtol * np.abs(a).max(initial=1.0))
        np.testing.assert_array_equal(c, a)


def numbers(s, sums):
    """All numbers of a sum but the number of cells, which are counted batch by batch."""
    names = [name for name in getattr(type(sums), "__slots__", ()) if name != "cells"]
    if not names:
        return [s.backend.to_numpy(sums) if hasattr(sums, "shape") else np.asarray(sums)]
    return [number for name in names for number in numbers(s, getattr(sums, name))]


@BACKENDS
def test_units_may_be_chosen_and_scaled_without_a_pass(make_backend):
    s = Setting(make_backend())
    sums = s.reduce(OutputPass(s.A, SLOPE))
    some = s.backend.integers(np.array([3, 0]))
    fewer = s.reduce(OutputPass(s.A[:, some], SLOPE))
    s.close(sums.select(some).StS, s.backend.to_numpy(fewer.StS), 1e-13)
    s.close(sums.select(some).StY, s.backend.to_numpy(fewer.StY), 1e-13)
    scale = s.backend.double(np.array([1.0, 0.5, 2.0, 3.0, 10.0]))
    scaled = s.reduce(OutputPass(s.A * scale, SLOPE))
    s.close(sums.scaled(scale).StS, s.backend.to_numpy(scaled.StS), 1e-13)
    s.close(sums.scaled(scale).StY, s.backend.to_numpy(scaled.StY), 1e-13)


# ---- the objective ------------------------------------------------------------------------------


class HalfLoss(SquaredError):  # noqa: N818
    """An objective that is not the default: half of it."""

    least_squares = False

    def value(self, Y, F, root):
        return SquaredError().value(Y, F, root) / 2

    def residual(self, Y, F, root):
        return (Y - F) / 2

    def weights(self, Y, F, root):
        return 0.5 + 0 * F


@BACKENDS
def test_squared_error_has_its_derivatives(make_backend):
    backend, rng, step = make_backend(), np.random.default_rng(0), 1e-6
    Y, F = rng.normal(size=(2, 7, 2))
    objective = SquaredError()

    def value(F):
        return objective.value(backend.double(Y), backend.double(F), root)

    root = backend.double(np.ones((7, 1)))
    R = backend.to_numpy(objective.residual(backend.double(Y), backend.double(F), root))
    assert objective.weights(Y, F, root) is None  # ½ℓ″ = 1
    for at in np.ndindex(F.shape):
        nudge = np.zeros_like(F)
        nudge[at] = step
        slope = (value(F + nudge) - value(F - nudge)) / (2 * step)
        assert slope == pytest.approx(-2 * R[at], rel=1e-8, abs=1e-8)


@BACKENDS
def test_passes_ask_the_objective(make_backend):
    s = Setting(make_backend())
    half = HalfLoss()
    whole = s.reduce(ResidualPass(s.A, s.W, SLOPE))
    assert s.reduce(ResidualPass(s.A, s.W, SLOPE, half)) == pytest.approx(whole / 2, rel=1e-14)
    g = s.backend.to_numpy(s.reduce(GradientPass(s.A, s.W, SLOPE)))
    s.close(s.reduce(GradientPass(s.A, s.W, SLOPE, half)), g / 2, 1e-14)
