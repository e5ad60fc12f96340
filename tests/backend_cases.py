"""Both backends and both precisions, for the laws that hold on all of them."""

import pytest

from anmin.backends import NumpyBackend


def numpy_backend(dtype="float64"):
    return NumpyBackend(dtype)


def torch_backend(dtype="float64"):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # the problems are small, and tests run side by side
    from anmin.backends.torch import TorchBackend

    return TorchBackend("cpu", dtype)


BACKENDS = pytest.mark.parametrize(
    "make_backend", [numpy_backend, torch_backend], ids=["numpy", "torch"]
)
PRECISIONS = pytest.mark.parametrize(
    ("dtype", "rtol"), [("float64", 1e-11), ("float32", 3e-5)], ids=["float64", "float32"]
)
