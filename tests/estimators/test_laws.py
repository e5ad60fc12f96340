"""Laws that hold whatever the implementation: invariances, stationarity, same bits."""

import numpy as np
import pytest
from conftest import activate, make_data, standardised

from anmin import ANMINRegressor
from anmin.solvers import Algorithm1

LAST = Algorithm1(keep="last")


def fit(X, y, w=None, *, n_hidden=6, **kwargs):
    settings = {"solver": "anmin", "lam": 1e-2, "max_iter": 6, "random_state": 0} | kwargs
    return ANMINRegressor(n_hidden, **settings).fit(X, y, sample_weight=w)


def starting_A(d, n_hidden=6, seed=3):
    return np.random.default_rng(seed).normal(size=(d + 1, n_hidden))


# ---- rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [1, 7, 256, 5000, 10**6])
@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize(("n", "d"), [(300, 3), (20_000, 1), (20_000, 5)])
def test_batch_size_does_not_matter(batch_size, slope, n, d):
    """Many rows in few cells and few rows in many, in one batch and in several."""
    X, y = make_data(n, d, 2)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    whole = fit(X, y, w, slope=slope)
    parts = fit(X, y, w, slope=slope, batch_size=batch_size)
    np.testing.assert_allclose(parts.loss_curve_, whole.loss_curve_, rtol=1e-10)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("standardize", [True, False])
def test_weights_are_repeated_rows(data, standardize):
    """A row of weight 0 is not there, a row of weight 3 is there three times."""
    X, y = data
    w = np.arange(len(X)) % 4
    weighted = fit(X, y, w, standardize=standardize)
    repeated = fit(np.repeat(X, w, axis=0), np.repeat(y, w), standardize=standardize)
    np.testing.assert_allclose(weighted.loss_curve_, repeated.loss_curve_, rtol=1e-8)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 3.7, 1e9])
def test_only_ratios_of_weights_count(data, factor):
    X, y = data
    one = fit(X, y)
    other = fit(X, y, np.full(len(X), factor))
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-8)


def test_order_of_rows_does_not_matter(data):
    X, y = data
    order = np.random.default_rng(0).permutation(len(X))
    one, other = fit(X, y), fit(X[order], y[order])
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-8)


# ---- stationarity -------------------------------------------------------------------------------


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("weights", [False, True])
class TestGradients:
    def set_up(self, q, weights):
        X, y = make_data(120, 2, q)
        w = np.random.default_rng(0).uniform(0.1, 2.0, len(X)) if weights else None
        return X, y, w, *standardised(X, y, w)

    @pytest.mark.parametrize("max_iter", [0, 1, 5])
    def test_output_layer(self, slope, q, weights, max_iter):
        """The slope of Eq. (1) in B and b0 is 0 for every network that is returned."""
        X, y, w, Z, Y = self.set_up(q, weights)
        model = fit(X, y, w, slope=slope, max_iter=max_iter)
        H = activate(Z @ model.A_, slope)
        share = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
        residual = share[:, None] * (H @ model.B_ + model.b0_ - Y)
        np.testing.assert_allclose(H.T @ residual + model.lam * model.B_, 0, atol=1e-10)
        np.testing.assert_allclose(residual.sum(axis=0) + model.lam * model.b0_, 0, atol=1e-10)

    @pytest.mark.parametrize("max_iter", [1, 2, 5])
    def test_hidden_layer(self, slope, q, weights, max_iter):
        """Eq. (5) has no slope in the new A, for the B, b0 and pattern it was solved for."""
        X, y, w, Z, Y = self.set_up(q, weights)
        before = fit(X, y, w, slope=slope, solver=LAST, max_iter=max_iter - 1)
        after = fit(X, y, w, slope=slope, solver=LAST, max_iter=max_iter)
        G = np.where(Z @ before.A_ > 0, 1.0, slope)
        share = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
        residual = share[:, None] * ((G * (Z @ after.A_)) @ before.B_ + before.b0_ - Y)
        gradient = Z.T @ (G * (residual @ before.B_.T)) + after.lam * after.A_
        np.testing.assert_allclose(gradient, 0, atol=1e-10)


# ---- symmetries ---------------------------------------------------------------------------------


def test_order_of_neurons_does_not_matter(data):
    X, y = data
    A, order = starting_A(2), np.random.default_rng(0).permutation(6)
    one, other = fit(X, y, init=A), fit(X, y, init=A[:, order])
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(other.A_, one.A_[:, order], atol=1e-8)
    np.testing.assert_allclose(other.B_, one.B_[order], atol=1e-8)
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-8)


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_size_of_a_neuron_does_not_matter_without_penalty(slope):
    """a_j -> s a_j, b_j -> b_j / s is the same function; only lam can tell them apart."""
    X, y = make_data(400, 2)
    A = starting_A(2, 3, seed=7)
    kwargs = {"slope": slope, "lam": 0.0, "n_hidden": 3, "max_iter": 1}
    one = fit(X, y, init=A, **kwargs)
    other = fit(X, y, init=A * [0.5, 2.0, 10.0], **kwargs)
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-7)
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-6)


def test_inputs_may_be_rotated():
    """|A| does not change under a rotation of the inputs, so nothing else does."""
    X, y = make_data(100, 3)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    A = starting_A(3)
    turned = np.vstack([A[:1], Q.T @ A[1:]])
    one = fit(X, y, init=A, standardize=False)
    other = fit(X @ Q, y, init=turned, standardize=False)
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-8)
    np.testing.assert_allclose(other.predict(X @ Q), one.predict(X), rtol=1e-6)


def test_outputs_may_be_rotated():
    X, Y = make_data(100, 2, 3)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    one, other = fit(X, Y), fit(X, Y @ Q)
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-8)
    np.testing.assert_allclose(other.predict(X), one.predict(X) @ Q, atol=1e-6)


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 100.0), (50.0, 1e-3), (-1e3, 7.0)])
def test_standardised_fits_do_not_see_units(data, shift, scale):
    """Columns of X may be shifted and scaled, y may be shifted: the network is the same."""
    X, y = data
    factors = scale ** np.array([1.0, -1.0])
    moved = X * factors + shift
    one, other = fit(X, y), fit(moved, y - 20.0)
    np.testing.assert_allclose(other.A_, one.A_, atol=1e-6)
    np.testing.assert_allclose(other.loss_, one.loss_, rtol=1e-7)
    np.testing.assert_allclose(other.predict(moved), one.predict(X) - 20.0, atol=1e-6)


# ---- outputs ------------------------------------------------------------------------------------


def test_outputs_are_separate_for_a_given_hidden_layer():
    """Eq. (4) is one system an output. (The hidden step is not: M adds over the outputs.)"""
    X, Y = make_data(80, 2, 3)
    together = fit(X, Y, max_iter=0)
    for k in range(3):
        alone = fit(X, Y[:, k], max_iter=0)
        np.testing.assert_allclose(together.B_[:, k], alone.B_[:, 0], rtol=1e-9)
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), rtol=1e-9)


def test_a_constant_output_changes_nothing(data):
    """Centred, it is 0; its weights in B are 0; it adds nothing to M, to c or to the loss."""
    X, y = data
    alone, together = fit(X, y), fit(X, np.column_stack([y, np.full(len(y), 4.5)]))
    np.testing.assert_allclose(together.loss_curve_, alone.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(together.predict(X)[:, 0], alone.predict(X), rtol=1e-8)
    np.testing.assert_allclose(together.predict(X)[:, 1], 4.5, rtol=1e-12)


def test_shape_of_y_is_the_shape_of_predict(data):
    X, y = data
    assert fit(X, y).predict(X).shape == (len(X),)
    assert fit(X, np.column_stack([y, y])).predict(X).shape == (len(X), 2)
    np.testing.assert_array_equal(fit(X, y[:, None]).predict(X).ravel(), fit(X, y).predict(X))


# ---- numbers ------------------------------------------------------------------------------------


def test_float32_input_does_not_lose_the_solution(data):
    X, y = (v.astype(np.float32) for v in data)
    single, double = fit(X, y), fit(X.astype(float), y.astype(float))
    np.testing.assert_allclose(single.loss_curve_, double.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(single.predict(X), double.predict(X), rtol=1e-5)


def test_float32_arithmetic_follows_float64():
    X, y = make_data(400, 2)
    single, double = fit(X, y, dtype="float32", max_iter=3), fit(X, y, max_iter=3)
    np.testing.assert_allclose(single.loss_curve_, double.loss_curve_, rtol=1e-3)
    np.testing.assert_allclose(single.predict(X), double.predict(X), atol=1e-2)


@pytest.mark.parametrize("seed", [0, 7])
def test_same_seed_same_bits(data, seed):
    X, y = data
    one, other = (fit(X, y, random_state=seed, max_iter=20) for _ in range(2))
    assert one.loss_curve_ == other.loss_curve_
    for name in ("A_", "B_", "b0_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_seeds_differ_and_generators_advance(data):
    X, y = data
    assert fit(X, y, random_state=0).loss_curve_ != fit(X, y, random_state=1).loss_curve_
    state = np.random.RandomState(0)
    first, second = fit(X, y, random_state=state), fit(X, y, random_state=state)
    assert first.loss_curve_ == fit(X, y, random_state=0).loss_curve_
    assert first.loss_curve_ != second.loss_curve_


def test_fit_leaves_its_arguments_alone(data):
    X, y = data
    A, w = starting_A(2), np.ones(len(X))
    copies = [v.copy() for v in (X, y, A, w)]
    for standardize in (True, False):
        fit(X, y, w, init=A, standardize=standardize)
        fit(np.asfortranarray(X), y, w, init=A, standardize=standardize)
    for array, copy in zip((X, y, A, w), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
