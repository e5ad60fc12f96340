"""Data drawn from a formula."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from anmin.datasets import make_sin


def test_sin_is_a_bunch():
    sin = make_sin(20, 4, random_state=0)
    assert sin.data.shape == (20, 4)
    assert sin.target.shape == (20,)
    assert sin.feature_names == ["x0", "x1", "x2", "x3"]
    assert "sin" in sin.DESCR


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (-1, 2)])
def test_sin_needs_rows_and_inputs(shape):
    with pytest.raises(ValueError, match="1 or more"):
        make_sin(*shape)


def test_sin_is_repeatable_and_is_the_formula():
    X, y = make_sin(50, 3, random_state=1, return_X_y=True)
    assert_array_equal(make_sin(50, 3, random_state=1).data, X)
    np.testing.assert_allclose(y, np.sin((X**2).sum(axis=1)))


def test_a_bunch_is_the_callers():
    make_sin(5, 2).feature_names.clear()
    assert make_sin(5, 2).feature_names == ["x0", "x1"]
