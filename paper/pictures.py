"""The two pictures of Figure 2, put together again from the data."""

import numpy as np
from numpy.typing import NDArray

from paper.data import load_rows
from paper.record import Folder

PATCH, STEP = 15, 3
GRID = (156, 102)  # patches of the DAE's image, down and across
SHAPE = (232, 315)  # pixels of the SDF


def keep_pictures(folder: Folder, data: tuple[str, ...]) -> None:
    """The shape and the image of Figure 2, from the data that are run."""
    if "sdf" in data and folder.picture("shape") is None:
        distance = load_rows("sdf")[1]
        if distance.size == np.prod(SHAPE):
            folder.keep_picture("shape", (distance < 0).reshape(SHAPE).astype(np.uint8))
    if {"dae", "dae-clean"} & set(data) and folder.picture("image") is None:
        patches = load_rows("dae-clean")[1]
        if len(patches) == np.prod(GRID):
            folder.keep_picture("image", assemble(patches).astype(np.uint8))


def assemble(patches: NDArray) -> NDArray:
    """An image from its patches: the mean where they overlap."""
    rows, cols = ((k - 1) * STEP + PATCH for k in GRID)
    total, count = np.zeros((rows, cols)), np.zeros((rows, cols))
    for k, patch in enumerate(patches.reshape(-1, PATCH, PATCH)):
        i, j = (STEP * place for place in divmod(k, GRID[1]))
        total[i : i + PATCH, j : j + PATCH] += patch
        count[i : i + PATCH, j : j + PATCH] += 1
    return total / count
