"""A file of records that a process may be killed over at any moment.

    12 bytes     what the file is
    each record  length and sha256 of the rest of it, JSON (values, and shapes of arrays) in one
                 line, the arrays as float64

The log ends where a record is not whole: a process was killed while it wrote it. The next one takes
its place.

The sums find damage. They are no proof against forgery, so nothing that is read is taken on
trust: a length or a shape is compared with what is left of the log before anything is made of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from anmin.files import write_atomically

MAGIC = b"anmin log 2\n"
HEAD = struct.Struct("<Q32s")
LONGEST = 2**20  # bytes of JSON in a record
AXES = 4  # of an array, at most

Record = tuple[dict[str, Any], dict[str, np.ndarray]]  # values, arrays


class CheckpointError(ValueError):
    """A checkpoint that cannot be used: damaged, of another fit, or not to be written.

    >>> from anmin.logfile import CheckpointError
    >>> issubclass(CheckpointError, ValueError)
    True
    """


class Log:
    """The records of a file: read in order, and once all are read, written."""

    def __init__(self, path: str | os.PathLike[str], first: Record) -> None:
        """Open the log at `path`; where there is none, make one of the record `first`."""
        self.path, self.end = Path(path), len(MAGIC)  # end of what was read or written so far
        with self.trying():
            if not self.path.exists():
                write_atomically(self.path, MAGIC + encode(*first))
            if not self.path.is_file():
                raise CheckpointError(f"{self.path} is no file; give another name.")
            self.file: BinaryIO = open(self.path, "r+b")  # noqa: SIM115
        try:
            self.lock()
            if self.file.read(len(MAGIC)) != MAGIC:
                raise CheckpointError(f"{self.path} is no checkpoint of anmin; give another name.")
        except BaseException:
            self.close()
            raise

    @contextmanager
    def trying(self) -> Iterator[None]:
        """What the system refuses, as an error that says which file it is about."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise CheckpointError(f"{self.path} cannot serve as checkpoint: {reason}") from error

    def lock(self) -> None:
        """Keep other fits out until this one ends, however it ends."""
        try:
            import fcntl
        except ImportError:  # no such locks on Windows
            return
        with suppress(OSError):  # nor on some network file systems
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CheckpointError(f"{self.path} is in use by another fit.") from None

    def close(self) -> None:
        with suppress(OSError):  # what could not be written has been complained of
            self.file.close()

    def damaged(self) -> CheckpointError:
        return CheckpointError(f"{self.path} is damaged; delete it to start the fit anew.")

    def read(self) -> Record | None:
        """The next record; None at the end of the log."""
        head = self.file.read(HEAD.size)
        left = os.fstat(self.file.fileno()).st_size - self.end - HEAD.size
        if left < 0:
            return None
        size, digest = HEAD.unpack(head)
        data = self.file.read(size) if size <= left else b""
        if hashlib.sha256(data).digest() != digest:
            return None
        self.end += HEAD.size + size
        try:
            return decode(data)
        except (ValueError, TypeError, RecursionError):
            raise self.damaged() from None

    def append(self, *record: Any) -> None:
        """Write a record at the end."""
        with self.trying():
            self.put(encode(*record))

    def put(self, data: bytes) -> None:
        self.file.seek(self.end)
        self.file.truncate()
        self.file.write(data)
        self.file.flush()
        os.fsync(self.file.fileno())
        self.end += len(data)


def encode(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    text = json.dumps([values, {name: W.shape for name, W in arrays.items()}]).encode()
    numbers = [np.ascontiguousarray(W, dtype="<f8").tobytes() for W in arrays.values()]
    return sealed(b"".join([text, b"\n", *numbers]))


def sealed(data: bytes) -> bytes:
    """A record, with its length and sum."""
    return HEAD.pack(len(data), hashlib.sha256(data).digest()) + data


def decode(data: bytes) -> Record:
    """The record that `encode` wrote; a ValueError or TypeError where it is none."""
    text, _, numbers = data.partition(b"\n")
    if len(text) > LONGEST:
        raise ValueError("more JSON than a record may have")
    values, shapes = json.loads(text)
    if not isinstance(values, dict) or not isinstance(shapes, dict):
        raise TypeError("values and shapes are dictionaries")
    arrays, start = {}, 0
    for name, shape in shapes.items():
        axes = shape if isinstance(shape, list) and len(shape) <= AXES else [-1]
        end = start + 8 * prod(axes)
        if not all(type(k) is int and k >= 0 for k in axes) or end > len(numbers):
            raise ValueError("a shape that the record has no room for")
        arrays[name] = np.frombuffer(numbers[start:end], dtype="<f8").reshape(axes).copy()
        start = end
    return values, arrays
