"""Both backends offer the calls of the protocol, and names of devices are answered clearly."""

import inspect

import numpy as np
import pytest
from backend_cases import BACKENDS, PRECISIONS

from anmin.backends import NumpyBackend, get_backend
from anmin.backends.protocol import Backend

CALLS = sorted(name for name in vars(Backend) if not name.startswith("_"))


@BACKENDS
@pytest.mark.parametrize("name", CALLS)
def test_every_call_is_there_with_the_same_arguments(make_backend, name):
    wanted, found = vars(Backend)[name], getattr(type(make_backend()), name, None)
    if isinstance(wanted, property):
        assert hasattr(make_backend(), name)
        return
    assert list(inspect.signature(found).parameters) == list(inspect.signature(wanted).parameters)


@BACKENDS
def test_no_call_beside_the_protocol_is_needed(make_backend):
    """What one backend has more is its own affair: threads, on the CPU."""
    public = {name for name in dir(type(make_backend())) if not name.startswith("_")}
    assert public - set(CALLS) <= {"map_groups", "workers", "each_share"}


@BACKENDS
@PRECISIONS
def test_activation_and_gain(make_backend, dtype, rtol):
    backend = make_backend(dtype)
    P = np.array([[-2.0, 0.0, 3.0]])
    for slope in (0.0, 0.25):
        S, G = (
            backend.to_numpy(V)
            for V in (
                backend.activate(backend.asarray(P), slope),
                backend.gain(backend.asarray(P) > 0, slope),
            )
        )
        assert S.tolist() == [[-2 * slope, 0.0, 3.0]]
        assert G.tolist() == [[slope, slope, 1.0]]
    assert backend.gain(backend.asarray(P) > 0, 0.25).dtype == backend.dtype


@BACKENDS
@PRECISIONS
def test_systems_are_solved_in_the_type_of_the_matrix(make_backend, dtype, rtol):
    """Rows in single precision do not make small systems so."""
    backend, rng = make_backend(dtype), np.random.default_rng(0)
    V = rng.normal(size=(20, 6))
    M, c = V.T @ V, rng.normal(size=6)
    L = backend.cholesky(backend.shifted(backend.double(M), 0.5))
    found = backend.to_numpy(backend.cho_solve(L, backend.double(c)))
    np.testing.assert_allclose(found, np.linalg.solve(M + 0.5 * np.eye(6), c), rtol=1e-10)
    assert backend.eps(backend.double(M)) == np.finfo(float).eps
    assert backend.eps(backend.asarray(M)) == np.finfo(dtype).eps
    assert backend.logdet(L) == pytest.approx(np.linalg.slogdet(M + 0.5 * np.eye(6))[1], rel=1e-12)
    T = backend.to_numpy(backend.triangular_inverse(L))
    np.testing.assert_allclose(T.T @ T, np.linalg.inv(M + 0.5 * np.eye(6)), rtol=1e-9)


@BACKENDS
def test_a_matrix_that_is_not_positive_definite_has_no_factor(make_backend):
    backend = make_backend()
    for M in (np.diag([1.0, -1.0]), np.full((2, 2), np.nan), np.zeros((2, 2))):
        assert backend.cholesky(backend.double(M)) is None


# ---- names of devices ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mps", "xla", "hpu", "meta", "xpu", "lazy", "vulkan", "nonsense"])
def test_a_device_that_is_not_here_or_has_no_float64_is_said_so(name):
    torch = pytest.importorskip("torch")
    if name == "xpu" and torch.xpu.is_available():
        pytest.skip("it is here")
    with pytest.raises(ValueError, match=rf"float64; got '{name}'. Use device=\"cpu\""):
        get_backend(name)


def test_the_cpu_needs_no_torch():
    assert isinstance(get_backend(), NumpyBackend)
    assert get_backend("cpu", "float32").dtype == np.float32
