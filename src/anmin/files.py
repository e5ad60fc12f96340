"""Writing a file so that a reader sees the old content or the new, never half of it.

The bytes go to a new file in the same folder, are flushed to the disk, and the new file takes the
place of the old one in a single step. If anything fails before that step, the old file stays.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write data to path, all or nothing.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from anmin.files import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder, "a.txt"), b"whole")
    ...     print(Path(folder, "a.txt").read_text())
    whole
    """
    with open_atomically(path) as file:
        file.write(data)


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write to; it appears at path when the block ends without an error.

    A link is followed and the permissions of a file that is replaced are kept. A device or a pipe
    cannot be replaced and is written to as it is.

    >>> import io, tempfile
    >>> from pathlib import Path
    >>> from anmin.files import open_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_atomically(Path(folder, "a.csv")) as file:
    ...         with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
    ...             _ = text.write("x,y")
    ...     print(Path(folder, "a.csv").read_text())
    x,y
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path}: there is no folder {target.parent}; make it first."
        )
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file in it.")
    if target.exists() and not target.is_file():
        with open(target, "wb") as file:
            yield file
        return
    new = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(new, "xb") as file:
            yield file
        with open(new, "rb+") as file:  # again, for a block may have closed it
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(new, target.stat().st_mode & 0o7777)
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def _flush_folder(folder: Path) -> None:
    """Make the new name durable as well; some file systems cannot, and the file is whole anyway."""
    if os.name != "posix":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
