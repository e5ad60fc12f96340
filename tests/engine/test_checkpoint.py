"""A fit that was killed goes on to the same bits; a file that is not its own is left alone."""

import json
import os
import signal
import tracemalloc
from dataclasses import fields
from itertools import count

import numpy as np
import pytest
from conftest import in_solver, make_data, make_problem
from killable import save_rows
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from anmin import ANMINClassifier, ANMINRegressor
from anmin.checkpoint import Checkpoint, mark, restored, rows_mark, stored
from anmin.engine import Budget
from anmin.logfile import HEAD, LONGEST, MAGIC, CheckpointError, Log, encode, sealed
from anmin.moves import Move, Visit
from anmin.solvers import Algorithm1, VarPro
from anmin.solvers.levenberg import Descent
from anmin.status import Status
from anmin.sums.patterns import Counts

pytestmark = pytest.mark.slow

GIVEN = {"n_hidden": 6, "lam": 1e-3, "max_iter": 40, "random_state": 0}
PAPER = {"n_hidden": 6, "solver": "anmin", "lam": 1e-3, "max_iter": 20, "random_state": 0}
AUTO = {"n_hidden": 6, "max_iter": 60, "random_state": 0}


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.ckpt"


@pytest.fixture
def kill(monkeypatch):
    """kill(k): the k-th record from now on is the last one written."""
    append = Log.append

    def after(k):
        left = iter(range(k - 1, -1, -1))

        def counted(log, *record):
            append(log, *record)
            if next(left) == 0:
                raise Killed

        monkeypatch.setattr(Log, "append", counted)

    yield after
    monkeypatch.setattr(Log, "append", append)


@pytest.fixture
def no_steps(monkeypatch):
    """no_steps(): from now on a step that is not in a log is an error."""

    def refuse(*_):
        raise AssertionError("a step was made anew")

    def switch():
        monkeypatch.setattr(Descent, "step", refuse)
        monkeypatch.setattr(Algorithm1, "iterate", refuse)

    return switch


def same(one, two):
    """The same network, to the last bit, and the same way to it."""
    for name in ("A_", "B_", "b0_"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert one.loss_curve_ == two.loss_curve_
    assert (one.loss_, one.lam_, one.path_) == (two.loss_, two.lam_, two.path_)
    for step, other in zip(one.history_, two.history_, strict=True):
        for name in ("mse", "status", "flips", "dead", "cells", "phase", "damping", "held_out_mse"):
            pair = getattr(step, name), getattr(other, name)
            assert pair[0] == pair[1] or pair[0] != pair[0], name


def records(path):
    """What the log in a file holds."""
    log = Log(path, ({}, {}))
    try:
        return list(iter(log.read, None))
    finally:
        log.close()


def forge(path, *parts):
    """A file of these records, with sums that are right."""
    data = b"".join(part if isinstance(part, bytes) else encode(*part) for part in parts)
    path.write_bytes(MAGIC + data)


def fit(file, X, y, params=GIVEN, weight=None):
    return regressor(checkpoint=file, **params).fit(X, y, weight)


def regressor(**params):
    return ANMINRegressor(**in_solver(**params))


# ---- the same bits ------------------------------------------------------------------------------

MANY = make_data(q=9)
ONE = make_data()
CASES = {
    "given": (GIVEN, ONE),
    "paper": (PAPER, ONE),
    "auto": (AUTO, ONE),
    "float32": (GIVEN | {"dtype": "float32"}, ONE),
    "float32 paper": (PAPER | {"dtype": "float32"}, ONE),
    "outputs": (GIVEN, MANY),
    "outputs paper": (PAPER, MANY),
    "outputs auto": (AUTO, MANY),
    "cg": (GIVEN | {"linear_solver": "cg"}, MANY),
    "cg paper": (PAPER | {"linear_solver": "cg"}, ONE),
    "leaky, three starts": (GIVEN | {"n_init": 3, "slope": 0.1}, ONE),
    "sample first": (GIVEN, make_data(n=1000)),
    "early": (GIVEN | {"early_stopping": True}, ONE),
    "early auto": (AUTO | {"early_stopping": True}, ONE),
    "drawn anew": (PAPER | {"solver": Algorithm1(tau=0.0, degenerate="reinit")}, ONE),
    "splits": (AUTO | {"cv": KFold(3)}, ONE),
    "init": (GIVEN | {"init": np.linspace(-1, 1, 18).reshape(3, 6)}, ONE),
}


@pytest.mark.parametrize(("params", "data"), CASES.values(), ids=CASES)
def test_a_fit_that_was_cut_twice_ends_as_one_that_never_was(params, data, file, kill, no_steps):
    whole = regressor(**params).fit(*data)
    for k in (3, 5):
        kill(k)
        with pytest.raises(Killed):
            fit(file, *data, params)
    kill(10**6)
    assert len(records(file)) == 9  # what the fit is, and eight moves
    same(whole, fit(file, *data, params))
    content = file.read_bytes()
    no_steps()
    same(whole, fit(file, *data, params))  # once more: all of it is in the log
    assert file.read_bytes() == content


def test_a_fit_that_stops_at_once(file):
    params = PAPER | {"solver": Algorithm1(tau=1e6, degenerate="stop")}
    whole = ANMINRegressor(**params).fit(*ONE)
    for _ in range(2):
        same(whole, fit(file, *ONE, params))


def test_weights(file, kill):
    (X, y), weight = ONE, np.linspace(0.1, 2, 80)
    whole = ANMINRegressor(**GIVEN).fit(X, y, weight)
    kill(6)
    with pytest.raises(Killed):
        fit(file, X, y, weight=weight)
    kill(10**6)
    same(whole, fit(file, X, y, weight=weight))
    with pytest.raises(CheckpointError, match="other data"):
        fit(file, X, y, weight=weight[::-1])


def test_a_classifier(file, kill):
    X, y = ONE[0], (ONE[1] > 3).astype(int) + (ONE[1] > 4)
    whole = ANMINClassifier(**GIVEN).fit(X, y)
    kill(6)
    with pytest.raises(Killed):
        ANMINClassifier(checkpoint=file, **GIVEN).fit(X, y)
    kill(10**6)
    again = ANMINClassifier(checkpoint=file, **GIVEN).fit(X, y)
    same(whole, again)
    assert np.array_equal(whole.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("unseeded", [None, np.random])
def test_without_a_seed_the_file_has_one(unseeded, file, kill):
    params = AUTO | {"random_state": unseeded}
    kill(20)
    with pytest.raises(Killed):
        fit(file, *ONE, params)
    kill(10**6)
    seed = records(file)[0][0]["seed"]
    same(ANMINRegressor(**AUTO | {"random_state": seed}).fit(*ONE), fit(file, *ONE, params))


def test_a_random_state_object_counts_as_it_was(file, kill):
    params = GIVEN | {"random_state": np.random.RandomState(0)}
    kill(6)
    with pytest.raises(Killed):
        fit(file, *ONE, params)
    kill(10**6)
    with pytest.raises(CheckpointError, match="random_state"):
        fit(file, *ONE, params)  # it has been drawn from
    again = fit(file, *ONE, params | {"random_state": np.random.RandomState(0)})
    same(ANMINRegressor(**GIVEN).fit(*ONE), again)


def test_rows_in_a_memory_map_and_on_workers(file, kill, tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = ONE
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    spread = da.from_array(X, chunks=(20, 2))
    for rows, name in ((mapped, "a"), (spread, "b")):
        path = file.with_name(name)
        whole = ANMINRegressor(**PAPER).fit(rows, y)
        kill(4)
        with pytest.raises(Killed):
            fit(path, rows, y, PAPER)
        kill(10**6)
        same(whole, fit(path, rows, y, PAPER))
    swapped = np.r_[20:40, 0:20, 40:80]  # two partitions in the other order
    with pytest.raises(CheckpointError, match="other data"):
        fit(path, da.from_array(X[swapped], chunks=(20, 2)), y[swapped], PAPER)


def test_in_pytorch(file, kill):
    pytest.importorskip("torch")
    params = GIVEN | {"device": "cpu:0", "max_iter": 12}
    whole = ANMINRegressor(**params).fit(*MANY)
    kill(5)
    with pytest.raises(Killed):
        fit(file, *MANY, params)
    kill(10**6)
    same(whole, fit(file, *MANY, params))


def test_a_point_from_a_log_is_laid_out_as_it_was():
    """Where the order in memory differs, sums may round differently."""
    problem = make_problem(*MANY)
    point = problem.at(np.linspace(-1, 1, 18).reshape(3, 6))
    visit = Visit(point, Status.FLOORED, Counts(np.arange(6.0), 7.0, 8.0, 9.0), {"damping": 0.1})
    again = restored(problem, *stored(problem.backend, visit))
    for one, two in (
        (point, again.point), (point.sums, again.point.sums), (visit.counts, again.counts),
    ):  # fmt: skip
        for field in fields(one):
            V, W = getattr(one, field.name), getattr(two, field.name)
            assert getattr(V, "strides", None) == getattr(W, "strides", None), field.name
            if field.name != "sums":
                assert np.array_equal(V, W), field.name
    assert (again.status, again.facts) == (visit.status, visit.facts)


# ---- killed processes ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    X, y = make_data(n=700, d=3)
    return save_rows(tmp_path_factory.mktemp("rows") / "rows.npz", X, y), X, y


LONG = {
    "anmin": {"n_hidden": 10, "solver": "anmin", "max_iter": 60, "random_state": 0},
    "varpro": {"n_hidden": 10, "lam": 1e-4, "max_iter": 60, "random_state": 0},
    "auto": {"n_hidden": 10, "max_iter": 80, "random_state": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize("params", LONG.values(), ids=LONG)
def test_a_process_that_is_killed_in_the_middle(params, nursery, rows, file):
    path, X, y = rows
    nursery.start(path, checkpoint=str(file), **params)
    status = nursery.kill_when(lambda: file.exists() and file.stat().st_size > 20_000)
    assert status == -signal.SIGKILL
    steps = len(records(file)) - 1
    assert 5 < steps < params["max_iter"]
    same(ANMINRegressor(**params).fit(X, y), fit(file, X, y, params))


@pytest.mark.slow
def test_a_process_that_is_killed_again_and_again_at_any_moment(nursery, rows, file):
    path, X, y = rows
    rng, lengths = np.random.default_rng(0), [0]
    for _ in range(6):
        nursery.start(path, checkpoint=str(file), **LONG["auto"])
        goal = (file.stat().st_size if file.exists() else 0) + rng.integers(20_000)
        nursery.kill_when(lambda goal=goal: file.exists() and file.stat().st_size > goal)
        lengths.append(len(records(file)))
    assert lengths == sorted(lengths)  # nothing is lost
    assert len(set(lengths)) > 4
    same(ANMINRegressor(**LONG["auto"]).fit(X, y), fit(file, X, y, LONG["auto"]))


# ---- not this fit's -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The checkpoint of a fit, and its content."""
    file = tmp_path_factory.mktemp("finished") / "run.ckpt"
    fit(file, *ONE)
    return file, file.read_bytes()


def moved_a_hair(V):
    V = V.copy()
    V.flat[5] = np.nextafter(V.flat[5], np.inf)
    return V


def swapped(V):
    return V[[1, 0, *range(2, len(V))]]


OTHER_DATA = {
    "a value of X": lambda X, y: (moved_a_hair(X), y),
    "a value of y": lambda X, y: (X, moved_a_hair(y)),
    "y in other units": lambda X, y: (X, 2 * y),
    "two rows swapped": lambda X, y: (swapped(X), swapped(y)),
    "a row less": lambda X, y: (X[1:], y[1:]),
    "columns swapped": lambda X, y: (X[:, ::-1], y),
    "a column more": lambda X, y: (np.column_stack([X, y]), y),
    "two outputs": lambda X, y: (X, np.column_stack([y, y])),
}


@pytest.mark.parametrize("change", OTHER_DATA.values(), ids=OTHER_DATA)
def test_other_data_are_refused(change, finished):
    file, content = finished
    with pytest.raises(CheckpointError, match=r"run\.ckpt belongs to other data; delete it"):
        fit(file, *change(*ONE))
    assert file.read_bytes() == content


OTHER_PARAMETERS = {
    "n_hidden": 7, "lam": 1e-4, "max_iter": 41, "max_time": 60.0, "slope": 0.1, "tol": 1e-5,
    "random_state": 1, "dtype": "float32", "n_init": 2, "solver": "anmin", "standardize": False,
    "init": np.ones((3, 6)), "linear_solver": "cg", "early_stopping": True, "batch_size": 4096,
    "cv": 0.3, "patience": 3,
}  # fmt: skip
OF_THE_SOLVER = VarPro().get_params()


@pytest.mark.parametrize(("name", "value"), OTHER_PARAMETERS.items(), ids=OTHER_PARAMETERS)
def test_other_parameters_are_refused_by_name(name, value, finished):
    file, content = finished
    shown = "solver" if name in OF_THE_SOLVER else name
    what = f"made with {shown}=.*, now {shown}="
    if name in OF_THE_SOLVER:
        what += rf".*\({name}="
    with pytest.raises(CheckpointError, match=what) as caught:
        fit(file, *ONE, GIVEN | {name: value})
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == content


def test_what_does_not_change_the_fit_may_change(finished, no_steps, capsys):
    file, content = finished
    no_steps()
    model = fit(file, *ONE, GIVEN | {"verbose": 1, "n_jobs": 1})
    assert len(capsys.readouterr().out.splitlines()) == len(model.history_)
    assert file.read_bytes() == content


def test_intervals_are_another_fit_where_they_choose_the_networks(file):
    fit(file, *ONE, AUTO)
    with pytest.raises(CheckpointError, match="made with intervals=False, now intervals=True"):
        fit(file, *ONE, AUTO | {"intervals": True})


def test_the_first_look_of_hubers_loss_does_not_depend_on_the_clock(file, kill):
    settings = AUTO | {"loss": "huber", "max_time": 100.0}
    kill(20)
    with pytest.raises(Killed):
        fit(file, *ONE, settings)
    kill(10**6)
    again = fit(file, *ONE, settings)
    whole = fit(file.with_name("second"), *ONE, settings)
    assert np.array_equal(again.predict(ONE[0]), whole.predict(ONE[0]))


def test_other_splits_are_refused(file):
    fit(file, *ONE, AUTO | {"cv": KFold(3)})
    fit(file, *ONE, AUTO | {"cv": list(KFold(3).split(ONE[0]))})  # the same ones, as a list
    with pytest.raises(CheckpointError, match="made with cv="):
        fit(file, *ONE, AUTO | {"cv": KFold(3, shuffle=True, random_state=0)})


def test_a_warm_start_is_another_fit(file):
    model = fit(file, *ONE, GIVEN | {"warm_start": True})
    content = file.read_bytes()
    with pytest.raises(CheckpointError, match="warm_start"):
        model.fit(*ONE)
    assert file.read_bytes() == content
    model.set_params(checkpoint=file.with_name("second")).fit(*ONE)


def test_steps_that_come_out_differently_are_refused(finished, file):
    """As with another version of a library below this one."""
    content = finished[1]
    log = records(finished[0])
    log[3][0]["at"] = "0" * 32
    forge(file, *log)
    content = file.read_bytes()
    with pytest.raises(CheckpointError, match="come out differently"):
        fit(file, *ONE)
    assert file.read_bytes() == content


# ---- damage -------------------------------------------------------------------------------------


TINY = make_problem(*make_data(5, 1))
POINTS = [TINY.at(np.full((2, 3), 1.0 + k)) for k in range(3)]


def moves():
    """Three moves, and what they come to."""
    for k, point in enumerate(POINTS):
        counts = Counts(np.ones(3), 1.0, 5.0, 2.0)
        visit = Visit(point, counts=counts, facts={"damping": 0.1 * k})
        yield Move(lambda visit=visit: visit, TINY, point.A - 1.0), visit


def opened(path):
    """Open a checkpoint as a fit of these moves would, and read it."""
    log = Checkpoint(path, {}, TINY.source)
    try:
        return [log.recall(move) for move, _ in moves()]
    finally:
        log.close()


@pytest.fixture
def small(file):
    """A checkpoint of three moves, for `opened`."""
    log = Checkpoint(file, {}, TINY.source)
    for k, (move, visit) in enumerate(moves()):
        assert log.recall(move) is None
        log.write(move, visit, 0.25 * k)
    log.close()
    return file


def test_what_was_written_is_read(small):
    for k, ((found, seconds), (_, visit)) in enumerate(zip(opened(small), moves(), strict=True)):
        assert seconds == 0.25 * k
        assert np.array_equal(found.point.A, visit.point.A)
        assert (found.point.loss, found.facts) == (visit.point.loss, visit.facts)


@pytest.mark.parametrize("status", [Status.OUT_OF_TIME, Status.OUT_OF_ITERATIONS])
def test_that_the_budget_was_spent_is_an_outcome_too(status, file):
    log = Checkpoint(file, {}, TINY.source)
    for move, _ in moves():
        log.write(move, status, 1.5)
    log.close()
    assert opened(file) == [(status, 1.5)] * 3


def whole_records(path):
    """How many outcomes a spoiled file still has, or the error that it gives."""
    try:
        return sum(found is not None for found in opened(path))
    except CheckpointError as error:
        return str(error)


def test_cut_at_any_length(small):
    content = small.read_bytes()
    ends = [len(content)]
    for record in reversed(records(small)):
        ends.insert(0, ends[0] - len(encode(*record)))
    for length in range(len(content)):
        small.write_bytes(content[:length])
        found = whole_records(small)
        if length < ends[1]:
            assert "is damaged; delete it" in found or "is no checkpoint of anmin" in found
        else:
            assert found == sum(length >= end for end in ends[2:])
        assert small.read_bytes() == content[:length]


def test_any_byte_changed(small):
    content, rng = small.read_bytes(), np.random.default_rng(0)
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << rng.integers(8)
        small.write_bytes(changed)
        found = whole_records(small)
        assert found in (0, 1, 2) or "damaged" in found or "no checkpoint of anmin" in found
        assert small.read_bytes() == changed


@pytest.mark.parametrize("place", [0.3, 0.6, 0.9])
def test_a_fit_with_a_damaged_record_ends_as_if_it_had_ended_there(finished, file, place):
    changed = bytearray(finished[1])
    changed[int(place * len(changed))] ^= 1
    file.write_bytes(changed)
    same(ANMINRegressor(**GIVEN).fit(*ONE), fit(file, *ONE))
    assert len(file.read_bytes()) == pytest.approx(len(changed), rel=0.01)


def test_half_a_record_does_not_count(file, kill):
    """One that was being written when the process was killed."""
    kill(7)
    with pytest.raises(Killed):
        fit(file, *ONE)
    kill(10**6)
    content = file.read_bytes()
    for spoiled in (content + os.urandom(5000), content[:-1], content + content[-200:-50]):
        file.write_bytes(spoiled)
        same(ANMINRegressor(**GIVEN).fit(*ONE), fit(file, *ONE))
        same(ANMINRegressor(**GIVEN).fit(*ONE), fit(file, *ONE))


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"PK\x03\x04" + bytes(200), bytes(500), b"anmin log 2" * 20]
)
def test_a_file_of_another_kind_is_left_alone(content, file):
    file.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"run\.ckpt is no checkpoint of anmin; give another"):
        fit(file, *ONE)
    assert file.read_bytes() == content


def test_places_that_cannot_hold_a_checkpoint(tmp_path, monkeypatch):
    (tmp_path / "notes.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "none" / "run", tmp_path / "notes.txt" / "run", "x" * 300):
        with pytest.raises(CheckpointError, match=r"no file|cannot serve as checkpoint") as caught:
            fit(path, *ONE)
        assert "\n" not in str(caught.value)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(CheckpointError, match="no file"):
            fit(tmp_path / "pipe", *ONE)
        (tmp_path / "pipe").unlink()

    def refuse(*_):
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr("anmin.logfile.write_atomically", refuse)
    with pytest.raises(CheckpointError, match="cannot serve as checkpoint: Permission denied"):
        fit(tmp_path / "run", *ONE)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert (tmp_path / "notes.txt").read_text() == "mine"
    with pytest.raises(ValueError, match=r"checkpoint must be a path; got 3\."):
        fit(3, *ONE)


def test_a_full_disk(file, monkeypatch):
    put, left = Log.put, iter(range(6, -1, -1))

    def full(log, data):
        if next(left) == 0:
            put(log, data[:50])
            raise OSError(28, "No space left on device")
        put(log, data)

    monkeypatch.setattr(Log, "put", full)
    with pytest.raises(CheckpointError, match="No space left on device"):
        fit(file, *ONE)
    monkeypatch.setattr(Log, "put", put)
    same(ANMINRegressor(**GIVEN).fit(*ONE), fit(file, *ONE))


def test_two_fits_at_a_time_are_one_too_many(small):
    pytest.importorskip("fcntl")
    content = small.read_bytes()
    log = Log(small, ({}, {}))
    with pytest.raises(CheckpointError, match="in use by another fit"):
        opened(small)
    log.close()
    opened(small)
    assert small.read_bytes() == content


def test_a_fit_that_cannot_begin_leaves_no_file(file):
    for wrong in ({"n_init": 0}, {"init": np.ones((2, 2))}, {"warm_start": 1}, {"max_iter": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            fit(file, *ONE, GIVEN | wrong)
        assert not file.exists()


# ---- forged -------------------------------------------------------------------------------------

FACTS = {"params": {}, "data": rows_mark(TINY.source), "seed": 0}
FIRST, MADE = next(moves())
VALUES, ARRAYS = stored(TINY.backend, MADE)
STEP = {"at": mark(FIRST), "seconds": 0.5} | VALUES
PLAIN = {name: W.shape for name, W in ARRAYS.items()}
NUMBERS = b"".join(np.ascontiguousarray(W).tobytes() for W in ARRAYS.values())


def text(value, numbers=b""):
    """A record of this JSON, whatever it is."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return sealed(data + b"\n" + numbers)


SHAPES = [[10**9, 10**9], [-1], [2.0], ["2"], [True], [1] * 5, 7, None, {}, [10**4000], [2**62, 4]]
FORGED = {
    "nothing": b"",
    "no length": b"\0\0",
    "a record longer than the log": HEAD.pack(2**63, bytes(32)) + b"{}",
    "more text than is allowed": text(b" " * LONGEST + b"[{}, {}]"),
    "deep lists": text(b"[" * 100_000 + b"]" * 100_000),
    "deep objects": text(b'{"a":' * 50_000),
    "a number of 5,000 digits": text(b"[{}, {}, " + b"9" * 5000 + b"]"),
    "no JSON": text(b"\xff\xfe\0"),
    "no pair": text([1, 2, 3]),
    "a number": text(5),
    "lists": text([[], []]),
    "no facts": text([{}, {}]),
    "facts of another kind": text([{"params": [], "data": "", "seed": 0}, {}]),
    "too large a seed": text([FACTS | {"seed": 2**40}, {}]),
    "a seed that is none": text([FACTS | {"seed": float("nan")}, {}]),
    "a step without a place": [{k: v for k, v in STEP.items() if k != "at"}, PLAIN],
    "a step at a number": [STEP | {"at": 7}, PLAIN],
    "a step without a time": [{k: v for k, v in STEP.items() if k != "seconds"}, PLAIN],
    "a step at a time that is none": [STEP | {"seconds": "noon"}, PLAIN],
    "a step of no outcome": [{"at": mark(FIRST), "seconds": 0.5}, {}],
    "a budget that is none": [{"at": mark(FIRST), "seconds": 0.5, "spent": "MONEY"}, {}],
    "a loss that is none": [STEP | {"loss": "small"}, PLAIN],
    "a status that is none": [STEP | {"status": "EXCELLENT"}, PLAIN],
    "facts that are none": [STEP | {"facts": [1]}, PLAIN],
    "a fact that is none": [STEP | {"facts": {"damping": None}}, PLAIN],
    "counts that are none": [STEP | {"cells": "two"}, PLAIN],
    **{f"shape {str(shape)[:30]}": [STEP, PLAIN | {"A": shape}] for shape in SHAPES},
}


def test_what_is_forged_would_fit_else(file):
    forge(file, encode(FACTS, {}) + text([STEP, PLAIN], NUMBERS))
    assert [found is None for found in opened(file)] == [False, True, True]


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_nothing_in_a_file_is_taken_on_trust(forged, file):
    if isinstance(forged, list):
        forged = encode(FACTS, {}) + text(forged, NUMBERS)
    forge(file, forged)
    content = file.read_bytes()
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="damaged"):
        opened(file)
    assert tracemalloc.get_traced_memory()[1] < 30e6
    tracemalloc.stop()
    assert file.read_bytes() == content


def test_outcomes_that_do_not_fit_are_refused(file):
    for params in (GIVEN, PAPER):
        file.unlink(missing_ok=True)
        fit(file, *ONE, params)
        for change in (
            lambda scalars, arrays: arrays.update(A=np.zeros((3, 7))),
            lambda scalars, arrays: arrays.update(W=np.zeros((0, 10**9))),
            lambda scalars, arrays: arrays.pop("StS"),
            lambda scalars, arrays: scalars.pop("loss"),
            lambda scalars, arrays: scalars.update(loss="small"),
            lambda scalars, arrays: scalars.update(facts=None),
            lambda scalars, arrays: scalars.update(status="EXCELLENT"),
            lambda scalars, arrays: arrays.update(more=np.zeros(3)),
        ):
            log = records(file)
            change(*log[4])
            forged = file.with_name("forged")
            forge(forged, *log)
            with pytest.raises(CheckpointError, match="damaged"):
                fit(forged, *ONE, params)


@pytest.mark.parametrize("name", ["damping", "stuck", "held_out_mse"])
def test_facts_that_a_solver_asks_for_must_be_there(name, file):
    fit(file, *ONE, AUTO)
    log = records(file)
    assert sum(scalars.get("facts", {}).pop(name, None) is not None for scalars, _ in log) > 0
    forge(file, *log)
    with pytest.raises(CheckpointError, match="damaged"):
        fit(file, *ONE, AUTO)


def test_facts_that_nobody_asks_for_do_no_harm(file):
    whole = fit(file, *ONE, AUTO)
    log = records(file)
    for scalars, _ in log[1:]:
        if "facts" in scalars:
            scalars["facts"] |= {"iteration": 7.0, "status": 1.0, "loss": -1.0, "other": 0.0}
    forge(file, *log)
    same(whole, fit(file, *ONE, AUTO))


# ---- time ---------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """A clock that is 1/128 s further each time it is looked at."""
    ticks = count()

    def now():
        return next(ticks) / 128

    monkeypatch.setattr("anmin.engine.perf_counter", now)
    monkeypatch.setattr("anmin.base.Budget", lambda *limits: Budget(*limits[:3], started=now()))


@pytest.mark.parametrize("k", [3, 17, 28])
@pytest.mark.parametrize("params", [GIVEN, PAPER, AUTO], ids=["given", "paper", "auto"])
def test_the_clock_goes_on_from_where_it_was(params, k, clock, file, kill):
    """Stages that time has ended before the kill end there again, and the others where they do."""
    params = params | {"max_time": 0.8, "max_iter": 10**6}
    whole = fit(file.with_name("whole"), *ONE, params)
    assert whole.report().status == "out of time"
    kill(k)
    with pytest.raises(Killed):
        fit(file, *ONE, params)
    kill(10**6)
    model = fit(file, *ONE, params)
    same(whole, model)
    assert [step.seconds for step in model.history_] == [step.seconds for step in whole.history_]
    assert model.history_[-1].seconds < 0.9


@pytest.mark.parametrize("params", [GIVEN, PAPER, AUTO], ids=["given", "paper", "auto"])
def test_a_fit_that_has_spent_its_time_has_no_more(params, clock, file, no_steps):
    params = params | {"max_time": 0.8, "max_iter": 10**6}
    whole, content = fit(file, *ONE, params), file.read_bytes()
    no_steps()
    again = fit(file, *ONE, params)
    same(whole, again)
    assert again.report().status == whole.report().status == "out of time"
    assert file.read_bytes() == content


# ---- cost, and no checkpoint --------------------------------------------------------------------


def test_a_step_takes_little_room(finished):
    file, content = finished
    p, h, q = 3, 6, 1
    numbers = p * h + 2 * (h + 1) * q + (h + 1) ** 2 + h
    assert len(content) < (len(records(file)) - 1) * (8 * numbers + 600) + 2000


def test_search_and_clone(tmp_path):
    X, y = ONE
    model = ANMINRegressor(checkpoint=tmp_path / "run", **PAPER)
    assert clone(model).checkpoint == tmp_path / "run"
    plain = ANMINRegressor(**PAPER | {"max_iter": 3})
    GridSearchCV(plain, {"n_hidden": [2, 4]}, cv=2).fit(X, y)
    assert not list(tmp_path.iterdir())
    with pytest.raises(CheckpointError, match="other data"):  # one file for two fits
        GridSearchCV(model, {"lam": [1e-3]}, cv=2, error_score="raise").fit(X, y)
