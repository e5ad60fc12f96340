"""Data sets made from a formula, from a shape drawn in code, or from a user's own image."""

from anmin.datasets.images import image_patches, make_dae, make_sdf, signed_distance
from anmin.datasets.shapes import draw_shape
from anmin.datasets.simulated import make_sin

__all__ = [
    "draw_shape",
    "image_patches",
    "make_dae",
    "make_sdf",
    "make_sin",
    "signed_distance",
]
