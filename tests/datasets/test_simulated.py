"""Data drawn from a formula."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from anmin.datasets import make_sin


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (-1, 2)])
def test_sin_needs_rows_and_inputs(shape):
    with pytest.raises(ValueError, match="1 or more"):
        make_sin(*shape)


def test_sin_is_repeatable_and_is_the_formula():
    X, y = make_sin(50, 3, random_state=1)
    assert_array_equal(make_sin(50, 3, random_state=1)[0], X)
    assert_array_equal(y, np.sin((X**2).sum(axis=1)))
