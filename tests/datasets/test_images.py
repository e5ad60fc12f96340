"""Patches of a user's own image."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from anmin.datasets import image_patches


def grey_picture(rows=40, cols=33):
    down, right = np.indices((rows, cols))
    return (127 + 120 * np.sin(down / 7) * np.cos(right / 5)).astype(np.uint8)


def image_of_patches(patches, lines, per_line, size=15, step=3):
    """Put overlapping patches back into the image that they were cut from."""
    image = np.full((step * (lines - 1) + size, step * (per_line - 1) + size), np.nan)
    for k, patch in enumerate(patches.reshape(-1, size, size)):
        i, j = step * (k // per_line), step * (k % per_line)
        image[i : i + size, j : j + size] = patch
    return image


def test_patches_are_the_squares_of_the_image():
    image = grey_picture()
    patches = image_patches(image)
    corners = [(i, j) for i in range(0, 40 - 15, 3) for j in range(0, 33 - 15, 3)]
    assert len(patches) == len(corners)
    for patch, (i, j) in zip(patches, corners, strict=True):
        assert_array_equal(patch.reshape(15, 15), image[i : i + 15, j : j + 15])


@pytest.mark.slow
def test_patches_rebuild_the_papers_data(paper_data):
    published = np.loadtxt(paper_data / "DAE.csv", delimiter=",")
    image = image_of_patches(published, 156, 102)
    padded = np.pad(image, ((0, 1), (0, 1)))  # the last corner lies below n - 15
    assert_array_equal(image_patches(padded), published)


@pytest.mark.parametrize("shape", [(20, 20, 3), (20,)])
def test_an_array_must_be_grey(shape):
    with pytest.raises(ValueError, match=r"expected \(rows, cols\)"):
        image_patches(np.zeros(shape))


@pytest.mark.parametrize("shape", [(15, 40), (0, 20)])
def test_an_image_must_hold_a_patch(shape):
    with pytest.raises(ValueError, match=r"pixels.* at least 16"):
        image_patches(np.zeros(shape))
