"""This library's solvers on a graphics card (on the CPU where there is none, to try them out)."""

from __future__ import annotations

from functools import partial

import torch

from benchmarks.ours import anmin, varpro

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ITERATIONS = 30

anmin_cg = partial(anmin, linear_solver="cg", device=DEVICE)
anmin_cholesky = partial(anmin, linear_solver="cholesky", device=DEVICE)
varpro_cg = partial(varpro, max_iter=ITERATIONS, linear_solver="cg", device=DEVICE)
varpro_cholesky = partial(varpro, max_iter=ITERATIONS, linear_solver="cholesky", device=DEVICE)
