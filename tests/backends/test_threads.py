"""BLAS belongs to the process, fits to its threads: neither may disturb the other."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import make_data
from threadpoolctl import threadpool_info, threadpool_limits

from anmin import ANMINRegressor
from anmin.backends import NumpyBackend, threads
from anmin.backends.numpy import GROUP
from anmin.backends.threads import one_thread, usable_cores
from anmin.checks import jobs


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_threads():
    """BLAS with two threads, as a user with two cores has it."""
    with threadpool_limits(2, user_api="blas"):
        if set(blas_threads()) != {2}:
            pytest.skip("this BLAS has one thread")
        yield


def test_a_session_holds_blas_to_one_thread_and_lets_it_go(two_threads):
    with NumpyBackend().session():
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


def test_sessions_that_overlap_end_in_any_order(two_threads):
    """The first one in is not the last one out."""
    first, second = NumpyBackend().session(), NumpyBackend().session()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}  # the second one still needs it
    second.__exit__(None, None, None)
    assert set(blas_threads()) == {2}


def test_a_session_ends_with_an_error_too(two_threads):
    with pytest.raises(RuntimeError), NumpyBackend().session():
        raise RuntimeError("in a fit")
    assert one_thread.fits == 0
    assert set(blas_threads()) == {2}


def test_a_large_factorisation_within_a_session_stays_with_one_thread(two_threads):
    """It once took all cores, for every fit of the process."""
    seen = []
    done = threading.Event()

    def watch():
        while not done.is_set():
            seen.append(max(blas_threads()))
            time.sleep(0.001)

    with NumpyBackend().session():
        watcher = threading.Thread(target=watch)
        watcher.start()
        assert NumpyBackend().cholesky(np.eye(2100)) is not None
        done.set()
        watcher.join()
    assert set(seen) == {1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_during_a_fit_has_no_fits():
    with NumpyBackend().session():
        child = os.fork()
        if child == 0:
            os._exit(one_thread.fits)
        assert os.waitpid(child, 0)[1] == 0
        assert one_thread.fits == 1


def fit(steps, solver):
    X, y = make_data(1500, 6)
    model = ANMINRegressor(64, lam=1e-4, solver=solver, max_iter=steps, random_state=0)
    return model.fit(X, y)


@pytest.mark.parametrize("solver", ["anmin", "varpro"])
def test_fits_side_by_side_give_the_bits_they_give_alone(two_threads, solver):
    """Short ones begin before a long one and end during it, and others the other way round."""
    lengths = [1, 6, 2, 1]
    alone = {steps: fit(steps, solver) for steps in set(lengths)}
    with ThreadPoolExecutor(2) as pool:
        beside = list(pool.map(lambda steps: fit(steps, solver), lengths))
    assert set(blas_threads()) == {2}
    for steps, other in zip(lengths, beside, strict=True):
        assert alone[steps].loss_curve_ == other.loss_curve_
        np.testing.assert_array_equal(alone[steps].A_, other.A_)
        np.testing.assert_array_equal(alone[steps].B_, other.B_)


@pytest.mark.parametrize(
    ("asked", "cores"), [("1", 1), ("2,1", 2), ("99", 4), ("", 4), ("many", 4), ("0", 4)]
)
def test_no_more_cores_are_used_than_a_worker_of_joblib_may(asked, cores, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    monkeypatch.setattr("anmin.backends.threads.cpu_count", lambda: 4)
    threads._usable_cores.cache_clear()
    assert usable_cores() == cores
    threads._usable_cores.cache_clear()


def test_overflow_in_a_thread_is_handled_as_in_the_one_that_asked():
    """A fit looks for overflow afterwards; its threads printed warnings."""
    n = 3 * GROUP
    with np.errstate(all="ignore"):
        total = NumpyBackend().sum_over_blocks(lambda _: np.exp(np.full(1, 1e4)), n)
    assert np.isinf(total).all()


def test_n_jobs_changes_no_bit():
    X, y = make_data(n=200)[:2]
    nets = [ANMINRegressor(4, n_networks=2, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2, -1)]
    for other in nets[1:]:
        np.testing.assert_array_equal(nets[0].A_, other.A_)
        np.testing.assert_array_equal(nets[0].B_, other.B_)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_n_jobs_that_make_no_sense(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or a whole number other than 0"):
        ANMINRegressor(n_jobs=n_jobs).fit([[0], [1], [2]], [0, 1, 2])


def test_n_jobs_are_counted_as_in_joblib(monkeypatch):
    monkeypatch.setattr("anmin.checks.cpu_count", lambda: 4)
    assert [jobs(n) for n in (None, 1, 7, -1, -2, -9)] == [None, 1, 7, 4, 3, 1]
