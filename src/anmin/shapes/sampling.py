"""Rows for a network: points and their signed distances, dense where the boundary is.

near     points of the boundary, moved by normal deviations of 0.5 % and 3 % of the radius
around   points spread evenly over a box that is 15 % of the radius wider than the shape
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anmin.shapes.boundary import Array, Boundary, ShapeError
from anmin.shapes.meshes import MESHES, read_mesh, solid
from anmin.shapes.pictures import PICTURES, outline_boundary, read_picture

NEAR = (0.005, 0.03)  # deviations, in radii
SHARE = 0.8  # of the points that are near
MARGIN = 0.15  # of the box, in radii
READERS: dict[str, Callable[[Any], Boundary]] = {
    **dict.fromkeys(MESHES, read_mesh),
    **dict.fromkeys(PICTURES, read_picture),
}


def read_shape(path: str | os.PathLike[str]) -> Boundary:
    """The boundary in a mesh (.obj, .ply, .stl, .off) or a picture (.png, .svg), or ShapeError.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from anmin.shapes import read_shape
    >>> square = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="4" height="2"/></svg>'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "square.svg")
    ...     _ = path.write_text(square)
    ...     print(round(read_shape(path).content, 1))
    8.0
    """
    kind = Path(path).suffix.lower()
    if kind not in READERS:
        raise ShapeError(f"it ends in {kind or 'nothing'}; known are {', '.join(READERS)}")
    return READERS[kind](path)


def sample_mesh(
    mesh: Any, n_samples: int = 40_000, random_state: int | None = None
) -> tuple[Array, Array]:
    """Points and signed distances of a solid.

    Parameters
    ----------
    mesh : path, or (vertices, faces)
        A closed mesh: a file, or arrays (v, 3) and (f, 3).
    n_samples : int, default=40,000
        Four fifths are near the surface, the others anywhere in the box around it.
    random_state : int or None, default=None
        Seed of the draws.

    Returns
    -------
    X : array (n_samples, 3)
    y : array (n_samples,)
        Distances to the surface, negative inside.

    Examples
    --------
    >>> from anmin.shapes import sample_mesh
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
    >>> X, y = sample_mesh((corners, faces), 1000, random_state=0)
    >>> X.shape, bool((y < 0).any()), bool((y > 0).any())
    ((1000, 3), True, True)
    """
    if isinstance(mesh, (str, os.PathLike)):
        found = read_mesh(mesh)
    else:
        vertices, faces = mesh
        found = solid(np.asarray(vertices, dtype=np.float64), np.asarray(faces, dtype=np.int64))
    return sample(found, n_samples, random_state)


def sample_picture(
    picture: Any, n_samples: int = 40_000, random_state: int | None = None
) -> tuple[Array, Array]:
    """Points and signed distances of the outline in a picture.

    Parameters
    ----------
    picture : path, or array (rows, columns)
        A .png or .svg file, a mask or a grey picture. The shape is what differs from the rim.
    n_samples : int, default=40,000
        Four fifths are near the outline, the others anywhere in the box around it.
    random_state : int or None, default=None
        Seed of the draws.

    Returns
    -------
    X : array (n_samples, 2)
        To the right and down, in pixels; the first pixel is the square from (0, 0) to (1, 1).
    y : array (n_samples,)
        Distances to the outline, negative inside.

    Examples
    --------
    >>> from anmin.datasets import draw_shape
    >>> from anmin.shapes import sample_picture
    >>> X, y = sample_picture(draw_shape(80), 1000, random_state=0)
    >>> X.shape, bool((y < 0).any()), bool((y > 0).any())
    ((1000, 2), True, True)
    """
    path = isinstance(picture, (str, os.PathLike))
    found = read_picture(picture) if path else outline_boundary(picture)
    return sample(found, n_samples, random_state)


def sample(
    boundary: Boundary, n: int = 40_000, random_state: int | None = None
) -> tuple[Array, Array]:
    """Points and signed distances of a boundary: (n, d), (n,)."""
    if n < 10:
        raise ValueError(f"n_samples is {n}; a shape needs 10 or more.")
    rng = np.random.default_rng(random_state)
    near = int(SHARE * n)
    deviation = boundary.radius * rng.choice(NEAR, size=(near, 1))
    moved = deviation * rng.standard_normal((near, boundary.dimension))
    X = np.concatenate([boundary.points(near, rng) + moved, boundary.spread(n - near, MARGIN, rng)])
    return X, boundary.signed_distance(X)
