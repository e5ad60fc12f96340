"""Data sets: the paper's, found or downloaded; simulated; and made from a user's own image."""

from anmin.datasets.errors import (
    DatasetDamagedError,
    DatasetError,
    DatasetMissingError,
    DatasetWarning,
)
from anmin.datasets.images import image_patches, make_dae, make_sdf, signed_distance
from anmin.datasets.loaders import load_abalone, load_bike, load_dae, load_sdf, load_year
from anmin.datasets.registry import DATASETS, Dataset
from anmin.datasets.shapes import draw_shape
from anmin.datasets.simulated import make_sin
from anmin.datasets.store import cache_folder, fetch, locate

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetDamagedError",
    "DatasetError",
    "DatasetMissingError",
    "DatasetWarning",
    "cache_folder",
    "draw_shape",
    "fetch",
    "image_patches",
    "load_abalone",
    "load_bike",
    "load_dae",
    "load_sdf",
    "load_year",
    "locate",
    "make_dae",
    "make_sdf",
    "make_sin",
    "signed_distance",
]
