"""Data sets from a user's own image."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from anmin.datasets import draw_shape, image_patches, make_dae, make_sdf, signed_distance


def save(path, pixels, mode=None):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    image = pillow.fromarray(pixels)
    (image.convert(mode) if mode else image).save(path)
    return path


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


def test_a_mask_is_used_as_it_is():
    mask = draw_shape(30)
    found = make_sdf(mask)
    X, y = signed_distance(mask)
    assert_array_equal(found.data, X)
    assert_array_equal(found.target, y)
    assert found.image_shape == (30, 30)
    assert found.feature_names == ["row", "column"]
    assert_array_equal(make_sdf(mask, return_X_y=True)[1], y)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "I;16"])
def test_a_mask_from_a_file(tmp_path, mode):
    mask = draw_shape(30)
    pixels = mask.astype(np.uint16) * 65535 if mode == "I;16" else mask.astype(np.uint8) * 255
    path = save(tmp_path / "mask.png", pixels, None if mode == "I;16" else mode)
    assert_array_equal(make_sdf(path).target, signed_distance(mask)[1])
    assert_array_equal(make_sdf(str(path)).target, signed_distance(mask)[1])


def test_a_dark_shape_on_a_bright_ground(tmp_path):
    mask = draw_shape(30)
    path = save(tmp_path / "dark.png", np.where(mask, 20, 230).astype(np.uint8))
    assert_array_equal(make_sdf(path, invert=True).target, signed_distance(mask)[1])
    assert_array_equal(make_sdf(~mask, invert=True).target, signed_distance(mask)[1])


def test_a_transparent_ground_is_white(tmp_path):
    mask = draw_shape(30)
    black = np.zeros((30, 30, 4), dtype=np.uint8)
    black[..., 3] = 255 * mask
    path = save(tmp_path / "cut.png", black)
    assert_array_equal(make_sdf(path, invert=True).target, signed_distance(mask)[1])


def test_the_level_decides_what_is_inside():
    ramp = np.tile(np.arange(10.0), (3, 1))
    assert (make_sdf(ramp).target < 0).sum() == 15  # halfway: 4.5
    assert (make_sdf(ramp, level=7).target < 0).sum() == 6


def test_an_image_of_one_colour_has_no_shape():
    with pytest.raises(ValueError, match="all inside or all outside"):
        make_sdf(np.full((5, 5), 3.0))


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
    found = make_dae(padded)
    assert_array_equal(found.target, published)
    noise = 10 * np.random.RandomState(0).standard_normal(published.shape)
    assert_allclose(found.data - found.target, noise, atol=1e-12)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_patches_from_a_file(tmp_path, mode):
    path = save(tmp_path / "grey.png", grey_picture(), mode)
    assert_array_equal(make_dae(path).target, image_patches(grey_picture()))


def test_a_denoising_set_is_a_bunch():
    found = make_dae(grey_picture(), noisy=False)
    assert_array_equal(found.data, found.target)
    assert found.patch_shape == (15, 15)
    assert len(found.feature_names) == found.data.shape[1] == 225
    X, Y = make_dae(grey_picture(), random_state=4, return_X_y=True)
    assert_array_equal(Y, found.target)
    assert np.std(X - Y) == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("build", [make_sdf, make_dae])
@pytest.mark.parametrize("shape", [(20, 20, 3), (20,), (0, 20)])
def test_an_array_must_be_grey(build, shape):
    with pytest.raises(ValueError, match=r"expected \(rows, cols\)"):
        build(np.zeros(shape))


def test_an_image_must_hold_a_patch():
    with pytest.raises(ValueError, match=r"15 × 40 pixels.* at least 16"):
        make_dae(np.zeros((15, 40)))


def test_a_file_that_is_no_image(tmp_path):
    pytest.importorskip("PIL")
    path = tmp_path / "mask.png"
    path.write_text("not an image")
    with pytest.raises(ValueError, match="not an image that Pillow can read"):
        make_sdf(path)
    with pytest.raises(FileNotFoundError):
        make_sdf(tmp_path / "none.png")


def test_without_pillow_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match="pip install"):
        make_sdf(tmp_path / "mask.png")
