"""A product with the curvature in one sweep over the rows on a card, against the same in NumPy."""

import numpy as np
import pytest

from anmin.backends import get_backend

torch = pytest.importorskip("torch", reason='a card needs the extra "torch"')

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA card"),
]


@pytest.mark.parametrize(
    ("n", "p", "h", "q"), [(5000, 91, 64, 1), (5001, 17, 30, 3), (100, 128, 64, 4), (1, 2, 1, 1)]
)
def test_one_sweep_is_the_product(n, p, h, q):
    rng = np.random.default_rng(0)
    X, V, L = (rng.normal(size=shape) for shape in ((n, p), (p, h), (h, q)))
    G = np.where(rng.random((n, h)) < 0.5, 1.0, 0.1)
    card = get_backend("cuda").single()
    found = card.one_sweep(*map(card.asarray, (X, G, L, V)))
    assert found is not None
    wanted = X.T @ (G * (((G * (X @ V)) @ L) @ L.T))
    assert np.linalg.norm(card.to_numpy(found) - wanted) < 5e-3 * np.linalg.norm(wanted)


@pytest.mark.parametrize(("p", "h", "q"), [(129, 8, 1), (8, 129, 1), (8, 8, 5)])
def test_what_is_too_large_for_a_sweep_is_left_to_two(p, h, q):
    card = get_backend("cuda").single()
    given = map(card.asarray, map(np.ones, ((9, p), (9, h), (h, q), (p, h))))
    assert card.one_sweep(*given) is None


def test_rows_in_double_precision_are_left_to_two():
    card = get_backend("cuda")
    given = map(card.asarray, map(np.ones, ((9, 3), (9, 2), (2, 1), (3, 2))))
    assert card.one_sweep(*given) is None
