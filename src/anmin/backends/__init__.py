"""Where flops run: one small set of calls, on the CPU or on a GPU.

Rows, patterns and sums are arrays of the backend. They share `@`, `*`, `+`, slicing, `.T`,
`.reshape` and `.sum`; whatever NumPy and PyTorch spell differently is a method of the backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

from anmin.backends.devices import SeveralDevices, device_names
from anmin.backends.numpy import NumpyBackend
from anmin.backends.protocol import WIDE, Array, Backend


def get_backend(
    device: str | Sequence[str] = "cpu", dtype: str = "auto", threads: int | None = None
) -> Backend:
    """The backend of a device: "cpu" is NumPy; "cuda", or any name PyTorch knows, is PyTorch.

    "auto" takes a CUDA device where there is one. A list of devices shares the rows out, and
    "cuda:all" is a list of all cards. dtype "auto" keeps the rows in float64. On the CPU a fit has
    so many threads, one a core by default.
    """
    names = device_names(device)
    if len(names) > 1:
        return cast(Backend, SeveralDevices([get_backend(name, dtype) for name in names]))
    return one_backend(names[0], dtype, threads)


def one_backend(device: str, dtype: str, threads: int | None) -> Backend:
    dtype = "float64" if dtype == "auto" else dtype
    if device == "cpu":
        return NumpyBackend(dtype, threads)
    try:
        import torch

        from anmin.backends.torch import TorchBackend
    except ImportError as error:
        if device == "auto":
            return NumpyBackend(dtype, threads)
        raise ImportError(
            f'device={device!r} needs PyTorch: pip install "anmin[torch]", or use device="cpu".'
        ) from error
    if device == "auto":
        if not torch.cuda.is_available():
            return NumpyBackend(dtype, threads)
        device = "cuda"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f'device={device!r}, but PyTorch finds no GPU here; use device="cpu".')
    try:
        backend = TorchBackend(device, dtype)
        float(backend.double([1.0]).sum())  # output layer and loss need double precision
    except (RuntimeError, TypeError, ValueError, AssertionError, ImportError) as error:
        raise ValueError(
            'device must be "cpu", "cuda", "auto" or a device of PyTorch that is here and can '
            f'compute in float64; got {device!r}. Use device="cpu".'
        ) from error
    return cast(Backend, backend)


def library(array: Array) -> Any:
    """NumPy or PyTorch, whichever the array is of: both have exp, log, where, clip, …"""
    return import_module(type(array).__module__.partition(".")[0])


def inner(U: Array, V: Array) -> Any:
    """Σ U_ij V_ij, without an array of products."""
    return U.reshape(-1) @ V.reshape(-1)


__all__ = [
    "WIDE", "Array", "Backend", "NumpyBackend", "SeveralDevices", "get_backend", "inner", "library",
]  # fmt: skip
