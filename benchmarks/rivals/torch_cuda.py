"""Adam on a graphics card, and the card's rate of float64 matrix products.

The data lies on the card in float32; batches of 2,048, 300 epochs, the paper's rates. `adam_cuda`
is the plain loop; `adam_cuda_graph` records one step as a CUDA graph and replays it, which
takes the cost of launching kernels away (the last, incomplete batch of an epoch is left out).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.cases import Split
from benchmarks.record import Budget, Curve, Fit, SkippedError, Stopwatch
from benchmarks.rivals.torch_gradient import ADAM_RATE, POINTS, epoch, network, training_mse
from benchmarks.rivals.torch_tools import predictor, tensors, wait

BATCH = 2048
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")


def gemm_rate(n: int, k: int, times: int = 3) -> float:
    """Flops a second of Z'Z in float64, Z (n, k), counting 2 n k^2."""
    Z = torch.randn(n, k, dtype=torch.float64, device=DEVICE)
    out = torch.empty(k, k, dtype=torch.float64, device=DEVICE)
    torch.mm(Z.T, Z, out=out)
    seconds = []
    for _ in range(times):
        wait(DEVICE)
        begin = time.perf_counter()
        torch.mm(Z.T, Z, out=out)
        wait(DEVICE)
        seconds.append(time.perf_counter() - begin)
    return 2 * n * k**2 / sorted(seconds)[times // 2]


def adam_cuda(split: Split, budget: Budget) -> Fit:
    net = network(split).to(DEVICE)
    rate = torch.tensor(ADAM_RATE, device=DEVICE)
    steps = torch.optim.Adam(net.parameters(), lr=rate, fused=True)
    X, Y = tensors(split, device=DEVICE)
    return train(split, budget, net, rate, lambda: epoch(net, X, Y, steps, BATCH))


def adam_cuda_graph(split: Split, budget: Budget) -> Fit:
    if not CUDA:
        raise SkippedError("there is no graphics card")
    net = network(split).to(DEVICE)
    rate = torch.tensor(ADAM_RATE, device=DEVICE)
    X, Y = tensors(split, device=DEVICE)
    batch = min(BATCH, len(X))
    x, y = X[:batch].clone(), Y[:batch].clone()
    graph = recorded_step(net, rate, x, y)

    def replay() -> None:
        order = torch.randperm(len(X), device=DEVICE)
        for rows in order[: len(X) // batch * batch].split(batch):
            torch.index_select(X, 0, rows, out=x)
            torch.index_select(Y, 0, rows, out=y)
            graph.replay()

    return train(split, budget, net, rate, replay)


def recorded_step(net: nn.Module, rate: Tensor, x: Tensor, y: Tensor) -> torch.cuda.CUDAGraph:
    """One step of Adam on the batch held in (x, y), as a graph; the network is left as it was."""
    start = [parameter.detach().clone() for parameter in net.parameters()]
    steps = torch.optim.Adam(net.parameters(), lr=rate, fused=True, capturable=True)

    def step() -> None:
        steps.zero_grad(set_to_none=False)
        nn.functional.mse_loss(net(x), y).backward()
        steps.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), start, strict=True):
            parameter.copy_(value)
            for moment in steps.state[parameter].values():
                moment.zero_()
    return graph


def train(
    split: Split, budget: Budget, net: nn.Module, rate: Tensor, one_epoch: Callable[[], None]
) -> Fit:
    """Run the epochs with the paper's rates; the curve is measured with the clock stopped."""
    X, Y = tensors(split, device=DEVICE)
    curve: Curve = []
    wait(DEVICE)
    watch = Stopwatch()
    for i in range(1, budget.epochs + 1):
        one_epoch()
        if i % max(1, budget.epochs // 3) == 0:
            rate.mul_(0.1)
        if i % math.ceil(budget.epochs / POINTS) == 0 or i == budget.epochs:
            wait(DEVICE)
            with watch.paused():
                curve.append((watch.seconds(), training_mse(net, X, Y)))
    wait(DEVICE)
    seconds = watch.seconds()
    return Fit(seconds, predictor(split, net, device=DEVICE), curve, {"batch": BATCH})
