"""Data sets from a user's own image: the paper's SDF and DAE sets, of any picture.

mask  →  (row, column) ↦ distance to the outline in pixels, negative inside
grey  →  noisy patch ↦ patch, for the patches at every third row and column
"""

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import distance_transform_edt
from sklearn.utils import check_random_state

from anmin.datasets.simulated import as_bunch

Array = NDArray[np.float64]
Image = ArrayLike | str | os.PathLike[str]
SIZE, STEP = 15, 3  # of the paper's patches, in pixels
NOISE = 10.0  # deviation of the noise on the inputs, in grey levels of 0 to 255
PIXELS = [f"pixel_{i}_{j}" for i in range(SIZE) for j in range(SIZE)]
SDF_NAMES = {"feature_names": ["row", "column"], "target_names": ["signed_distance"]}
DAE_NAMES = {"feature_names": PIXELS, "target_names": PIXELS, "patch_shape": (SIZE, SIZE)}


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


def make_sdf(
    image: Image, *, level: float | None = None, invert: bool = False, return_X_y: bool = False
) -> Any:
    """Signed distance set of a shape in an image, as the paper's set `sdf`.

    Parameters
    ----------
    image : path, or array of shape (rows, cols)
        An array of booleans is the mask itself, True inside. Numbers, and the grey levels
        (0 to 255) of an image file, are inside where they exceed `level`.
    level : float, optional
        By default halfway between the darkest and the brightest pixel.
    invert : bool, default=False
        True for a dark shape on a bright ground.
    return_X_y : bool, default=False
        Return (data, target) instead of a Bunch.

    Returns
    -------
    Bunch with data (rows * cols, 2): row and column of each pixel; target (rows * cols,):
    distance in pixels, negative inside; image_shape, feature_names, DESCR.

    >>> make_sdf([[0, 9, 9]]).target.tolist()
    [1.0, -1.0, -2.0]
    """
    pixels = as_grey(image)
    if pixels.dtype == np.bool_:
        mask = pixels
    else:
        halfway = (pixels.min() + pixels.max()) / 2 if level is None else level
        mask = pixels > halfway
    X, y = signed_distance(mask != invert)
    facts = SDF_NAMES | {"image_shape": mask.shape, "DESCR": "Signed distance field of a mask."}
    return as_bunch(X, y, return_X_y, facts)


def make_dae(
    image: Image,
    *,
    noisy: bool = True,
    random_state: int | np.random.RandomState | None = 0,
    return_X_y: bool = False,
) -> Any:
    """Denoising set of a grey image, as the paper's set `dae`: noisy patch ↦ patch.

    Parameters
    ----------
    image : path, or array of shape (rows, cols)
        Grey levels from 0 to 255; a coloured image file is turned to grey.
    noisy : bool, default=True
        False: the inputs are the targets.
    random_state : int, RandomState or None, default=0
        Of the noise: Gaussian with deviation 10.
    return_X_y : bool, default=False
        Return (data, target) instead of a Bunch.

    Returns
    -------
    Bunch with data and target (n, 225): patches of 15 × 15 pixels; patch_shape, feature_names,
    DESCR.

    >>> import numpy as np
    >>> make_dae(np.zeros((20, 30))).target.shape
    (10, 225)
    """
    patches = image_patches(image)
    X = add_noise(patches, random_state) if noisy else patches
    return as_bunch(X, patches, return_X_y, DAE_NAMES | {"DESCR": "Patches of a grey image."})


def image_patches(image: Image, size: int = SIZE, step: int = STEP) -> Array:
    """Square patches of a grey image as rows, (n, size²).

    Corners are at range(0, n - size, step) in each direction, row by row, as in the paper.

    >>> import numpy as np
    >>> image_patches(np.arange(12).reshape(3, 4), size=2, step=1).tolist()
    [[0.0, 1.0, 4.0, 5.0], [1.0, 2.0, 5.0, 6.0]]
    """
    pixels = as_grey(image).astype(np.float64)
    rows, cols = pixels.shape
    if min(rows, cols) <= size:
        raise ValueError(
            f"The image has {rows} × {cols} pixels; patches of {size} × {size} need at least "
            f"{size + 1} each way."
        )
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (size, size))
    return windows[: rows - size : step, : cols - size : step].reshape(-1, size * size)


def as_grey(image: Image) -> NDArray:
    """A picture as an array (rows, cols): the array given, or the grey levels of a file."""
    pixels = read_grey(image) if isinstance(image, str | os.PathLike) else np.asarray(image)
    if pixels.ndim != 2 or pixels.size == 0:
        raise ValueError(
            f"The image has shape {pixels.shape}; expected (rows, cols) of grey levels. Turn a "
            "coloured array to grey first: image[..., :3].mean(axis=2)."
        )
    return pixels


def read_grey(path: str | os.PathLike[str]) -> Array:
    """Grey levels (0 to 255) of an image file; what is transparent shows a white ground."""
    try:
        import PIL.Image
    except ImportError as error:
        raise ImportError('Reading an image file needs Pillow: pip install "anmin[cli]"') from error
    try:
        with PIL.Image.open(path) as file:
            if file.mode.startswith("I"):  # 16 bits a pixel
                return np.asarray(file, dtype=np.float64) / 257
            grey, alpha = np.moveaxis(np.asarray(file.convert("RGBA").convert("LA"), float), 2, 0)
    except PIL.UnidentifiedImageError as error:
        raise ValueError(f"{path} is not an image that Pillow can read; save it as PNG.") from error
    return (grey * alpha + 255 * (255 - alpha)) / 255


def add_noise(patches: Array, random_state: int | np.random.RandomState | None) -> Array:
    """The patches with Gaussian noise of the paper's deviation, 10."""
    noise: Array = check_random_state(random_state).standard_normal(patches.shape)
    return patches + NOISE * noise
