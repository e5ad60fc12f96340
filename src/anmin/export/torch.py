"""A fitted network as a PyTorch module, or as a program that `torch.export.load` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anmin.export import Export, raw_network, register
from anmin.files import PathLike, open_atomically

if TYPE_CHECKING:
    import torch


def to_torch(model: Any, dtype: str = "float32") -> torch.nn.Sequential:
    """The network as a `torch.nn.Sequential` on raw inputs: (n, d) → (n, n_outputs_).

    A classifier's outputs are its decision values.

    >>> from anmin import ANMINRegressor
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit([[-1], [0], [1]], [1, 0, 1])
    >>> module = model.to_torch()  # doctest: +SKIP
    """
    from torch import nn

    network = raw_network(model, dtype)
    hidden, output = linear(network.A[1:], network.A[0]), linear(network.B, network.b0)
    act = nn.LeakyReLU(network.slope) if network.slope else nn.ReLU()
    return nn.Sequential(hidden, act, output)


def linear(W: np.ndarray, bias: np.ndarray) -> torch.nn.Linear:
    """The layer x ↦ xW + bias."""
    import torch

    weight = torch.tensor(W.T)
    layer = torch.nn.Linear(W.shape[0], W.shape[1], dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(torch.tensor(bias))
    return layer


def write_program(model: Any, path: PathLike, dtype: str = "float32") -> None:
    """Write a program for any number of rows."""
    import torch

    module = to_torch(model, dtype)
    example = torch.zeros(2, model.n_features_in_, dtype=getattr(torch, dtype))
    shapes = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(module, (example,), dynamic_shapes=shapes)
    with open_atomically(path) as file:
        torch.export.save(program, file)


PROGRAM = "a PyTorch program, for torch.export.load"
register(Export("torch", ".pt2", PROGRAM, write_program, to_torch, library="torch", extra="torch"))
