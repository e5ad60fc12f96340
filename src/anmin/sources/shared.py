"""Rows shared out between the devices of one machine.

    Σ over all rows = Σ of batch 0 + Σ of batch 1 + …        whichever device each is formed on

Batches go round: each is worked on by the next device, and stays there while that has room. In
a pass all devices run the kernel at once, a thread each. The sum of every batch is carried to the
first device and added there in the order of the rows. Batches are those of one device and so are
the calls on each, so that on equal devices no bit depends on how many there are, or on which of
them is the fastest. Devices beyond the number of batches have nothing to do.

Kernels hold arrays of the first device, and these are carried to the others. What has been carried
is known for a while: a batch remembers what it computed at an array by the array itself.

Samples stay on the first device.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from anmin.backends import Backend, SeveralDevices
from anmin.sources.batch import Batch, Kernel, S, Source, moved
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

    def batch(self, start: int, chunk: Chunk | None) -> Batch:
        """The batch that starts there, which is kept or new."""
        batch = self._kept.get(start)
        if batch is None:
            assert chunk is not None
            batch = self._new(chunk, start)
        return batch

    def summed(self, kernel: Kernel[S], start: int, chunk: Chunk | None) -> S:
        """The kernel's answer for a batch."""
        return self.carry(kernel)(self.backend, self.batch(start, chunk))


class SharedSource(Source):
    """Rows of which each of several devices sums its own."""

    backend: SeveralDevices

    @cached_property
    def shares(self) -> list[Share]:
        """One a device, of those that have a batch to work on."""
        count = min(len(self.backend.devices), -(-len(self) // self.step))
        terms = self.raw, self.scaling
        devices = self.backend.devices[:count]
        return [Share(*terms, device, self.batch_size, count) for device in devices]

    @property
    def keeps_all(self) -> bool:
        return all(share.keeps_all for share in self.shares)

    def batches(self) -> Iterator[Batch]:
        """In the order of the rows, each where it is worked on."""
        with closing(self.pieces()) as pieces:
            for k, piece in enumerate(pieces):
                yield self.shares[self.turn(k)].batch(*piece)

    def reduce(self, kernel: Kernel[S]) -> S:
        """Σ kernel(batch), as on one device: the sums come home and are added in their order."""
        total: S | None = None
        running: deque[Future[S]] = deque()  # at most one a device

        def with_next() -> S:
            part = moved(running.popleft().result(), self.backend.carried)
            return part if total is None else total + part

        try:
            with closing(self.pieces()) as pieces:
                for k, piece in enumerate(pieces):
                    if len(running) == len(self.shares):
                        total = with_next()
                    running.append(self.begin(k, kernel, *piece))
            while running:
                total = with_next()
        finally:
            wait(running)
        if total is None:
            raise ValueError(f"{self.raw!r} has no rows.")
        return total

    def begin(self, k: int, kernel: Kernel[S], start: int, chunk: Chunk | None) -> Future[S]:
        """The k-th batch on its device: in a thread, or here and now on the first one."""
        share, handled = self.shares[self.turn(k)], np.geterr()

        def work() -> S:
            with np.errstate(**handled):  # as in the thread that asks
                return share.summed(kernel, start, chunk)

        if self.turn(k):
            return threads(len(self.shares) - 1, os.getpid()).submit(work)
        done: Future[S] = Future()
        done.set_result(work())
        return done

    def turn(self, k: int) -> int:
        """The device of the k-th batch; the first one, whose thread deals them out, is the last."""
        return (k + 1) % len(self.shares)

    def pieces(self) -> Generator[tuple[int, Chunk | None]]:
        """Where each batch starts, and its rows; those are not read where all of it is kept."""
        starts = range(0, len(self), self.step)
        if all(self.shares[self.turn(k)].kept(start) for k, start in enumerate(starts)):
            yield from ((start, None) for start in starts)
            return
        start = 0
        for chunk in self.raw.batches(self.step):
            if len(chunk):
                yield start, chunk
            start += len(chunk)

    def take(self, rows: np.ndarray, backend: Backend | None = None) -> Source:
        """Some of the rows, on the first device."""
        first = self.backend if backend is None else backend
        if isinstance(first, SeveralDevices):
            first = first.devices[0]
        return super().take(rows, first)


@cache
def threads(count: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001, a fork needs its own
    """One for each device but the first, that stay."""
    return ThreadPoolExecutor(count, "anmin-devices")
