"""A network in GLSL and on a page computes what the model does."""

import base64
import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("igl", reason="needs the extra shapes")
trimesh = pytest.importorskip("trimesh")

from anmin import ANMINRegressor  # noqa: E402
from anmin.datasets import draw_shape  # noqa: E402
from anmin.shapes import fit_shape, glsl_source, shape_page  # noqa: E402
from anmin.shapes.meshes import solid  # noqa: E402
from anmin.shapes.pictures import outline_boundary  # noqa: E402
from anmin.shapes.shader import packed  # noqa: E402


def network(d, h=12, **settings):
    X = 40 + 9 * np.random.default_rng(0).normal(size=(600, d))
    y = np.linalg.norm(X - 40, axis=1) - 9
    settings = {"lam": 1e-6, "max_iter": 8, "n_networks": 1, "encoding": None} | settings
    return X, ANMINRegressor(h, random_state=0, **settings).fit(X, y)


def evaluate(rows, positive, bias, X):
    """What the shader does, in NumPy."""
    q = np.zeros((len(X), 4))
    q[:, : X.shape[1]], q[:, 3] = X, 1
    s = np.maximum(q @ rows.T, 0)
    return bias + s[:, :positive].sum(axis=1) - s[:, positive:].sum(axis=1)


@pytest.mark.parametrize("d", [2, 3])
def test_the_glsl_computes_the_network(d):
    X, model = network(d)
    text = glsl_source(model, "thing")
    rows = [line.strip(" ,")[5:-1].split(",") for line in text.splitlines() if "    vec4(" in line]
    rows = np.array([row for row in rows if "p" not in row], dtype=float)
    positive = int(re.search(r"j < (\d+)", text)[1])
    bias = float(re.search(r"float f = (.+);", text)[1])
    assert f"float thing(vec{d} p)" in text
    assert_allclose(evaluate(rows, positive, bias, X), model.predict(X), atol=2e-4)


@pytest.mark.parametrize("d", [2, 3])
def test_packing_moves_and_scales(d):
    X, model = network(d)
    net = packed(model, np.full(d, 40.0), 9.0)
    found = evaluate(net.rows, net.positive, net.bias, (X - 40) / 9)
    assert_allclose(9 * found, model.predict(X), atol=2e-5)


def test_what_is_no_shape_is_refused():
    with pytest.raises(ValueError, match="4 inputs; a shape has 2 or 3"):
        glsl_source(network(4)[1])
    with pytest.raises(ValueError, match="identifier of GLSL"):
        glsl_source(network(2)[1], "gl_thing; evil")
    with pytest.raises(ValueError, match="leaky slope"):
        glsl_source(network(2, slope=0.1)[1])


def data_of(page):
    return json.loads(re.search(r"^const data = (.+);$", page, re.MULTILINE)[1])


@pytest.fixture(scope="module", autouse=True)
def few_points():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anmin.shapes.fitting.SAMPLES", 4000)
        patch.setattr("anmin.shapes.fitting.JUDGED", 5000)
        yield


@pytest.fixture(scope="module")
def cat(few_points):
    outline = outline_boundary(draw_shape(80))
    return outline, fit_shape(outline, [6, 24])


def test_a_page_holds_the_networks_and_the_original(cat):
    outline, fitted = cat
    data = data_of(shape_page(outline, fitted, "A <cat>"))
    assert [net["units"] for net in data["networks"]] == [one.units for one in fitted]
    X = outline.centre + outline.radius * np.random.default_rng(0).uniform(-1, 1, (200, 2))
    for net, one in zip(data["networks"], fitted, strict=True):
        rows = np.frombuffer(base64.b64decode(net["rows"]), "<f4").reshape(-1, 4)
        values = evaluate(rows, net["positive"], net["bias"], (X - outline.centre) / outline.radius)
        assert_allclose(outline.radius * values, one.model.predict(X), atol=1e-3)
        assert net["words"] == one.words()
    places = np.frombuffer(base64.b64decode(data["vertices"]), "<i2").reshape(-1, 2) / 32767
    assert_allclose(outline.centre + outline.radius * places, outline.vertices, atol=2e-3)


def test_a_page_stands_alone_and_trusts_no_title(cat):
    page = shape_page(*cat, "A <cat> $data </script>")
    assert "<title>A &lt;cat&gt; $data &lt;/script&gt;</title>" in page
    assert page.count("</script>") == 1
    assert not re.search(r"(src|href)=|https?://|@import", page)


def test_a_large_original_is_thinned():
    ball = trimesh.creation.icosphere(5)  # 20,480 triangles
    boundary = solid(ball.vertices, ball.faces)
    page = shape_page(boundary, fit_shape(boundary, [8]), "ball")
    assert "20,480 triangles, of which 8,000 are drawn" in page
    assert len(page) < 200_000


def test_too_many_units_for_a_page_are_refused(cat, monkeypatch):
    monkeypatch.setattr("anmin.shapes.webpage.MOST_UNITS", 10)
    with pytest.raises(ValueError, match="more than a page can draw"):
        shape_page(*cat, "cat")


def test_more_units_draw_better(cat):
    small, large = cat[1]
    assert large.overlap > small.overlap > 0.4
    assert large.near_error < small.near_error
