"""Downloads: a file takes its place only once it is complete and checked.

It grows under another name in the same folder. Its sha256 is compared, or its rows and columns
counted where none is published, and only then is it renamed: a failure leaves nothing behind.
"""

import hashlib
import ssl
import sys
import time
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from anmin.files import open_atomically
from paper.data.reading import DatasetDamagedError, DatasetError, check_size
from paper.data.sets import File

RETRIES = 1  # after a transfer that broke off, a second apart
TIMEOUT = 20.0  # seconds without an answer
CHUNK = 1 << 18  # bytes


class DatasetMissingError(DatasetError, FileNotFoundError):
    """The files are not here and could not be downloaded."""


class OfflineError(DatasetMissingError):
    """The server cannot be reached, so that it is no use to ask it for other files."""


def download(file: File, rows: int, folder: Path) -> Path:
    """Download a file into a folder; the errors say what to do without the network."""
    target = folder / file.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for left in reversed(range(RETRIES + 1)):
            try:
                receive(file, rows, target)
                break
            except (HTTPException, ConnectionError):
                if not left:
                    raise
                time.sleep(1)
    except (OSError, HTTPException, DatasetDamagedError) as error:
        kind, reason = explain(error, file, folder)
        message = (
            f"{file.name} could not be downloaded: {reason}.\n"
            f"By hand: save {file.url}\n"
            f"     as  {target}\n"
            "or set ANMIN_DATA to a folder that has the file."
        )
        raise kind(message) from error
    return target


def receive(file: File, rows: int, target: Path) -> None:
    """One transfer, checked before the file takes its place."""
    with open_atomically(target) as output:
        digest = transfer(file, output)
        output.flush()
        if file.sha256 is None:
            check_size(Path(output.name), rows, file.columns)
        elif digest != file.sha256:
            raise DatasetDamagedError(f"{file.url} has the sha256 {digest}")


def transfer(file: File, output: BinaryIO) -> str:
    """Copy from the server to the output; returns the sha256 in hexadecimal."""
    digest, received = hashlib.sha256(), 0
    with urlopen(file.url, timeout=TIMEOUT) as answer:
        while chunk := answer.read(CHUNK):
            output.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            show_progress(file, received)
        announced = int(answer.headers.get("Content-Length") or received)
    if received < announced:
        raise IncompleteRead(b"", announced - received)
    return digest.hexdigest()


def show_progress(file: File, received: int) -> None:
    """The megabytes so far, on one line of a terminal."""
    if sys.stderr.isatty():
        end = "\n" if received >= file.size else ""
        megabytes = f"{received / 1e6:.1f} of {file.size / 1e6:.1f} MB"
        print(f"\r{file.name}: {megabytes}", end=end, file=sys.stderr, flush=True)


def explain(error: Exception, file: File, folder: Path) -> tuple[type[DatasetMissingError], str]:
    """What went wrong, in plain words, and the error to raise for it."""
    host = urlsplit(file.url).netloc
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(error, HTTPError):
        error.close()
        return DatasetMissingError, f"{host} answered {error.code} {error.reason}"
    if isinstance(cause, ssl.SSLError):
        return OfflineError, f"the certificate of {host} is not trusted here"
    if isinstance(cause, TimeoutError):
        return OfflineError, f"{host} did not answer in time"
    if isinstance(error, URLError):
        return OfflineError, f"there is no connection to {host}"
    if isinstance(error, (HTTPException, ConnectionError)):
        return DatasetMissingError, f"the connection to {host} broke off"
    if isinstance(error, DatasetDamagedError):
        return DatasetMissingError, f"what {host} sent is not the published file, and was not kept"
    return DatasetMissingError, f"{folder} cannot be written to ({error})"
