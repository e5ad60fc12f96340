"""Signed distances by Adam in PyTorch: a network of two layers, and a deep one of 8 layers of 32.

Both see the rows and the weights that ours see, X and y in radii around the centre. Batches of
2,048, a fused Adam whose rate falls to zero along a cosine of the time that is spent. It starts at
the best of three rates after a twentieth of the time, which is off the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.rivals.torch_tools import quickest_threads, threads

BATCH = 2048
RATES = (0.03, 0.01, 0.003)
TRIAL = 0.05  # of the time, for each rate
LAYERS, WIDTH = 8, 32

Predict = Callable[[np.ndarray], np.ndarray]


def two_layers(d: int, h: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, 1))


def deep(d: int, _: int) -> nn.Sequential:
    """Eight hidden layers of 32: (d + 1) 32 + 7 · 33 · 32 + 33 numbers, 7,553 in space."""
    sizes = [d, *([WIDTH] * LAYERS)]
    layers = [(nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(sizes)]
    return nn.Sequential(*(part for pair in layers for part in pair), nn.Linear(WIDTH, 1))


def adam(
    make: Callable[[], nn.Module], X: np.ndarray, y: np.ndarray, w: np.ndarray, seconds: float
) -> nn.Module:
    """A network trained for so many seconds, at the best of three rates."""
    rows = [torch.tensor(a, dtype=torch.float32) for a in (X, y[:, None], w[:, None] / w.mean())]

    def probe() -> None:
        train(make, rows, 0.0, RATES[1], steps=5)

    with threads(quickest_threads(probe)):
        trials = {rate: train(make, rows, TRIAL * seconds, rate)[1] for rate in RATES}
        return train(make, rows, seconds, min(trials, key=trials.__getitem__))[0]


def train(
    make: Callable[[], nn.Module], rows: list[Tensor], seconds: float, rate: float, steps: int = 0
) -> tuple[nn.Module, float]:
    """The network after the time, or after so many steps, and its loss on all rows."""
    torch.manual_seed(0)
    net = make()
    optimizer = torch.optim.Adam(net.parameters(), lr=rate, fused=True)
    begin, done, share = time.perf_counter(), 0, 0.0
    while share < 1:
        order = torch.randperm(len(rows[0]))
        for x, y, w in zip(*(a[order].split(BATCH) for a in rows), strict=True):
            optimizer.zero_grad()
            (w * (net(x) - y) ** 2).mean().backward()
            optimizer.step()
            done += 1
            share = done / steps if steps else (time.perf_counter() - begin) / seconds
            if share >= 1:
                break
            optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * share)) / 2
    with torch.no_grad():
        X, y, w = rows
        return net, float((w * (net(X) - y) ** 2).mean().nan_to_num(math.inf))


def predictor(net: nn.Module, centre: np.ndarray, radius: float) -> Predict:
    """The network as a function of points, in the units of the shape."""

    def predict(X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            Z = torch.tensor((X - centre) / radius, dtype=torch.float32)
            return radius * net(Z).double().numpy()[:, 0]

    return predict


def count(net: nn.Module) -> int:
    return sum(part.numel() for part in net.parameters())
