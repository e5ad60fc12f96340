"""This library's solvers on a graphics card (on the CPU where there is none, to try them out)."""

from __future__ import annotations

from dataclasses import replace

import torch

from benchmarks.cases import Split
from benchmarks.ours import anmin, varpro
from benchmarks.record import Budget, Fit

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ITERATIONS = 30


def anmin_cg(split: Split, budget: Budget) -> Fit:
    return anmin(split, replace(budget, device=DEVICE), linear_solver="cg")


def anmin_cholesky(split: Split, budget: Budget) -> Fit:
    return anmin(split, replace(budget, device=DEVICE), linear_solver="cholesky")


def varpro_cg(split: Split, budget: Budget) -> Fit:
    budget = replace(budget, device=DEVICE)
    return varpro(split, budget, max_iter=ITERATIONS, linear_solver="cg")


def varpro_cholesky(split: Split, budget: Budget) -> Fit:
    budget = replace(budget, device=DEVICE)
    return varpro(split, budget, max_iter=ITERATIONS, linear_solver="cholesky")
