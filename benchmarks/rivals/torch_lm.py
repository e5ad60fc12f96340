"""Levenberg-Marquardt on all parameters with the package `torch-levenberg-marquardt`.

Full batches, the Jacobian in slices, y standardised, 100 steps (or as many as the time allows).
"""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.cases import Split
from benchmarks.record import Budget, Curve, Fit, SkippedError, Stopwatch
from benchmarks.rivals.torch_tools import predictor, tensors

STEPS = 100
SLICE = 4096  # rows of the Jacobian at a time
MAX_PARAMETERS = 3000  # the damped system is dense


def torch_lm(split: Split, budget: Budget) -> Fit:
    X, Y = tensors(split)
    torch.manual_seed(split.seed)
    (d, q), h = (X.shape[1], Y.shape[1]), split.h
    parameters = (d + 1) * h + (h + 1) * q
    if parameters > MAX_PARAMETERS:
        raise SkippedError(f"a dense system in {parameters:,} parameters, several times a step")
    try:
        from torch_levenberg_marquardt.training import LevenbergMarquardtModule
    except (ImportError, RuntimeError) as error:  # a torchvision of another build: RuntimeError
        raise SkippedError(f"torch-levenberg-marquardt does not import: {error}") from error
    net = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, q))
    scale = Y.std()
    trainer = LevenbergMarquardtModule(net, solve_method="solve", max_batch_size=SLICE)
    curve: Curve = []
    watch = Stopwatch()
    for _ in range(STEPS):
        _, loss, stop, _ = trainer.training_step(X, Y / scale)
        curve.append((watch.seconds(), (loss * scale**2).item()))
        if stop or (budget.max_time and watch.seconds() > budget.max_time):
            break
    seconds = watch.seconds()
    return Fit(seconds, predictor(split, lambda rows: net(rows) * scale), curve)
