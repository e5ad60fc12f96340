"""The boundary of a solid: triangles in space, edges in the plane.

    y(x) = ± min over simplices |x − point of the simplex|,     minus where x is inside

Inside is where the generalised winding number is above 1/2 in size: 1 within a closed surface, 0
without, and no ray has to hit or miss an edge for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import igl
import numpy as np

Array = np.ndarray


class ShapeError(ValueError):
    """What was given is no shape that has an inside; the message says why and what to do."""


@dataclass(frozen=True)
class Boundary:
    """A closed boundary, oriented so that its normals point outwards.

    >>> import numpy as np
    >>> from anmin.shapes import Boundary
    >>> corners = np.array([[0, 0], [2, 0], [2, 2], [0, 2]])
    >>> square = Boundary(corners, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> square.signed_distance(np.array([[1.0, 0.5], [3.0, 1.0]])).tolist()
    [-0.5, 1.0]
    """

    vertices: Array  # (v, d)
    simplices: Array  # (s, d): edges or triangles, as places in `vertices`

    def __post_init__(self) -> None:  # in the types that libigl takes
        for name, dtype in (("vertices", np.float64), ("simplices", np.int64)):
            values = np.ascontiguousarray(getattr(self, name), dtype=dtype)
            object.__setattr__(self, name, values)

    @property
    def dimension(self) -> int:
        """Of the space around: 2 or 3."""
        return self.vertices.shape[1]

    @cached_property
    def corners(self) -> Array:
        """The box around the shape: (2, d)."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)])

    @property
    def centre(self) -> Array:
        """The middle of the box."""
        return self.corners.mean(axis=0)

    @property
    def radius(self) -> float:
        """Half of the longest side of the box: the unit in which errors are told."""
        return float(np.ptp(self.corners, axis=0).max()) / 2

    def box(self, margin: float) -> Array:
        """The box, wider by `margin` radii on each side: (2, d)."""
        return self.corners + margin * self.radius * np.array([[-1.0], [1.0]])

    @cached_property
    def sizes(self) -> Array:
        """The length or area of each simplex."""
        first, *others = np.moveaxis(self.vertices[self.simplices], 1, 0)
        spans = np.stack([other - first for other in others], axis=1)  # (s, d - 1, d)
        gram = np.linalg.det(spans @ spans.transpose(0, 2, 1))
        return np.sqrt(np.maximum(gram, 0)) / (self.dimension - 1)

    @property
    def content(self) -> float:
        """The volume inside, or the area: Σ det(corners) / d!."""
        shifted = self.vertices - self.centre  # so that rounding does not depend on the place
        parts = np.linalg.det(shifted[self.simplices])
        return float(parts.sum()) / (2 if self.dimension == 2 else 6)

    def points(self, n: int, rng: np.random.Generator) -> Array:
        """Points on the boundary, evenly spread: (n, d)."""
        which = rng.choice(len(self.simplices), n, p=self.sizes / self.sizes.sum())
        weights = rng.dirichlet(np.ones(self.dimension), n)  # uniform on a simplex
        return np.einsum("nk,nkd->nd", weights, self.vertices[self.simplices[which]])

    def spread(self, n: int, margin: float, rng: np.random.Generator) -> Array:
        """Points spread evenly over the box: (n, d)."""
        low, high = self.box(margin)
        return rng.uniform(low, high, size=(n, self.dimension))

    def signed_distance(self, X: Array) -> Array:
        """Distances of points (n, d) to the boundary, negative inside."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        squares = igl.point_mesh_squared_distance(X, self.vertices, self.simplices)[0]
        return np.where(self.inside(X), -1.0, 1.0) * np.sqrt(np.ravel(squares))

    def inside(self, X: Array) -> Array:
        """Whether points (n, d) are inside."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        winding = igl.winding_number(self.vertices, self.simplices, X)
        return np.abs(np.ravel(winding)) > 0.5
