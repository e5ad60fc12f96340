"""Several devices at a time: passes over all rows are shared out between them.

What is not a pass is done by the first of them: small systems, samples, steps. So to all but a
source (`sources/shared.py`) several devices are the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anmin.backends.protocol import Backend

ALL = "cuda:all"


class SeveralDevices:
    """The first of several backends, which knows the others."""

    stacks = False  # a pass is already shared out

    def __init__(self, devices: Sequence[Backend]) -> None:
        self.devices = list(devices)

    def __getattr__(self, name: str) -> Any:
        if name == "devices":  # while it is being copied
            raise AttributeError(name)
        return getattr(self.devices[0], name)

    def single(self) -> SeveralDevices:
        return SeveralDevices([device.single() for device in self.devices])

    def for_width(self, p: int) -> SeveralDevices:
        return SeveralDevices([device.for_width(p) for device in self.devices])


def device_names(device: str | Sequence[str]) -> list[str]:
    """The names of one or of several devices; "cuda:all" are all cards that PyTorch finds.

    >>> from anmin.backends.devices import device_names
    >>> device_names("cpu"), device_names(["cuda:0", "cuda:1"])
    (['cpu'], ['cuda:0', 'cuda:1'])
    """
    if device == ALL:
        return [f"cuda:{k}" for k in range(cards())] or ["cuda"]  # which says that there is none
    return [device] if isinstance(device, str) else list(device)


def cards() -> int:
    """How many GPUs PyTorch finds; none where there is no PyTorch."""
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count()
