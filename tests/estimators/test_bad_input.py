"""Bad input, one line a case: an error that says what was expected, what came, what to do.

What is odd but must work is in `test_odd_input.py`.
"""

import re
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import in_solver, make_data
from sklearn.exceptions import NotFittedError

from anmin import ANMINClassifier, ANMINRegressor
from anmin.solvers import Algorithm1, Solver, VarPro
from anmin.sources import BatchSource

N, D, H = 40, 2, 5
X, Y = make_data(N, D)
NAN, INF = float("nan"), float("inf")


def regressor(**kwargs):
    settings = {"n_hidden": H, "solver": "anmin", "lam": 1e-2, "max_iter": 3, "random_state": 0}
    return ANMINRegressor(**in_solver(**(settings | kwargs)))


def replaced(array, value, at=0):
    out = np.array(array, dtype=float)
    out.flat[at] = value
    return out


def with_column(column):
    return np.column_stack([X, np.broadcast_to(column, N)])


# ---- errors: name -> (X, y, sample_weight, words that the message must have) ---------------------

DATA_ERRORS = {
    "infinite X": (replaced(X, INF), Y, None, r"infinity"),
    "NaN in y": (X, replaced(Y, NAN), None, r"y contains NaN"),
    "infinite y": (X, replaced(Y, -INF), None, r"y contains infinity"),
    "no rows": (X[:0], Y[:0], None, r"0 sample\(s\).*minimum of \d"),
    "no columns": (X[:, :0], Y, None, r"0 feature\(s\).*minimum of 1"),
    "X with one axis": (X[:, 0], Y, None, r"Expected 2D array, got 1D.*[Rr]eshape"),
    "X with three axes": (X[:, :, None], Y, None, r"(dim 3|3D)"),
    "scalar X": (3.0, Y, None, r"Expected 2D array, got scalar"),
    "X of objects": (np.array([[{}, "b"]] * N, dtype=object), Y, None, r"float|convert"),
    "complex X": (X + 1j, Y, None, r"[Cc]omplex data not supported"),
    "sparse X": (sp.csr_matrix(X), Y, None, r"[Ss]parse.*(toarray|dense)"),
    "sparse array X": (sp.coo_array(X), Y, None, r"[Ss]parse.*(toarray|dense)"),
    "no y": (X, None, None, r"requires y to be passed"),
    "short y": (X, Y[:-1], None, rf"{N}.*{N - 1}|{N - 1}.*{N}"),
    "long y": (X[:-1], Y, None, rf"{N}.*{N - 1}|{N - 1}.*{N}"),
    "y with three axes": (X, Y.reshape(N, 1, 1), None, r"y.*(3|three)|dim 3"),
    "y without columns": (X, np.empty((N, 0)), None, r"0 feature|column|output"),
    "y of text": (X, np.array(["a", "b"] * (N // 2)), None, r"y holds 'a'.*ANMINClassifier"),
    "a dict": ({"a": Y}, Y, None, r"dict.*DataFrame"),
    "a name twice": (pd.DataFrame(X, columns=["a", "a"]), Y, None, r"more than one column 'a'"),
    "complex y": (X, Y + 1j, None, r"[Cc]omplex"),
    "sparse y": (X, sp.csr_matrix(Y[:, None]), None, r"[Ss]parse"),
    "negative weight": (X, Y, replaced(np.ones(N), -0.5), r"(?i)negative.*weight|weight.*negative"),
    "all weights zero": (X, Y, np.zeros(N), r"(?i)sample.weight.*(zero|positive)"),
    "NaN weight": (X, Y, replaced(np.ones(N), NAN), r"sample_weight contains NaN"),
    "infinite weight": (X, Y, replaced(np.ones(N), INF), r"sample_weight contains infinity"),
    "short weights": (X, Y, np.ones(N - 1), rf"sample_weight.*\({N - 1},\).*\({N},\)"),
    "weights in two axes": (X, Y, np.ones((N, 2)), r"[Ss]ample.?weights? must be 1D"),
    "text weights": (X, Y, ["heavy"] * N, r"convert|numeric|str"),
}


@pytest.mark.parametrize("case", DATA_ERRORS.values(), ids=DATA_ERRORS.keys())
def test_bad_data(case):
    X, y, w, words = case
    with pytest.raises((ValueError, TypeError)) as error:
        regressor().fit(X, y, sample_weight=w)
    assert re.search(words, str(error.value), re.DOTALL), str(error.value)


# ---- errors: name -> (parameters, words that the message must have) ------------------------------

INIT = np.ones((D + 1, H))
PARAMETER_ERRORS = {
    "n_hidden=0": ({"n_hidden": 0}, r"n_hidden.*\b0\b"),
    "n_hidden=-1": ({"n_hidden": -1}, r"n_hidden.*-1"),
    "n_hidden=2.5": ({"n_hidden": 2.5}, r"n_hidden.*2\.5"),
    "n_hidden='8'": ({"n_hidden": "8"}, r"n_hidden.*'8'"),
    "n_hidden=None": ({"n_hidden": None}, r"n_hidden.*None"),
    "n_hidden=10**9": ({"n_hidden": 10**9}, r"n_hidden=1,000,000,000 needs .* GiB.*fewer units"),
    "slope=-0.1": ({"slope": -0.1}, r"slope.*-0\.1"),
    "slope=1": ({"slope": 1.0}, r"slope.*1\.0"),
    "slope=2": ({"slope": 2}, r"slope.*2"),
    "slope=NaN": ({"slope": NAN}, r"slope.*nan"),
    "slope='relu'": ({"slope": "relu"}, r"slope.*relu"),
    "lam=-1": ({"lam": -1.0}, r"lam.*-1"),
    "lam=NaN": ({"lam": NAN}, r"lam.*nan"),
    "lam=inf": ({"lam": INF}, r"lam.*inf"),
    "lam=1e250": ({"lam": 1e250}, r"lam.*at least 0 and below 1e\+250; got 1e\+250"),
    "lam='small'": ({"lam": "small"}, r"lam.*small"),
    "lam=None": ({"lam": None}, r"lam.*None"),
    "max_iter=-1": ({"max_iter": -1}, r"max_iter.*-1"),
    "max_iter=2.5": ({"max_iter": 2.5}, r"max_iter.*2\.5"),
    "max_iter='all'": ({"max_iter": "all"}, r"max_iter.*all"),
    "max_time=-1": ({"max_time": -1}, r"max_time.*-1"),
    "max_time=NaN": ({"max_time": NAN}, r"max_time.*nan"),
    "max_time='1 s'": ({"max_time": "1 s"}, r"max_time.*1 s"),
    "batch_size=0": ({"batch_size": 0}, r"batch_size.*\b0\b"),
    "batch_size=-5": ({"batch_size": -5}, r"batch_size.*-5"),
    "batch_size=2.5": ({"batch_size": 2.5}, r"batch_size.*2\.5"),
    "batch_size='big'": ({"batch_size": "big"}, r"batch_size.*big"),
    "dtype='float16'": ({"dtype": "float16"}, r"dtype.*float16"),
    "dtype=int": ({"dtype": int}, r"dtype.*int"),
    "linear_solver='lu'": ({"linear_solver": "lu"}, r"linear_solver.*'cholesky'.*lu"),
    "n_init=0": ({"solver": VarPro(n_init=0)}, r"n_init.*\b0\b"),
    "tol=-1": ({"solver": VarPro(tol=-1)}, r"tol.*-1"),
    "patience=-1": ({"solver": VarPro(patience=-1)}, r"patience.*-1"),
    "solver='adam'": ({"solver": "adam"}, r"solver.*adam"),
    "solver=None": ({"solver": None}, r"solver.*None"),
    "solver=Algorithm1": ({"solver": Algorithm1}, r"solver.*Algorithm1"),
    "solver=3": ({"solver": 3}, r"solver.*3"),
    "a solver without moves": ({"solver": Solver()}, r"subclass of anmin.solvers.Solver.*Solver()"),
    "an estimator as solver": ({"solver": ANMINRegressor()}, r"'anmin', 'varpro'.*ANMINRegressor"),
    "standardize='yes'": ({"standardize": "yes"}, r"standardize.*yes"),
    "random_state='a'": ({"random_state": "a"}, r"'a'.*seed|random_state"),
    "random_state=-1": ({"random_state": -1}, r"[Ss]eed|random_state"),
    "verbose='loud'": ({"verbose": "loud"}, r"verbose.*loud"),
    "init of one row less": ({"init": INIT[:-1]}, rf"init.*\({D + 1}, {H}\).*\({D}, {H}\)"),
    "init of one unit more": (
        {"init": np.ones((D + 1, H + 1))},
        rf"init.*\({D + 1}, {H}\).*\({D + 1}, {H + 1}\)",
    ),
    "init transposed": ({"init": INIT.T}, rf"init.*\({D + 1}, {H}\).*\({H}, {D + 1}\)"),
    "init with one axis": ({"init": INIT.ravel()}, r"init"),
    "init with NaN": ({"init": replaced(INIT, NAN)}, r"init.*(NaN|finite)"),
    "init with inf": ({"init": replaced(INIT, INF)}, r"init.*(infinity|finite)"),
    "init of text": ({"init": np.full((D + 1, H), "a")}, r"init|convert"),
    "init='zeros'": ({"init": "zeros"}, r"init.*zeros"),
    "init=None": ({"init": None}, r"init must"),
    "tau=NaN": ({"solver": Algorithm1(tau=NAN)}, r"tau.*nan"),
    "tau='low'": ({"solver": Algorithm1(tau="low")}, r"tau.*low"),
    "floor=0": ({"solver": Algorithm1(floor=0.0)}, r"floor.*0"),
    "floor=-1": ({"solver": Algorithm1(floor=-1.0)}, r"floor.*-1"),
    "floor=NaN": ({"solver": Algorithm1(floor=NAN)}, r"floor.*nan"),
    "keep='first'": ({"solver": Algorithm1(keep="first")}, r"keep.*first"),
    "degenerate='pinv'": ({"solver": Algorithm1(degenerate="pinv")}, r"degenerate.*pinv"),
}


@pytest.mark.parametrize("case", PARAMETER_ERRORS.values(), ids=PARAMETER_ERRORS.keys())
@pytest.mark.parametrize("estimator", [ANMINRegressor, ANMINClassifier])
def test_bad_parameters(estimator, case):
    parameters, words = case
    settings = {"n_hidden": H, "solver": "anmin", "lam": 1e-2, "max_iter": 3}
    model = estimator(**in_solver(**(settings | parameters)))
    with pytest.raises((ValueError, TypeError)) as error:
        model.fit(X, np.arange(N) % 2)
    assert re.search(words, str(error.value), re.DOTALL), str(error.value)


@pytest.mark.parametrize("name", ["tol", "n_init", "linear_solver", "dtype", "batch_size"])
def test_what_an_expert_sets_belongs_to_the_solver(name):
    with pytest.raises(TypeError, match=name):
        ANMINRegressor(**{name: 1})


@pytest.mark.parametrize("lam", [1e-2, "auto"])
@pytest.mark.parametrize("solver", ["anmin", "varpro"])
def test_more_units_than_memory_are_refused_at_once(lam, solver):
    begin = perf_counter()
    with pytest.raises(ValueError, match="n_hidden=1,000,000,000 needs at least"):
        regressor(n_hidden=10**9, lam=lam, solver=solver).fit(X, Y)
    assert perf_counter() - begin < 1.0


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="alpha"):
        ANMINRegressor(alpha=1.0)
    with pytest.raises(TypeError, match="positional"):
        ANMINRegressor(5, 0.1)
    with pytest.raises(ValueError, match="alpha"):
        ANMINRegressor().set_params(alpha=1.0)


# ---- errors of predict ---------------------------------------------------------------------------

PREDICT_ERRORS = {
    "infinite": (replaced(X, INF), r"infinity"),
    "one column less": (X[:, :1], r"1 features?, but ANMINRegressor is expecting 2"),
    "one column more": (with_column(1.0), r"3 features?, but ANMINRegressor is expecting 2"),
    "one axis": (X[0], r"Expected 2D array, got 1D.*[Rr]eshape"),
    "sparse": (sp.csr_matrix(X), r"[Ss]parse.*(toarray|dense)"),
    "no rows": (X[:0], r"0 sample"),
    "text": (np.array([["a", "b"]]), r"convert|numeric|str"),
}


@pytest.mark.parametrize("case", PREDICT_ERRORS.values(), ids=PREDICT_ERRORS.keys())
def test_bad_data_for_predict(case):
    bad, words = case
    model = regressor().fit(X, Y)
    with pytest.raises((ValueError, TypeError)) as error:
        model.predict(bad)
    assert re.search(words, str(error.value), re.DOTALL), str(error.value)


def test_predict_before_fit():
    with pytest.raises(NotFittedError, match=r"not fitted yet.*fit"):
        regressor().predict(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lam": 1e-3, "encoding": "x"}, "encoding must be"),
        ({"cv": np.array([0, 1])}, "cv must be a number, a share, a splitter, or pairs"),
        ({"cv": [[range(5)]]}, "cv must be a number, a share, a splitter, or pairs"),
        ({"loss": "huber", "max_time": "1"}, "max_time must be"),
    ],
)
def test_settings_that_could_be_passed_over(given, message):
    X, y = make_data(30, 2)
    with pytest.raises(ValueError, match=message):
        ANMINRegressor(4, **given).fit(X, y)


def test_numbers_of_numpy_are_numbers():
    X, y = make_data(60, 2)
    one, other = (
        ANMINRegressor(4, max_iter=kind(40), random_state=0).fit(X, y) for kind in (int, np.int64)
    )
    assert np.array_equal(one.predict(X), other.predict(X))


def test_a_classifier_refuses_rows_beside_a_source():
    X, y = make_data(40, 2)
    rows = BatchSource(lambda: iter([(X, (y > 0).astype(float))]))
    with pytest.raises(ValueError, match="X_val needs X in memory"):
        ANMINClassifier(4).fit(rows, X_val=X, y_val=y)


def test_what_was_skipped_is_forgotten_with_the_next_fit():
    X, y = make_data(40, 2)
    model = ANMINRegressor(4, lam=1e-3, max_iter=2).fit(BatchSource(lambda: iter([(X, y)])))
    assert model.n_skipped_ == 0
    assert not hasattr(model.fit(X, y), "n_skipped_")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lam": "x"}, "lam must be a number or 'auto'; got 'x'"),
        ({"encoding": "onehot"}, "encoding must be None, an Encoding or 'auto'"),
        ({"intervals": "yes"}, 'intervals must be True, False or "conformal"'),
        ({"loss": "huber", "solver": "anmin"}, "for loss='huber'"),
    ],
)
def test_messages_name_what_there_is(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ANMINRegressor(4, **given).fit(*make_data(30, 2))


def test_a_parameter_that_does_not_exist():
    with pytest.raises(TypeError, match=r"ANMINRegressor\(\) has no parameter 'hidden'"):
        ANMINRegressor(hidden=3)
    with pytest.raises(TypeError, match=r"ANMINClassifier\(\) has no parameter 'quantile'"):
        ANMINClassifier(quantile=0.3)


def test_intervals_of_a_model_without():
    X, y = make_data(30, 2)
    model = ANMINRegressor(4, lam=1e-3, max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match='intervals="conformal" or intervals=True'):
        model.predict_interval(X)
    with pytest.raises(ValueError, match="coverage must be"):
        model.predict_interval(X, "x")


def test_labels_that_are_missing_are_counted():
    y = np.array(["a", None, "b", "a"] * 10, dtype=object)
    with pytest.raises(ValueError, match="no label in 10 of 40 rows"):
        ANMINClassifier().fit(np.ones((40, 1)), y)


@pytest.mark.parametrize("unit", ["datetime64[D]", "timedelta64[s]"])
def test_dates_are_no_target(unit):
    with pytest.raises(ValueError, match="dates or durations"):
        ANMINRegressor().fit(np.ones((40, 1)), np.arange(40).astype(unit))


def test_the_word_that_stands_for_a_number_is_named():
    for name in ("n_hidden", "n_networks"):
        with pytest.raises(ValueError, match='1 or more, or "auto"; got'):
            ANMINRegressor(**{name: "many"}).fit(np.ones((40, 1)), np.arange(40.0))
