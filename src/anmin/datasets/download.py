"""Downloads: pooch fetches, shows its bar on a terminal, and keeps only what is whole.

The file grows under another name beside its place. It is checked there (sha256, or rows and
columns where none is published) and then renamed, so a broken download leaves nothing behind.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from anmin.datasets.errors import DatasetMissingError
from anmin.datasets.reading import check_size
from anmin.datasets.registry import File

RETRIES = 1  # after a failure, a second apart
CHUNK = 1 << 16  # bytes a step of the bar


def system_cache() -> Path:
    """The folder for caches of this system and user."""
    try:
        import pooch
    except ImportError as error:
        raise DatasetMissingError(
            'Downloads need pooch: pip install "anmin[cli]". Or set ANMIN_DATA to a folder that '
            "has the files."
        ) from error
    return Path(pooch.os_cache("anmin"))


def fetch_file(file: File, rows: int, folder: Path) -> Path:
    """The path of a file in a folder, downloaded unless the published one is there."""
    system_cache()  # says what to do where pooch is missing
    import pooch

    shelf = pooch.create(
        path=folder,
        base_url="",
        registry={file.name: file.sha256},
        urls={file.name: file.url},
        retry_if_failed=RETRIES,
    )

    def transfer(url: str, output: str, _shelf: Any) -> None:
        with progress_bar(file) as bar:
            pooch.HTTPDownloader(progressbar=bar, chunk_size=CHUNK)(url, output, _shelf)
        if file.sha256 is None:
            check_size(Path(output), rows, file.columns)
        os.chmod(output, 0o644)  # a temporary file is its owner's only; a data folder is shared

    try:
        return Path(shelf.fetch(file.name, downloader=transfer))
    except (OSError, ValueError) as error:
        response = getattr(error, "response", None)
        if response is not None:
            response.close()  # pooch leaves it open after an answer such as 404
        raise DatasetMissingError(_by_hand(file, folder, error)) from error


class Bar:
    """What pooch asks of a progress bar; unlike pooch it knows the size where no server says it."""

    def __init__(self, bar: Any) -> None:
        self.bar = bar
        self.total = 0  # set by pooch: bytes on the way, perhaps compressed, or 0

    def update(self, n: int) -> None:
        """Move on by n bytes, not beyond the end."""
        self.bar.update(min(n, self.bar.total - self.bar.n))

    def reset(self) -> None:
        """Pooch starts again to fill the bar at the end; it is full by then."""

    def close(self) -> None:
        """Whoever made the bar closes it, also after a failure."""


@contextmanager
def progress_bar(file: File) -> Iterator[Bar | None]:
    """A bar on standard error where that is a terminal and tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield None
        return
    style = {"unit": "B", "unit_scale": True, "leave": False, "disable": None}
    with tqdm(desc=file.name, total=file.size, **style) as bar:
        yield Bar(bar)


def _by_hand(file: File, folder: Path, error: Exception) -> str:
    """What went wrong, and what to do without the network."""
    return (
        f"{file.name} could not be had: {_reason(file, folder, error)}.\n"
        f"By hand: save {file.url}\n"
        f"     as  {folder / file.name}\n"
        "or set ANMIN_DATA to a folder that has the file."
    )


def _reason(file: File, folder: Path, error: Exception) -> str:
    """An exception of requests or pooch in plain words."""
    import requests

    host = urlsplit(file.url).netloc
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"{host} answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.exceptions.SSLError):
        return f"{host} has a certificate that is not trusted here"
    if isinstance(error, requests.Timeout):
        return f"{host} did not answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return f"the connection to {host} broke off"
    if isinstance(error, requests.RequestException):
        return f"there is no connection to {host}"
    if isinstance(error, OSError):
        return f"{folder} cannot be written to ({error.strerror or error})"
    return f"what {host} sent is not the published file, and was not kept"
