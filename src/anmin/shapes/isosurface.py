"""The zero set of a network in space as triangles.

Marching cubes puts every vertex on an edge of a grid whose ends lie on different sides. Along that
edge f is piecewise linear, so a few steps of regula falsi move the vertex onto the zero set itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import label
from skimage.measure import marching_cubes

from anmin.network import Network
from anmin.shapes.boundary import Array, ShapeError
from anmin.shapes.outline import plain_network, search_box

COARSE = 40  # cells along the longest side, to see where the shape is
AT_ONCE = 2**15  # points
STEPS = 60  # of regula falsi, at most


def mesh_of(model: Any, bounds: Any = None, resolution: int = 96) -> tuple[Array, Array]:
    """Triangles of the surface f(x) = 0 of a fitted model of three inputs.

    Parameters
    ----------
    model : ANMINRegressor
        Fitted to signed distances in space, without an encoding.
    bounds : array (2, 3), default=None
        Lowest and highest x where the shape is looked for; by default three deviations of the
        training rows around their mean.
    resolution : int, default=96
        Cells of the grid along the longest side of the shape.

    Returns
    -------
    vertices : array (v, 3), on the zero set to rounding
    faces : array (f, 3), a closed mesh whose normals point outwards
        Parts that leave the bounds are left out, as in `outline_of`.

    Examples
    --------
    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.shapes import mesh_of
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(2000, 3))
    >>> y = np.linalg.norm(X, axis=1) - 1
    >>> settings = {"lam": 1e-6, "n_networks": 1, "encoding": None, "random_state": 0}
    >>> model = ANMINRegressor(16, max_iter=20, **settings).fit(X, y)
    >>> vertices, faces = mesh_of(model, resolution=20)
    >>> bool(np.abs(model.predict(vertices)).max() < 1e-9)
    True
    """
    if resolution < 4:
        raise ValueError(f"resolution is {resolution}; a grid needs 4 cells or more.")
    network = plain_network(model, 3)
    axes, field = shape_grid(network, search_box(model, bounds), resolution)
    places, faces, _, _ = marching_cubes(field, 0.0, gradient_direction="descent")
    return on_zero_set(network, places.astype(np.float64), axes), faces.astype(np.int64)


def shape_grid(network: Network, box: Array, resolution: int) -> tuple[list[Array], Array]:
    """A grid close around the shape in a box, and f on it, positive at its sides."""
    axes, field = on_grid(network, box, COARSE)
    inner = around(axes, field)
    axes, field = on_grid(network, box if inner is None else inner, resolution)
    if inner is not None and (at_rim(field) < 0).any():  # thinner than a coarse cell there
        axes, field = on_grid(network, box, resolution)
    if not (field < 0).any():
        raise ShapeError("the model has no zero set in the bounds: it is of one sign there")
    field = within_grid(field)
    if not (field < 0).any():
        where = f"from {box[0].tolist()} to {box[1].tolist()}"
        raise ShapeError(f"the shape leaves the bounds {where}; give larger ones")
    return axes, field


def obj_text(vertices: Array, faces: Array) -> str:
    """A mesh as an .obj file.

    >>> obj_text(np.eye(3), np.array([[0, 1, 2]])).splitlines()[-1]
    'f 1 2 3'
    """
    lines = ["# written by anmin"]
    lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices]
    lines += [f"f {a} {b} {c}" for a, b, c in faces + 1]
    return "\n".join(lines) + "\n"


def on_grid(network: Network, box: Array, cells: int) -> tuple[list[Array], Array]:
    """Places along each axis of a grid of cubes over the box, and f on it."""
    sides = np.ptp(box, axis=0)
    counts = np.maximum(np.ceil(cells * sides / sides.max()), 2).astype(int) + 1
    axes = [np.linspace(a, b, n) for a, b, n in zip(*box, counts, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return axes, values(network, points).reshape(counts)


def values(network: Network, points: Array) -> Array:
    """f at many points, some at a time."""
    parts = range(0, len(points), AT_ONCE)
    return np.concatenate([network.forward(points[i : i + AT_ONCE])[:, 0] for i in parts])


def around(axes: list[Array], field: Array) -> Array | None:
    """A box around what is inside, two cells wider, or None where nothing is."""
    inside = np.argwhere(field < 0)
    if not len(inside):
        return None
    low, high = inside.min(axis=0) - 2, inside.max(axis=0) + 2
    return np.array([
        [axis[max(i, 0)] for axis, i in zip(axes, low, strict=True)],
        [axis[min(i, len(axis) - 1)] for axis, i in zip(axes, high, strict=True)],
    ])  # fmt: skip


def at_rim(values: Array) -> Array:
    """The values at the sides of a grid."""
    return np.concatenate([np.take(values, [0, -1], axis=k).ravel() for k in range(3)])


def within_grid(field: Array) -> Array:
    """The field without the parts of the shape that reach a side of the grid."""
    part, _ = label(field < 0)
    return np.where(np.isin(part, at_rim(part)), np.abs(field), field)


def on_zero_set(network: Network, places: Array, axes: list[Array]) -> Array:
    """Vertices on edges of the grid, in units of its cells, moved along them to where f is 0."""
    low, high = np.floor(places).astype(int), np.ceil(places).astype(int)
    a, b = (np.stack([axis[k[:, i]] for i, axis in enumerate(axes)], axis=1) for k in (low, high))
    f, g = values(network, a), values(network, b)
    for _ in range(STEPS):  # regula falsi; an end that stays has its value halved (Illinois)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(f == g, 0.0, f / (f - g))
        at = a + t[:, None] * (b - a)
        found = values(network, at)
        if np.abs(found).max() <= 1e-14 * max(np.abs(f).max(), np.abs(g).max(), 1e-300):
            break
        same = (found > 0) == (f > 0)
        a, b = np.where(same[:, None], at, a), np.where(same[:, None], b, at)
        f, g = np.where(same, found, f / 2), np.where(same, g / 2, found)
    return at
