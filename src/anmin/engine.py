"""A stand-in for the engine: it tells listeners what the journal of a fit notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from anmin import history

Listener = Callable[[Any, Any], bool | None]


@contextmanager
def listening(hear: Listener) -> Iterator[None]:
    """Within the block every fit calls `hear(step, network)` at every turn."""
    original = history.Journal.note

    def note(self: Any, point: Any, problem: Any, *args: Any, **kwargs: Any) -> bool:
        stop = original(self, point, problem, *args, **kwargs)
        step, s = self.steps[-1], problem.source.scaling.y_scale
        told = SimpleNamespace(
            iteration=step.iteration, loss=step.loss * s**2, mse=step.mse * s**2, phase=step.phase,
            held_out_mse=step.held_out_mse * s**2, seconds=step.seconds, lam=problem.lam * s,
            share=min(max(self.budget.used, step.iteration / max(self.budget.max_iter, 1)), 1.0),
        )  # fmt: skip
        return bool(hear(told, problem.network(point))) or stop

    history.Journal.note = note  # type: ignore[method-assign]
    try:
        yield
    finally:
        history.Journal.note = original  # type: ignore[method-assign]
