"""Tasks in parallel: one process a core, one thread each, so that times can be compared.

A worker writes its record before it reports, so whatever is reported is on disk. After Ctrl-C, or
when the caller stops listening, the workers are ended at once; what they were at is lost. They
end also when the parent is killed.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any

from threadpoolctl import threadpool_limits

from paper.plan import Plan, Task
from paper.record import Record
from paper.run import execute, warm_up

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
HELD = ExitStack()  # what a worker holds until it ends
Outcome = tuple[Task, Record | Exception]
Each = Callable[[Sequence[Task]], Iterator[Outcome]]


@contextmanager
def workers(plan: Plan, jobs: int) -> Iterator[Each]:
    """A function that runs tasks in so many processes (1: in this one), in any order.

    It yields each task with its record or its error.
    """
    if jobs == 1:
        with one_thread():
            warm_up(plan.methods)
            yield lambda tasks: ((task, attempt(plan, task)) for task in tasks)
        return
    known = set(active_children())
    context = get_context("spawn")
    cores = context.SimpleQueue()
    for core in shared_cores(jobs):
        cores.put(core)
    pool = ProcessPoolExecutor(jobs, context, start_worker, (cores, plan.methods))

    def each(tasks: Sequence[Task]) -> Iterator[Outcome]:
        futures = {pool.submit(attempt, plan, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()

    try:
        with single_threaded_children():
            yield each
    finally:
        for child in set(active_children()) - known:
            child.terminate()
        pool.shutdown(cancel_futures=True)  # it joins them, and nobody else does at the same time


def attempt(plan: Plan, task: Task) -> Record | Exception:
    """The record of a task; an error is an answer too, and does not stop the others."""
    try:
        return execute(plan, task)
    except Exception as error:  # noqa: BLE001
        return RuntimeError(f"{type(error).__name__}: {error}")


def start_worker(cores: Any, methods: tuple[str, ...]) -> None:
    """Take a core, use one thread, leave Ctrl-C to the parent but not outlive it, and get ready."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=leave_with_parent, daemon=True).start()
    HELD.enter_context(one_thread(cores.get()))
    warm_up(methods)


def leave_with_parent() -> None:
    """End this process when its parent has ended, however that was."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def one_thread(core: int | None = None) -> Iterator[None]:
    """One thread for all arithmetic, and one core where the system can hold a process to it."""
    with ExitStack() as stack:
        stack.enter_context(single_threaded_children())
        stack.enter_context(threadpool_limits(1))
        if hasattr(os, "sched_setaffinity"):
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {min(before) if core is None else core})
            stack.callback(os.sched_setaffinity, 0, before)
        if torch := sys.modules.get("torch"):
            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)
        yield


@contextmanager
def single_threaded_children() -> Iterator[None]:
    """Processes that start meanwhile, and libraries that load, begin with one thread."""
    before: dict[str, str | None] = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def usable_cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def shared_cores(jobs: int) -> list[int]:
    """A core for each worker, in turn where there are more workers than cores.

    >>> len(shared_cores(3))
    3
    """
    cores = usable_cores()
    return [cores[i % len(cores)] for i in range(jobs)]
