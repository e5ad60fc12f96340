"""The paper's Algorithm 1 written plainly in PyTorch.

    U_jl = sum_i G_ij G_il x_i x_i'         (p, p) for every pair of units, in batches of 256
    M_jl = (B B')_jl U_jl,   v_j = sum_i G_ij ((y_i - b0) B')_j x_i
    (M + lam I) a = v                       or by an SVD with floored values when M is degenerate
    (S'S + lam I) (b0; B) = S'Y             S = (1, relu(X A))

As in the paper's experiments: float32, lam added to sums and not to means, U_jl from batched
products. Three ways to feed it: a DataLoader, slices of a tensor, and slices with all U_jl
of a batch from one large product, which is what a careful programmer would write.

A fourth, `printed`, is for the paper's ablation, which is about what single precision does.

Rounding can make the determinant of M + lam I negative and its logarithm NaN, which is neither
above tau, as line 7 of Algorithm 1 asks of a system to be solved, nor below it: `Rules` has both
readings, and the variants of the paper's ablation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.cases import Split
from benchmarks.record import Budget, Curve, Fit, Stopwatch
from benchmarks.rivals.torch_tools import predictor, quickest_threads, tensors, threads, wait

BATCH = 256
LAM = 1e-3
TAU, FLOOR = -10_000.0, 1e-4


class Rules(NamedTuple):
    """Which network is kept, and what is done where the hidden system is degenerate."""

    keep: str = "best"  # by the loss of Eq. (1), or "last"
    degenerate: str = "floor"  # the singular values, or "reinit" at random, or "stop"
    nan_is_low: bool = True  # a determinant that is not a number counts as degenerate


PAPER = Rules()


class Network(NamedTuple):
    A: Tensor  # (p, h)
    B: Tensor  # (h, q)
    b0: Tensor  # (q,)

    def __call__(self, X: Tensor) -> Tensor:
        return torch.relu(X @ self.A) @ self.B + self.b0


Batches = Callable[[Tensor, Tensor], Iterable[tuple[Tensor, Tensor]]]
Products = Callable[[Tensor, Tensor], Tensor]
System = Callable[[Tensor, Tensor, Network], tuple[Tensor, Tensor]]


def from_loader(X: Tensor, G: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
    return DataLoader(TensorDataset(X, G), batch_size=BATCH)


def from_slices(X: Tensor, G: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
    return zip(X.split(BATCH), G.split(BATCH), strict=True)


def pairwise(X: Tensor, G: Tensor) -> Tensor:
    """U (h, h, p, p) of one batch as a batch of small products, one for each pair of units."""
    GX = G.T[:, :, None] * X  # (h, n, p)
    return torch.matmul(GX.mT[:, None], GX[None])


def at_once(X: Tensor, G: Tensor) -> Tensor:
    """U (h, h, p, p) of one batch from a single product."""
    return torch.einsum("jni,lnk->jlik", *2 * (G.T[:, :, None] * X,))


def with_ones(X: Tensor) -> Tensor:
    return torch.cat([torch.ones_like(X[:, :1]), X], dim=1)


def penalised(gram: Tensor) -> Tensor:
    gram.diagonal().add_(LAM)
    return gram


def fit_output(X: Tensor, Y: Tensor, A: Tensor) -> Network:
    S = with_ones(torch.relu(X @ A))
    b0, *B = torch.linalg.solve(penalised(S.T @ S), S.T @ Y)
    return Network(A, torch.stack(B), b0)


def losses(X: Tensor, Y: Tensor, net: Network) -> tuple[float, float]:
    """The mean squared error, and the loss of Eq. (1)."""
    squares = (net(X) - Y).square()
    penalty = LAM * sum(part.square().sum() for part in net)
    return squares.mean().item(), ((squares.sum() + penalty) / len(X)).item()


def pair_system(
    X: Tensor, Y: Tensor, net: Network, batches: Batches, products: Products
) -> tuple[Tensor, Tensor]:
    """M + lam I and v for the frozen pattern, M from U, the sums for every pair of units."""
    (p, h), B = net.A.shape, net.B
    G = (X @ net.A > 0).to(X.dtype)
    U = X.new_zeros(h, h, p, p)
    for x, g in batches(X, G):
        U += products(x, g)
    M = ((B @ B.T)[:, :, None, None] * U).transpose(1, 2).reshape(h * p, h * p)
    v = ((G * ((Y - net.b0) @ B.T)).T @ X).reshape(h * p, 1)
    return penalised(M), v


def row_system(X: Tensor, Y: Tensor, net: Network) -> tuple[Tensor, Tensor]:
    """The same from the rows Z = (G_ij B_jk x_i) of each output k: a Gram matrix, rounded less."""
    M, v = X.new_zeros(2 * (net.A.numel(),)), X.new_zeros(net.A.numel(), 1)
    for x, y in zip(X.split(BATCH), Y.split(BATCH), strict=True):
        G = (x @ net.A > 0).to(x.dtype)
        for b, b0, target in zip(net.B.T, net.b0, y.T, strict=True):
            Z = ((G * b)[:, :, None] * x[:, None, :]).reshape(len(x), -1)
            M += Z.T @ Z
            v += (Z.T @ (target - b0))[:, None]
    return penalised(M), v


def floored_solution(M: Tensor, v: Tensor) -> Tensor:
    """Lines 10 to 12."""
    left, D, right = torch.linalg.svd(M)
    return right.T @ (left.T @ v / D.clamp(min=FLOOR)[:, None])


def next_hidden(
    M: Tensor, v: Tensor, net: Network, rules: Rules, random: torch.Generator
) -> tuple[Tensor | None, float]:
    """Lines 7 to 13: the new A, or None where the rules say stop; and ln|M + lam I|."""
    logdet = float(M.logdet())
    degenerate = not logdet > TAU if rules.nan_is_low else logdet <= TAU
    p, h = net.A.shape
    if not degenerate:
        return torch.linalg.solve(M, v).reshape(h, p).T, logdet
    if rules.degenerate == "stop":
        return None, logdet
    if rules.degenerate == "reinit":
        return torch.randn(p, h, generator=random).to(net.A), logdet
    return floored_solution(M, v).reshape(h, p).T, logdet


def next_network(
    X: Tensor, Y: Tensor, net: Network, system: System, rules: Rules, random: torch.Generator
) -> tuple[Network, float] | None:
    """One iteration, with its ln|M + lam I|; None where the run ends."""
    try:
        A, logdet = next_hidden(*system(X, Y, net), net, rules, random)
        return None if A is None else (fit_output(X, Y, A), logdet)
    except torch.linalg.LinAlgError:
        return None


def train(
    split: Split,
    budget: Budget,
    system: System,
    dtype: torch.dtype = torch.float32,
    rules: Rules = PAPER,
) -> Fit:
    """Algorithm 1 from the start of the split; it ends where its numbers are no longer finite."""
    X, Y = tensors(split, dtype, budget.device)
    X, A = with_ones(X), torch.tensor(split.start(), dtype=dtype, device=budget.device)
    count = quickest_threads(partial(_probe, X, Y, A, system))
    random = torch.Generator().manual_seed(split.seed)
    curve: Curve = []
    columns: dict[str, list[float]] = {"step": [], "logdet": [], "loss": []}

    def note(mse: float, *facts: float) -> None:
        curve.append((watch.seconds(), mse))
        for column, value in zip(columns.values(), facts, strict=True):
            column.append(value)

    with threads(count):
        watch = Stopwatch()
        net = best = fit_output(X, Y, A)
        mse, lowest = losses(X, Y, net)
        note(mse, 0, math.nan, lowest)
        for k in range(1, budget.iterations + 1):
            found = next_network(X, Y, net, system, rules, random)
            if found is None or not math.isfinite((errors := losses(X, Y, found[0]))[1]):
                break
            net, logdet = found
            if errors[1] < lowest:
                best, lowest = net, errors[1]
            note(errors[0], k, logdet, errors[1])
        wait(budget.device)
        seconds = watch.seconds()
    kept = best if rules.keep == "best" else net
    predict = predictor(split, lambda rows: kept(with_ones(rows)), dtype, budget.device)
    return Fit(seconds, predict, curve, {"threads": count}, columns)


def _probe(X: Tensor, Y: Tensor, A: Tensor, system: System) -> None:
    """A few batches of the accumulation, enough to tell how many threads suit it."""
    X, Y = X[: 4 * BATCH], Y[: 4 * BATCH]
    net = fit_output(X, Y, A)
    next_hidden(*system(X, Y, net), net, PAPER, torch.Generator())


large_products: System = partial(pair_system, batches=from_slices, products=at_once)
dataloader = partial(train, system=partial(pair_system, batches=from_loader, products=pairwise))
slices = partial(train, system=partial(pair_system, batches=from_slices, products=pairwise))
gemm = partial(train, system=large_products)
printed = partial(train, system=row_system)
