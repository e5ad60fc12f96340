"""Laws that hold whatever the implementation: invariances, stationarity, same bits.

They run for both solvers, both precisions and both backends, where the law is not of one of them.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest
from conftest import activate, in_solver, make_data, standardised

from anmin import ANMINRegressor
from anmin.solvers import Algorithm1

LAST = Algorithm1(keep="last")
SINGLE = 2e-4  # what is left of seven digits after a few solved systems


class How:
    """One way of computing: solver, precision, backend."""

    def __init__(self, solver, dtype, device):
        self.solver, self.dtype, self.device = solver, dtype, device
        self.paper, self.single = solver == "anmin", dtype == "float32"

    def fit(self, X, y, w=None, *, n_hidden=6, **kwargs):
        """Six iterations of Algorithm 1; three of VarPro, which soon tells rounding apart."""
        settings = {"solver": self.solver, "lam": 1e-2, "random_state": 0, "device": self.device}
        settings |= {"dtype": self.dtype, "max_iter": 6 if self.paper else 3} | kwargs
        return ANMINRegressor(n_hidden, **in_solver(**settings)).fit(X, y, sample_weight=w)

    def same(self, one, other, tol=1e-8, single=SINGLE):
        """Equal to `tol` of the size of what is compared; in single precision to its digits."""
        tol = max(tol, single) if self.single else tol
        np.testing.assert_allclose(one, other, rtol=tol, atol=tol * np.abs(other).max())


def ways(solvers):
    for solver, dtype, device in product(solvers, ["float64", "float32"], ["cpu", "cpu:0"]):
        backend = "numpy" if device == "cpu" else "torch"
        yield pytest.param(solver, dtype, device, id=f"{solver}-{dtype}-{backend}")


def way(request):
    solver, dtype, device = request.param
    if device != "cpu":
        pytest.importorskip("torch").set_num_threads(1)
    return How(solver, dtype, device)


@pytest.fixture(params=[p.values for p in ways(["anmin", "varpro"])],
                ids=[p.id for p in ways(["anmin", "varpro"])])  # fmt: skip
def how(request):
    """Every way of computing."""
    return way(request)


@pytest.fixture(params=[p.values for p in ways(["anmin"])], ids=[p.id for p in ways(["anmin"])])
def paper(request):
    """Every way of computing Algorithm 1."""
    return way(request)


def fit(X, y, w=None, **kwargs):
    return How("anmin", "float64", "cpu").fit(X, y, w, **kwargs)


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


def test_batches_do_not_matter(how):
    X, y = make_data(9000, 2, 2)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    whole, parts = (
        how.fit(X, y, w, batch_size=size, slope=0.1, max_iter=2) for size in (10**6, 4096)
    )
    how.same(parts.loss_curve_, whole.loss_curve_, 1e-9, single=2e-3)  # sums over many rows
    how.same(parts.predict(X), whole.predict(X), single=2e-3)


@pytest.mark.parametrize("standardize", [True, False])
def test_weights_are_repeated_rows(how, data, standardize):
    """A row of weight 0 is not there, a row of weight 3 is there three times."""
    X, y = data
    w = np.arange(len(X)) % 4
    weighted = how.fit(X, y, w, standardize=standardize)
    repeated = how.fit(np.repeat(X, w, axis=0), np.repeat(y, w), standardize=standardize)
    how.same(weighted.loss_curve_, repeated.loss_curve_)
    how.same(weighted.predict(X), repeated.predict(X), 1e-7)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 3.7, 1e9])
def test_only_ratios_of_weights_count(how, data, factor):
    X, y = data
    one = how.fit(X, y)
    other = how.fit(X, y, np.full(len(X), factor))
    how.same(other.loss_curve_, one.loss_curve_, 1e-9)
    how.same(other.predict(X), one.predict(X))


def test_order_of_rows_does_not_matter(how, data):
    X, y = data
    order = np.random.default_rng(0).permutation(len(X))
    one, other = how.fit(X, y), how.fit(X[order], y[order])
    how.same(other.loss_curve_, one.loss_curve_, 1e-9)
    how.same(other.predict(X), one.predict(X))


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
    def test_output_layer(self, how, slope, q, weights, max_iter):
        """The slope of Eq. (1) in B and b0 is 0 for every network that is returned."""
        X, y, w, Z, Y = self.set_up(q, weights)
        model = how.fit(X, y, w, slope=slope, max_iter=max_iter)
        H = activate(Z @ model.A_, slope)
        share = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
        residual = share[:, None] * (H @ model.B_ + model.b0_ - Y)
        atol = 1e-5 if how.single else 1e-10
        np.testing.assert_allclose(H.T @ residual + model.lam * model.B_, 0, atol=atol)
        np.testing.assert_allclose(residual.sum(axis=0) + model.lam * model.b0_, 0, atol=atol)

    @pytest.mark.parametrize("max_iter", [1, 2, 5])
    def test_hidden_layer(self, paper, slope, q, weights, max_iter):
        """Eq. (5) has no slope in the new A, for the B, b0 and pattern it was solved for."""
        X, y, w, Z, Y = self.set_up(q, weights)
        before = paper.fit(X, y, w, slope=slope, solver=LAST, max_iter=max_iter - 1)
        after = paper.fit(X, y, w, slope=slope, solver=LAST, max_iter=max_iter)
        G = np.where(Z @ before.A_ > 0, 1.0, slope)
        share = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
        residual = share[:, None] * ((G * (Z @ after.A_)) @ before.B_ + before.b0_ - Y)
        gradient = Z.T @ (G * (residual @ before.B_.T)) + after.lam * after.A_
        np.testing.assert_allclose(gradient, 0, atol=1e-5 if paper.single else 1e-10)


# ---- symmetries ---------------------------------------------------------------------------------


def test_order_of_neurons_does_not_matter(how, data):
    X, y = data
    A, order = starting_A(2), np.random.default_rng(0).permutation(6)
    one, other = how.fit(X, y, init=A), how.fit(X, y, init=A[:, order])
    how.same(other.loss_curve_, one.loss_curve_, 1e-9)
    how.same(other.predict(X), one.predict(X))
    if not how.single:  # where the last digits decide which of the idle units are removed
        weights = [np.vstack([model.A_, model.B_.T]) for model in (one, other)]
        ours, theirs = (W[:, W[0].argsort()] for W in weights)
        how.same(theirs, ours)
    if how.paper:
        how.same(other.A_, one.A_[:, order])
        how.same(other.B_, one.B_[order])


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_size_of_a_neuron_does_not_matter_without_penalty(paper, slope):
    """a_j -> s a_j, b_j -> b_j / s is the same function; only lam can tell them apart."""
    X, y = make_data(400, 2)
    A = starting_A(2, 3, seed=7)
    kwargs = {"slope": slope, "lam": 0.0, "n_hidden": 3, "max_iter": 1}
    one = paper.fit(X, y, init=A, **kwargs)
    other = paper.fit(X, y, init=A * [0.5, 2.0, 10.0], **kwargs)
    paper.same(other.loss_curve_, one.loss_curve_, 1e-7)
    paper.same(other.predict(X), one.predict(X), 1e-6)


def test_inputs_may_be_rotated(paper):
    """|A| does not change under a rotation of the inputs, so nothing else does.

    In single precision a row may lie on the other side of a hinge after it, in one start or two.
    """
    X, y = make_data(100, 3)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    apart, turns = [], 3 if paper.single else 6
    for seed in range(5):
        A = starting_A(3, seed=seed)
        turned = np.vstack([A[:1], Q.T @ A[1:]])
        one = paper.fit(X, y, init=A, standardize=False, max_iter=turns)
        other = paper.fit(X @ Q, y, init=turned, standardize=False, max_iter=turns)
        if not paper.single:
            paper.same(other.loss_curve_, one.loss_curve_)
            paper.same(other.predict(X @ Q), one.predict(X), 1e-6)
        apart.append(np.abs(other.predict(X @ Q) / one.predict(X) - 1).max())
    assert np.median(apart) < SINGLE


def test_outputs_may_be_rotated(how):
    X, Y = make_data(100, 2, 3)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    one, other = how.fit(X, Y), how.fit(X, Y @ Q)
    how.same(other.loss_curve_, one.loss_curve_)
    centre, turned = Y.mean(axis=0), (Y @ Q).mean(axis=0)
    how.same(other.predict(X) - turned, (one.predict(X) - centre) @ Q, 1e-7)


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 100.0), (50.0, 1e-3), (-1e3, 7.0)])
def test_standardised_fits_do_not_see_units(how, data, shift, scale):
    """Columns of X may be shifted and scaled, y may be shifted: the network is the same."""
    X, y = data
    factors = scale ** np.array([1.0, -1.0])
    moved = X * factors + shift
    one, other = how.fit(X, y), how.fit(moved, y - 20.0)
    how.same(other.A_, one.A_, 1e-6)
    how.same(other.loss_, one.loss_, 1e-7)
    how.same(other.predict(moved) + 20.0, one.predict(X), 1e-6)


# ---- outputs ------------------------------------------------------------------------------------


def test_outputs_are_separate_for_a_given_hidden_layer(paper):
    """Eq. (4) is one system an output. (The hidden step is not: M adds over the outputs.)"""
    X, Y = make_data(80, 2, 3)
    together = paper.fit(X, Y, max_iter=0)
    for k in range(3):
        alone = paper.fit(X, Y[:, k], max_iter=0)
        paper.same(together.B_[:, k], alone.B_[:, 0], 1e-9)
        paper.same(together.predict(X)[:, k], alone.predict(X), 1e-9)


def test_a_constant_output_changes_nothing(how, data):
    """Centred, it is 0; its weights in B are 0; it adds nothing to M, to c or to the loss."""
    X, y = data
    alone, together = how.fit(X, y), how.fit(X, np.column_stack([y, np.full(len(y), 4.5)]))
    how.same(together.loss_curve_, alone.loss_curve_, 1e-9)
    how.same(together.predict(X)[:, 0], alone.predict(X))
    np.testing.assert_allclose(together.predict(X)[:, 1], 4.5, rtol=1e-12)


def test_shape_of_y_is_the_shape_of_predict(how, data):
    X, y = data
    assert how.fit(X, y).predict(X).shape == (len(X),)
    assert how.fit(X, np.column_stack([y, y])).predict(X).shape == (len(X), 2)
    flat, column = how.fit(X, y).predict(X), how.fit(X, y[:, None]).predict(X)
    np.testing.assert_array_equal(column.ravel(), flat)


# ---- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["anmin", "varpro"])
def test_float32_input_does_not_lose_the_solution(data, solver):
    X, y = (v.astype(np.float32) for v in data)
    how = How(solver, "auto", "cpu")
    single, double = how.fit(X, y), how.fit(X.astype(float), y.astype(float))
    how.same(single.loss_curve_, double.loss_curve_, 1e-9)
    np.testing.assert_allclose(single.predict(X), double.predict(X), rtol=1e-5)


def test_every_way_follows_that_of_float64_in_numpy(how):
    X, y = make_data(400, 2)
    ours, plain = how.fit(X, y), How(how.solver, "float64", "cpu").fit(X, y)
    how.same(ours.loss_curve_, plain.loss_curve_, 1e-9)
    how.same(ours.predict(X), plain.predict(X))


@pytest.mark.parametrize("lam", [1e-2, "auto"])
@pytest.mark.parametrize("seed", [0, 7])
def test_same_seed_same_bits(how, data, seed, lam):
    X, y = data
    one, other = (how.fit(X, y, random_state=seed, lam=lam, max_iter=20) for _ in range(2))
    assert one.loss_curve_ == other.loss_curve_
    for name in ("A_", "B_", "b0_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("solver", ["anmin", "varpro"])
def test_fits_in_threads_give_the_bits_of_fits_alone(solver):
    """Short fits beside a long one."""
    how, (X, y) = How(solver, "float64", "cpu"), make_data(600, 4)

    def weights(seed):
        most = 30 if seed == 0 else 4
        return how.fit(X, y, n_hidden=20, lam=1e-4, random_state=seed, max_iter=most).A_

    alone = [weights(seed) for seed in range(6)]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(weights, range(6)))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_seeds_differ_and_generators_advance(how, data):
    X, y = data
    assert how.fit(X, y, random_state=0).loss_curve_ != how.fit(X, y, random_state=1).loss_curve_
    state = np.random.RandomState(0)
    first, second = how.fit(X, y, random_state=state), how.fit(X, y, random_state=state)
    assert first.loss_curve_ == how.fit(X, y, random_state=0).loss_curve_
    assert first.loss_curve_ != second.loss_curve_


def test_fit_leaves_its_arguments_alone(how, data):
    X, y = data
    A, w = starting_A(2), np.ones(len(X))
    copies = [v.copy() for v in (X, y, A, w)]
    for standardize in (True, False):
        how.fit(X, y, w, init=A, standardize=standardize)
        how.fit(np.asfortranarray(X), y, w, init=A, standardize=standardize)
    for array, copy in zip((X, y, A, w), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
