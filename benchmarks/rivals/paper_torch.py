"""The paper's Algorithm 1 written plainly in PyTorch.

    U_jl = sum_i G_ij G_il x_i x_i'         (p, p) for every pair of units, in batches of 256
    M_jl = (B B')_jl U_jl,   v_j = sum_i G_ij ((y_i - b0) B')_j x_i
    (M + lam I) a = v                       or by an SVD with floored values when M is degenerate
    (S'S + lam I) (b0; B) = S'Y             S = (1, relu(X A))

As in the paper's experiments: float32, lam added to sums and not to means, U_jl from batched
products. Three ways to feed it: a DataLoader, slices of a tensor, and slices with all U_jl
of a batch from one large product, which is what a careful programmer would write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.cases import Split
from benchmarks.record import Budget, Curve, Fit, Stopwatch
from benchmarks.rivals.torch_tools import predictor, quickest_threads, threads

BATCH = 256
LAM = 1e-3
TAU, FLOOR = -10_000.0, 1e-4


class Network(NamedTuple):
    A: Tensor  # (p, h)
    B: Tensor  # (h, q)
    b0: Tensor  # (q,)

    def __call__(self, X: Tensor) -> Tensor:
        return torch.relu(X @ self.A) @ self.B + self.b0


Batches = Callable[[Tensor, Tensor], Iterable[tuple[Tensor, Tensor]]]
Products = Callable[[Tensor, Tensor], Tensor]


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


def fit_output(X: Tensor, Y: Tensor, A: Tensor) -> Network:
    S = torch.cat([torch.ones_like(X[:, :1]), torch.relu(X @ A)], dim=1)
    ridge = S.T @ S + LAM * torch.eye(S.shape[1], dtype=S.dtype)
    b0, *B = torch.linalg.solve(ridge, S.T @ Y)
    return Network(A, torch.stack(B), b0)


def fit_hidden(X: Tensor, Y: Tensor, net: Network, batches: Batches, products: Products) -> Tensor:
    """The hidden layer for the frozen pattern; (M + lam I) is solved directly or by an SVD."""
    (p, h), B = net.A.shape, net.B
    G = (X @ net.A > 0).to(X.dtype)
    U = torch.zeros(h, h, p, p, dtype=X.dtype)
    for x, g in batches(X, G):
        U += products(x, g)
    M = ((B @ B.T)[:, :, None, None] * U).transpose(1, 2).reshape(h * p, h * p)
    M += LAM * torch.eye(h * p, dtype=X.dtype)
    v = ((G * ((Y - net.b0) @ B.T)).T @ X).reshape(h * p, 1)
    if torch.logdet(M) > TAU:
        a = torch.linalg.solve(M, v)
    else:
        left, D, right = torch.linalg.svd(M)
        a = right.T @ (left.T @ v / D.clamp(min=FLOOR)[:, None])
    return a.reshape(h, p).T


def train(
    split: Split,
    budget: Budget,
    batches: Batches,
    products: Products,
    dtype: torch.dtype = torch.float32,
) -> Fit:
    """Algorithm 1 from the start of the split; the best network by training loss is kept."""
    X = torch.tensor(split.standardize(split.X), dtype=dtype)
    X, Y = torch.cat([torch.ones_like(X[:, :1]), X], dim=1), torch.tensor(split.Y, dtype=dtype)
    A = torch.tensor(split.start(), dtype=dtype)
    count = quickest_threads(partial(_probe, X, Y, A, batches, products))
    curve: Curve = []
    with threads(count):
        watch = Stopwatch()
        net = best = fit_output(X, Y, A)
        loss = lowest = ((net(X) - Y) ** 2).mean().item()
        curve.append((watch.seconds(), loss))
        for _ in range(budget.iterations):
            net = fit_output(X, Y, fit_hidden(X, Y, net, batches, products))
            loss = ((net(X) - Y) ** 2).mean().item()
            if loss < lowest:
                best, lowest = net, loss
            curve.append((watch.seconds(), loss))
        seconds = watch.seconds()

    def network(rows: Tensor) -> Tensor:
        return best(torch.cat([torch.ones_like(rows[:, :1]), rows], dim=1))

    return Fit(seconds, predictor(split, network, dtype), curve, {"threads": count})


def _probe(X: Tensor, Y: Tensor, A: Tensor, batches: Batches, products: Products) -> None:
    """A few batches of the accumulation, enough to tell how many threads suit it."""
    rows = slice(0, 4 * BATCH)
    fit_hidden(X[rows], Y[rows], fit_output(X[rows], Y[rows], A), batches, products)


dataloader = partial(train, batches=from_loader, products=pairwise)
slices = partial(train, batches=from_slices, products=pairwise)
gemm = partial(train, batches=from_slices, products=at_once)
