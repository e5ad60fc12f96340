"""This library's solvers on a graphics card (PyTorch on the CPU where there is none, for a try)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from anmin.backends import get_backend
from anmin.sources import Scaling, batch_rows, counting_rows
from anmin.sums.gram import PatternPass
from anmin.sums.output import GradientPass, OutputPass
from benchmarks.cases import Split
from benchmarks.ours import anmin, varpro
from benchmarks.ours import varpro_wide as wide
from benchmarks.record import Budget, Fit
from benchmarks.rivals.torch_tools import wait

DEVICE = "cuda" if torch.cuda.is_available() else "cpu:0"
ITERATIONS = 30


def on_card(budget: Budget) -> Budget:
    """The same on the card; in several shares it is named as often."""
    device: Any = [DEVICE] * budget.shares
    return replace(budget, device=device)


def anmin_cg(split: Split, budget: Budget) -> Fit:
    return anmin(split, on_card(budget), linear_solver="cg")


def anmin_cholesky(split: Split, budget: Budget) -> Fit:
    return anmin(split, on_card(budget), linear_solver="cholesky")


def varpro_cg(split: Split, budget: Budget) -> Fit:
    return varpro(split, on_card(budget), max_iter=ITERATIONS, linear_solver="cg")


def varpro_cholesky(split: Split, budget: Budget) -> Fit:
    return varpro(split, on_card(budget), max_iter=ITERATIONS, linear_solver="cholesky")


def varpro_wide(split: Split, budget: Budget) -> Fit:
    return wide(split, on_card(budget))


def pass_milliseconds(split: Split, n: int, shares: int, times: int) -> dict[str, float]:
    """Medians for each kind of pass over the first n rows in some shares, in float64."""
    backend, h = get_backend([DEVICE] * shares), split.h
    scaling = Scaling.identity(d := split.X.shape[1], q := split.Y.shape[1])
    size = batch_rows("auto", backend, h, d + 1, q)
    source = counting_rows(split.X[:n], split.Y[:n], None).prepared(scaling, backend, size)
    A, W = (backend.double(V) for V in (split.start(), np.ones((h + 1, q))))
    kernels: dict[str, Any] = {"thin": OutputPass(A, 0.0), "gradient": GradientPass(A, W, 0.0)}
    kernels["full"] = PatternPass(A, 0.0)

    def milliseconds(kernel: Any) -> float:
        wait(DEVICE)
        begin = time.perf_counter()
        source.reduce(kernel)
        wait(DEVICE)
        return 1e3 * (time.perf_counter() - begin)

    return {
        name: float(np.median([milliseconds(kernel) for _ in range(times + 1)][1:]))
        for name, kernel in kernels.items()
    }
