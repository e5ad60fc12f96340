"""max_time allows for some of the rows, keeps time for the end, and is kept."""

import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from anmin import ANMINRegressor, short_time
from anmin.backends.compiled import waiting_for_compiler
from anmin.engine import Budget, Engine, Pace
from anmin.moves import Move, Spent, Stage, Visit
from anmin.short_time import LEAST, affordable, ending
from anmin.sources import BatchSource, ParquetSource, counting_rows

N, D = 40_000, 5


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + 1000, D))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
    return X[:N], y[:N], X[N:], y[N:]


def rows_of(X, y):
    return counting_rows(X, y[:, None], None)


def test_rows_in_memory_are_taken_as_they_are_where_there_is_time(data):
    rows = rows_of(*data[:2])
    assert affordable(rows, 64, 60.0) is rows


def test_a_short_time_allows_for_a_sample(data):
    rows = rows_of(*data[:2])
    with pytest.warns(ConvergenceWarning, match="allows for"):
        few = affordable(rows, 64, 0.2)
    assert LEAST < len(few.chunk) < N
    with pytest.warns(ConvergenceWarning):
        assert len(affordable(rows, 64, 0.0).chunk) == LEAST
    known = {row.tobytes() for row in data[0]}
    assert all(row.tobytes() in known for row in few.chunk.X[:100])


def test_a_stream_is_read_into_memory_where_reading_it_often_takes_too_long(data, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = data[0][:4000], data[1][:4000]
    columns = dict(zip([*(f"x{j}" for j in range(D)), "y"], [*X.T, y], strict=True))
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    source = ParquetSource(tmp_path / "a.parquet")
    few = affordable(source, 64, 0.1)
    assert not few.streamed
    np.testing.assert_array_equal(few.chunk.X, X)  # all of them
    model = ANMINRegressor(8, max_time=0.1, random_state=0).fit(source)
    assert list(model.feature_names_in_) == [f"x{j}" for j in range(D)]


def test_a_stream_that_may_not_fit_is_not_held(data, monkeypatch):
    X, y = data[0][:5000], data[1][:5000]
    stream = BatchSource(lambda: iter([(X, y)]))
    monkeypatch.setattr(short_time, "ROOM", 3000 * 8 * (D + 1))
    longer = 5000 * (D + 64) / short_time.NUMBERS  # all of them, if they were in memory
    assert affordable(stream, 64, longer) is stream
    with pytest.warns(ConvergenceWarning, match="3,000 of 5,000 rows"):
        few = affordable(stream, 64, 0.8 * longer)
    assert few.passes == stream.passes > 0


def test_a_compiler_does_not_use_up_the_time():
    numba = pytest.importorskip("numba")
    waited = waiting_for_compiler()
    budget = Budget(max_time=1.0, waited=waited)
    assert waited() == 0
    numba.njit(lambda x: x + 1)(1)
    assert 0 < waited() < 60
    assert 0 <= budget.seconds < 60
    assert waiting_for_compiler()() == 0


def test_time_is_kept_for_the_end(data):
    rows = rows_of(*data[:2])
    assert 0 < ending(rows, 64, 60.0, True) < 1.0
    assert ending(rows, 64, 1e-3, True) == pytest.approx(5e-4)
    assert ending(rows, 64, 60.0, False) > 10 * ending(rows, 64, 60.0, True)


def test_a_splitter_sees_all_rows(data, monkeypatch):
    monkeypatch.setattr(short_time, "NUMBERS", 1.0)
    X, y = data[0][:3000], data[1][:3000]
    model = ANMINRegressor(4, max_time=0.3, cv=KFold(2), random_state=0).fit(X, y)
    assert model.report().rows == 3000
    with pytest.warns(ConvergenceWarning, match="2,000 of 3,000 rows"):
        model = ANMINRegressor(4, max_time=0.3, random_state=0).fit(X, y)
    assert model.report().rows == 2000


def pace(*seconds, rows=1000):
    found = Pace()
    for one in seconds:
        found = found.after(one, rows)
    return found


def test_a_step_that_would_be_late_is_not_begun():
    problem = type("Problem", (), {"source": range(1000)})()
    move = Move(lambda: Visit(None), problem, None, Stage())
    assert pace(0.4, 0.4, 0.5).late(move, 1.0) == pytest.approx(0.35)
    assert pace(0.4, 0.4, 0.5, rows=100).late(move, 1.0) == pytest.approx(5 * 0.4 - 0.05)
    assert pace(0.01, 0.01, 0.01).late(move, 1.0) == 0
    assert pace(0.4, 0.4, 0.4).late(move, None) == 0
    engine = Engine(Budget(max_time=1.0))
    engine.pace = pace(2.0, 2.0, 2.0)
    _, ended = engine.turn(move)
    assert isinstance(ended, Spent)


def test_one_slow_step_says_nothing():
    """It may have waited for a compiler."""
    problem = type("Problem", (), {"source": range(1000)})()
    move = Move(lambda: Visit(None), problem, None, Stage())
    assert pace(5.0).late(move, 8.0) == pace(5.0, 5.0).late(move, 8.0) == 0
    assert pace(0.01, 5.0, 5.0).late(move, 8.0) == 0
    assert len(pace(*range(10)).steps) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_time", [0.3, 1.0])
def test_the_promise_is_kept(data, max_time):
    X, y, X_test, y_test = data
    ANMINRegressor(4, random_state=0).fit(X[:500], y[:500])  # compiled loops
    X, y = np.tile(X, (10, 1)), np.tile(y, 10)
    begin = time.process_time()
    model = ANMINRegressor(max_time=max_time, random_state=0).fit(X, y)
    seconds = time.process_time() - begin  # other processes are at work as well
    assert seconds <= 2 * (1.1 * max_time + 0.2)
    assert model.score(X_test, y_test) >= RidgeCV().fit(X, y).score(X_test, y_test) - 0.01
