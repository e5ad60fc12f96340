"""A shape drawn in code: a silhouette that needs no file."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A cat in seven strokes of the brush: where each starts, bends and ends (right, down),
# and the brush's radius at both ends, all as parts of the picture's side.
CAT = np.array(
    [
        [0.420, 0.460, 0.42, 0.58, 0.46, 0.690, 0.090, 0.185],  # body
        [0.380, 0.310, 0.42, 0.32, 0.46, 0.310, 0.118, 0.118],  # head
        [0.325, 0.220, 0.30, 0.15, 0.28, 0.085, 0.050, 0.004],  # left ear
        [0.515, 0.220, 0.54, 0.15, 0.56, 0.085, 0.050, 0.004],  # right ear
        [0.360, 0.580, 0.33, 0.78, 0.29, 0.875, 0.070, 0.035],  # paw
        [0.600, 0.860, 0.99, 0.98, 0.84, 0.600, 0.050, 0.036],  # tail, lower half
        [0.840, 0.600, 0.74, 0.40, 0.86, 0.300, 0.036, 0.026],  # tail, upper half
    ]
)
SHARPNESS = 80.0  # of the blend where strokes meet


def draw_shape(side: int = 160, strokes: ArrayLike = CAT) -> NDArray[np.bool_]:
    """Draw a silhouette: True inside, an image of `side` × `side` pixels, row 0 on top.

    Each stroke is eight numbers: start, bend and end of a quadratic Bézier curve as
    (right, down) in units of the side, and the brush's radius at its start and its end.
    Strokes are blended, so that the outline is smooth where they meet.

    >>> draw_shape(80).shape
    (80, 80)
    """
    if side < 8:
        raise ValueError(f"side is {side}; a picture needs at least 8 pixels.")
    centre = (np.arange(side) + 0.5) / side
    down, right = np.meshgrid(centre, centre, indexing="ij")
    t = np.linspace(0, 1, 40)[:, None]
    blend = np.zeros((side, side))
    for stroke in np.asarray(strokes, dtype=float).reshape(-1, 8):
        start, bend, end, (r0, r1) = stroke.reshape(4, 2)
        path = (1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end  # (40, 2)
        radius = r0 + t[:, 0] * (r1 - r0)
        depth = np.full((side, side), -np.inf)
        for (x, y), r in zip(path, radius, strict=True):
            np.maximum(depth, r - np.hypot(right - x, down - y), out=depth)
        blend += np.exp(SHARPNESS * depth)  # the softened maximum of the depths
    return blend > 1
