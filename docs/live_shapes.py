"""The three shapes that run live on the page about shapes, drawn in code.

python docs/live_shapes.py FOLDER      writes cat.html, dog.html and nut.html
"""

import sys
from pathlib import Path

import numpy as np
from skimage.measure import marching_cubes

from anmin.datasets import draw_shape
from anmin.shapes import fit_shape, shape_page
from anmin.shapes.meshes import solid
from anmin.shapes.pictures import outline_boundary

CELLS = 56  # of the grid that a solid is drawn on, along a side
SHARPNESS = 25.0  # of the blend where strokes meet
# A dog in strokes: where each starts and ends (right, up, to the viewer), its radius at both ends.
DOG = np.array(
    [
        [0.00, 0.05, -0.50, 0.00, 0.08, 0.40, 0.24, 0.25],  # body
        [0.00, 0.15, 0.45, 0.00, 0.55, 0.62, 0.17, 0.13],  # neck
        [0.00, 0.60, 0.60, 0.00, 0.62, 0.68, 0.20, 0.20],  # head
        [0.00, 0.55, 0.78, 0.00, 0.52, 0.95, 0.12, 0.09],  # snout
        [0.15, 0.75, 0.58, 0.27, 0.62, 0.55, 0.07, 0.06],  # ears
        [-0.15, 0.75, 0.58, -0.27, 0.62, 0.55, 0.07, 0.06],
        [0.15, -0.05, 0.40, 0.17, -0.70, 0.42, 0.12, 0.08],  # legs
        [-0.15, -0.05, 0.40, -0.17, -0.70, 0.42, 0.12, 0.08],
        [0.15, -0.05, -0.48, 0.17, -0.70, -0.50, 0.13, 0.08],
        [-0.15, -0.05, -0.48, -0.17, -0.70, -0.50, 0.13, 0.08],
        [0.00, 0.15, -0.65, 0.00, 0.50, -0.92, 0.07, 0.04],  # tail
    ]
)


def dog(P):
    """Signed distance, about, to strokes with round ends that blend."""
    blend = np.zeros(len(P))
    for stroke in DOG:
        start, end, (r0, r1) = stroke[:3], stroke[3:6], stroke[6:]
        along = end - start
        t = np.clip((P - start) @ along / (along @ along), 0, 1)
        depth = r0 + t * (r1 - r0) - np.linalg.norm(P - start - t[:, None] * along, axis=1)
        blend += np.exp(SHARPNESS * depth)
    return -np.log(blend) / SHARPNESS


def nut(P):
    """A hexagonal nut: six sides and two ends, less a cylinder."""
    turns = np.arange(3) * np.pi / 3
    sides = np.abs(P[:, :2] @ np.array([np.cos(turns), np.sin(turns)])) - 0.85
    ends = np.abs(P[:, 2]) - 0.4
    hole = 0.45 - np.linalg.norm(P[:, :2], axis=1)
    return np.maximum(sides.max(axis=1), np.maximum(ends, hole))


def drawn(distance):
    """The solid where a function of points is negative."""
    axis = np.linspace(-1.2, 1.2, CELLS)
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    field = distance(points).reshape(CELLS, CELLS, CELLS)
    vertices, faces, _, _ = marching_cubes(field, 0.0, spacing=(axis[1] - axis[0],) * 3)
    return solid(vertices.astype(np.float64) - 1.2, faces.astype(np.int64))


SHAPES = {
    "cat": (lambda: outline_boundary(draw_shape(160)), (16, 32, 64)),
    "dog": (lambda: drawn(dog), (32, 64, 128)),
    "nut": (lambda: drawn(nut), (32, 64, 128)),
}


def make(folder):
    """Write the pages; return boundaries and networks by name."""
    folder, made = Path(folder), {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, (draw, units) in SHAPES.items():
        boundary = draw()
        fitted = fit_shape(boundary, units)
        page = shape_page(boundary, fitted, f"A {name} as a network")
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
        made[name] = boundary, fitted
    return made


if __name__ == "__main__":
    for name, (_, fitted) in make(*sys.argv[1:]).items():
        sys.stdout.write("\n".join([name, *(one.words() for one in fitted), ""]))
