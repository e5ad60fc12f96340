"""A product with the curvature of the paper's hidden step on a graphics card, in one sweep.

    Xᵀ(G ∘ (((G ∘ XV)L)Lᵀ))

A program takes some rows after the other: it reads them once, and what it makes of them never
leaves the chip. Products are those of tensor cores: three digits of each factor, for a system that
is solved to two, and sums in single precision. Those of all programs are added at the end, in their
order. This file needs Triton, which comes with PyTorch for cards.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

WIDEST, OUTPUTS = 128, 4  # columns of X and units, and columns of L, that a program can hold
ROWS, WARPS, PROGRAMS = 64, 4, 2  # rows and warps of a program, and programs a multiprocessor


def product(X: Tensor, G: Tensor, L: Tensor, V: Tensor) -> Tensor | None:
    """Xᵀ(G ∘ (((G ∘ XV)L)Lᵀ)): (p, h); None where that is too large for one sweep."""
    (n, p), (h, r) = X.shape, L.shape
    if max(p, h) > WIDEST or r > OUTPUTS:
        return None
    programs = PROGRAMS * torch.cuda.get_device_properties(X.device).multi_processor_count
    sums = torch.empty(programs, p, h, device=X.device)
    P, H = (triton.next_power_of_2(max(size, 16)) for size in (p, h))
    given = X, G, L.contiguous(), V.contiguous(), sums, n, p, h
    with torch.cuda.device(X.device):
        sweep[(programs,)](*given, r, P, H, ROWS, num_warps=WARPS, num_stages=1)
    return sums.sum(0)


@triton.jit
def sweep(  # type: ignore[no-untyped-def]
    X, G, L, V, sums, n, p, h, R: tl.constexpr, P: tl.constexpr, H: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """The sum over every so many rows, for each program."""
    columns, units, me = tl.arange(0, P), tl.arange(0, H), tl.program_id(0)
    at = columns[:, None] * h + units[None, :]
    inside = (columns[:, None] < p) & (units[None, :] < h)
    v = tl.load(V + at, mask=inside, other=0.0)
    total = tl.zeros((P, H), tl.float32)
    for start in range(me * ROWS, n, tl.num_programs(0) * ROWS):
        rows = (start + tl.arange(0, ROWS)).to(tl.int64)[:, None]
        x = tl.load(
            X + rows * p + columns[None, :], mask=(rows < n) & (columns[None, :] < p), other=0.0
        )
        g = tl.load(
            G + rows * h + units[None, :], mask=(rows < n) & (units[None, :] < h), other=0.0
        )
        change = g * tl.dot(x, v, input_precision="tf32")
        back = tl.zeros((ROWS, H), tl.float32)
        for k in tl.static_range(R):
            column = tl.load(L + units * R + k, mask=units < h, other=0.0)[None, :]
            back += tl.sum(change * column, 1)[:, None] * column
        total = tl.dot(tl.trans(x), g * back, total, input_precision="tf32")
    tl.store(sums + me * p * h + at, total, mask=inside)
