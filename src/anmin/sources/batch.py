"""A batch of prepared rows, as a kernel sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from anmin.backends import Array, Backend


@dataclass(slots=True)
class Room:
    """Bytes that may still be kept.

    >>> from anmin.sources.batch import Room
    >>> room = Room(100)
    >>> room.take(80), room.take(80), room.left
    (True, False, 20)
    """

    left: int

    def take(self, size: int) -> bool:
        """Whether `size` bytes fit; if so they are spoken for."""
        fits = size <= self.left
        self.left -= size if fits else 0
        return fits


@dataclass(slots=True)
class Batch:
    """X with its leading column and Y, both multiplied by √w; `start` is its first row's number.

    A batch that the source keeps also remembers what kernels computed on it, while the source
    has room for that too.
    """

    X: Array  # (n, p)
    Y: Array  # (n, q)
    start: int
    room: Room | None = None  # where what is remembered is charged; None for a passing batch
    _memory: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def kept(self) -> bool:
        return self.room is not None

    def once(self, name: str, at: Any, compute: Callable[[], Any]) -> Any:
        """compute(), remembered under `name` until asked for at another object `at`."""
        known = self._memory.get(name)
        if known is not None and known[0] is at:
            return known[1]
        value = compute()
        if self.room is not None:
            self._remember(self.room, name, at, value)
        return value

    def _remember(self, room: Room, name: str, at: Any, value: Any) -> None:
        if name in self._memory:
            room.left += bytes_of(self._memory.pop(name)[1])
        if room.take(bytes_of(value)):
            self._memory[name] = (at, value)


def bytes_of(value: Any) -> int:
    """The size of an array, or of a tuple of them; whatever else is small."""
    if isinstance(value, tuple):
        return sum(map(bytes_of, value))
    return int(getattr(value, "nbytes", 0))


class Kernel(Protocol):
    """A batch in, something that adds out."""

    def __call__(self, backend: Backend, batch: Batch) -> Any: ...
