"""The pages in a real browser: no complaint, not blank, and the silhouettes are the shape's.

The pages are those that run live in the documentation.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("igl", reason="needs the extra shapes")

from browser import VIEWS, compare, find_browser, look, silhouettes

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_browser() is None, reason="there is no Chromium here"),
    pytest.mark.skipif(not DOCS.is_dir(), reason="the docs are not here"),
]


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """The folder of the pages, and boundary and networks of each shape."""
    folder = tmp_path_factory.mktemp("live")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(DOCS), *sys.path])
        import live_shapes

        patch.setattr("anmin.shapes.fitting.JUDGED", 5000)
        patch.setattr(live_shapes, "CELLS", 40)
        return folder, live_shapes.make(folder)


@pytest.mark.parametrize(
    ("name", "view"), [*(("dog", view) for view in VIEWS), ("nut", "top"), ("cat", "front")]
)
def test_a_shape_is_drawn_as_it_is(live, name, view):
    folder, made = live
    boundary, fitted = made[name]
    yaw, pitch = VIEWS[view]
    page = folder / f"{name}.html"
    ours, original, complaints = compare(page, boundary, yaw, pitch, fitted[-1].units)
    assert complaints == []
    assert original > 0.97
    assert ours > 0.93


def test_a_page_that_cannot_draw_says_so(live, tmp_path):
    page = tmp_path / "broken.html"
    text = (live[0] / "cat.html").read_text(encoding="utf-8")
    page.write_text(text.replace("fwidth(v)", "nothing(v)"), encoding="utf-8")
    pixels, complaints = look(page, "")
    assert any("nothing" in complaint for complaint in complaints)
    assert not np.any(silhouettes(pixels)[0][:300])
