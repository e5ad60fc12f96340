"""Encoding and link as PyTorch modules; read when a model that has one goes there."""

from __future__ import annotations

import torch

from anmin.encoding import CLIP, FAR
from anmin.export import EncodingArrays


class EncodedColumns(torch.nn.Module):
    """(n, d) → (n, d + m): clipped inputs and hinges, with buffers that stay as they are."""

    def __init__(self, columns: EncodingArrays) -> None:
        super().__init__()
        for name in ("centre", "scale", "column", "low", "width"):
            self.register_buffer(name, torch.tensor(getattr(columns, name)))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        t = ((X - self.centre) / self.scale).clamp(-FAR, FAR)
        hinges = ((X[:, self.column] - self.low) / self.width).clamp(0, 1)
        return torch.cat([t / torch.sqrt(1 + (t / CLIP) ** 2), hinges], dim=1)


class Exponential(torch.nn.Module):
    """Rates from their logarithms."""

    def forward(self, f: torch.Tensor) -> torch.Tensor:
        return f.exp()


class Ascending(torch.nn.Module):
    """Quantiles in order."""

    def forward(self, f: torch.Tensor) -> torch.Tensor:
        return f.sort(dim=1).values


LINKS = {"exp": Exponential, "sort": Ascending}
