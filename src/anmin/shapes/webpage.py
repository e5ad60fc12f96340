"""One page, without anything from elsewhere, on which a browser draws the networks of a shape.

The page holds each network as float32, four numbers a unit, which a fragment shader evaluates at
every step of every ray, and the original, rounded to 1/32767 of its radius. Everything is in radii
around the centre of the shape.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import igl
import numpy as np

from anmin.shapes.boundary import Array, Boundary
from anmin.shapes.fitting import FittedShape
from anmin.shapes.sampling import MARGIN
from anmin.shapes.shader import packed

MOST_UNITS = 1024  # vectors of four in a uniform block that every WebGL 2 has room for
MOST_TRIANGLES = 8000  # of the original that is drawn, so that a page stays below 200 kB


class Page(Template):
    """`$$name` stands for a value only where it is one of ours: scripts have dollars too."""

    idpattern = "title|data"


def shape_page(boundary: Boundary, fitted: Sequence[FittedShape], title: str) -> str:
    """The page as HTML.

    >>> from anmin.datasets import draw_shape
    >>> from anmin.shapes import fit_shape, shape_page
    >>> from anmin.shapes.pictures import outline_boundary
    >>> cat = outline_boundary(draw_shape(60))
    >>> "<title>A cat</title>" in shape_page(cat, fit_shape(cat, [8]), "A cat")
    True
    """
    if most := [shape.units for shape in fitted if shape.units > MOST_UNITS]:
        raise ValueError(f"{most[0]} units are more than a page can draw; use {MOST_UNITS:,}.")
    drawn = thinned(boundary)
    low, high = (boundary.box(MARGIN) - boundary.centre) / boundary.radius
    places = np.round((drawn.vertices - boundary.centre) / boundary.radius * 32767)
    data = {
        "dimension": boundary.dimension,
        "networks": [network(shape, boundary) for shape in fitted],
        "vertices": base64_of(np.clip(places, -32767, 32767), "<i2"),
        "simplices": base64_of(drawn.simplices, "<u2"),
        "caption": caption(boundary, drawn),
        "low": low.round(6).tolist(),
        "high": high.round(6).tolist(),
        "reach": reach(boundary),
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    page = files("anmin.shapes").joinpath("shape.html").read_text(encoding="utf-8")
    return Page(page).safe_substitute(title=escape(title), data=text)


def reach(boundary: Boundary) -> float:
    """Radii from the middle of a picture to its rim: a solid must have room to turn."""
    if boundary.dimension == 2:
        return 1.15
    farthest = np.linalg.norm(boundary.vertices - boundary.centre, axis=1).max()
    return round(1.05 * float(farthest) / boundary.radius, 6)


def network(shape: FittedShape, boundary: Boundary) -> dict[str, Any]:
    """What the page knows of a network."""
    net = packed(shape.model, boundary.centre, boundary.radius)
    return {
        "units": len(net.rows),
        "positive": net.positive,
        "bias": net.bias,
        "rows": base64_of(net.rows, "<f4"),
        "words": shape.words(),
    }


def base64_of(values: Array, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values).astype(dtype).tobytes()).decode("ascii")


def thinned(boundary: Boundary) -> Boundary:
    """The boundary, or one of fewer triangles that looks like it."""
    if len(boundary.simplices) <= MOST_TRIANGLES:
        return boundary
    vertices = np.asfortranarray(boundary.vertices)
    faces = np.asfortranarray(boundary.simplices.astype(np.int32))
    return Boundary(*igl.decimate(vertices, faces, MOST_TRIANGLES)[:2])


def caption(boundary: Boundary, drawn: Boundary) -> str:
    """What the original is, in words."""
    kind = "triangles" if boundary.dimension == 3 else "edges"
    words = f"the original, {len(boundary.simplices):,} {kind}"
    fewer = len(drawn.simplices) < len(boundary.simplices)
    return f"{words}, of which {len(drawn.simplices):,} are drawn" if fewer else words
