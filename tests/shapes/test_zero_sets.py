"""Outlines and meshes of networks: on the zero set, closed, and of the right content."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("igl", reason="needs the extra shapes")

from anmin import ANMINRegressor
from anmin.datasets import draw_shape
from anmin.network import Network
from anmin.shapes import (
    Boundary,
    ShapeError,
    fit_shape,
    mesh_of,
    outline_of,
    read_shape,
    sample_picture,
)
from anmin.shapes.meshes import solid
from anmin.shapes.outline import trace
from anmin.shapes.pictures import polygons


def fitted(X, y, h, **settings):
    settings = {"lam": 1e-8, "max_iter": 20, "n_networks": 1, "encoding": None} | settings
    return ANMINRegressor(h, random_state=0, **settings).fit(X, y)


def ball(d, h=24, centre=0.0, **settings):
    X = np.random.default_rng(0).uniform(-2, 2, size=(3000, d))
    return fitted(X, np.linalg.norm(X - centre, axis=1) - 1, h, **settings)


@pytest.fixture(scope="module")
def cat():
    X, y = sample_picture(draw_shape(100), 6000, 0)
    return fitted(X, y, 48)


def area(loop):
    x, y = loop.T
    return (x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def zeros_along(model, y, low, high):
    """The places x where f(x, y) changes its sign: f is linear between the hinges' places."""
    (W, _), (c, _) = model.coefs_, model.intercepts_
    with np.errstate(divide="ignore", invalid="ignore"):
        bends = -(W[1] * y + c) / W[0]
    bends = bends[(bends > low) & (bends < high)]
    x = np.concatenate([[low], np.sort(bends), [high]])
    f = model.predict(np.column_stack([x, np.full(len(x), y)]))
    k = np.flatnonzero((f[:-1] < 0) != (f[1:] < 0))
    return x[k] + f[k] / (f[k] - f[k + 1]) * (x[k + 1] - x[k])


def area_by_lines(model, corners, low, high):
    """The area of {f < 0}: its width along a line is linear in y between the heights of corners."""
    heights, total = np.unique(corners[:, 1]), 0.0
    for a, b in pairwise(heights):
        if b - a > 1e-9:  # the rule of two points is exact for a linear function
            for y in ((a + b) / 2 - (b - a) / 12**0.5, (a + b) / 2 + (b - a) / 12**0.5):
                x = zeros_along(model, y, low, high)
                total += (b - a) / 2 * (x[1::2] - x[::2]).sum()
    return total


def test_corners_lie_on_the_zero_set(cat):
    for loop in outline_of(cat):
        assert np.abs(cat.predict(loop)).max() < 1e-9


def test_edges_lie_on_the_zero_set(cat):
    """Within a cell f is linear, so that all of an edge is on it."""
    for loop in outline_of(cat):
        for t in (0.25, 0.5, 0.9):
            along = (1 - t) * loop + t * np.roll(loop, -1, axis=0)
            assert np.abs(cat.predict(along)).max() < 1e-9


def test_the_area_is_that_of_the_inside(cat):
    loops = outline_of(cat)
    corners = np.concatenate(loops)
    low, high = corners[:, 0].min() - 0.1, corners[:, 0].max() + 0.1
    inside = area_by_lines(cat, corners, low, high)
    assert sum(map(area, loops)) == pytest.approx(inside, abs=1e-9 * inside)


def test_the_polygon_tells_inside_from_outside_as_the_network_does(cat):
    P = np.random.default_rng(1).uniform(-10, 110, size=(5000, 2))
    assert (polygons(outline_of(cat)).inside(P) == (cat.predict(P) < 0)).all()


def test_the_outline_moves_and_grows_with_the_shape():
    X = np.random.default_rng(0).uniform(-2, 2, size=(2000, 2))
    y = np.linalg.norm(X, axis=1) - 1
    one, other = fitted(X, y, 12), fitted(8 * X + 3, y, 12)
    (a,), (b,) = outline_of(one), outline_of(other)
    assert area(b) == pytest.approx(64 * area(a), rel=1e-6)


def test_a_hole_counts_negative():
    X = np.random.default_rng(0).uniform(-2, 2, size=(4000, 2))
    r = np.linalg.norm(X, axis=1)
    areas = sorted(map(area, outline_of(fitted(X, np.abs(r - 1) - 0.4, 64))))
    assert len(areas) == 2
    assert_allclose(areas, [-np.pi * 0.36, np.pi * 1.96], rtol=0.1)


def test_hinges_that_coincide_give_one_corner():
    """|x| + |y| − 1 from four units, whose hinges lie on each other in pairs."""
    A = np.array([[0.0, 0, 0, 0], [1, -1, 0, 0], [0, 0, 1, -1]])
    (loop,) = trace(Network(A, np.ones((4, 1)), np.array([-1.0])), np.array([[-3.0, -3], [2, 2]]))
    assert_allclose(sorted(map(tuple, loop)), [(-1, 0), (0, -1), (0, 1), (1, 0)], atol=1e-12)
    assert area(loop) == pytest.approx(2)


def test_what_leaves_the_bounds_is_left_out():
    """min(|x| + |y| − 1, 4 − x): a diamond, and a half-plane from x = 4 on."""
    A = np.array([[0.0, 0, 0, 0, -2.5], [1, -1, 0, 0, 1], [0, 0, 1, -1, 0]])
    network = Network(A, np.array([[1.0], [1], [1], [1], [-9]]), np.array([-1.0]))
    (loop,) = trace(network, np.array([[-9.0, -9], [9, 9]]))
    assert area(loop) == pytest.approx(2)


def test_an_outline_needs_a_shape_in_its_box():
    model = ball(2)
    with pytest.raises(ShapeError, match="leaves the bounds"):
        outline_of(model, [[-0.5, -2], [2, 2]])
    with pytest.raises(ShapeError, match="one sign"):
        outline_of(model, [[-0.1, -0.1], [0.1, 0.1]])
    with pytest.raises(ValueError, match="lowest and a highest"):
        outline_of(model, [[1, 1], [0, 0]])
    with pytest.raises(ValueError, match="3 inputs and 1 outputs; expected 2"):
        outline_of(ball(3))


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_vertices_of_a_mesh_lie_on_the_zero_set(slope):
    model = ball(3, slope=slope)
    vertices, faces = mesh_of(model, resolution=24)
    assert np.abs(model.predict(vertices)).max() < 1e-9
    found = solid(vertices, faces)  # closed, oriented, without crossings
    assert Boundary(vertices, faces).content == pytest.approx(found.content)
    assert found.content == pytest.approx(4 / 3 * np.pi, rel=0.1)


def test_a_mesh_needs_a_shape_in_its_box():
    model = ball(3)
    with pytest.raises(ShapeError, match="leaves the bounds"):
        mesh_of(model, [[-0.5, -2, -2], [2, 2, 2]], 10)
    with pytest.raises(ShapeError, match="one sign"):
        mesh_of(model, [[1.5, 1.5, 1.5], [2, 2, 2]], 10)
    with pytest.raises(ValueError, match="resolution is 2"):
        mesh_of(model, resolution=2)


def test_a_thin_rod_is_not_cut_off():
    """Thinner than a cell of the coarse grid that finds the shape."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(6000, 3))
    X[:, 1:] *= np.where(np.arange(6000) % 2, 1, 0.1)[:, None]
    rod = np.linalg.norm(np.column_stack([np.maximum(np.abs(X[:, 0]) - 0.8, 0), X[:, 1:]]), axis=1)
    vertices, _ = mesh_of(fitted(X, rod - 0.1, 64), resolution=60)
    assert np.ptp(vertices[:, 0]) > 1.4


# ---- the paper's horse, and a cow ---------------------------------------------------------------


@pytest.mark.slow
def test_the_outline_of_the_horse_is_exact(paper_data):
    file = paper_data / "SDF" / "Y.csv"
    mask = np.loadtxt(file, delimiter=",").reshape(232, 315) < 0
    X, y = sample_picture(mask, 12_000, 0)
    model = fitted(X, y, 96, max_iter=40)
    loops = outline_of(model, [X.min(axis=0), X.max(axis=0)])
    corners = np.concatenate(loops)
    assert np.abs(model.predict(corners)).max() < 1e-9
    low, high = corners[:, 0].min() - 0.1, corners[:, 0].max() + 0.1
    inside = area_by_lines(model, corners, low, high)
    assert sum(map(area, loops)) == pytest.approx(inside, rel=1e-9)
    assert inside == pytest.approx(mask.sum(), rel=0.05)


@pytest.mark.slow
def test_a_cow_of_256_units_keeps_its_volume(paper_data, monkeypatch):
    path = paper_data.parent / "shapes" / "spot.obj"
    if not path.is_file():
        pytest.skip("there is no shapes/spot.obj beside the paper's data")
    monkeypatch.setattr("anmin.shapes.fitting.ITERATIONS", 40)
    (cow,) = fit_shape(read_shape(path), [256])
    assert cow.overlap > 0.96
    assert cow.numbers <= 1281
