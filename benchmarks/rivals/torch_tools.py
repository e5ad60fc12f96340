"""What the rivals written in PyTorch share: tensors, threads, clocks, and predictions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from benchmarks.cases import Split

Device = str | torch.device


def tensors(
    split: Split, dtype: torch.dtype = torch.float32, device: Device = "cpu"
) -> tuple[Tensor, Tensor]:
    """Standardised X (n, d) and Y (n, q) of the training rows."""
    X = torch.tensor(split.standardize(split.X), dtype=dtype, device=device)
    return X, torch.tensor(split.Y, dtype=dtype, device=device)


def predictor(
    split: Split,
    network: Callable[[Tensor], Tensor],
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
) -> Callable[[np.ndarray], np.ndarray]:
    """The network, which takes standardised tensors, as a function of rows of the case."""

    def predict(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            X = torch.tensor(split.standardize(rows), dtype=dtype, device=device)
            return network(X).double().cpu().numpy()

    return predict


def wait(device: Device) -> None:
    """Until a graphics card has done what it was asked."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run with so many threads inside PyTorch."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def quickest_threads(probe: Callable[[], None]) -> int:
    """One thread or all of them, whichever runs the probe faster (best of three)."""
    if torch.get_num_threads() == 1:
        return 1

    def seconds(count: int) -> float:
        with threads(count):
            probe()
            return min(_timed(probe) for _ in range(3))

    return min((1, torch.get_num_threads()), key=seconds)


def _timed(action: Callable[[], None]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin
