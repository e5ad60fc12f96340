"""A file of records that a process may be killed over at any moment.

    88 bytes    the head: magic, length and sha256 of the log, sha256 of the head so far
    the log     records: length, JSON (values, and shapes of arrays), the arrays as float64

A record is written and flushed first, and then made valid by one small write to the head. So the
log always ends with a whole record, and bytes beyond its length do not count.

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

MAGIC = b"anmin log 1\n\0\0\0\0"
HEAD = struct.Struct("<16sQ32s32s")
LENGTH = struct.Struct("<I")
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
        self.path = Path(path)
        with self.trying():
            if not self.path.exists():
                data = encode(*first)
                write_atomically(self.path, head(len(data), hashlib.sha256(data)) + data)
            if not self.path.is_file():
                raise CheckpointError(f"{self.path} is no file; give another name.")
            self.file: BinaryIO = open(self.path, "r+b")  # noqa: SIM115
        try:
            self.lock()
            self.end = self.verified()
        except BaseException:
            self.close()
            raise
        self.at, self.digest = 0, hashlib.sha256()  # of the records read or written so far
        self.file.seek(HEAD.size)

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

    def damaged(self, how: str = "damaged") -> CheckpointError:
        return CheckpointError(f"{self.path} is {how}; delete it to start the fit anew.")

    def verified(self) -> int:
        """The length of the log, once it is seen to be whole."""
        data = self.file.read(HEAD.size)
        if not data.startswith(MAGIC):
            raise CheckpointError(f"{self.path} is no checkpoint of anmin; give another name.")
        if len(data) < HEAD.size:
            raise self.damaged("cut short")
        _, left, log_sum, head_sum = HEAD.unpack(data)
        if hashlib.sha256(data[:-32]).digest() != head_sum:
            raise self.damaged()
        length, digest = left, hashlib.sha256()
        while block := self.file.read(min(left, 2**20)):
            digest.update(block)
            left -= len(block)
        if left:
            raise self.damaged("cut short")
        if digest.digest() != log_sum:
            raise self.damaged()
        return length

    # ---- reading ----------------------------------------------------------------------------

    def read(self) -> Record | None:
        """The next record; None at the end of the log."""
        if self.at == self.end:
            return None
        (size,) = LENGTH.unpack(self.take(LENGTH.size))
        text = self.take(size, LONGEST)
        try:
            values, shapes = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise self.damaged() from None
        if not isinstance(values, dict) or not isinstance(shapes, dict):
            raise self.damaged()
        return values, {name: self.array(shape) for name, shape in shapes.items()}

    def array(self, shape: Any) -> np.ndarray:
        """The array of this shape that comes next."""
        axes = shape if isinstance(shape, list) and len(shape) <= AXES else [-1]
        if not all(type(k) is int and k >= 0 for k in axes):
            raise self.damaged()
        return np.frombuffer(self.take(8 * prod(axes)), dtype="<f8").reshape(axes).copy()

    def take(self, size: int, most: float = np.inf) -> bytes:
        """The next bytes of the log."""
        if size > min(most, self.end - self.at):
            raise self.damaged()
        data = self.file.read(size)
        self.digest.update(data)
        self.at += size
        return data

    # ---- writing ----------------------------------------------------------------------------

    def append(self, *record: Any) -> None:
        """Write a record at the end."""
        data = encode(*record)
        with self.trying():
            self.put(HEAD.size + self.at, data)
            self.digest.update(data)
            self.commit(self.at + len(data))

    def commit(self, length: int) -> None:
        """Make the log this long."""
        self.put(0, head(length, self.digest))
        self.at = self.end = length

    def put(self, place: int, data: bytes) -> None:
        self.file.seek(place)
        self.file.write(data)
        self.file.flush()
        os.fsync(self.file.fileno())


def head(length: int, digest: Any) -> bytes:
    start = HEAD.pack(MAGIC, length, digest.digest(), b"")[:-32]
    return start + hashlib.sha256(start).digest()


def encode(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    text = json.dumps([values, {name: W.shape for name, W in arrays.items()}]).encode()
    numbers = [np.ascontiguousarray(W, dtype="<f8").tobytes() for W in arrays.values()]
    return b"".join([LENGTH.pack(len(text)), text, *numbers])
