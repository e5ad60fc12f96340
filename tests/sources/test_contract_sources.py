"""One contract for every place where rows live: the same rows give the same network.

Rows on this machine are summed in the same blocks whatever container they come from, so the
network is the same to the last bit. On a cluster the partitions are summed first: to 1e-9.
"""

import pickle

import containers
import numpy as np
import pytest
from conftest import in_solver, make_data

from anmin import ANMINRegressor

pytestmark = pytest.mark.slow

pytest.importorskip("pyarrow")

HERE = ["memmap", "parquet", "csv", "iterable"]
DASK = ["dask_array", "dask_frame"]
CASES = {
    "plain": {},
    "many outputs": {"q": 3},
    "weights": {"weighted": True},
    "all at once": {"q": 2, "weighted": True, "slope": 0.05},
    "raw": {"standardize": False},
    "few rows a batch": {"n": 5000, "batch_size": 4096},
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
solvers = pytest.mark.parametrize("solver", ["anmin", "varpro"])


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("distributed")
    with containers.local_cluster() as client:
        yield client


def rows(n=700, d=3, q=1, weighted=False):
    """Some weights are 0: such rows count as absent, also in the numbering."""
    X, y = make_data(n, d, q)
    w = np.random.default_rng(1).uniform(0.2, 3.0, n) * (np.arange(n) % 11 > 0)
    return X, y, w if weighted else None


def both(make, folder, *, n=700, q=1, weighted=False, **settings):
    """The fit to arrays, and to the same rows in another container."""
    data = rows(n, 3, q, weighted)
    settings = {"n_hidden": 6, "lam": 1e-2, "max_iter": 10, "random_state": 0} | settings
    there = containers.as_arguments(make(folder, *data))
    return [ANMINRegressor(**in_solver(**settings)).fit(*args) for args in (data, there)]


def same(ours, theirs, tolerance):
    close = {"rtol": tolerance, "atol": tolerance}
    np.testing.assert_allclose(theirs.loss_curve_, ours.loss_curve_, **close)
    for one, other in zip(
        [ours.A_, ours.B_, ours.b0_, *ours.coefs_, *ours.intercepts_],
        [theirs.A_, theirs.B_, theirs.b0_, *theirs.coefs_, *theirs.intercepts_],
        strict=True,
    ):
        np.testing.assert_allclose(other, one, **close)


@pytest.mark.parametrize("container", HERE)
@solvers
@cases
def test_the_same_network_from_files_and_streams(tmp_path, container, solver, case):
    ours, theirs = both(getattr(containers, container), tmp_path, solver=solver, **case)
    same(ours, theirs, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("container", DASK)
@solvers
@pytest.mark.parametrize("case", ["plain", "all at once"])
def test_the_same_network_from_a_cluster(cluster, tmp_path, container, solver, case):
    settings = CASES[case] | {"solver": solver, "max_iter": 10 if solver == "anmin" else 3}
    ours, theirs = both(getattr(containers, container), tmp_path, **settings)
    same(ours, theirs, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("container", [*HERE, "dask_array"])
def test_conjugate_gradients(request, tmp_path, container):
    if container in DASK:
        request.getfixturevalue("cluster")
    for solver in ("anmin", "varpro"):
        ours, theirs = both(
            getattr(containers, container), tmp_path, solver=solver, linear_solver="cg", max_iter=2
        )
        same(ours, theirs, 1e-6 if container in DASK else 1e-12)


@pytest.mark.parametrize("room", [0, 10**9])
def test_streams_to_another_device(tmp_path, monkeypatch, room):
    """ "cpu:0" is PyTorch on the CPU; whether the device has room for the rows makes no odds."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    monkeypatch.setattr("anmin.backends.torch.TorchBackend.room", room)
    settings = {"solver": "anmin", "weighted": True, "q": 2, "device": "cpu:0"}
    ours, theirs = both(containers.parquet, tmp_path, **settings)
    same(ours, theirs, 1e-12)


@pytest.mark.parametrize("container", HERE)
def test_an_automatic_penalty(tmp_path, container):
    settings = {"lam": "auto", "n_hidden": 4, "max_iter": 60, "q": 2, "weighted": True}
    ours, theirs = both(getattr(containers, container), tmp_path, **settings)
    same(ours, theirs, 1e-12)
    assert [step.lam for step in theirs.path_] == [step.lam for step in ours.path_]


@pytest.mark.slow
def test_an_automatic_penalty_in_partitions(tmp_path):
    """Its many steps amplify the last digits, so only the quality is the same."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        ours, theirs = both(containers.dask_array, tmp_path, lam="auto", n_hidden=3, max_iter=20)
    assert theirs.path_[0].lam == pytest.approx(ours.path_[0].lam)
    assert theirs.loss_ == pytest.approx(ours.loss_, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("container", [*HERE, *DASK])
def test_predictions_are_those_of_arrays(request, tmp_path, container):
    """An ordinary estimator comes out: it pickles, and predicts for arrays and for its source."""
    if container in DASK:
        request.getfixturevalue("cluster")
    X, y, _ = rows(q=2)
    made = containers.as_arguments(getattr(containers, container)(tmp_path, X, y))
    model = ANMINRegressor(4, lam=1e-3, max_iter=3, random_state=0).fit(*made)
    model = pickle.loads(pickle.dumps(model))
    expected = model._network.forward((X - model._scaling.x_mean) / model._scaling.x_scale)
    streamed = model.predict(made[0])
    np.testing.assert_allclose(streamed, expected + model._scaling.y_mean, rtol=1e-12)
    assert hasattr(streamed, "compute") == (container in DASK)
    assert model.n_features_in_ == 3
    if container in ("parquet", "csv", "dask_frame"):
        assert list(model.feature_names_in_) == ["x0", "x1", "x2"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames(kind):
    library = pytest.importorskip(kind)
    X, y, w = rows(weighted=True)
    table = library.DataFrame(containers.frame(X, y))
    settings = {"n_hidden": 4, "lam": 1e-3, "max_iter": 3, "random_state": 0}
    ours = ANMINRegressor(**settings).fit(X, y, w)
    theirs = ANMINRegressor(**settings).fit(table[["x0", "x1", "x2"]], table["y"], w)
    same(ours, theirs, 1e-12)
