"""This library's solvers on a graphics card (PyTorch on the CPU where there is none, for a try)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from benchmarks.cases import Split
from benchmarks.ours import anmin, varpro
from benchmarks.ours import varpro_wide as wide
from benchmarks.record import Budget, Fit

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
