"""Signed distances of solids and outlines: against formulas, and as laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("igl", reason="needs the extra shapes")
trimesh = pytest.importorskip("trimesh")

from anmin.datasets import draw_shape  # noqa: E402
from anmin.shapes import Boundary, ShapeError, read_shape, sample_mesh, sample_picture  # noqa: E402
from anmin.shapes.meshes import solid  # noqa: E402
from anmin.shapes.pictures import outline_boundary  # noqa: E402
from anmin.shapes.sampling import sample  # noqa: E402

SQUARE = Boundary([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1], [1, 2], [2, 3], [3, 0]])
BOX = trimesh.creation.box()


def box_distance(X, half=0.5):
    """The distance to a cube around 0."""
    q = np.abs(X) - half
    return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)


def disc(side=100, radius=30.0, centre=(50.0, 50.0)):
    """A picture of a disc, grey at its rim."""
    y, x = np.mgrid[:side, :side] + 0.5
    return np.clip(radius - np.hypot(x - centre[0], y - centre[1]) + 0.5, 0, 1)


def test_distances_to_a_cube_are_those_of_the_formula():
    X, y = sample_mesh((BOX.vertices, BOX.faces), 3000, random_state=0)
    assert_allclose(y, box_distance(X), atol=1e-12)


def test_distances_to_a_square_are_those_of_the_formula():
    X, y = sample(SQUARE, 3000, 0)
    assert_allclose(y, box_distance(X - 0.5), atol=1e-12)


def test_content_and_measure():
    assert SQUARE.content == pytest.approx(1)
    assert SQUARE.sizes.sum() == pytest.approx(4)
    cube = solid(BOX.vertices, BOX.faces)
    assert cube.content == pytest.approx(1)
    assert cube.sizes.sum() == pytest.approx(6)
    assert cube.radius == 0.5
    assert_allclose(cube.box(0.2), [[-0.6] * 3, [0.6] * 3])


def test_points_of_a_boundary_lie_on_it_and_are_spread_evenly():
    P = solid(BOX.vertices, BOX.faces).points(6000, np.random.default_rng(0))
    assert_allclose(box_distance(P), 0, atol=1e-12)
    side = np.abs(P).argmax(axis=1)
    assert_allclose(np.bincount(side) / 6000, 1 / 3, atol=0.03)
    assert_allclose(P.mean(axis=0), 0, atol=0.03)


def test_samples_depend_on_the_seed_alone_and_crowd_at_the_surface():
    one, same, other = (sample(SQUARE, 1000, seed) for seed in (0, 0, 1))
    assert_array_equal(one[0], same[0])
    assert not np.array_equal(one[0], other[0])
    assert np.mean(np.abs(one[1]) < 0.05) > 0.7
    with pytest.raises(ValueError, match="n_samples is 3"):
        sample(SQUARE, 3)


def test_moving_and_scaling_a_solid_moves_and_scales_its_samples():
    X, y = sample_mesh((BOX.vertices, BOX.faces), 500, 0)
    X2, y2 = sample_mesh((BOX.vertices * 8 + 3, BOX.faces), 500, 0)
    assert_allclose(X2, X * 8 + 3, atol=1e-12)
    assert_allclose(y2, y * 8, atol=1e-12)


def test_a_disc_in_a_picture():
    X, y = sample_picture(disc(), 3000, 0)
    assert_allclose(y, np.linalg.norm(X - 50, axis=1) - 30, atol=0.15)


def test_dark_on_light_is_light_on_dark():
    one, other = outline_boundary(disc()), outline_boundary(255 - 200 * disc())
    assert_allclose(one.vertices, other.vertices, atol=1e-9)
    assert other.content == pytest.approx(np.pi * 900, rel=2e-3)


def test_a_hole_is_outside():
    ring = outline_boundary(disc() * (1 - disc(radius=10)))
    assert ring.inside([[50.0, 50.0], [50.0, 70.0], [50.0, 95.0]]).tolist() == [False, True, False]
    assert ring.content == pytest.approx(np.pi * 800, rel=5e-3)


def test_a_shape_that_is_cut_by_the_rim_is_closed_there():
    half = outline_boundary(disc(centre=(50.0, 0.0), radius=20))
    assert half.content == pytest.approx(np.pi * 200, rel=0.02)


def test_the_cat_has_the_area_of_its_pixels():
    mask = draw_shape(120)
    assert outline_boundary(mask).content == pytest.approx(mask.sum(), rel=1e-3)


@pytest.mark.parametrize(
    ("picture", "complaint"),
    [
        (np.zeros((20, 20)), "one colour"),
        (np.full((20, 20), np.nan), "NaN"),
        (np.zeros((20, 20, 3)), "expected rows and columns"),
        (np.zeros((5000, 4)), "4,096 a side"),
        (np.random.default_rng(0).random((300, 300)), "edges; smooth it"),
    ],
)
def test_a_picture_without_a_shape_is_refused(picture, complaint):
    with pytest.raises(ShapeError, match=complaint):
        outline_boundary(picture)


# ---- files --------------------------------------------------------------------------------------


def save(path, picture):
    from PIL import Image

    Image.fromarray(np.uint8(picture)).save(path)
    return path


def test_a_png_is_its_pixels(tmp_path):
    path = save(tmp_path / "disc.png", 255 * disc())
    assert_allclose(
        read_shape(path).vertices, outline_boundary(np.uint8(255 * disc())).vertices, atol=1e-9
    )


def test_what_is_opaque_is_the_shape(tmp_path):
    colours = np.dstack([*np.random.default_rng(0).integers(0, 255, (3, 100, 100)), 255 * disc()])
    path = save(tmp_path / "disc.png", colours)
    assert read_shape(path).content == pytest.approx(np.pi * 900, rel=2e-3)


SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">{}</svg>'
CIRCLE = np.pi * 900
CURVED = "M20 50A30 30 0 0 1 80 50C80 66.57 66.57 80 50 80S20 66.57 20 50Z"
RING = "M20 50A30 30 0 1 1 80 50A30 30 0 1 1 20 50ZM40 50A10 10 0 1 1 60 50A10 10 0 1 1 40 50Z"
MOVED = '<g transform="translate(5 5)"><rect transform="scale(2)" width="9" height="8"/></g>'
HIDDEN = '<!-- a comment --><defs><rect width="99" height="99"/></defs>'
DRAWINGS = {
    "circle": ('<circle cx="50" cy="50" r="30"/>', CIRCLE),
    "curves": (f'<path d="{CURVED}"/>', CIRCLE),
    "ring": (f'<path fill-rule="evenodd" d="{RING}"/>', np.pi * 800),
    "styled": (f'<path style="fill-rule: evenodd" d="{RING}"/>', np.pi * 800),
    "filled": (f'<path d="{RING}"/>', CIRCLE),
    "overlap": ('<rect width="20" height="10"/><rect x="10" width="20" height="10"/>', 300),
    "moved": (MOVED, 288),
    "polygon": (HIDDEN + '<polygon points="0,0 40,0 0,30"/>', 600),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_an_svg_drawing_has_its_area(name, tmp_path):
    drawn, area = DRAWINGS[name]
    path = tmp_path / "drawing.svg"
    path.write_text(SVG.format(drawn))
    assert read_shape(path).content == pytest.approx(area, rel=6e-3)


def test_an_svg_drawing_keeps_its_units(tmp_path):
    (tmp_path / "d.svg").write_text(SVG.format('<rect x="7" y="-3" width="40" height="20"/>'))
    assert_allclose(read_shape(tmp_path / "d.svg").corners, [[7, -3], [47, 17]], atol=0.05)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.png", "no picture", "cannot be read as a PNG"),
        ("a.png", "", "0 bytes"),
        ("a.svg", "<svg", "cannot be read as an SVG"),
        ("a.svg", SVG.format("<text>A</text>"), "no closed path"),
        ("a.svg", SVG.format('<rect width="0" height="0"/>'), "no closed path|no area"),
        ("a.svg", SVG.format('<path d="M0 0L1e999 0L0 1Z"/>'), "finite|cannot be read"),
        ("a.svg", '<!DOCTYPE a [<!ENTITY b "c">]>' + SVG.format(""), "entities"),
    ],
)
def test_a_file_without_a_shape_is_refused(name, text, complaint, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ShapeError, match=complaint):
        read_shape(tmp_path / name)


def test_a_picture_of_too_many_pixels_is_not_decoded(tmp_path):
    path = save(tmp_path / "wide.png", np.zeros((2, 5000)))
    with pytest.raises(ShapeError, match="5000×2 pixels"):
        read_shape(path)
