"""Shapes as networks: f(x) is the signed distance to a surface or an outline, negative inside.

    a mesh or a picture  →  Boundary  →  points x and distances y  →  a network  →  page, GLSL, mesh

`sample_mesh` and `sample_picture` make the rows, any `ANMINRegressor` fits them, and the zero set
of the fitted network is the shape again: `outline_of` gives it exactly in the plane, `mesh_of` as
triangles in space. `anmin shape INPUT -o OUT` does all of it. Needs the extra `shapes`.
"""

try:
    import igl  # noqa: F401
    import skimage  # noqa: F401
    import svgelements  # noqa: F401
    import trimesh  # noqa: F401
except ModuleNotFoundError as error:
    message = f"anmin.shapes needs {error.name}: pip install 'anmin[shapes]'"
    raise ModuleNotFoundError(message, name=error.name) from error

from anmin.shapes.boundary import Boundary, ShapeError
from anmin.shapes.fitting import FittedShape, fit_shape
from anmin.shapes.isosurface import mesh_of
from anmin.shapes.outline import outline_of
from anmin.shapes.sampling import read_shape, sample_mesh, sample_picture
from anmin.shapes.shader import glsl_source
from anmin.shapes.webpage import shape_page

__all__ = [
    "Boundary",
    "FittedShape",
    "ShapeError",
    "fit_shape",
    "glsl_source",
    "mesh_of",
    "outline_of",
    "read_shape",
    "sample_mesh",
    "sample_picture",
    "shape_page",
]
