"""One contract for every place where flops run: NumPy, PyTorch on the CPU or on a GPU, on several.

A network of Algorithm 1 is the same to the last digits; VarPro, which takes many steps by
comparing losses, must reach a loss as low.
"""

import numpy as np
import pytest
from conftest import in_solver, make_data

from anmin import ANMINClassifier, ANMINRegressor
from anmin.backends import NumpyBackend, SeveralDevices, get_backend

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the problems are small, and tests run side by side

from anmin.backends.torch import TorchBackend  # noqa: E402

pytestmark = pytest.mark.slow

GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
TWICE = "twice"  # two shares of the rows, each with a device of its own
DEVICES = [
    "torch-cpu",
    f"torch-cpu {TWICE}",
    pytest.param("cuda", marks=GPU),
    pytest.param(f"cuda {TWICE}", marks=GPU),
]
CASES = {
    "plain": {},
    "many outputs": {"q": 3},
    "weights": {"weighted": True},
    "leaky": {"slope": 0.1},
    "all at once": {"q": 2, "weighted": True, "slope": 0.05},
    "two words": {"n": 700, "d": 1, "n_hidden": 70},
    "one input": {"d": 1},
    "raw": {"standardize": False},
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    """A device name; for "torch-cpu" the estimators are given PyTorch on the CPU."""

    def pick(name, dtype="auto", threads=None):
        if name.endswith(TWICE):
            monkeypatch.setattr("anmin.backends.torch.PIECE", 150)
            return SeveralDevices([pick(name.split()[0], dtype) for _ in range(2)])
        if name != "torch-cpu":
            return get_backend(name, dtype, threads)
        return TorchBackend("cpu:0", "float64" if dtype == "auto" else dtype)

    monkeypatch.setattr("anmin.base.get_backend", pick)
    return request.param


def rows(n=400, d=3, q=1, weighted=False):
    X, y = make_data(n, d, q)
    return X, y, np.random.default_rng(1).uniform(0.2, 3.0, n) if weighted else None


def both(device, *, n=400, d=3, q=1, weighted=False, **settings):
    """The same fit on the CPU with NumPy and on the device."""
    X, y, w = rows(n, d, q, weighted)
    settings = {"n_hidden": 6, "lam": 1e-2, "max_iter": 5, "random_state": 0} | settings
    models = [ANMINRegressor(device=where, **in_solver(**settings)) for where in ("cpu", device)]
    return X, [model.fit(X, y, sample_weight=w) for model in models]


# ---- Algorithm 1 --------------------------------------------------------------------------------


@cases
def test_direct_steps_give_the_same_network(device, case):
    X, (ours, theirs) = both(device, solver="anmin", linear_solver="cholesky", **case)
    np.testing.assert_allclose(theirs.loss_curve_, ours.loss_curve_, rtol=1e-8)
    np.testing.assert_allclose(theirs.predict(X), ours.predict(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(theirs.A_, ours.A_, rtol=1e-6, atol=1e-6)
    for one, other in zip(ours.history_, theirs.history_, strict=True):
        assert (one.status, one.dead) == (other.status, other.dead)
        assert one.cells == other.cells or device.endswith(TWICE)  # counted batch by batch
        np.testing.assert_allclose(
            [other.flips, other.frozen_loss, other.logdet],
            [one.flips, one.frozen_loss, one.logdet], rtol=1e-8,
        )  # fmt: skip


@cases
def test_conjugate_gradients_lead_to_the_same_losses(device, case):
    """In single precision a row on a hinge can part two fits, so the median of five counts."""
    ratios = []
    for seed in range(5):
        settings = {"solver": "anmin", "linear_solver": "cg", "random_state": seed}
        _, (ours, theirs) = both(device, **(settings | case))
        assert theirs.loss_curve_[0] == pytest.approx(ours.loss_curve_[0], rel=1e-8)
        curves = [[*model.loss_curve_[:3], model.loss_] for model in (ours, theirs)]
        ratios.append(np.divide(*curves))
    apart = np.median(np.abs(np.array(ratios) - 1), axis=0)
    assert apart[:3].max() < 5e-3
    assert apart[3] < 0.05


def test_single_precision_gives_the_same_network_to_its_digits(device):
    X, (ours, theirs) = both(device, solver="anmin", dtype="float32", q=2)
    np.testing.assert_allclose(theirs.loss_curve_[:2], ours.loss_curve_[:2], rtol=1e-5)
    assert theirs.loss_ == pytest.approx(ours.loss_, rel=0.02)
    assert theirs.A_.dtype == theirs.predict(X).dtype == np.float64


def test_a_degenerate_system_is_floored_alike(device):
    X, (ours, theirs) = both(device, solver="anmin", lam=0.0, n=20, d=4, n_hidden=8, max_iter=2)
    assert [s.status for s in theirs.history_] == [s.status for s in ours.history_]
    assert theirs.history_[0].loss == pytest.approx(ours.history_[0].loss, rel=1e-6, abs=1e-9)
    assert np.isfinite(theirs.predict(X)).all()


# ---- VarPro -------------------------------------------------------------------------------------


def compare_varpro(device, same, rtol, **case):
    """The `same` first losses; later ones may part: the median of five seeds is no higher."""
    ratios = []
    for seed in range(5):
        _, models = both(device, max_iter=40, lam=1e-3, random_state=seed, **case)
        curves = [model.loss_curve_ for model in models]
        np.testing.assert_allclose(curves[1][:same], curves[0][:same], rtol=rtol)
        assert (np.diff(curves[1]) <= 0).all()
        ratios.append(models[1].loss_ / models[0].loss_)
    assert np.median(ratios) <= 1.1  # a lower one is as good a minimum


@pytest.mark.slow
@cases
@pytest.mark.parametrize("linear_solver", ["cholesky", "cg"])
def test_varpro_reaches_a_loss_as_low(device, case, linear_solver):
    case = case | {"n_hidden": min(case.get("n_hidden", 6), 20), "linear_solver": linear_solver}
    compare_varpro(device, 4, 1e-5, **case)


def test_varpro_in_single_precision(device):
    compare_varpro(device, 2, 1e-3, dtype="float32")


def test_more_than_a_word_of_units(device):
    _, (ours, theirs) = both(device, d=1, n_hidden=70, max_iter=5, lam=1e-4)
    np.testing.assert_allclose(theirs.loss_curve_, ours.loss_curve_, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("q", [1, 2])
def test_an_automatic_penalty(device, q):
    X, (ours, theirs) = both(device, lam="auto", max_iter=None, n_networks=1, encoding=None, q=q)
    assert theirs.lam_ == pytest.approx(ours.lam_, rel=1e-6)
    assert theirs.loss_ == pytest.approx(ours.loss_, rel=1e-3)
    assert theirs.n_hidden_ == ours.n_hidden_
    assert ours.score(X, make_data(400, 3, q)[1]) > 0.8


def test_a_classifier(device):
    X, y, _ = rows(300)
    label = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    ours, theirs = (
        ANMINClassifier(6, lam=1e-3, solver="anmin", max_iter=4, device=where, random_state=0).fit(
            X, label
        )
        for where in ("cpu", device)
    )
    np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), atol=1e-6)


# ---- rows that do not fit -----------------------------------------------------------------------


@pytest.mark.parametrize("backend", [NumpyBackend, TorchBackend])
@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "anmin", "linear_solver": "cholesky"},
        {"solver": "anmin", "linear_solver": "cg"},
        {"solver": "varpro", "linear_solver": "cholesky"},
        {"solver": "varpro", "linear_solver": "cg"},
    ],
    ids=lambda s: "-".join(s.values()),
)
def test_streamed_rows_give_the_same_answer(monkeypatch, device, backend, settings):
    where = "cpu" if backend is NumpyBackend else device
    X, y, w = rows(9000, 2, 2, weighted=True)
    settings = {"lam": 1e-2, "max_iter": 4, "batch_size": 4096, "random_state": 0} | settings
    kept = ANMINRegressor(5, device=where, **in_solver(**settings)).fit(X, y, sample_weight=w)
    monkeypatch.setattr(backend, "room", 0)
    streamed = ANMINRegressor(5, device=where, **in_solver(**settings)).fit(X, y, sample_weight=w)
    few = 1e-8 if backend is NumpyBackend else 1e-7  # kept tensors are stacked: other rounding
    np.testing.assert_allclose(streamed.loss_curve_, kept.loss_curve_, rtol=few)
    np.testing.assert_allclose(streamed.predict(X), kept.predict(X), rtol=1e-6, atol=1e-6)


# ---- names of devices ---------------------------------------------------------------------------


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_no_gpu_is_said_so(data, name):
    with pytest.raises(ValueError, match=f"device='{name}'.*no GPU"):
        ANMINRegressor(4, device=name).fit(*data)


@pytest.mark.parametrize("name", ["nonsense", "gpu", ""])
def test_an_unknown_device_is_named(data, name):
    with pytest.raises(ValueError, match="device"):
        ANMINRegressor(4, device=name).fit(*data)


@pytest.mark.parametrize("name", [3, None, 1.0, True])
def test_a_device_is_a_string(data, name):
    with pytest.raises(ValueError, match=f"device must be a string; got {name}"):
        ANMINRegressor(4, device=name).fit(*data)


def test_auto_takes_what_there_is():
    found = get_backend("auto")
    assert isinstance(found, TorchBackend if torch.cuda.is_available() else NumpyBackend)
    assert isinstance(get_backend("cpu", "float32"), NumpyBackend)


def test_without_pytorch_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match="anmin\\[torch\\]"):
        get_backend("cuda")
    assert isinstance(get_backend("auto"), NumpyBackend)
