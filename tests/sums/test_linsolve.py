"""Small symmetric systems: solved, floored, or refused in words."""

import numpy as np
import pytest
from backend_cases import BACKENDS, PRECISIONS

from anmin.linsolve import inverse_root, solve_spd


def matrix(eigenvalues, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))[0]
    return (Q * eigenvalues) @ Q.T, Q


@BACKENDS
@PRECISIONS
def test_a_sound_system_is_solved(make_backend, dtype, rtol):
    backend = make_backend(dtype)
    M, _ = matrix([1.0, 2.0, 5.0])
    c = np.array([1.0, -2.0, 0.5])
    found = solve_spd(backend, backend.asarray(M), backend.asarray(c), tau=-100.0)
    np.testing.assert_allclose(backend.to_numpy(found.value), np.linalg.solve(M, c), rtol=rtol)
    assert not found.floored
    assert found.logdet == pytest.approx(np.log(10), rel=rtol)
    assert 5 / 3 <= found.condition <= 15


@BACKENDS
@PRECISIONS
def test_eigenvalues_below_the_floor_are_raised_to_it(make_backend, dtype, rtol):
    backend = make_backend(dtype)
    M, Q = matrix([1e-9, 1.0, 4.0])
    c = np.array([1.0, 2.0, 3.0])
    found = solve_spd(backend, backend.asarray(M), backend.asarray(c), tau=1e3, floor=0.5)
    wanted = Q @ ((Q.T @ c) / [0.5, 1.0, 4.0])
    np.testing.assert_allclose(backend.to_numpy(found.value), wanted, rtol=rtol)
    assert found.floored
    assert found.condition == pytest.approx(8.0, rel=rtol)


@BACKENDS
def test_without_a_floor_directions_of_rounding_are_left_out(make_backend):
    backend = make_backend()
    M, Q = matrix([-1e-12, 1.0, 4.0])
    c = np.array([1.0, 2.0, 3.0])
    found = solve_spd(backend, backend.double(M), backend.double(c))
    inverse = (Q[:, 1:] / [1.0, 4.0]) @ Q[:, 1:].T
    np.testing.assert_allclose(backend.to_numpy(found.value), inverse @ c, atol=1e-11)
    assert found.floored


@BACKENDS
@pytest.mark.parametrize("least", [1e-12, 1e-6])
def test_inverse_root(make_backend, least):
    backend = make_backend()
    M, _ = matrix([1.0, 2.0, 5.0])
    T = backend.to_numpy(inverse_root(backend, backend.double(M), least))
    np.testing.assert_allclose(T.T @ T, np.linalg.inv(M), atol=10 * least)


@BACKENDS
def test_inverse_root_of_an_indefinite_matrix_is_that_of_a_near_one(make_backend):
    backend = make_backend()
    M, _ = matrix([-1e-7, 2.0, 5.0])
    T = backend.to_numpy(inverse_root(backend, backend.double(M), 1e-10))
    near = np.linalg.inv(T.T @ T)
    np.testing.assert_allclose(near, M, atol=3e-6)


@BACKENDS
def test_what_is_not_finite_is_refused(make_backend):
    backend = make_backend()
    M = backend.double(np.full((2, 2), np.inf))
    with pytest.raises(ValueError, match="overflow: X, y, lam or init is too large"):
        solve_spd(backend, M, backend.double(np.ones(2)))
    with pytest.raises(ValueError, match="overflow: X, y, lam or init is too large"):
        inverse_root(backend, M, 1e-6)
