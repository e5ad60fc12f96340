"""Threads: those that share the rows of a fit, and those that BLAS must not start meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock, current_thread
from typing import TYPE_CHECKING

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from threadpoolctl import LibController  # public from 3.2 on

THREADS = "anmin-rows"  # the name of those that share the rows


def usable_cores() -> int:
    """Cores this process may use: affinity, a container's quota, OMP_NUM_THREADS.

    The last is how joblib tells its workers what share of the machine is theirs.
    """
    return _usable_cores(os.getpid(), os.environ.get("OMP_NUM_THREADS", ""))


@cache
def _usable_cores(process: int, asked: str) -> int:  # noqa: ARG001, a fork looks for itself
    first = asked.split(",", maxsplit=1)[0].strip()  # one number for each level of nesting
    most = int(first) if first.isdecimal() and int(first) > 0 else cpu_count()
    return min(most, cpu_count())


@cache
def pool(workers: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001, a fork needs its own
    """Threads that stay: starting them takes longer than a thin pass over a block."""
    return ThreadPoolExecutor(workers, THREADS)


def in_parallel(workers: int) -> bool:
    """Whether to share work out: not from within one of the threads that do it."""
    return workers > 1 and not current_thread().name.startswith(THREADS)


class OneThread:
    """Holds BLAS to one thread while any fit of this process runs.

    The limit belongs to the process, fits to its threads: the first fit to enter sets the limit,
    the last to leave puts back what was there before the first.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.lock, self.fits = Lock(), 0
        self.before: list[tuple[LibController, int]] = []  # libraries with the threads they had

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self.lock:
            if self.fits == 0:
                found = _libraries().select(user_api="blas").lib_controllers
                self.before = [(library, library.num_threads) for library in found]
                set_threads([(library, 1) for library in found])
            self.fits += 1
        try:
            yield
        finally:
            with self.lock:
                self.fits -= 1
                if self.fits == 0:
                    set_threads(self.before)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def set_threads(counts: list[tuple[LibController, int]]) -> None:
    """Set the threads of libraries, whichever thread asks for it.

    From threadpoolctl 3.8 on the first thread to set a number is the only one that can, until it
    gives that up; the calls of others do nothing.
    """
    for library, threads in counts:
        give_up = getattr(library, "clear_controlling_thread", lambda force: None)  # noqa: ARG005
        give_up(force=True)
        library.set_num_threads(threads)
        give_up(force=True)


one_thread = OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_thread.reset)  # no fit runs there yet
