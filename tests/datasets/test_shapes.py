"""Data sets made in code."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from anmin.datasets import draw_shape, signed_distance


def brute_force(mask):
    """Signed distance by looking at every pair of pixels."""
    points = np.argwhere(np.ones_like(mask)).astype(float)
    inside = mask.ravel()
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    to_inside = distance[:, inside].min(axis=1)
    to_outside = distance[:, ~inside].min(axis=1)
    return np.where(inside, -to_outside, to_inside)


@pytest.mark.parametrize("mask", [draw_shape(24), draw_shape(31)[:, 5:], np.eye(5, 9, dtype=bool)])
def test_signed_distance_is_the_brute_force_distance(mask):
    X, y = signed_distance(mask)
    assert_allclose(y, brute_force(mask), atol=1e-12)
    assert_array_equal(X, np.argwhere(np.ones_like(mask)))


def test_sign_tells_inside_from_outside():
    mask = draw_shape(40)
    _, y = signed_distance(mask)
    assert_array_equal(y.reshape(mask.shape) < 0, mask)
    assert np.abs(y).min() == 1


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((3, 3), dtype=bool), "all inside"),
        (np.zeros((3, 3), dtype=bool), "all outside"),
        (np.zeros((0, 3), dtype=bool), "all inside"),
        (np.zeros(3, dtype=bool), "shape"),
        (np.ones((3, 3)), "dtype"),
    ],
)
def test_signed_distance_refuses(mask, message):
    with pytest.raises(ValueError, match=message):
        signed_distance(mask)


def test_shape_is_one_piece_inside_the_frame():
    from scipy.ndimage import label

    mask = draw_shape(120)
    assert mask.shape == (120, 120)
    assert label(mask)[1] == 1
    assert not mask[[0, -1]].any()
    assert not mask[:, [0, -1]].any()
    assert 0.15 < mask.mean() < 0.5


def test_shape_is_the_same_at_every_resolution():
    coarse, fine = draw_shape(60), draw_shape(180)
    assert np.mean(coarse != fine[1::3, 1::3]) == 0  # same pixel centres


def test_one_straight_stroke_is_a_capsule():
    mask = draw_shape(50, strokes=[[0.3, 0.5, 0.5, 0.5, 0.7, 0.5, 0.1, 0.1]])
    down, right = (np.indices((50, 50)) + 0.5) / 50
    gap = np.hypot(right - np.clip(right, 0.3, 0.7), down - 0.5)
    agree = mask == (gap < 0.1)
    assert agree[np.abs(gap - 0.1) > 1e-3].all()


def test_a_picture_needs_pixels():
    with pytest.raises(ValueError, match="at least 8"):
        draw_shape(3)
