"""Rows shared out between devices: each sums its own, and the network is that of one device.

"cpu:0" and "cpu:1" are PyTorch on the CPU, twice. They would let arrays of two cards meet, which
cards do not; `Guarded` tensors tell whose they are, and refuse.
"""

import pickle
import threading
import time
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from conftest import in_solver, make_data
from sklearn.base import clone

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.backends import SeveralDevices, devices, get_backend
from anmin.solvers.problem import Problem
from anmin.sources import BatchSource, Scaling, Source
from anmin.sources.arrays import counting_rows
from anmin.sources.shared import KNOWN, Carrier, SharedSource
from anmin.sums.frame import ExplainedPass, FiringPass, Frame, ProductPass
from anmin.sums.gram import PatternPass
from anmin.sums.output import GradientPass, InputPass, OutputPass, ResidualPass

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the problems are small, and tests run side by side

from anmin.backends.torch import TorchBackend  # noqa: E402

TWO = ["cpu:0", "cpu:1"]
GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
LISTS = [
    pytest.param("cpu:0", TWO, id="two"),
    pytest.param("cpu:0", [f"cpu:{k}" for k in range(5)], id="five"),
    pytest.param("cuda:0", ["cuda:0", "cuda:0"], id="one card twice", marks=GPU),
]


def rows(n=500, d=3, q=2, weighted=True):
    X, y = make_data(n, d, q)
    Y, w = y.reshape(n, q), np.random.default_rng(1).uniform(0.2, 3.0, n) if weighted else None
    return counting_rows(X, Y, w), Scaling.fit(X, Y, w)


def source_on(device, batch_size=4096, dtype="float64", **case):
    raw, scaling = rows(**case)
    return raw.prepared(scaling, get_backend(device, dtype), batch_size)


def kernels(backend, p=4, q=2, h=5):
    """One of each kind, at a random network."""
    rng = np.random.default_rng(3)
    A, W = backend.double(rng.normal(size=(p, h))), backend.double(rng.normal(size=(h + 1, q)))
    V, root = (backend.double(rng.normal(size=s)) for s in ((p, h), (h + 1, h + 1)))
    frame = Frame(A, 0.1, root, W[:-1])
    explained = backend.double(rng.normal(size=(h + 1, q)))
    return [
        OutputPass(A, 0.1), ResidualPass(A, W, 0.1), GradientPass(A, W, 0.1), InputPass(),
        PatternPass(A, 0.1, V), FiringPass(frame, V), ExplainedPass(frame, V),
        ProductPass(frame, V, explained),
    ]  # fmt: skip


def numbers(backend, value):
    """All numbers of a sum, one after the other."""
    if is_dataclass(value):
        return np.concatenate([numbers(backend, getattr(value, f.name)) for f in fields(value)])
    return np.ravel(backend.to_numpy(value) if hasattr(value, "numpy") else value).astype(float)


# ---- sums ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "several"), LISTS)
@pytest.mark.parametrize("batch_size", [100, 4096])
@pytest.mark.parametrize("n", [3, 500])
def test_sums_are_those_of_one_device(one, several, batch_size, n):
    """To the bit, also where there are more devices than rows, or many batches for each."""
    single, shared = (source_on(where, batch_size, n=n) for where in (one, several))
    assert isinstance(shared, SharedSource)
    for kernel in kernels(single.backend):
        for _ in range(2):  # batches that are prepared, and that are kept
            ours, theirs = (numbers(s.backend, s.reduce(kernel)) for s in (single, shared))
            np.testing.assert_array_equal(theirs, ours)


def row_numbers(_, batch):
    return [(batch.start, len(batch))]


def test_every_row_has_one_device_and_batches_are_of_one_size():
    shared = source_on(["cpu:0"] * 3, batch_size=200, n=1000)
    found = shared.reduce(row_numbers)
    assert found == shared.reduce(row_numbers)
    assert found == [(start, 200) for start in range(0, 1000, 200)]  # in the order of the rows
    kept = [sum(map(len, share._kept.values())) for share in shared.shares]
    assert sum(kept) == 1000
    assert max(kept) - min(kept) <= 200


def test_batches_are_few_and_even_and_know_nothing_of_the_number_of_devices():
    one, two = get_backend("cpu:0"), get_backend(TWO)
    for n in (1, 1000, 131_072, 131_073, 412_276, 10**7):
        size = one.batch(n, 10**6)
        assert two.batch(n, 10**6) == size <= 2**17
        count = -(-n // size)
        assert count == -(-n // 2**17)
        assert n - (count - 1) * size > size - 256 * count or count == 1
    assert one.batch(500, 100) == 100
    assert get_backend("cpu").batch(10**7, 10**6) == 10**6


def test_devices_without_a_batch_rest():
    shared = source_on(TWO)
    assert [share.backend for share in shared.shares] == shared.backend.devices[:1]


def test_the_order_of_the_sum_does_not_depend_on_who_is_faster():
    shared = source_on(TWO, batch_size=200, n=400)

    def slow(which):
        def kernel(backend, batch):
            time.sleep(0.02 * (backend is shared.backend.devices[which]))
            return row_numbers(backend, batch)

        return kernel

    assert shared.reduce(slow(0)) == shared.reduce(slow(1)) == [(0, 200), (200, 200)]


def test_devices_work_at_once():
    shared, both = source_on(TWO, batch_size=250), threading.Barrier(2, timeout=20)
    assert shared.reduce(lambda *_: int(both.wait() >= 0)) == 2


def test_samples_stay_on_the_first_device():
    shared = source_on(TWO)
    first = shared.backend.devices[0]
    for sample in (shared.take(np.arange(9)), shared.take(np.arange(9), shared.backend)):
        assert type(sample) is Source
        assert sample.backend is first
    assert shared.rows(slice(3)).X.shape == (3, 4)
    assert type(shared.take(np.arange(9), first.single())) is Source
    for other in (
        shared.part(np.arange(100)), shared.using(shared.backend.single()),
        shared.scaled(shared.scaling), shared.only(np.array([0, 2])),
    ):  # fmt: skip
        assert isinstance(other, SharedSource)
    assert shared.using(shared.backend.single()).backend.dtype == torch.float32


# ---- streams ------------------------------------------------------------------------------------


class Readings:
    """Batches of rows that count how often they are read."""

    def __init__(self, n=900):
        self.X, self.y = make_data(n)
        self.count = 0

    def __iter__(self):
        self.count += 1
        for some in np.array_split(np.arange(len(self.X)), 7):
            yield self.X[some], self.y[some]


@pytest.mark.parametrize(("room", "again"), [(0, 1), (10**9, 0)])
def test_a_stream_is_read_once_for_all_devices(monkeypatch, room, again):
    monkeypatch.setattr(TorchBackend, "room", room)
    batches = Readings()
    raw = BatchSource(batches)
    scaling = Scaling.of(raw.measured)
    one, two = (raw.prepared(scaling, get_backend(where), 128) for where in ("cpu:0", TWO))
    kernel = OutputPass(one.backend.double(np.ones((3, 4))), 0.0)
    expected, before = one.reduce(kernel), batches.count
    np.testing.assert_array_equal(two.reduce(kernel).StS, expected.StS)
    assert batches.count == before + 1
    two.reduce(kernel)
    assert batches.count == before + 1 + again


def test_rows_are_kept_where_the_share_of_each_device_fits(monkeypatch):
    batches = Readings()
    raw = BatchSource(batches)
    monkeypatch.setattr(TorchBackend, "room", 900 * 4 * 8 * 2 // 3)  # of 2 inputs, 1, y: two thirds
    shared = raw.prepared(Scaling.of(raw.measured), get_backend(TWO), 128)
    shared.reduce(row_numbers)
    before = batches.count
    shared.reduce(row_numbers)
    assert batches.count == before


# ---- errors in a kernel -------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("streamed", [False, True])
def test_the_others_have_ended_when_a_kernel_raises(which, streamed):
    raw = BatchSource(Readings()) if streamed else rows(n=900, d=2, q=1)[0]
    shared = raw.prepared(Scaling.identity(2, 1), get_backend(TWO), 300)
    working, ended = threading.Event(), []

    def kernel(backend, batch):
        if backend is shared.backend.devices[which]:
            assert working.wait(20)
            raise ZeroDivisionError("in a kernel")
        working.set()
        time.sleep(0.05)
        ended.append(batch.start)
        return 1

    with pytest.raises(ZeroDivisionError, match="in a kernel"):
        shared.reduce(kernel)
    now = list(ended)
    assert now
    assert not [t for t in threading.enumerate() if t.name.startswith("anmin-read")]
    assert sum(length for _, length in shared.reduce(row_numbers)) == 900
    assert ended == now


# ---- what is carried ----------------------------------------------------------------------------


def test_what_was_carried_is_known_by_itself():
    backend = TorchBackend("cpu:1")
    carry, A = Carrier(backend), torch.ones(3, 2)
    frame = Frame(A, 0.0, None, A)
    there = carry(ProductPass(frame, A, None))
    assert there.frame is carry(ExplainedPass(frame, A)).frame
    assert there.frame.A is there.frame.L is there.V is not A
    assert carry(3.0) == 3.0
    assert carry(row_numbers) is row_numbers
    for _ in range(100):  # conjugate gradients: a frame that stays, and ever other directions
        assert carry(ProductPass(frame, torch.ones(3, 2), None)).frame is there.frame
    assert len(carry.known) <= KNOWN
    at_home = Carrier(get_backend("cpu"))
    assert at_home(kernel := GradientPass(np.ones((2, 2)), np.ones((3, 1)), 0.0)) is kernel


class Guarded(torch.Tensor):
    """A tensor that knows its device and meets none of another."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        found = {t.home for t in tensors_in((args, kwargs or {})) if hasattr(t, "home")}
        assert len(found) <= 1, f"arrays of devices {found} meet in {func}"
        out = super().__torch_function__(func, types, args, kwargs or {})
        for t in tensors_in(out):
            if found and not hasattr(t, "home"):
                t.__dict__["home"] = next(iter(found))
        return out


Guarded.__module__ = "torch.guarded"  # losses ask which library an array is of


def tensors_in(value):
    if isinstance(value, Guarded):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(part)


def at_home(name):
    def made(self, *args):
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, Guarded) else a for a in args]
        out = getattr(TorchBackend, name)(self, *plain)
        out = out.clone().as_subclass(Guarded)
        out.__dict__["home"] = self.home
        return out

    return made


class GuardedBackend(TorchBackend):
    """PyTorch on the CPU as if each backend were a card of its own."""

    def __init__(self, home, dtype="float64"):
        super().__init__("cpu", dtype)
        self.home = home

    def single(self):
        return GuardedBackend(self.home, "float32")

    asarray, double, integers, zeros, empty, carried = map(
        at_home, ("asarray", "double", "integers", "zeros", "empty", "carried")
    )


@pytest.fixture
def guarded(monkeypatch):
    """Fits with any list of devices run on guarded ones, in many batches."""
    monkeypatch.setattr("anmin.backends.torch.PIECE", 50)

    def pick(device, dtype="auto", _=None):
        dtype = "float64" if dtype == "auto" else dtype
        count = 1 if isinstance(device, str) else len(device)
        return SeveralDevices([GuardedBackend(k, dtype) for k in range(count)])

    monkeypatch.setattr("anmin.base.get_backend", pick)


def test_the_guard_guards():
    A, B = (GuardedBackend(k).double(np.ones((2, 2))) for k in range(2))
    with pytest.raises(AssertionError, match="meet"):
        A @ B
    assert (A @ A).home == 0


KINDS = {
    "formed": {"solver": "anmin", "linear_solver": "cholesky"},
    "products": {"solver": "anmin", "linear_solver": "cg"},
    "dense": {"solver": "varpro", "linear_solver": "cholesky"},
    "cg": {"solver": "varpro", "linear_solver": "cg"},
    "medians": {"loss": "absolute_error"},
    "quantiles": {"loss": "quantile", "quantile": [0.2, 0.8], "linear_solver": "cg"},
    "auto": {"lam": "auto", "max_iter": 30, "intervals": True},
    "early": {"early_stopping": True, "monotonic_cst": [1, 0]},
    "networks": {"lam": "auto", "n_networks": 2, "encoding": "auto", "max_iter": 40},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.usefixtures("guarded")
def test_arrays_of_two_devices_never_meet(kind):
    X, y = make_data(300)
    settings = {"n_hidden": 4, "lam": 1e-2, "max_iter": 3, "random_state": 0} | kind
    ANMINRegressor(device=TWO, **in_solver(**settings)).fit(X, y).report()


@pytest.mark.usefixtures("guarded")
def test_nor_those_of_very_wide_rows_and_classes():
    X, y = make_data(60, 2)
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(60, 2100))])
    ANMINRegressor(2, lam=0.1, max_iter=1, random_state=0, device=TWO).fit(wide, y)
    label = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    ANMINClassifier(3, lam=1e-2, max_iter=2, random_state=0, device=TWO).fit(X, label)


# ---- fits ---------------------------------------------------------------------------------------


def fit(device, n=900, **settings):
    X, y = make_data(n, 3)
    settings = {"n_hidden": 8, "lam": 1e-3, "max_iter": 6, "random_state": 0} | settings
    return ANMINRegressor(device=device, **in_solver(**settings)).fit(X, y)


FITS = {
    "formed": {"solver": "anmin", "linear_solver": "cholesky"},
    "products": {"solver": "anmin", "linear_solver": "cg"},
    "dense": {"linear_solver": "cholesky"},
    "cg": {"linear_solver": "cg"},
    "a sample's curvature": {"n_hidden": 3},
    "single": {"dtype": "float32"},
    "auto": {"lam": "auto", "n_networks": 2, "encoding": "auto", "max_iter": 20},
}


@pytest.mark.parametrize(("one", "several"), LISTS)
@pytest.mark.parametrize("kind", FITS.values(), ids=FITS.keys())
def test_the_network_is_that_of_one_device_to_the_bit(one, several, kind, monkeypatch):
    """Every record on the way as well: batches and calls are the same, sums are added in order."""
    monkeypatch.setattr("anmin.backends.torch.PIECE", 1024)
    kind = {"max_iter": 30} | kind
    ours, theirs = (fit(where, n=5000, **kind) for where in (one, several))
    before, now = ([str(replace(s, seconds=0.0)) for s in m.history_] for m in (ours, theirs))
    assert now == before
    for name in ("A_", "B_", "b0_"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_all_cards(monkeypatch):
    monkeypatch.setattr("anmin.backends.torch.PIECE", 256)
    ours, theirs = (fit(where, solver="anmin") for where in ("cuda", "cuda:all"))
    assert theirs.loss_curve_ == ours.loss_curve_


# ---- what outlives a fit ------------------------------------------------------------------------


def test_a_list_is_a_parameter_like_others(tmp_path):
    model = fit(TWO)
    assert clone(model).device == model.get_params()["device"] == TWO
    assert "device=['cpu:0', 'cpu:1']" in repr(model)
    model.save(tmp_path / "model.anmin")
    again = load_model(tmp_path / "model.anmin")
    assert again.device == TWO
    X, _ = make_data(20, 3)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.fit(*make_data(900, 3)).A_, model.A_)


def test_a_checkpoint_goes_on_with_the_same_list(tmp_path):
    path, whole = tmp_path / "log", fit(TWO)
    fit(TWO, checkpoint=path)
    again = fit(TWO, checkpoint=path)
    np.testing.assert_array_equal(again.A_, whole.A_)
    with pytest.raises(ValueError, match="made with device='cpu:0', 'cpu:1', now device='cpu:0'"):
        fit("cpu:0", checkpoint=path)


# ---- names --------------------------------------------------------------------------------------


def test_a_list_of_one_is_that_device():
    np.testing.assert_array_equal(fit(["cpu"]).A_, fit("cpu").A_)
    assert isinstance(get_backend(["cpu:0"]), TorchBackend)


def test_all_cards_are_a_list(monkeypatch):
    monkeypatch.setattr(devices, "cards", lambda: 3)
    assert devices.device_names("cuda:all") == ["cuda:0", "cuda:1", "cuda:2"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_all_of_no_cards_is_said_so(data):
    for device in ("cuda:all", ["cuda:0", "cuda:1"]):
        with pytest.raises(ValueError, match='finds no GPU here; use device="cpu"'):
            ANMINRegressor(4, device=device).fit(*data)


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ([], r"must be a string; got \[\]. Several devices are a list of strings, such as"),
        (["cpu:0", 1], "must be a string; got .*list of strings"),
        ({"cuda:0", "cuda:1"}, "must be a string; got .*list of strings"),
        (["cpu", "cpu:0"], "list with 'cpu'.*NumPy on all cores.*stand alone"),
        (["cuda:0", "auto"], "list with 'auto'.*stand alone"),
        (["cuda:0", "cuda:all"], "list with 'cuda:all'.*stand alone"),
        (["cpu:0", "nonsense"], "got 'nonsense'. Use device=\"cpu\""),
        ("cpu:all", "got 'cpu:all'. Use device=\"cpu\""),
    ],
)
def test_names_that_no_list_may_have(data, device, said):
    with pytest.raises(ValueError, match=said):
        ANMINRegressor(4, device=device).fit(*data)


def test_connections_are_on_the_cpu(data):
    with pytest.raises(ValueError, match=r"connections need .*device=\['cpu:0', 'cpu:1'\]"):
        ANMINRegressor(4, lam=1.0, connections=1, device=TWO).fit(*data)


@pytest.mark.parametrize("device", [TWO, "cuda:all"])
def test_workers_have_one_device_each(data, device):
    da = pytest.importorskip("dask.array")
    X, y = (da.from_array(V) for V in data)
    with pytest.raises(ValueError, match=r'on a cluster.*a worker for each card.*"auto"'):
        ANMINRegressor(4, device=device).fit(X, y)


def test_several_devices_are_copied_whole():
    """`__getattr__` must not ask for devices that are not there yet."""
    again = pickle.loads(pickle.dumps(SeveralDevices([get_backend("cpu"), get_backend("cpu")])))
    assert len(again.devices) == 2
    assert again.dtype == np.float64
    assert Problem(source_on(TWO), 0.1).side_by_side == 1
