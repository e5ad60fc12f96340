"""Files to rely on: written whole or not at all, read without trusting whoever wrote them.

Writing: the bytes go to a new file in the same folder, are flushed to the disk, and the new file
takes the place of the old one in a single step. If anything fails before that step, the old file
stays.

Arrays and facts share one file in the layout of safetensors, so other languages can read it:

    8 bytes    the length n of the header, a little-endian integer
    n bytes    the header, JSON: {"__metadata__": {…}, "A": {"dtype": "F64", "shape": [8, 64],
               "data_offsets": [0, 4096]}, …}
    the rest   the arrays as little-endian float64, row by row, one after the other without gaps

The metadata are four strings: format, version, sha256 and facts. The facts are JSON once more; the
checksum is that of the whole file with 64 zeros in its own place. Nothing in the file is run, no
name in it leads anywhere, and the sizes are compared with the file's before anything is allocated.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from math import isfinite, prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

PathLike = str | os.PathLike[str]
Facts = dict[str, Any]
Arrays = dict[str, np.ndarray]

FORMAT, VERSION = "anmin", 1
LONGEST_HEADER = 2**23  # bytes
MOST_VALUES = 2**20  # in a header: parsed, a value takes a hundred bytes, however short it is
MOST_DIGITS = 40  # of a number in JSON
BLANK = "0" * 64  # stands for the checksum while it is computed


def write_atomically(path: PathLike, data: bytes) -> None:
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
def open_atomically(path: PathLike) -> Iterator[BinaryIO]:
    """A binary file to write to; it appears at path when the block ends without an error.

    A link is followed and the permissions of a file that is replaced are kept. A device or a pipe
    cannot be replaced and is written to as it is. The block may close the file.
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
        with open(new, "rb+") as file:  # again, for the block may have closed it
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(new, target.stat().st_mode & 0o7777)
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    flush_folder(target.parent)


def flush_folder(folder: Path) -> None:
    """Make the new name durable as well; some file systems cannot, and the file is whole anyway."""
    with suppress(OSError):  # Windows refuses to open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ---- arrays and facts in one file ---------------------------------------------------------


class ModelFileError(ValueError):
    """A file that cannot be used as a model: damaged, of another kind, or of a newer version."""


def require(good: bool, complaint: str) -> None:
    """Refuse the file unless all is well."""
    if not good:
        raise ModelFileError(complaint)


def pack(facts: Facts, arrays: Arrays) -> bytes:
    """The file as bytes, which `unpack` reads."""
    metadata = {"format": FORMAT, "version": str(VERSION), "sha256": BLANK, "facts": dumps(facts)}
    header: Facts = {"__metadata__": metadata}
    end = 0
    for name, W in arrays.items():
        require(bool(np.isfinite(W).all()), f"{name} holds NaN or infinity: the fit has failed.")
        begin, end = end, end + 8 * W.size
        header[name] = {"dtype": "F64", "shape": list(W.shape), "data_offsets": [begin, end]}
    text = dumps(header).encode("ascii")
    text += b" " * (-len(text) % 8)  # the arrays start at a multiple of 8 bytes
    if too_large(text):
        raise ModelFileError(
            f"the facts take {len(text):,} bytes, and a file may hold {LONGEST_HEADER:,} bytes "
            f"and {MOST_VALUES:,} values of them; shorten `model.history_` or what `extra` holds."
        )
    data = b"".join(np.asarray(W, dtype="<f8").tobytes() for W in arrays.values())
    blank = len(text).to_bytes(8, "little") + text + data
    return blank.replace(BLANK.encode(), hashlib.sha256(blank).hexdigest().encode(), 1)


def dumps(value: Any) -> str:
    """Compact JSON in ASCII, without NaN."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def too_large(text: bytes) -> bool:
    """Whether a header would take too much memory; told without parsing it."""
    return (
        len(text) > LONGEST_HEADER or sum(map(text.count, (b",", b":", b"[", b"{"))) > MOST_VALUES
    )


def unpack(file: BinaryIO, size: int) -> tuple[Facts, Arrays]:
    """The facts and arrays of a file of so many bytes, or ModelFileError."""
    n = int.from_bytes(file.read(8), "little")
    begin = file.read(1)
    cut = begin == b"{" and n <= LONGEST_HEADER
    require(n >= 2 and (n <= size - 8 or cut), "it does not begin like a model file")
    require(n <= LONGEST_HEADER, f"its header of {n:,} bytes is longer than {LONGEST_HEADER:,}")
    text = begin + file.read(n - 1)
    require(len(text) == n, "it ends too soon")
    require(not too_large(text), f"its header holds more than {MOST_VALUES:,} values")
    header = loads(text, "the header")
    metadata = header.pop("__metadata__", None)
    facts = check_metadata(metadata)
    shapes, ends = read_shapes(header)
    total = size - 8 - n
    good = ends[-1] == total > 0
    require(good, f"its arrays take {ends[-1]:,} bytes where {total:,} are left; it was cut short")
    data = file.read(total)
    require(len(data) == total, "it ends too soon")
    check_sum(text, data, metadata["sha256"])
    values = np.frombuffer(data, "<f8").astype(np.float64)
    require(bool(np.isfinite(values).all()), "an array of it holds NaN or infinity")
    parts = zip(header, shapes, np.split(values, [end // 8 for end in ends]), strict=False)
    return facts, {name: part.reshape(shape).copy() for name, shape, part in parts}


def check_metadata(metadata: Any) -> Facts:
    """The facts, once format and version are what this library reads."""
    strings = isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())
    require(strings and metadata.get("format") == FORMAT, "it is of another kind")
    version = metadata.get("version", "")
    require(version.isascii() and version.isdigit() and len(version) < 10, "it has no version")
    newer = f"it has version {version} of the format and this library reads up to {VERSION}"
    require(int(version) <= VERSION, f"{newer}; update anmin")
    require({"sha256", "facts"} <= metadata.keys(), "its header is incomplete")
    return loads(metadata["facts"].encode("utf-8", "replace"), "the facts")


def read_shapes(header: Facts) -> tuple[list[list[int]], list[int]]:
    """Shape and last byte of each array; checked before a byte of them is read."""
    shapes: list[list[int]] = []
    ends: list[int] = []
    for name, entry in header.items():
        shape = entry.get("shape") if isinstance(entry, dict) else None
        good = isinstance(shape, list) and len(shape) <= 2 and all(map(natural, shape))
        require(good, f"its array {name!r:.40} has a bad shape")
        begin = ends[-1] if ends else 0
        shapes.append(shape)  # type: ignore[arg-type]
        ends.append(begin + 8 * prod(shapes[-1]))
        wanted = {"dtype": "F64", "shape": shape, "data_offsets": [begin, ends[-1]]}
        require(entry == wanted, f"its array {name!r:.40} should be {wanted}")
    require(len(ends) > 0, "it holds no arrays")
    return shapes, ends


def natural(value: Any) -> bool:
    """A whole number from 0 to 2⁵⁰, and no bool."""
    return type(value) is int and 0 <= value < 2**50


def check_sum(text: bytes, data: bytes, digest: str) -> None:
    """Compare the file with its checksum."""
    known = digest.encode("ascii", "replace")
    blank = text.replace(known, BLANK.encode(), 1) if len(known) == 64 else text
    found = hashlib.sha256(len(text).to_bytes(8, "little") + blank)
    found.update(data)
    require(found.hexdigest() == digest, "its checksum does not match: it was damaged or altered")


def loads(text: bytes, what: str) -> Facts:
    """A JSON object without duplicate names, NaN, or numbers out of range."""
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=distinct,
            parse_float=partial(parsed, float),
            parse_int=partial(parsed, int),
            parse_constant=lambda name: require(False, f"{name} is not a number"),
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} cannot be read: {error}") from error
    require(isinstance(value, dict), f"{what} is not a JSON object")
    return value


def distinct(pairs: list[tuple[str, Any]]) -> Facts:
    found = dict(pairs)
    require(len(found) == len(pairs), "a name occurs twice")
    return found


def parsed(kind: type[int] | type[float], text: str) -> float:
    require(len(text) <= MOST_DIGITS and isfinite(float(text)), "a number is out of range")
    return kind(text)
