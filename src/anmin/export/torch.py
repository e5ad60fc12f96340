"""A fitted network as a PyTorch module."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from anmin.export import in_dtype, raw_network


def to_torch(model: Any, dtype: str = "float32") -> Any:
    """Linear, ReLU or leaky ReLU, Linear, on raw inputs: (n, d) → (n, q).

    >>> import numpy as np
    >>> import torch
    >>> from anmin import ANMINRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, np.abs(X).ravel())
    >>> module = model.to_torch("float64")
    >>> bool(np.allclose(module(torch.tensor(X)).detach()[:, 0], model.predict(X)))
    True
    """
    network = in_dtype(raw_network(model), dtype)
    hidden, output = linear(network.A[1:], network.A[0]), linear(network.B, network.b0)
    act = torch.nn.LeakyReLU(network.slope) if network.slope else torch.nn.ReLU()
    return torch.nn.Sequential(hidden, act, output)


def linear(W: np.ndarray, bias: np.ndarray) -> torch.nn.Linear:
    """The layer x ↦ xW + bias."""
    weight = torch.tensor(W.T)
    layer = torch.nn.Linear(W.shape[0], W.shape[1], dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(torch.tensor(bias))
    return layer
