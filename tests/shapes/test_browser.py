"""The pages in a real browser: no complaint, not blank, and the silhouettes are the shape's."""

import numpy as np
import pytest

pytest.importorskip("igl", reason="needs the extra shapes")
trimesh = pytest.importorskip("trimesh")

from browser import VIEWS, compare, find_browser, look, silhouettes  # noqa: E402

from anmin.datasets import draw_shape  # noqa: E402
from anmin.shapes import fit_shape, shape_page  # noqa: E402
from anmin.shapes.meshes import solid  # noqa: E402
from anmin.shapes.pictures import outline_boundary  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_browser() is None, reason="there is no Chromium here"),
]


def test_a_solid_is_drawn_as_it_is_from_three_sides(tmp_path):
    """Three sides of a tilted ring that differ from each other."""
    ring = trimesh.creation.torus(1.0, 0.4, major_sections=24, minor_sections=12)
    ring.apply_transform(trimesh.transformations.euler_matrix(0.5, 0.4, 0.3))
    boundary = solid(ring.vertices, ring.faces)
    (fitted,) = fit_shape(boundary, [64])
    page = tmp_path / "ring.html"
    page.write_text(shape_page(boundary, [fitted], "ring"), encoding="utf-8")
    for yaw, pitch in VIEWS.values():
        ours, original, complaints = compare(page, boundary, yaw, pitch, fitted.units)
        assert complaints == []
        assert original > 0.98
        assert ours > 0.95


def test_an_outline_is_drawn_as_it_is(tmp_path):
    boundary = outline_boundary(draw_shape(100))
    fitted = fit_shape(boundary, [16, 64])
    page = tmp_path / "cat.html"
    page.write_text(shape_page(boundary, fitted, "cat"), encoding="utf-8")
    ours, original, complaints = compare(page, boundary, 0, 0, fitted[-1].units)
    assert complaints == []
    assert original > 0.98
    assert ours > 0.93


def test_a_page_that_cannot_draw_says_so(tmp_path):
    page = tmp_path / "broken.html"
    boundary = outline_boundary(draw_shape(60))
    text = shape_page(boundary, fit_shape(boundary, [8]), "cat").replace("fwidth(v)", "nothing(v)")
    page.write_text(text, encoding="utf-8")
    pixels, complaints = look(page, "", 4.0)
    assert any("nothing" in complaint for complaint in complaints)
    assert not np.any(silhouettes(pixels)[0][:300])
