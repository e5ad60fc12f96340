"""Data sets made from a formula, or from a shape drawn in code.

make_sin         y = sin ‖x‖² for x ~ N(0, I) in d dimensions: ‖x‖² has mean d and deviation √(2d),
                 so the waves get narrower against the spread of the points as d grows
draw_shape       strokes of a brush  →  mask
signed_distance  mask  →  (row, column) ↦ distance to the outline in pixels, negative inside
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import distance_transform_edt
from sklearn.utils import check_random_state

__all__ = ["draw_shape", "make_sin", "signed_distance"]

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


def signed_distance(mask: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Regression set of the signed distance field of a shape.

    Parameters
    ----------
    mask : array of bool, shape (rows, cols)
        True inside the shape.

    Returns
    -------
    X : array, shape (rows * cols, 2)
        Row and column of each pixel, row by row.
    y : array, shape (rows * cols,)
        Distance in pixels to the nearest pixel of the other kind, negative inside;
        ``y.reshape(mask.shape)`` is the picture.

    >>> X, y = signed_distance([[False, True, True]])
    >>> y.tolist()
    [1.0, -1.0, -2.0]
    """
    mask = np.asarray(mask)
    if mask.ndim != 2 or mask.dtype != np.bool_:
        raise ValueError(
            f"mask has dtype {mask.dtype} and shape {mask.shape}; expected booleans of shape "
            "(rows, cols). Threshold an image first: image > level."
        )
    if mask.all() or not mask.any():
        raise ValueError("mask is all inside or all outside; a distance needs both kinds of pixel.")
    field = distance_transform_edt(~mask) - distance_transform_edt(mask)
    X = np.indices(mask.shape).reshape(2, -1).T
    return X.astype(np.float64), field.ravel()


def make_sin(
    n_samples: int = 1000,
    n_features: int = 3,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """X of n_samples rows x ~ N(0, I), and y = sin ‖x‖²: the paper's simulation, without noise.

    >>> X, y = make_sin(5, 2, random_state=0)
    >>> X.shape, y.shape
    ((5, 2), (5,))
    >>> bool((y == np.sin((X**2).sum(axis=1))).all())
    True
    """
    if n_samples < 1 or n_features < 1:
        raise ValueError(
            f"n_samples is {n_samples} and n_features is {n_features}; both must be 1 or more."
        )
    X = check_random_state(random_state).standard_normal((n_samples, n_features))
    return X, np.sin((X**2).sum(1))
