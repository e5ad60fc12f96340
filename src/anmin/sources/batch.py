"""A batch of prepared rows, as a kernel sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from anmin.backends import Array, Backend


@dataclass(slots=True)
class Batch:
    """X with its leading column and Y, both multiplied by √w; `start` is its first row's number.

    A batch that the source keeps also remembers what kernels computed on it.
    """

    X: Array  # (n, p)
    Y: Array  # (n, q)
    start: int
    kept: bool = False
    _memory: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.X)

    def once(self, name: str, at: Any, compute: Callable[[], Any]) -> Any:
        """compute(), remembered under `name` until asked for at another object `at`."""
        known = self._memory.get(name)
        if known is not None and known[0] is at:
            return known[1]
        value = compute()
        if self.kept:
            self._memory[name] = (at, value)
        return value


class Kernel(Protocol):
    """A batch in, something that adds out."""

    def __call__(self, backend: Backend, batch: Batch) -> Any: ...
