"""Units that see few inputs, and sparse X."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.backends import NumpyBackend
from anmin.solvers import Problem, VarPro
from anmin.solvers.connections import Connections
from anmin.solvers.levenberg import Descent
from anmin.sources import BatchSource, Scaling, counting_rows

N, D = 400, 12
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = np.abs(X[:, 1]) + X[:, 4] * (X[:, 7] > 0) + 0.1 * RNG.normal(size=N)
SPARSE = X * (np.random.default_rng(1).uniform(size=X.shape) < 0.3)
Z = np.abs(SPARSE[:, 1]) + SPARSE[:, 4] * (SPARSE[:, 7] > 0)
ONE = {"n_networks": 1, "encoding": None, "random_state": 0}


def model(**options):
    return ANMINRegressor(**({"n_hidden": 12, "random_state": 0} | options))


def fan_in(fitted) -> np.ndarray:
    return (fitted.A_[1:] != 0).sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("lam", ["auto", 1e-3])
@pytest.mark.parametrize("k", [1, 3])
def test_units_see_at_most_k_inputs(k, lam):
    fitted = model(connections=k, lam=lam, max_iter=100).fit(X, Y)
    assert fan_in(fitted).max() <= k
    assert fitted.n_hidden_ > 1
    assert fitted.score(X, Y) > (0.3 if k == 1 else 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("lam", ["auto", 1e-3])
def test_a_mask_is_kept_to(lam):
    mask = np.random.default_rng(2).uniform(size=(D, 12)) < 0.4
    fitted = model(connections=mask, lam=lam, max_iter=30).fit(X, Y)
    places = Connections(D, mask).places(fitted.A_)
    assert fitted.n_hidden_ > 1
    assert (places >= 0).all()
    assert len(set(places)) == fitted.n_hidden_, "a column of the mask for each unit"
    assert not (fitted.A_[1:] * ~mask[:, places]).any()


def test_all_connections_are_a_dense_fit():
    dense = model(**ONE, lam=1e-3, max_iter=5).fit(X, Y)
    for k in (D, 100):
        same = model(connections=k, lam=1e-3, max_iter=5).fit(X, Y)
        assert np.array_equal(same.A_, dense.A_)


@pytest.mark.parametrize("linear_solver", ["cholesky", "cg"])
def test_a_step_with_every_connection_is_a_dense_step(linear_solver):
    rows = counting_rows(X, Y[:, None], None)
    source = rows.prepared(Scaling.of(rows.measured), NumpyBackend(), 4096)
    A = np.random.default_rng(3).normal(size=(D + 1, 6))
    ends = []
    for connections in (None, Connections(D)):
        problem = Problem(source, 1e-2, 0.0, linear_solver, connections=connections)
        descent = Descent(problem, 6, np.random.RandomState(0))
        ends.append(descent.step(problem.at(A), 10.0, None).point)
    assert ends[1].A.shape == A.shape
    # another preconditioner, and conjugate gradients stop early
    tol = 1e-6 if linear_solver == "cholesky" else 2e-2
    assert ends[1].loss == pytest.approx(ends[0].loss, rel=tol)
    if linear_solver == "cholesky":
        np.testing.assert_allclose(ends[1].A, ends[0].A, rtol=1e-3, atol=1e-4)


def test_a_step_moves_nothing_that_is_not_connected():
    rows = counting_rows(X, Y[:, None], None)
    source = rows.prepared(Scaling.of(rows.measured), NumpyBackend(), 4096)
    A = np.random.default_rng(3).normal(size=(D + 1, 6))
    A[1:][np.random.default_rng(4).uniform(size=(D, 6)) < 0.6] = 0
    for linear_solver in ("cholesky", "cg"):
        problem = Problem(source, 1e-2, 0.0, linear_solver, connections=Connections(D))
        start = problem.at(A)
        end = Descent(problem, 6, np.random.RandomState(0)).step(start, 0.1, A).point
        assert end.loss < start.loss
        assert np.array_equal(end.A[1:] != 0, A[1:] != 0)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.csr_matrix, sp.csc_array])
def test_sparse_rows_give_the_network_of_dense_ones(form):
    options = {"connections": 3, "lam": 1e-3, "max_iter": 3}
    dense, ours = model(**options).fit(SPARSE, Z), model(**options).fit(form(SPARSE), Z)
    np.testing.assert_allclose(ours.A_, dense.A_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.predict(form(SPARSE)), dense.predict(SPARSE), atol=1e-6)
    np.testing.assert_allclose(ours.feature_importances_, dense.feature_importances_, atol=1e-6)


def test_sparse_rows_are_never_formed(monkeypatch):
    for kind in (sp.csr_array, sp.csr_matrix):

        def refuse(self, *_, form=kind.toarray, **__):
            assert self.shape[1] < D or self.shape[0] == 1, "made dense"
            return form(self)

        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    fitted = model(connections=2, n_hidden=4, max_iter=30).fit(sp.csr_array(SPARSE), Z)
    assert fitted.predict(sp.csr_array(SPARSE)).shape == (N,)
    assert str(fitted.report()).count("few of the inputs") == 1


def test_plain_products_give_the_same_network(monkeypatch):
    monkeypatch.setattr("anmin.sources.support.WIDE", 0)
    compiled = model(connections=2, lam=1e-3, max_iter=3).fit(X, Y)
    monkeypatch.setattr("anmin.sources.support.kernels", lambda: None)
    plain = model(connections=2, lam=1e-3, max_iter=3).fit(X, Y)
    np.testing.assert_allclose(plain.A_, compiled.A_, rtol=1e-3, atol=1e-4)


def test_a_classifier_takes_sparse_rows():
    fitted = ANMINClassifier(8, connections=3, random_state=0, max_iter=30)
    fitted.fit(sp.csr_array(SPARSE), SPARSE[:, 1] * SPARSE[:, 4] >= 0)
    assert fitted.predict_proba(sp.csr_array(SPARSE)).shape == (N, 2)
    assert fan_in(fitted).max() <= 3


def test_weights_are_repeated_rows_also_when_sparse():
    twice = np.random.default_rng(5).integers(1, 3, N)
    options = {"connections": 3, "lam": 1e-3, "max_iter": 2}
    weighted = model(**options).fit(sp.csr_array(SPARSE), Z, twice.astype(float))
    again = np.repeat(np.arange(N), twice)
    repeated = model(**options).fit(sp.csr_array(SPARSE[again]), Z[again])
    np.testing.assert_allclose(weighted.predict(SPARSE), repeated.predict(SPARSE), atol=2e-2)


@pytest.mark.slow
def test_the_inputs_that_matter_are_found_among_many():
    rng = np.random.default_rng(6)
    wide = rng.uniform(size=(1500, 120))
    y = np.abs(wide[:, 3] - 0.5) * 4 + 2 * wide[:, 50] + 0.2 * rng.normal(size=1500)
    fitted = ANMINRegressor(16, connections=3, random_state=0).fit(wide, y)
    assert set(np.argsort(-fitted.feature_importances_)[:2]) == {3, 50}
    assert (fitted.feature_importances_ > 0).sum() <= 8
    assert fitted.score(wide, y) > 0.9


def test_noise_is_fitted_by_no_unit():
    y = np.random.default_rng(7).normal(size=N)
    assert model(connections=3).fit(X, y).score(X, y) < 0.15


def test_several_networks():
    fitted = model(connections=3, n_networks=2, max_iter=60).fit(X, Y)
    assert fan_in(fitted).max() <= 3


def test_a_file_and_a_checkpoint(tmp_path):
    options = {"connections": 3, "max_iter": 30, "checkpoint": tmp_path / "log"}
    first = model(**options).fit(sp.csr_array(SPARSE), Z)
    again = model(**options).fit(sp.csr_array(SPARSE), Z)
    assert np.array_equal(again.A_, first.A_)
    first.save(tmp_path / "m.anmin")
    loaded = load_model(tmp_path / "m.anmin")
    assert loaded.connections == 3
    assert np.array_equal(loaded.predict(sp.csr_array(SPARSE)), first.predict(sp.csr_array(SPARSE)))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"connections": 0}, "connections must be a whole number"),
        ({"connections": "few"}, "connections must be a whole number"),
        ({"connections": np.ones((D, 3), bool)}, r"shape .*\(12, 12\)"),
        ({"connections": np.ones((D, 12))}, "mask of booleans"),
        ({"connections": 3, "solver": "anmin"}, 'solver="varpro"'),
        ({"connections": 3, "intervals": True}, "conformal"),
    ],
)
def test_what_does_not_go_together(options, what):
    with pytest.raises(ValueError, match=what):
        model(**options).fit(X, Y)


def test_an_encoding_does_not_go_with_connections():
    from anmin.encoding import Encoding

    with pytest.raises(ValueError, match="encoding=None"):
        model(connections=3, encoding=Encoding.fit(X, None, 4)).fit(X, Y)


def test_sparse_rows_need_connections():
    with pytest.raises(TypeError, match="connections"):
        model().fit(sp.csr_array(SPARSE), Z)
    with pytest.raises(TypeError, match="connections"):
        model(max_iter=1).fit(X, Y).predict(sp.csr_array(SPARSE))
    assert not ANMINRegressor().__sklearn_tags__().input_tags.sparse
    assert ANMINRegressor(connections=3).__sklearn_tags__().input_tags.sparse


def test_a_start_keeps_its_connections():
    A = np.random.default_rng(8).normal(size=(D + 1, 5))
    A[1:][np.random.default_rng(9).uniform(size=(D, 5)) < 0.5] = 0
    fitted = model(n_hidden=5, connections=D - 1, init=A, lam=1e-3, solver=VarPro(patience=0))
    fitted.fit(X, Y)
    assert np.array_equal(fitted.A_[1:] != 0, A[1:] != 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_c_has_the_connections_that_there_are(tmp_path, dtype):
    fitted = model(connections=2, lam=1e-3, max_iter=20).fit(X, Y)
    path = tmp_path / "m.c"
    fitted.to_c(path, dtype=dtype)
    text = path.read_text()
    inputs = text.split("model_input[] = {")[1].split("}")[0].split(",")
    assert len(inputs) == np.count_nonzero(fitted.A_[1:])
    if (cc := shutil.which("cc")) is None:
        pytest.skip("there is no C compiler")
    library = tmp_path / "m.so"
    subprocess.run(
        [cc, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", path, "-o", library], check=True
    )
    real = np.dtype(dtype)
    pointer = np.ctypeslib.ndpointer(real)
    predict = ctypes.CDLL(library).model_predict
    predict.argtypes, predict.restype = [pointer, pointer], None
    y = np.empty(1, real)
    for x, wanted in zip(X[:20], fitted.predict(X[:20]), strict=True):
        predict(x.astype(real), y)
        assert y[0] == pytest.approx(wanted, abs=1e-4 if dtype == "float32" else 1e-10)


def batches():
    for start in range(0, N, 100):
        yield X[start : start + 100], Y[start : start + 100]


def test_rows_that_are_read_in_batches():
    options = {"connections": 3, "lam": 1e-3, "max_iter": 2}
    ours = model(**options).fit(BatchSource(batches))
    theirs = model(**options).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "huber"},
        {"intervals": "conformal"},
        {"early_stopping": True},
        {"standardize": False},
        {"slope": 0.1},
        {"solver": VarPro(dtype="float32")},
        {"cv": 3},
    ],
    ids=lambda options: next(iter(options)),
)
def test_other_options_go_with_sparse_rows(options):
    S = sp.csr_array(SPARSE)
    fitted = model(connections=3, max_iter=40, **options).fit(S, Z)
    assert fan_in(fitted).max(initial=0) <= 3
    assert np.isfinite(fitted.predict(S)).all()
    if "intervals" in options:
        assert len(fitted.predict_interval(S, 0.9)) == 2


def test_rows_to_judge_on_and_several_outputs():
    S, both = sp.csr_array(SPARSE), np.column_stack([Z, SPARSE[:, 2]])
    fitted = model(connections=3, max_iter=40).fit(
        S[:300], both[:300], X_val=S[300:], y_val=both[300:]
    )
    assert fitted.predict(S).shape == (N, 2)
    assert fitted.interactions(S)
