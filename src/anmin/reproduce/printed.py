"""Algorithm 1 as the author's program computes it: in float32, with its constants on sums.

    M + λI        summed over batches of 256 rows
    ln|M + λI|    by an LU factor; not a number where rounding made the determinant negative
    line 7        a system is solved where this is above τ; the text on the ablation has "less
                  than" τ for a degenerate one. Not a number is neither: both readings are run.

Exact arithmetic knows none of this, since M + λI is positive definite: the paper's ablation is
about what single precision does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anmin.reproduce.ours import Experiment
from anmin.reproduce.protocol import Setup, Split
from anmin.reproduce.record import Curve, Fit
from anmin.solvers.algorithm1 import FLOOR, LAM, TAU

if TYPE_CHECKING:
    from torch import Tensor

BATCH = 256


@dataclass(frozen=True, slots=True)
class Network:
    """f(x) = σ(x̃A)B + b, with b in the last row of B."""

    A: Tensor
    B: Tensor
    loss: float

    def predict(self, X: Tensor) -> Tensor:
        return features(X, self.A) @ self.B


def with_ones(X: Tensor) -> Tensor:
    import torch

    return torch.cat([X.new_ones(len(X), 1), X], 1)


def features(X: Tensor, A: Tensor) -> Tensor:
    """σ(XA) and a column of ones."""
    import torch

    return torch.cat([(X @ A).relu(), X.new_ones(len(X), 1)], 1)


def batches(*arrays: Tensor) -> Iterator[tuple[Tensor, ...]]:
    return zip(*(array.split(BATCH) for array in arrays), strict=True)


def regularised(gram: Tensor) -> Tensor:
    gram.diagonal().add_(LAM)
    return gram


def with_output_layer(X: Tensor, Y: Tensor, A: Tensor) -> Network:
    """The B that belongs to A, and the loss of Eq. (1)."""
    import torch

    size = A.shape[1] + 1
    G, r = X.new_zeros(size, size), X.new_zeros(size, Y.shape[1])
    for x, y in batches(X, Y):
        S = features(x, A)
        G += S.T @ S
        r += S.T @ y
    B = torch.linalg.solve(regularised(G), r)
    residual = features(X, A) @ B - Y
    loss = residual.square().sum() + LAM * (A.square().sum() + B.square().sum())
    return Network(A, B, float(loss) / len(X))


def hidden_system(X: Tensor, Y: Tensor, here: Network) -> tuple[Tensor, Tensor]:
    """M + λI and c."""
    size = here.A.numel()
    M, c = X.new_zeros(size, size), X.new_zeros(size)
    for x, y in batches(X, Y):
        fires = (x @ here.A > 0).to(x.dtype)
        for b, b0, target in zip(here.B[:-1].T, here.B[-1], y.T, strict=True):
            Z = ((fires * b)[:, :, None] * x[:, None, :]).reshape(len(x), size)
            M += Z.T @ Z
            c += Z.T @ (target - b0)
    return regularised(M), c


def floored_solution(M: Tensor, c: Tensor) -> Tensor:
    """Lines 10 to 12."""
    import torch

    U, D, Vt = torch.linalg.svd(M)
    return U @ ((Vt @ c) / D.clamp(min=FLOOR))


def printed(split: Split, setup: Setup, *, experiment: Experiment, nan_is_low: bool) -> Fit:
    """Algorithm 1, line by line; a run ends where its numbers are no longer finite."""
    import torch

    def tensor(rows: NDArray) -> Tensor:
        return torch.tensor(rows, dtype=torch.float32, device=setup.device)

    start = perf_counter()
    random = torch.Generator().manual_seed(split.number)
    X, Y, A = with_ones(tensor(split.X)), tensor(split.Y), tensor(split.start())
    curve: Curve = {"step": [], "logdet": [], "loss": []}
    best = here = with_output_layer(X, Y, A)
    for k in range(setup.size.iterations):
        M, c = hidden_system(X, Y, here)
        logdet = float(M.logdet())
        degenerate = not logdet > TAU if nan_is_low else logdet <= TAU
        if degenerate and experiment.degenerate == "stop":
            break
        try:
            if not degenerate:
                A = torch.linalg.solve(M, c).reshape(A.T.shape).T
            elif experiment.degenerate == "reinit":
                A = torch.randn(A.shape, generator=random).to(A.device)
            else:
                A = floored_solution(M, c).reshape(A.T.shape).T
            here = with_output_layer(X, Y, A)
        except torch.linalg.LinAlgError:
            break
        if not isfinite(here.loss):
            break
        best = min(best, here, key=lambda network: network.loss)
        for name, value in zip(curve, (k + 1, logdet, here.loss), strict=True):
            curve[name].append(value)
    kept = best if experiment.keep == "best" else here

    def predict(X: NDArray) -> NDArray:
        return kept.predict(with_ones(tensor(X))).cpu().numpy().astype(np.float64)

    return Fit(perf_counter() - start, predict, curve)
