"""Outlines of pictures: x to the right, y down, in pixels or in the units of an SVG file.

The outline is the level half-way between shape and ground, at fractions of a pixel; the ground is
what the rim of the picture shows. The paths of an SVG file are filled on a fine raster first, so
that paths that overlap become one shape.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import svgelements
from PIL import Image, ImageDraw, UnidentifiedImageError
from skimage.measure import approximate_polygon, find_contours

from anmin.shapes.boundary import Array, Boundary, ShapeError

PICTURES = (".png", ".svg")
MOST_BYTES = 2**24
MOST_EDGES = 8000
MOST_PIXELS = 4096  # along a side
RASTER, FINER = 500, 4  # pixels along the longer side of an SVG drawing; shades of each pixel
STRAIGHT = 0.05  # pixels that an outline may be moved to need fewer corners
CURVE = 24  # straight pieces of a curved segment
DRAWN = {
    "path": svgelements.Path, "polygon": svgelements.Polygon, "polyline": svgelements.Polygon,
    "rect": svgelements.Rect, "circle": svgelements.Circle, "ellipse": svgelements.Ellipse,
}  # fmt: skip


def read_picture(path: str | os.PathLike[str]) -> Boundary:
    """The shape in a picture file, or ShapeError."""
    path = Path(path)
    size = path.stat().st_size
    if not 0 < size <= MOST_BYTES:
        raise ShapeError(f"the file has {size:,} bytes; a picture has 1 to {MOST_BYTES:,}")
    read = svg_outline if path.suffix.lower() == ".svg" else png_outline
    return read(path.read_bytes())


def outline_boundary(picture: Array) -> Boundary:
    """The outline of a grey picture or a mask, (rows, columns), whose rim is the ground."""
    grey = np.asarray(picture, dtype=np.float64)
    if grey.ndim != 2 or min(grey.shape) < 3:
        raise ShapeError(f"the picture has shape {grey.shape}; expected rows and columns of grey")
    if max(grey.shape) > MOST_PIXELS:
        size = "×".join(map(str, grey.shape))
        raise ShapeError(f"the picture has {size} pixels; at most {MOST_PIXELS:,} a side are read")
    if not np.isfinite(grey).all():
        raise ShapeError("the picture holds NaN or infinity")
    rim = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    ground = np.median(rim)
    height = np.abs(grey - ground)
    if height.max() <= 0.05 * max(abs(grey).max(), 1e-300):
        raise ShapeError("the picture has one colour only; a shape must stand out from its ground")
    padded = np.pad(height / height.max(), 1)  # so that every outline closes
    fine = find_contours(padded, 0.5)
    require_few(sum(map(len, fine)) // 8)  # before time is spent on them
    loops = [approximate_polygon(loop, STRAIGHT)[:-1] for loop in fine]
    return polygons([loop[:, ::-1] - 0.5 for loop in loops if len(loop) >= 3])  # of a pixel


def require_few(edges: int) -> None:
    if edges > MOST_EDGES:
        raise ShapeError(f"its outline has {edges:,} edges; smooth it to {MOST_EDGES:,}")


def polygons(loops: list[Array]) -> Boundary:
    """Closed loops of corners (k, 2) as one boundary, whose content is positive."""
    if not loops:
        raise ShapeError("the picture shows no shape")
    require_few(sum(map(len, loops)))
    starts = np.cumsum([0, *(len(loop) for loop in loops)])
    joined = [
        begin + np.stack([np.arange(len(loop)), np.roll(np.arange(len(loop)), -1)], axis=1)
        for begin, loop in zip(starts, loops, strict=False)
    ]
    found = Boundary(np.concatenate(loops), np.concatenate(joined))
    return found if found.content > 0 else Boundary(found.vertices, found.simplices[:, ::-1])


def png_outline(data: bytes) -> Boundary:
    """The shape in a picture: what is opaque, or else what stands out from the rim."""
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            if max(image.size) > MOST_PIXELS:
                size = "×".join(map(str, image.size))
                most = f"at most {MOST_PIXELS:,} a side are read"
                raise ShapeError(f"the picture has {size} pixels; {most}")
            alpha = np.asarray(image.convert("RGBA").getchannel("A"), dtype=np.float64)
            grey = np.asarray(image.convert("L"), dtype=np.float64)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        if isinstance(error, ShapeError):
            raise
        raise ShapeError(f"it cannot be read as a PNG picture: {error}") from error
    return outline_boundary(alpha if np.ptp(alpha) > 0 else grey)


# ---- SVG ----------------------------------------------------------------------------------------


def svg_outline(data: bytes) -> Boundary:
    """The union of the filled paths of an SVG file, in its units."""
    if b"<!ENTITY" in data:
        raise ShapeError("it defines entities, which are not read; save it as plain SVG")
    try:
        drawn = [(loops_of(path), rule) for path, rule in paths(ET.fromstring(data))]
    except (ET.ParseError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ShapeError(f"it cannot be read as an SVG drawing: {error}") from error
    corners = [loop for loops, _ in drawn for loop in loops]
    if not corners or not np.isfinite(np.concatenate(corners)).all():
        raise ShapeError("it draws no closed path with finite corners")
    low, high = np.concatenate(corners).min(axis=0), np.concatenate(corners).max(axis=0)
    if not (scale := (high - low).max() / RASTER) > 0:
        raise ShapeError("its paths have no area")
    width, height = (int(side) for side in np.ceil((high - low) / scale) + 5)
    filled = np.zeros((FINER * height, FINER * width), dtype=bool)
    for loops, rule in drawn:
        pixels = [FINER * ((loop - low) / scale + 2) for loop in loops]
        filled |= fill(pixels, (FINER * width, FINER * height), rule)
    shades = filled.reshape(height, FINER, width, FINER).mean(axis=(1, 3))
    found = outline_boundary(shades)
    return Boundary((found.vertices - 2) * scale + low, found.simplices)


def paths(root: ET.Element) -> Iterator[tuple[Any, str]]:
    """What is drawn, in the units of the file, with the rule that fills it."""
    todo = [(root, svgelements.Matrix(), "nonzero")]
    while todo:
        element, matrix, rule = todo.pop()
        name = str(element.tag).rpartition("}")[2]  # the tag of a comment is a function
        if name in ("defs", "clipPath", "mask", "symbol", "marker", "pattern"):
            continue
        style = element.get("style", "")
        rule = "evenodd" if "fill-rule:evenodd" in style.replace(" ", "") else rule
        rule = element.get("fill-rule", rule)
        if "transform" in element.attrib:
            matrix = svgelements.Matrix(element.get("transform")) * matrix
        if name in DRAWN:
            own = {key: value for key, value in element.attrib.items() if key != "transform"}
            yield svgelements.Path(DRAWN[name](own)) * matrix, rule
        todo += [(child, matrix, rule) for child in reversed(element)]


def loops_of(path: Any) -> list[Array]:
    """The closed loops of a path, curves as many short lines."""
    loops = []
    for part in path.as_subpaths():
        points = [
            point
            for segment in svgelements.Path(part).segments()
            if not isinstance(segment, svgelements.Move)
            for point in segment_points(segment)
        ]
        if len(points) >= 3:
            loops.append(np.array(points))
    return loops


def segment_points(segment: Any) -> list[tuple[float, float]]:
    """The points of a segment, but its first."""
    straight = isinstance(segment, (svgelements.Line, svgelements.Close))
    steps = [1.0] if straight else np.linspace(0, 1, CURVE + 1)[1:]
    points = [segment.end] if straight else [segment.point(t) for t in steps]
    return [(float(p.x), float(p.y)) for p in points if p is not None]


def fill(loops: list[Array], size: tuple[int, int], rule: str) -> Array:
    """A mask of what loops in pixels enclose: (rows, columns)."""
    winding = np.zeros(size[::-1], dtype=np.int32)
    for loop in loops:
        image = Image.new("1", size)
        ImageDraw.Draw(image).polygon([tuple(corner) for corner in loop], fill=1)
        x, y = loop.T
        turn = np.sign(x @ np.roll(y, -1) - y @ np.roll(x, -1))
        winding += np.asarray(image).astype(np.int32) * int(turn)
    return winding % 2 == 1 if rule == "evenodd" else winding != 0
