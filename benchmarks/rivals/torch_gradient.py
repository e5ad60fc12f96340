"""SGD, Adam and L-BFGS in PyTorch, in the paper's protocol and with standardised targets.

    SGD, Adam   300 epochs of batches of 256; the rate (Adam: 0.03) falls tenfold after each third
    L-BFGS      60 steps of PyTorch's LBFGS without a line search, rate 0.01, batches of 100,000

The loop is the fastest plain one: tensors shuffled once an epoch and sliced, a fused optimiser,
one thread or all, whichever is faster. Errors on the way are measured with the clock stopped. A run
whose error is no longer finite cannot come back and ends. The paper does not give SGD's rates: the
best of a grid after a few epochs is taken, unclocked. L-BFGS blows up at times, so its network is
the best by training error.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.cases import Split
from benchmarks.record import Budget, Curve, Fit, Stopwatch
from benchmarks.rivals import SGD_RATES
from benchmarks.rivals.torch_tools import predictor, quickest_threads, tensors, threads, wait

POINTS = 60  # on the curve of the loss
ADAM_RATE = 0.03
SGD_TRIAL = 10  # epochs
LBFGS_RATE, LBFGS_BATCH, LBFGS_STEPS = 0.01, 100_000, 60

Optimizer = Callable[..., torch.optim.Optimizer]
ADAM: Optimizer = partial(torch.optim.Adam, fused=True)
SGD: Optimizer = partial(torch.optim.SGD, fused=True)


def adam_paper(split: Split, budget: Budget) -> Fit:
    return train(split, budget, ADAM, ADAM_RATE)


def adam_scaled(split: Split, budget: Budget) -> Fit:
    return train(split, budget, ADAM, ADAM_RATE, scale_y=True)


def sgd_paper(split: Split, budget: Budget) -> Fit:
    return train(split, budget, SGD, sgd_rate(split))


def network(split: Split, slope: float = 0.0) -> nn.Sequential:
    torch.manual_seed(split.seed)
    d, q = split.X.shape[1], split.Y.shape[1]
    activation = nn.LeakyReLU(slope) if slope else nn.ReLU()
    return nn.Sequential(nn.Linear(d, split.h), activation, nn.Linear(split.h, q))


def epoch(
    net: nn.Module, X: Tensor, Y: Tensor, optimizer: torch.optim.Optimizer, batch: int
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


class Training:
    """A new network, its rows as tensors, and the errors on the way, off the clock."""

    def __init__(self, split: Split, device: str, slope: float, scale_y: bool) -> None:
        self.split, self.device = split, device
        self.X, Y = tensors(split, device=device)
        self.X_test = torch.tensor(split.standardize(split.X_test), dtype=Y.dtype, device=device)
        self.Y_test = torch.tensor(split.Y_test, dtype=Y.dtype, device=device)
        self.shift = Y.mean(0) if scale_y else torch.zeros_like(Y[0])
        self.scale = Y.std() if scale_y else torch.ones_like(Y[0, 0])
        self.Y = (Y - self.shift) / self.scale
        self.net = network(split, slope).to(device)
        self.curve: Curve = []
        self.steps: list[float] = []
        self.test: list[float] = []
        self.watch = Stopwatch()

    def errors(self) -> tuple[float, float]:
        """Train and test MSE in the units of y."""
        train = training_mse(self.net, self.X, self.Y) * self.scale.item() ** 2
        return train, training_mse(self.forward(self.net), self.X_test, self.Y_test)

    def forward(self, net: nn.Module) -> Callable[[Tensor], Tensor]:
        return lambda rows: net(rows) * self.scale + self.shift

    def note(self, step: int, train: float, test: float) -> None:
        """A point of the curve; its errors were found with the clock stopped."""
        self.curve.append((self.watch.seconds(), train))
        self.steps.append(step)
        self.test.append(test)

    def finished(self, net: nn.Module, **info: object) -> Fit:
        wait(self.device)
        seconds = self.watch.seconds()
        predict = predictor(self.split, self.forward(net), device=self.device)
        columns = {"step": self.steps, "test_mse": self.test}
        return Fit(seconds, predict, self.curve, info, columns)


def train(
    split: Split,
    budget: Budget,
    optimizer: Optimizer,
    rate: float,
    *,
    slope: float = 0.0,
    scale_y: bool = False,
) -> Fit:
    """Epochs at the paper's rates; about 60 points of the curve."""
    count = quickest_threads(partial(_probe, split, budget.device, optimizer))
    run = Training(split, budget.device, slope, scale_y)
    steps = optimizer(run.net.parameters(), lr=rate)
    drop = torch.optim.lr_scheduler.StepLR(steps, max(1, budget.epochs // 3), 0.1)
    with threads(count):
        errors = run.errors()
        run.watch = Stopwatch()
        run.note(0, *errors)
        for i in range(1, budget.epochs + 1):
            epoch(run.net, run.X, run.Y, steps, split.batch)
            drop.step()
            if i % math.ceil(budget.epochs / POINTS) == 0 or i == budget.epochs:
                wait(budget.device)
                with run.watch.paused():
                    errors = run.errors()
                run.note(i, *errors)
                if not math.isfinite(run.curve[-1][1]):
                    break
        return run.finished(run.net, threads=count, rate=rate)


def lbfgs_unsearched(split: Split, budget: Budget, steps: int = LBFGS_STEPS) -> Fit:
    """PyTorch's LBFGS as it comes (20 inner iterations a step), the best network kept."""
    run = Training(split, budget.device, slope=0.0, scale_y=False)
    optimizer = torch.optim.LBFGS(run.net.parameters(), lr=LBFGS_RATE)
    best, (lowest, test) = copy.deepcopy(run.net), run.errors()
    run.watch = Stopwatch()
    run.note(0, lowest, test)
    note = ""
    for step in range(1, steps + 1):
        for x, y in zip(run.X.split(LBFGS_BATCH), run.Y.split(LBFGS_BATCH), strict=True):
            optimizer.step(_closure(run.net, optimizer, x, y))
        wait(budget.device)
        with run.watch.paused():
            found = run.errors()
            if found[0] < lowest:
                best, (lowest, test) = copy.deepcopy(run.net), found
        run.note(step, found[0], test)
        if not all(bool(p.isfinite().all()) for p in run.net.parameters()):
            note = f"no longer finite after {step} steps"
            break
    return run.finished(best, note=note)


def _closure(
    net: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor
) -> Callable[[], Tensor]:
    def evaluate() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss

    return evaluate


def sgd_rate(split: Split) -> float:
    """The rate of the grid with the lowest training loss after a few epochs."""
    X, Y = tensors(split)

    def loss(rate: float) -> float:
        net = network(split)
        steps = SGD(net.parameters(), lr=rate)
        for _ in range(SGD_TRIAL):
            epoch(net, X, Y, steps, split.batch)
        value = training_mse(net, X, Y)
        return value if math.isfinite(value) else math.inf

    with threads(1):
        return min(SGD_RATES, key=loss)


def _probe(split: Split, device: str, optimizer: Optimizer) -> None:
    """A hundred steps of a throw-away network."""
    X, Y = tensors(split, device=device)
    net = network(split).to(device)
    rows = slice(0, 100 * split.batch)
    epoch(net, X[rows], Y[rows], optimizer(net.parameters(), lr=1e-4), split.batch)
