"""The data sets of the paper as scikit-learn has them: a Bunch, or (X, y).

All loaders share three options.

    data_home              the folder that keeps downloads; given, ANMIN_DATA does not count
    download_if_missing    False: raise a DatasetMissingError instead of downloading
    return_X_y             return (data, target) instead of a Bunch

Each finds its files as `anmin.datasets.fetch` does. Numbers are as published: nothing is shifted,
scaled or split.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anmin.datasets.bunch import as_bunch
from anmin.datasets.images import DAE_NAMES, SDF_NAMES, add_noise
from anmin.datasets.reading import read_table
from anmin.datasets.store import Folder, fetch, find_dataset

Array = NDArray[np.float64]
ABALONE = "length diameter height whole_weight shucked_weight viscera_weight shell_weight"
BIKE = "season yr mnth hr holiday weekday workingday weathersit temp atemp hum windspeed casual"
TIMBRE = [f"timbre_mean_{j}" for j in range(1, 13)] + [f"timbre_cov_{j}" for j in range(1, 79)]
ABALONE_NAMES = {"feature_names": ABALONE.split(), "target_names": ["rings"]}
BIKE_NAMES = {"feature_names": BIKE.split(), "target_names": ["cnt"]}
YEAR_NAMES = {"feature_names": TIMBRE, "target_names": ["year"]}
SDF_IMAGE = (232, 315)  # rows and columns of the mask


def load_abalone(
    *,
    data_home: Folder | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Rings of 4,177 abalone from 7 measurements of the shell.

    Returns a Bunch (data, target, feature_names, target_names, filenames, DESCR), or
    (data, target) with return_X_y=True. For the other options see `anmin.datasets.fetch`.

    >>> from anmin.datasets import DATASETS, load_abalone
    >>> DATASETS["abalone"].rows
    4177
    >>> X, y = load_abalone(return_X_y=True)  # doctest: +SKIP
    """
    (table,), found = _tables("abalone", data_home, download_if_missing)
    return as_bunch(table[:, :-1], table[:, -1], return_X_y, ABALONE_NAMES | found)


def load_bike(
    *,
    data_home: Folder | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Bicycles hired in 17,379 hours, from 13 facts about the hour.

    `casual` stays an input, as in the paper, although casual + registered = count.

    Returns a Bunch (data, target, feature_names, target_names, filenames, DESCR), or
    (data, target) with return_X_y=True. For the other options see `anmin.datasets.fetch`.

    >>> from anmin.datasets import DATASETS, load_bike
    >>> DATASETS["bike"].inputs
    13
    >>> X, y = load_bike(return_X_y=True)  # doctest: +SKIP
    """
    (table,), found = _tables("bike", data_home, download_if_missing)
    return as_bunch(table[:, :13], table[:, -1], return_X_y, BIKE_NAMES | found)


def load_sdf(
    *,
    data_home: Folder | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Signed distance of 73,080 pixels to the outline of a horse, negative inside.

    Returns a Bunch (data, target, feature_names, target_names, image_shape, filenames, DESCR),
    or (data, target) with return_X_y=True; target.reshape(image_shape) is the picture. For the
    other options see `anmin.datasets.fetch`. Of your own image: `anmin.datasets.make_sdf`.

    >>> from anmin.datasets import DATASETS, load_sdf
    >>> [file.name for file in DATASETS["sdf"].files]
    ['SDF/X.csv', 'SDF/Y.csv']
    >>> X, y = load_sdf(return_X_y=True)  # doctest: +SKIP
    """
    (X, y), found = _tables("sdf", data_home, download_if_missing)
    facts = SDF_NAMES | {"image_shape": SDF_IMAGE} | found
    return as_bunch(X, y.ravel(), return_X_y, facts)


def load_dae(
    *,
    noisy: bool = True,
    random_state: int | np.random.RandomState | None = 0,
    data_home: Folder | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """15,912 patches of 15 × 15 pixels (targets), and the same with noise (inputs).

    Parameters
    ----------
    noisy : bool, default=True
        True: Gaussian noise of deviation 10 on the inputs, as the paper's text says. False: the
        inputs are the targets, as in the author's notebook.
    random_state : int, RandomState or None, default=0
        Of the noise.
    data_home, download_if_missing
        See `anmin.datasets.fetch`.
    return_X_y : bool, default=False
        Return (data, target) instead of a Bunch.

    Returns a Bunch (data, target, feature_names, target_names, patch_shape, filenames, DESCR).
    Of your own image: `anmin.datasets.make_dae`.

    >>> from anmin.datasets import DATASETS, load_dae
    >>> DATASETS["dae"].outputs
    225
    >>> X, Y = load_dae(noisy=False, return_X_y=True)  # doctest: +SKIP
    """
    (patches,), found = _tables("dae", data_home, download_if_missing)
    X = add_noise(patches, random_state) if noisy else patches
    return as_bunch(X, patches, return_X_y, DAE_NAMES | found)


def load_year(
    *,
    data_home: Folder | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Year of 515,345 songs from 90 numbers about their timbre (YearPredictionMSD).

    The download has 211 MB; reading it takes 10 to 20 seconds and 1 GB. Fewer rows are refused.

    Returns a Bunch (data, target, feature_names, target_names, filenames, DESCR), or
    (data, target) with return_X_y=True. For the other options see `anmin.datasets.fetch`.

    >>> from anmin.datasets import DATASETS, load_year
    >>> DATASETS["year"].rows
    515345
    >>> X, y = load_year(return_X_y=True)  # doctest: +SKIP
    """
    (table,), found = _tables("year", data_home, download_if_missing)
    return as_bunch(table[:, 1:], table[:, 0], return_X_y, YEAR_NAMES | found)


def _tables(
    name: str, data_home: Folder | None, download_if_missing: bool
) -> tuple[list[Array], dict[str, Any]]:
    """The tables of a set, and what its Bunch says of the files."""
    dataset = find_dataset(name)
    paths = fetch(name, data_home=data_home, download_if_missing=download_if_missing)
    tables = [
        read_table(path, dataset.rows, file.columns)
        for file, path in zip(dataset.files, paths, strict=True)
    ]
    return tables, {"filenames": [str(path) for path in paths], "DESCR": dataset.description}
