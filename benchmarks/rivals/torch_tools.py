"""What the rivals written in PyTorch share: tensors, threads, and predictions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from benchmarks.cases import Split


def tensors(split: Split, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Standardised X (n, d) and Y (n, q) of the training rows."""
    X = torch.tensor(split.standardize(split.X), dtype=dtype)
    return X, torch.tensor(split.Y, dtype=dtype)


def predictor(
    split: Split, network: Callable[[Tensor], Tensor], dtype: torch.dtype = torch.float32
) -> Callable[[np.ndarray], np.ndarray]:
    """The network, which takes standardised tensors, as a function of rows of the case."""

    def predict(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return network(torch.tensor(split.standardize(rows), dtype=dtype)).double().numpy()

    return predict


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

    def seconds(count: int) -> float:
        with threads(count):
            probe()
            return min(_timed(probe) for _ in range(3))

    return min({1, torch.get_num_threads()}, key=seconds)


def _timed(action: Callable[[], None]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin
