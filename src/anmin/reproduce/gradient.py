"""The paper's rivals in PyTorch: SGD, Adam and LBFGS, on f(x) = σ(xW + w)B + b in float32.

    SGD, Adam   300 epochs of batches of 256; the rate falls tenfold after each third
    LBFGS       60 steps of PyTorch's LBFGS without a line search, rate 0.01, batches of 100,000

Errors on the way are measured with the clock stopped. A run whose error is no longer finite cannot
come back and ends. LBFGS blows up at times, so its network is the best by training error.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from anmin.reproduce.protocol import Array, Setup, Split
from anmin.reproduce.record import POINTS, Curve, Fit

if TYPE_CHECKING:
    from torch import Tensor, nn

ADAM_RATE = 0.03
SGD_RATES = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
LBFGS_RATE = 0.01
LBFGS_BATCH = 100_000


class Bench:
    """A split as tensors, a fresh network, and a clock that can be stopped."""

    def __init__(self, split: Split, device: str, slope: float = 0.0, scaled: bool = False) -> None:
        import torch
        from torch import nn

        def tensor(rows: Array) -> Tensor:
            return torch.tensor(rows, dtype=torch.float32, device=device)

        self.cuda = device.startswith("cuda")
        self.X, Y, self.X_test = map(tensor, (split.X, split.Y, split.X_test))
        self.Y_test = tensor(split.Y_test)
        self.shift = Y.mean(0) if scaled else torch.zeros_like(Y[0])
        self.scale = Y.std() if scaled else torch.ones_like(Y[0, 0])
        self.Y, self.batch = (Y - self.shift) / self.scale, split.batch
        torch.manual_seed(split.number)
        activation = nn.LeakyReLU(slope) if slope else nn.ReLU()
        d, q = self.X.shape[1], Y.shape[1]
        net = nn.Sequential(nn.Linear(d, split.h), activation, nn.Linear(split.h, q))
        self.net = net.to(device)
        self.curve: Curve = {name: [] for name in ("step", "seconds", "train_mse", "test_mse")}
        self.started = perf_counter()

    def seconds(self) -> float:
        """On the clock so far; work that was sent to a GPU is waited for."""
        if self.cuda:
            import torch

            torch.cuda.synchronize()
        return perf_counter() - self.started

    @contextmanager
    def clock_stopped(self) -> Iterator[float]:
        """The seconds so far; what happens inside does not count."""
        now = self.seconds()
        yield now
        self.started += self.seconds() - now

    def errors(self, net: nn.Module) -> tuple[float, float]:
        """Train and test MSE in the units of y."""
        import torch
        from torch.nn.functional import mse_loss

        with torch.no_grad():
            train = mse_loss(net(self.X), self.Y) * self.scale**2
            test = mse_loss(net(self.X_test) * self.scale + self.shift, self.Y_test)
        return train.item(), test.item()

    def note(self, step: int, train: float, test: float, seconds: float) -> None:
        for name, value in zip(self.curve, (step, seconds, train, test), strict=True):
            self.curve[name].append(value)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        from torch.nn.functional import mse_loss

        return mse_loss(self.net(x), y)

    def fit(self, net: nn.Module, note: str = "") -> Fit:
        import torch

        seconds = self.seconds()

        def predict(rows: Array) -> Array:
            with torch.no_grad():
                x = torch.tensor(rows, dtype=torch.float32, device=self.X.device)
                return (net(x) * self.scale + self.shift).double().cpu().numpy()

        return Fit(seconds, predict, self.curve, note)


def adam(split: Split, setup: Setup, *, slope: float = 0.0, scaled: bool = False) -> Fit:
    """Adam at rate 0.03; with `scaled`, on standardised targets."""
    import torch

    bench = Bench(split, setup.device, slope, scaled)
    optimizer = torch.optim.Adam(bench.net.parameters(), lr=ADAM_RATE, fused=True)
    train(bench, optimizer, setup.size.epochs)
    return bench.fit(bench.net)


def sgd(split: Split, setup: Setup) -> Fit:
    """Stochastic gradient descent, without momentum."""
    import torch

    bench = Bench(split, setup.device)
    optimizer = torch.optim.SGD(bench.net.parameters(), lr=setup.sgd_rate, fused=True)
    train(bench, optimizer, setup.size.epochs)
    return bench.fit(bench.net, f"rate {setup.sgd_rate:g}")


def sgd_trial(split: Split, setup: Setup) -> Fit:
    """A whole run at each rate of the list, the largest first, until one ends worse than before."""
    start = perf_counter()
    trial: Curve = {"rate": [], "train_mse": []}
    for rate in SGD_RATES:
        error = sgd(split, replace(setup, sgd_rate=rate)).curve["train_mse"][-1]
        trial["rate"].append(rate)
        trial["train_mse"].append(error)
        if error > lowest(trial):
            break
    return Fit(perf_counter() - start, None, trial)


def lowest(trial: Curve) -> float:
    """The lowest error met; infinite while every rate has blown up."""
    return min((error for error in trial["train_mse"] if math.isfinite(error)), default=math.inf)


def best_rate(trial: Curve) -> float:
    """The rate with the lowest training MSE; one that blew up has none.

    >>> best_rate({"rate": [0.1, 0.01, 0.001], "train_mse": [math.nan, 3.0, 5.0]})
    0.01
    """
    known = zip(trial["train_mse"], trial["rate"], strict=True)
    return min((loss if math.isfinite(loss) else math.inf, rate) for loss, rate in known)[1]


def train(bench: Bench, optimizer: Any, epochs: int) -> None:
    """Epochs in random order; the rate falls tenfold after each third. Notes about 60 errors."""
    import torch

    drop = torch.optim.lr_scheduler.StepLR(optimizer, max(1, epochs // 3), 0.1)
    every = math.ceil(epochs / POINTS)
    bench.note(0, *bench.errors(bench.net), 0.0)
    bench.started = perf_counter()
    for epoch in range(1, epochs + 1):
        order = torch.randperm(len(bench.X), device=bench.X.device)
        X, Y = bench.X[order], bench.Y[order]
        for x, y in zip(X.split(bench.batch), Y.split(bench.batch), strict=True):
            optimizer.zero_grad()
            bench.loss(x, y).backward()
            optimizer.step()
        drop.step()
        if epoch % every == 0 or epoch == epochs:
            with bench.clock_stopped() as now:
                bench.note(epoch, *bench.errors(bench.net), now)
            if not math.isfinite(bench.curve["train_mse"][-1]):
                return


def lbfgs(split: Split, setup: Setup) -> Fit:
    """PyTorch's LBFGS as it comes (20 inner iterations a step), the best network kept."""
    import torch

    bench = Bench(split, setup.device)
    optimizer = torch.optim.LBFGS(bench.net.parameters(), lr=LBFGS_RATE)
    best, (lowest, test) = copy.deepcopy(bench.net), bench.errors(bench.net)
    bench.note(0, lowest, test, 0.0)
    bench.started, remark = perf_counter(), ""
    for step in range(1, setup.size.lbfgs_steps + 1):
        for x, y in zip(bench.X.split(LBFGS_BATCH), bench.Y.split(LBFGS_BATCH), strict=True):
            optimizer.step(closure(bench, optimizer, x, y))
        with bench.clock_stopped() as now:
            found = bench.errors(bench.net)
            if found[0] < lowest:
                best, (lowest, test) = copy.deepcopy(bench.net), found
            bench.note(step, found[0], test, now)
        if not all(bool(p.isfinite().all()) for p in bench.net.parameters()):
            remark = f"no longer finite after {step} steps"
            break
    return bench.fit(best, remark)


def closure(bench: Bench, optimizer: Any, x: Tensor, y: Tensor) -> Callable[[], Tensor]:
    def evaluate() -> Tensor:
        optimizer.zero_grad()
        loss = bench.loss(x, y)
        loss.backward()
        return loss

    return evaluate
