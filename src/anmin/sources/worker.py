"""Dask's workers: what they do with a partition, and whether they are still there.

What travels to them holds nothing of the size of the data, and needs no Dask itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from time import monotonic
from typing import Any, Generic, TypeVar

import numpy as np

from anmin.backends import NumpyBackend, get_backend
from anmin.sources.batch import Kernel, S, moved
from anmin.sources.chunk import Chunk, checked, chunk_of
from anmin.sources.draws import Keep, row_and_input_keys
from anmin.sources.raw import ArrayRows, Function
from anmin.sources.scaling import Scaling

T = TypeVar("T")
KEEP = 0.3  # of the workers' memory
LOOK = 2.0  # seconds between looks at the workers
PATIENCE = "20s"  # without any worker, if the configuration of Dask says nothing
Work = Callable[[ArrayRows], T | None]


class PartitionError(ValueError):
    """A partition that could not be read or worked on; the message says which."""


def load(index: int, X: Any, y: Any, w: Any, names: Sequence[str] | None, bad_rows: str) -> Chunk:
    """A partition as numbers, checked, without rows of weight 0."""
    try:
        chunk, origin = chunk_of(f"partition {index}", X, y, w, names)
        return checked(chunk, origin, bad_rows)
    except ValueError as error:
        raise PartitionError(str(error)) from error


def run(work: Work[T], chunk: Chunk, index: int) -> T | None:
    """One pass over one partition, on a worker."""
    try:
        return work(ArrayRows(chunk))
    except Exception as error:
        raise PartitionError(f"partition {index}: {error!r}") from error


def added(parts: list[Any]) -> Any:
    """Their sum, in order, without what empty partitions give."""
    parts = [part for part in parts if part is not None]
    return reduce(add, parts) if parts else None


def some_rows(chunk: Chunk, keep: Keep, first: int) -> Chunk:
    """The rows of a part, in a partition whose first row has the number `first`."""
    return chunk.select(keep(first, chunk))


def all_rows(rows: ArrayRows) -> Chunk:
    return rows.chunk


def all_keys(rows: ArrayRows) -> Chunk:
    """The keys of the rows, as a chunk: chunks add up to longer ones."""
    return Chunk(row_and_input_keys(rows.chunk), np.empty((len(rows.chunk), 0)))


@dataclass(frozen=True, slots=True)
class Pass(Generic[S]):
    """A kernel, and how the rows are prepared for it."""

    kernel: Kernel[S]
    scaling: Scaling
    device: str
    dtype: str
    batch_size: int

    def __call__(self, rows: ArrayRows) -> S | None:
        if not len(rows.chunk):
            return None
        backend = get_backend(self.device, self.dtype, threads=1)
        kernel = moved(self.kernel, backend.asarray)
        with backend.session(), np.errstate(all="ignore"):
            total = rows.prepared(self.scaling, backend, self.batch_size).reduce(kernel)
        plain = isinstance(backend, NumpyBackend)
        return total if plain else moved(total, backend.to_numpy)


def block_scores(X: Any, function: Function, block_id: tuple[int, ...]) -> np.ndarray:
    """function(X) for one block of a Dask array, if all its cells are usable numbers."""
    chunk, origin = chunk_of(f"partition {block_id[0]}", X)
    return function(checked(chunk, origin, "error").X)


# ---- the cluster --------------------------------------------------------------------------------


class WorkersLostError(RuntimeError):
    """No worker of the cluster is left, and none came back in time."""


def client_in_use() -> Any:
    """The client of the cluster in use; None where Dask computes in this process."""
    from dask.base import get_scheduler

    return getattr(get_scheduler(), "__self__", None)


def computed(value: Any) -> Any:
    """The value of a delayed object; an error once the cluster has been without workers."""
    import dask

    client = client_in_use()
    if client is None:
        return dask.compute(value)[0]
    patience = dask.config.get("distributed.scheduler.no-workers-timeout", None) or PATIENCE
    future, seen = client.compute(value), monotonic()
    while True:
        try:
            return future.result(timeout=LOOK)
        except TimeoutError:
            if future.status == "error":
                raise
        if client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.workers)):
            seen = monotonic()
        elif monotonic() - seen > dask.utils.parse_timedelta(patience):
            raise WorkersLostError(
                f"the Dask cluster has had no worker for {patience}. Start workers and fit again; "
                "to wait longer, set distributed.scheduler.no-workers-timeout in Dask's "
                "configuration."
            )


def memory_limit(dask_scheduler: Any) -> int:
    """Bytes that all workers together may use."""
    return sum(worker.memory_limit or 0 for worker in dask_scheduler.workers.values())


def kept(pieces: list[Any], size: int) -> list[Any]:
    """The partitions in the workers' memory, if they take little of it."""
    import dask

    client = client_in_use()
    if client is None or size > KEEP * client.run_on_scheduler(memory_limit):
        return pieces
    return list(dask.persist(*pieces))
