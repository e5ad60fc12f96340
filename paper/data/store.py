"""Where the files of a data set are: in the user's own folder, in the cache, or not here yet.

    ANMIN_DATA     a folder with files that are already there; looked at first, never written to
    ANMIN_CACHE    the folder that keeps downloads; the user's cache folder by default

A file in the cache is the published one, or it is downloaded again. A file in ANMIN_DATA is the
user's: the wrong shape is an error, other content of the right shape a warning.
"""

import hashlib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

from paper.data.download import DatasetMissingError, download
from paper.data.reading import ADVICE, DatasetDamagedError, check_size
from paper.data.sets import DATASETS, Dataset

Folder = str | os.PathLike[str]
HERE, CACHED, NOT_FETCHED = "here", "cached", "not fetched"


class DatasetWarning(UserWarning):
    """A file of the right shape whose content is not the published one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a data set is, and whether it is the published one.

    `state` is "here" (in ANMIN_DATA), "cached" or "not fetched"; `published` compares the sha256,
    and is None where none is known or no file is there.
    """

    state: str
    paths: tuple[Path, ...] = ()
    published: bool | None = None

    @property
    def usable(self) -> bool:
        """Whether the files are taken as they are; a changed file in the cache is not."""
        return self.state == HERE or (self.state == CACHED and self.published is not False)


def locate(name: str, folder: Folder | None = None) -> Place:
    """Say where a data set is, without downloading it; a given folder alone counts.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as empty:
    ...     locate("abalone", empty).state
    'not fetched'
    """
    dataset = find_dataset(name)
    own = own_folder() if folder is None else None
    if own and (paths := _find(dataset, own)):
        return Place(HERE, paths, _is_published(dataset, paths))
    if paths := _find(dataset, cache_folder(folder)):
        return Place(CACHED, paths, _is_published(dataset, paths))
    return Place(NOT_FETCHED)


def fetch(
    name: str, folder: Folder | None = None, *, download_if_missing: bool = True
) -> tuple[Path, ...]:
    """Files of a data set, checked: from ANMIN_DATA, from the cache, else downloaded.

    A given folder takes the place of ANMIN_DATA and of the cache.

    >>> fetch("abalone", "nowhere", download_if_missing=False)
    Traceback (most recent call last):
    ...
    paper.data.download.DatasetMissingError: abalone.csv is not in nowhere. ...
    """
    dataset = find_dataset(name)
    place = locate(name, folder)
    if place.usable:
        _check(dataset, place)
        return place.paths
    if download_if_missing:
        cache = cache_folder(folder)
        return tuple(download(file, dataset.rows, cache) for file in dataset.files)
    if place.state == CACHED:
        names = " or ".join(map(str, place.paths))
        raise DatasetDamagedError(f"{names} is not the published file. {ADVICE}")
    raise DatasetMissingError(_absent(dataset, folder))


def find_dataset(name: str) -> Dataset:
    """The data set of that name, or an error that lists the names there are.

    >>> find_dataset("bike").rows
    17379
    """
    if name not in DATASETS:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(DATASETS)}.")
    return DATASETS[name]


def own_folder() -> Path | None:
    """The folder ANMIN_DATA, or None where it is not set."""
    where = os.environ.get("ANMIN_DATA")
    if not where:
        return None
    folder = Path(where).expanduser()
    if not folder.is_dir():
        raise DatasetMissingError(
            f"ANMIN_DATA is {where}, which is not a folder. Set it to the folder with your data "
            "files, or unset it to have them downloaded."
        )
    return folder


def cache_folder(folder: Folder | None = None) -> Path:
    """The folder that keeps downloads.

    >>> cache_folder("data").name
    'data'
    """
    users = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    where = folder or os.environ.get("ANMIN_CACHE") or Path(users, "anmin")
    return Path(where).expanduser()


def _find(dataset: Dataset, folder: Path) -> tuple[Path, ...]:
    """The set's files in a folder, all of them or none."""
    paths = []
    for file in dataset.files:
        found = [folder / n for n in (file.name, *file.aliases) if (folder / n).is_file()]
        paths += found[:1]
    return tuple(paths) if len(paths) == len(dataset.files) else ()


def _is_published(dataset: Dataset, paths: tuple[Path, ...]) -> bool | None:
    """Whether the content has the published sha256; None where none is published."""
    known = [(f.sha256, p) for f, p in zip(dataset.files, paths, strict=True) if f.sha256]
    return all(_sha256(path) == expected for expected, path in known) if known else None


def _sha256(path: Path) -> str:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _check(dataset: Dataset, place: Place) -> None:
    """Refuse files of another shape; warn of other content."""
    if place.published:
        return
    for file, path in zip(dataset.files, place.paths, strict=True):
        check_size(path, dataset.rows, file.columns)
    if place.published is False:
        names = " or ".join(map(str, place.paths))
        warnings.warn(
            f"{names} has the shape of the set {dataset.name} but not the published content (its "
            "sha256 differs): results may differ from the paper's. Unset ANMIN_DATA to download "
            "the published set.",
            DatasetWarning,
            stacklevel=3,
        )


def _absent(dataset: Dataset, folder: Folder | None) -> str:
    """Where a set was looked for in vain, and how to get it."""
    names = " and ".join(file.name for file in dataset.files)
    own = own_folder() if folder is None else None
    cache = cache_folder(folder)
    where = f"not in {cache}" if own is None else f"neither in ANMIN_DATA ({own}) nor in {cache}"
    return (
        f"{names} is {where}. Download the set with `python -m paper data fetch {dataset.name}`, "
        "or set ANMIN_DATA to a folder that has it."
    )
