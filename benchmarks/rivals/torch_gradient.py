"""SGD and Adam in PyTorch, in the paper's protocol and with standardised targets.

300 epochs of batches of 256; the rate (0.03 for Adam) falls tenfold after each third. The loop
is the fastest plain one: tensors shuffled once an epoch and sliced, a fused optimiser, one
thread or all, whichever is faster. The loss on the way is measured with the clock stopped.
The paper does not give SGD's rates: the best of a grid after a few epochs is taken, unclocked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.cases import Split
from benchmarks.record import Budget, Curve, Fit, Stopwatch
from benchmarks.rivals.torch_tools import predictor, quickest_threads, tensors, threads

BATCH = 256
POINTS = 60  # on the curve of the loss
SGD_RATES = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
SGD_TRIAL = 10  # epochs

Optimizer = Callable[..., torch.optim.Optimizer]
ADAM: Optimizer = partial(torch.optim.Adam, fused=True)
SGD: Optimizer = partial(torch.optim.SGD, fused=True)


def adam_paper(split: Split, budget: Budget) -> Fit:
    return train(split, budget, ADAM, 0.03)


def adam_scaled(split: Split, budget: Budget) -> Fit:
    return train(split, budget, ADAM, 0.03, scale_y=True)


def sgd_paper(split: Split, budget: Budget) -> Fit:
    return train(split, budget, SGD, sgd_rate(split))


def network(split: Split) -> nn.Sequential:
    torch.manual_seed(split.seed)
    d, q = split.X.shape[1], split.Y.shape[1]
    return nn.Sequential(nn.Linear(d, split.h), nn.ReLU(), nn.Linear(split.h, q))


def epoch(
    net: nn.Module, X: Tensor, Y: Tensor, optimizer: torch.optim.Optimizer, batch: int = BATCH
) -> None:
    """One pass over the rows in random order."""
    order = torch.randperm(len(X), device=X.device)
    for x, y in zip(X[order].split(batch), Y[order].split(batch), strict=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()


@torch.no_grad()
def training_mse(net: nn.Module, X: Tensor, Y: Tensor) -> float:
    return nn.functional.mse_loss(net(X), Y).item()


def train(
    split: Split, budget: Budget, optimizer: Optimizer, rate: float, scale_y: bool = False
) -> Fit:
    X, Y = tensors(split)
    shift, scale = (Y.mean(0), Y.std()) if scale_y else (torch.zeros(1), torch.ones(1))
    Y = (Y - shift) / scale
    count = quickest_threads(partial(_probe, split, X, Y, optimizer))
    net = network(split)
    steps = optimizer(net.parameters(), lr=rate)
    drop = torch.optim.lr_scheduler.StepLR(steps, max(1, budget.epochs // 3), 0.1)
    curve: Curve = []
    with threads(count):
        watch = Stopwatch()
        for i in range(1, budget.epochs + 1):
            epoch(net, X, Y, steps)
            drop.step()
            if i % math.ceil(budget.epochs / POINTS) == 0 or i == budget.epochs:
                with watch.paused():
                    curve.append((watch.seconds(), training_mse(net, X, Y) * scale.item() ** 2))
        seconds = watch.seconds()
    info = {"threads": count, "rate": rate}
    return Fit(seconds, predictor(split, lambda rows: net(rows) * scale + shift), curve, info)


def sgd_rate(split: Split) -> float:
    """The rate of the grid with the lowest training loss after a few epochs."""
    X, Y = tensors(split)

    def loss(rate: float) -> float:
        net = network(split)
        steps = SGD(net.parameters(), lr=rate)
        for _ in range(SGD_TRIAL):
            epoch(net, X, Y, steps)
        value = training_mse(net, X, Y)
        return value if math.isfinite(value) else math.inf

    with threads(1):
        return min(SGD_RATES, key=loss)


def _probe(split: Split, X: Tensor, Y: Tensor, optimizer: Optimizer) -> None:
    """A hundred steps of a throw-away network."""
    net = network(split)
    rows = slice(0, 100 * BATCH)
    epoch(net, X[rows], Y[rows], optimizer(net.parameters(), lr=1e-4))
