"""The paper's data sets: found in ANMIN_DATA or in the cache, else downloaded, and checked."""

from paper.data.download import DatasetMissingError, OfflineError
from paper.data.loading import CASES, Case, load_rows
from paper.data.reading import DatasetDamagedError, DatasetError
from paper.data.sets import DATASETS, Dataset
from paper.data.store import DatasetWarning, Place, cache_folder, fetch, locate

__all__ = [
    "CASES",
    "DATASETS",
    "Case",
    "Dataset",
    "DatasetDamagedError",
    "DatasetError",
    "DatasetMissingError",
    "DatasetWarning",
    "OfflineError",
    "Place",
    "cache_folder",
    "fetch",
    "load_rows",
    "locate",
]
