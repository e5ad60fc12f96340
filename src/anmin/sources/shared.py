"""Rows shared out between the devices of one machine.

    Σ over all rows = Σ on device 0 + Σ on device 1 + …

Batches of equal size go round: each is worked on by the next device, and stays there while that has
room. In a pass all devices run the kernel at once, a thread each, and each adds up what its own
batches give. Their sums are carried to the first device and added there in the order
of the devices, so that no bit depends on which of them is the fastest.

Kernels hold arrays of the first device, and these are carried to the others. What has been carried
is known for a while: a batch remembers what it computed at an array by the array itself.

Samples stay on the first device.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import fields, is_dataclass
from functools import cache, cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from anmin.backends import Backend, SeveralDevices
from anmin.sources.batch import Kernel, S, Source, moved
from anmin.sources.chunk import Chunk
from anmin.sources.scaling import Scaling

if TYPE_CHECKING:
    from anmin.sources.raw import RawSource

T = TypeVar("T")
KNOWN = 16  # arrays and kernels that are known to be on a device


class Carrier:
    """Kernels on their way to a device."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.known: dict[int, tuple[Any, Any]] = {}  # by identity: what it was, and what it is

    def __call__(self, value: T) -> T:
        """The same with its arrays on the device; itself where they are there."""
        record = is_dataclass(value) and not isinstance(value, type)
        if not record and not getattr(value, "ndim", 0):
            return value
        known = self.known.pop(id(value), None)
        if known is None:
            known = value, (self.record(value) if record else self.backend.carried(value))  # type: ignore[arg-type]
        self.known[id(value)] = known
        if len(self.known) > KNOWN:
            del self.known[next(iter(self.known))]  # the one that was asked for the longest ago
        return known[1]

    def record(self, value: Any) -> Any:
        was = [getattr(value, f.name) for f in fields(value)]
        now = [self(part) for part in was]
        return value if all(a is b for a, b in zip(was, now, strict=True)) else type(value)(*now)


class Share(Source):
    """The batches of one of several devices, whose turn comes round."""

    def __init__(
        self, raw: RawSource, scaling: Scaling, backend: Backend, batch_size: int, devices: int
    ) -> None:
        super().__init__(raw, scaling, backend, batch_size)
        self.devices, self.carry = devices, Carrier(backend)

    def __len__(self) -> int:
        """Its rows, about: what it needs room for."""
        return (super().__len__() + self.devices - 1) // self.devices

    def kept(self, start: int) -> bool:
        return start in self._kept

    def added(self, total: S | None, kernel: Kernel[S], start: int, chunk: Chunk | None) -> S:
        """The total so far and the kernel's answer for a batch, which is kept or new."""
        batch = self._kept.get(start)
        if batch is None:
            assert chunk is not None
            batch = self._new(chunk, start)
        part = self.carry(kernel)(self.backend, batch)
        return part if total is None else total + part


class SharedSource(Source):
    """Rows of which each of several devices sums its own."""

    backend: SeveralDevices

    @cached_property
    def shares(self) -> list[Share]:
        """One a device; all that they work on at a time is no more than one batch."""
        count, n = len(self.backend.devices), max(len(self), 1)
        size = -(-n // (count * -(-n // self.batch_size)))
        terms = self.raw, self.scaling
        return [Share(*terms, device, size, count) for device in self.backend.devices]

    def reduce(self, kernel: Kernel[S]) -> S:
        running: list[Running[S]] = [Running(share, kernel) for share in self.shares]
        running[0].here = True
        try:
            with closing(self.pieces()) as pieces:
                for k, (start, chunk) in enumerate(pieces):
                    running[self.turn(k)].go_on(start, chunk)
        finally:
            wait([share.job for share in running if share.job is not None])
        sums = [share.job.result() for share in running if share.job is not None]
        if not sums:
            raise ValueError(f"{self.raw!r} has no rows.")
        return reduce(add, [moved(part, self.backend.carried) for part in sums])

    def turn(self, k: int) -> int:
        """The device of the k-th batch; the first one, whose thread deals them out, is the last."""
        return (k + 1) % len(self.shares)

    def pieces(self) -> Generator[tuple[int, Chunk | None]]:
        """Where each batch starts, and its rows; those are not read where all of it is kept."""
        size = self.shares[0].batch_size
        starts = range(0, len(self), size)
        if all(self.shares[self.turn(k)].kept(start) for k, start in enumerate(starts)):
            yield from ((start, None) for start in starts)
            return
        start = 0
        for chunk in self.raw.batches(size):
            if len(chunk):
                yield start, chunk
            start += len(chunk)

    def take(self, rows: np.ndarray, backend: Backend | None = None) -> Source:
        """Some of the rows, on the first device."""
        first = self.backend if backend is None else backend
        if isinstance(first, SeveralDevices):
            first = first.devices[0]
        return super().take(rows, first)


class Running(Generic[S]):
    """A pass on one device: its batches one after the other, in a thread of its own or `here`."""

    def __init__(self, share: Share, kernel: Kernel[S]) -> None:
        self.share, self.kernel, self.here = share, kernel, False
        self.job: Future[S] | None = None

    def go_on(self, start: int, chunk: Chunk | None) -> None:
        """Begin with a batch when the one before is done."""
        total = None if self.job is None else self.job.result()
        handled = np.geterr()

        def work() -> S:
            with np.errstate(**handled):  # as in the thread that asks
                return self.share.added(total, self.kernel, start, chunk)

        if self.here:
            done: Future[S] = Future()
            done.set_result(work())
            self.job = done
        else:
            self.job = threads(self.share.devices - 1, os.getpid()).submit(work)


@cache
def threads(count: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001, a fork needs its own
    """One for each device but the first, that stay."""
    return ThreadPoolExecutor(count, "anmin-devices")
