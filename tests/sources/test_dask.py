"""Dask: faults, bad partitions, odd collections, and what travels."""

import os
import pickle
import signal
import threading
import time

import containers
import numpy as np
import pytest
from conftest import in_solver, make_data

from anmin import ANMINClassifier, ANMINRegressor
from anmin.backends import NumpyBackend
from anmin.sources import DaskSource, Scaling, worker
from anmin.sources import cluster as module
from anmin.sums.gram import PatternPass
from anmin.sums.output import OutputPass

pytestmark = pytest.mark.slow

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

MODEL = {"n_hidden": 4, "lam": 1e-2, "max_iter": 3, "random_state": 0, "solver": "anmin"}


def model(**settings):
    return ANMINRegressor(**in_solver(**(MODEL | settings)))


@pytest.fixture
def here():
    """No cluster: one partition after the other, in this process."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed")
    with containers.local_cluster() as client:
        yield client


def collections(n=600, d=2, rows=100):
    X, y = make_data(n, d)
    return X, y, da.from_array(X, chunks=(rows, d)), da.from_array(y, chunks=rows)


def at_pass(monkeypatch, number, action):
    """Do something when the pass of this number begins."""
    passes = []
    total = DaskSource.total

    def counting(self, *args, **more):
        passes.append(None)
        if len(passes) == number:
            action()
        return total(self, *args, **more)

    monkeypatch.setattr(DaskSource, "total", counting)
    return passes


# ---- faults -------------------------------------------------------------------------------------


def test_a_killed_worker_changes_nothing(client, monkeypatch):
    """Killed in the middle of a pass; Dask starts another and makes its partitions again."""
    _, _, X, y = collections(20_000, 3, 2_000)
    calm = model(n_hidden=12, max_iter=4).fit(X, y)
    victim = min(client.run(os.getpid).values())
    kill = threading.Timer(0.03, os.kill, (victim, signal.SIGKILL))
    passes = at_pass(monkeypatch, 3, kill.start)
    shaken = model(n_hidden=12, max_iter=4).fit(X, y)
    assert len(passes) > 4
    client.wait_for_workers(2)
    assert victim not in client.run(os.getpid).values()
    np.testing.assert_array_equal(shaken.A_, calm.A_)
    assert shaken.loss_curve_ == calm.loss_curve_


def test_a_worker_that_joins_is_used(client, monkeypatch):
    """Dask hands it partitions that wait elsewhere, if they are worth the way."""

    def tasks_done(dask_worker):
        return dask_worker.state.executed_count

    def join():
        client.cluster.scale(3)
        client.wait_for_workers(3)

    before = set(client.run(tasks_done))
    _, _, X, y = collections(60_000, 6, 5_000)
    at_pass(monkeypatch, 2, join)
    joined = model(n_hidden=160, max_iter=3).fit(X, y)
    done = client.run(tasks_done)
    assert next(count for address, count in done.items() if address not in before) > 0
    alone = model(n_hidden=160, max_iter=3).fit(X.compute(), y.compute())
    np.testing.assert_allclose(joined.A_, alone.A_, rtol=1e-8, atol=1e-8)


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    """Lost in the middle of a fit, for good: an error in time, and not a wait without end."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(worker, "PATIENCE", "3s")
    monkeypatch.setattr(worker, "LOOK", 0.5)
    _, _, X, y = collections()
    with containers.local_cluster(1) as client:
        at_pass(monkeypatch, 3, lambda: client.cluster.scale(0))
        begun = time.monotonic()
        with pytest.raises(RuntimeError, match="the Dask cluster has had no worker for 3s"):
            model(max_iter=30).fit(X, y)
        assert time.monotonic() - begun < 30


def test_an_error_of_a_partition_is_not_taken_for_waiting(client):
    def read(block, block_id=None):
        raise TimeoutError("no such tape")

    _, _, X, y = collections()
    with pytest.raises(TimeoutError, match="no such tape"):
        model().fit(X.map_blocks(read, dtype=float), y)


@pytest.mark.parametrize("where", ["here", "client"])
def test_a_partition_that_raises_ends_the_fit(request, where):
    request.getfixturevalue(where)

    def read(block, block_id=None):
        if block_id[0] == 4:
            raise OSError("no such tape")
        return block

    _, _, X, y = collections()
    with pytest.raises(OSError, match="no such tape"):
        model().fit(X.map_blocks(read, dtype=float), y)


def test_a_pass_that_raises_names_its_partition(here, monkeypatch):
    _, _, dX, dy = collections()
    source = DaskSource(dX, dy)
    rows = source.prepared(Scaling.of(source.measured), NumpyBackend(), 4096)

    def kernel(backend, batch):
        raise FloatingPointError("too large")

    with pytest.raises(ValueError, match=r"partition \d: FloatingPointError\('too large"):
        rows.reduce(kernel)


# ---- bad rows -----------------------------------------------------------------------------------


def test_bad_cells_say_where_they_are(here):
    X, y, _, dy = collections()
    X[731 % 600, 1] = np.nan
    with pytest.raises(ValueError, match=r"partition 1, row 31, column 'X\[:, 1\]' is nan"):
        model().fit(da.from_array(X, chunks=(100, 2)), dy)
    source = DaskSource(da.from_array(X, chunks=(100, 2)), dy, bad_rows="skip")
    left = model().fit(source)
    assert left.n_skipped_ == source.n_skipped_ == 1
    clean = np.isfinite(X).all(axis=1)
    np.testing.assert_allclose(left.A_, model().fit(X[clean], y[clean]).A_, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match=r"partition 1, row 31"):
        left.predict(da.from_array(X, chunks=(100, 2))).compute()
    with pytest.raises(TypeError, match="give it the X"):
        left.predict(source)


def test_text_in_a_dataframe(here):
    table = pd.DataFrame({"a": ["1", "2", "three", "4"], "b": [1.0, 2, 3, 4], "y": [1.0, 2, 3, 4]})
    rows = dd.from_pandas(table, npartitions=2)
    with pytest.raises(ValueError, match=r"the columns \['a'\] of the dataframe hold text"):
        model().fit(rows[["a", "b"]], rows["y"])


# ---- collections of many kinds ------------------------------------------------------------------


def test_without_a_cluster(here):
    X, y, dX, dy = collections()
    np.testing.assert_allclose(model().fit(dX, dy).A_, model().fit(X, y).A_, atol=1e-9)


def test_partitions_may_be_empty(here):
    X, y, dX, dy = collections()
    some = dX[:, 0] > -1.0  # sizes that nobody knows
    few = X[:, 0] > -1.0
    assert np.isnan(dX[some].chunks[0]).all()
    first = da.concatenate([dX[:100][dX[:100, 0] > 99.0], dX[some]])
    second = da.concatenate([dy[:100][dX[:100, 0] > 99.0], dy[some]])
    np.testing.assert_allclose(
        model().fit(first, second).A_, model().fit(X[few], y[few]).A_, rtol=1e-8, atol=1e-8
    )


def test_y_and_weights_may_be_arrays(here):
    X, y, dX, _ = collections()
    w = np.arange(600) % 3
    ours, theirs = model().fit(X, y, w), model().fit(dX, y, w)
    np.testing.assert_allclose(theirs.A_, ours.A_, atol=1e-9)


def test_collections_that_do_not_match(here):
    X, y, dX, dy = collections()
    with pytest.raises(ValueError, match="y is missing"):
        model().fit(dX)
    with pytest.raises(ValueError, match="X has 600 rows but y or weight 500"):
        model().fit(dX, dy[:500])
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=3)
    with pytest.raises(ValueError, match="y has 6 partitions, X has 3"):
        model().fit(frame, dy)
    with pytest.raises(ValueError, match="unknown sizes"):
        model().fit(frame, y)
    other = dd.from_pandas(pd.Series(y[:599]), npartitions=3)
    with pytest.raises(ValueError, match=r"partition 2 .* their rows must match"):
        model().fit(frame, other)


def test_predictions_are_lazy(here):
    X, y, dX, _ = collections()
    fitted = model().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=3)
    lazy = fitted.predict(frame[["b", "a"]])  # columns go by name
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), fitted.predict(pd.DataFrame(X, columns=["a", "b"])))
    assert fitted.predict(dX.rechunk((50, 1))).chunks == ((50,) * 12,)
    with pytest.raises(ValueError, match="X has no column 'a'"):
        fitted.predict(frame.rename(columns={"a": "c"}))
    with pytest.raises(ValueError, match="3 features, but the model expects 2"):
        fitted.predict(da.ones((10, 3)))


def test_a_classifier_predicts_lazily(here):
    X, y, dX, _ = collections()
    for edges in ([0.5], [0.3, 0.7]):
        label = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, edges))]
        fitted = ANMINClassifier(3, lam=1e-2, max_iter=2, random_state=0).fit(X, label)
        assert (fitted.predict(dX).compute() == fitted.predict(X)).all()
        np.testing.assert_allclose(fitted.predict_proba(dX).compute(), fitted.predict_proba(X))
        with pytest.raises(ValueError, match="must be a finite number"):
            fitted.fit(dX, label)  # labels of a collection are numbers


def test_the_device_is_the_workers_choice(here):
    """Arrays travel as NumPy's, whatever the workers compute with."""
    pytest.importorskip("torch")
    X, y, dX, dy = collections()
    for settings in ({}, {"linear_solver": "cg"}, {"solver": "varpro"}):
        ours, theirs = model(**settings).fit(X, y), model(device="cpu:0", **settings).fit(dX, dy)
        assert theirs.loss_ == pytest.approx(ours.loss_, rel=1e-4)
    single = model(dtype="float32", device="cpu:0").fit(dX, dy)
    assert single.loss_ == pytest.approx(model().fit(X, y).loss_, rel=1e-3)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_workers_with_a_card_use_it(scheduler):
    """With device="auto" the others compute as with "cpu", one thread each."""
    torch = pytest.importorskip("torch")
    *_, dX, dy = collections()
    raw = DaskSource(dX, dy).on("auto")
    with dask.config.set(scheduler=scheduler):
        source = raw.prepared(Scaling.of(raw.measured), NumpyBackend(), 4096)
        found = source.reduce(lambda backend, _: [backend])
        ours, theirs = (model(device=name).fit(dX, dy) for name in ("cpu", "auto"))
    if torch.cuda.is_available():
        assert {backend.device.type for backend in found} == {"cuda"}
        assert theirs.loss_ == pytest.approx(ours.loss_, rel=1e-6)
    else:
        assert {backend.threads for backend in found} == {1}
        np.testing.assert_array_equal(theirs.A_, ours.A_)


@pytest.mark.gpu
@pytest.mark.parametrize("solver", ["anmin", "varpro"])
def test_the_card_of_a_cluster(solver):
    """Workers in this process: drivers of cards take more memory than our clusters are given."""
    torch, distributed = pytest.importorskip("torch"), pytest.importorskip("distributed")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    X, y, dX, dy = collections()
    ours = model(solver=solver, device="cuda").fit(X, y)
    with distributed.Client(processes=False, n_workers=2, dashboard_address=":0"):
        theirs = model(solver=solver, device="cuda").fit(dX, dy)
    assert theirs.loss_ == pytest.approx(ours.loss_, rel=1e-4)


# ---- what travels -------------------------------------------------------------------------------


def test_what_travels_does_not_grow_with_the_rows(here, monkeypatch):
    """A partition's answer has the size of the sums; only a sample of rows goes to the driver."""
    sizes = {}

    def weighed(work, *args):
        answer = module_run(work, *args)
        kind = getattr(work, "__name__", type(getattr(work, "kernel", work)).__name__)
        sizes.setdefault(kind, []).append((len(pickle.dumps(work)), len(pickle.dumps(answer))))
        return answer

    module_run = worker.run
    monkeypatch.setattr(worker, "run", weighed)
    monkeypatch.setattr(module, "FEW", 0)
    most = {}
    for rows in (5_000, 20_000):
        sizes.clear()
        _, _, X, y = collections(4 * rows, 2, rows)
        model(solver="varpro", max_iter=2).fit(X, y)
        model(linear_solver="cg").fit(X, y)
        model().fit(X, y)
        most[rows] = {kind: np.max(found, axis=0) for kind, found in sizes.items()}
    assert len(most[5_000]) > 8
    for kind, (sent, answered) in most[20_000].items():
        if kind != "all_rows":
            assert sent < 4_000, kind
            assert answered < 8_000, kind
    assert most[20_000].keys() == most[5_000].keys()


def test_parts_of_parts(here):
    X, y, dX, dy = collections()
    source = DaskSource(dX, dy, da.from_array(1.0 + y**2, chunks=100))
    some, fewer = np.array([3, 599, 250, 17]), np.array([2, 0])
    part = source.part(some)  # in the order of the rows: 3, 17, 250, 599
    np.testing.assert_array_equal(part.gather(fewer).chunk.X, X[[250, 3]])
    assert part.part(fewer).tally() == (2, pytest.approx((1 + y[[3, 250]] ** 2).sum()))
    np.testing.assert_array_equal(part.part(fewer).gather(np.arange(2)).chunk.X, X[[3, 250]])


@pytest.mark.parametrize("kernel", [OutputPass, PatternPass])
def test_sums_are_those_of_one_machine(here, kernel):
    X, y, dX, dy = collections()
    source = DaskSource(dX, dy)
    scaling = Scaling.of(source.measured)
    A = np.random.default_rng(0).normal(size=(3, 5))
    spread = source.prepared(scaling, NumpyBackend(), 4096).reduce(kernel(A, 0.1))
    local = containers_source(X, y, scaling).reduce(kernel(A, 0.1))
    for name in ("n", "YtY", "StS", "ZtZ", "ZtY"):
        if hasattr(local, name):
            np.testing.assert_allclose(getattr(spread, name), getattr(local, name), rtol=1e-10)


def containers_source(X, y, scaling):
    from anmin.sources import ArraySource

    return ArraySource(X, y[:, None], None, scaling, NumpyBackend(), 4096)


def test_partitions_stay_in_memory_only_where_there_is_room(client, monkeypatch):
    _, _, X, y = collections()
    source = DaskSource(X, y)
    first = list(source.pieces)
    assert source.measured.x.n == 600
    assert all(one is not other for one, other in zip(first, source.pieces, strict=True))
    monkeypatch.setattr(worker, "KEEP", 0.0)
    source = DaskSource(X, y)
    first = list(source.pieces)
    assert source.measured.x.n == 600
    assert all(one is other for one, other in zip(first, source.pieces, strict=True))
    rows = source.prepared(Scaling.of(source.measured), NumpyBackend(), 4096)
    with pytest.raises(NotImplementedError, match="stay on its workers"):
        next(rows.batches())
    with pytest.raises(NotImplementedError, match="stay on its workers"):
        source.chunks()
