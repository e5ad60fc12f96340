"""Arrays and facts in one file that can be read without trusting whoever wrote it.

The layout is that of the safetensors format, so other languages can read it:

    8 bytes    the length n of the header, a little-endian integer
    n bytes    the header, JSON: {"__metadata__": {…}, "A": {"dtype": "F64", "shape": [8, 64],
               "data_offsets": [0, 4096]}, …}
    the rest   the arrays as little-endian float64, row by row, one after the other without gaps

The metadata are four texts: format, version, sha256 and facts. The facts are JSON once more; the
checksum is that of the whole file with 64 zeros in its own place. Nothing in the file is run, no
name in it leads anywhere, and the sizes are compared with the file's before anything is allocated.
"""

from __future__ import annotations

import hashlib
import json
import os
from math import isfinite, prod
from typing import Any, BinaryIO

import numpy as np

Facts = dict[str, Any]
Arrays = dict[str, np.ndarray]

FORMAT = "anmin"
VERSION = 1
LONGEST_HEADER = 2**24  # bytes
MOST_DIGITS = 40  # of a number in JSON
BLANK = "0" * 64  # stands for the checksum while it is computed


class ModelFileError(ValueError):
    """A file that cannot be used as a model: damaged, of another kind, or made by a newer version.

    >>> from anmin.model_file.container import ModelFileError
    >>> issubclass(ModelFileError, ValueError)
    True
    """


def pack(facts: Facts, arrays: Arrays) -> bytes:
    """The file as bytes.

    >>> import io
    >>> import numpy as np
    >>> from anmin.model_file.container import pack, unpack
    >>> data = pack({"lam": 0.1}, {"b0": np.zeros(2)})
    >>> unpack(io.BytesIO(data), len(data))
    ({'lam': 0.1}, {'b0': array([0., 0.])})
    """
    metadata = {"format": FORMAT, "version": str(VERSION), "sha256": BLANK, "facts": dumps(facts)}
    header: Facts = {"__metadata__": metadata}
    end = 0
    for name, W in arrays.items():
        if not np.isfinite(W).all():
            raise ModelFileError(f"{name} holds NaN or infinity: this model is not worth keeping.")
        begin, end = end, end + 8 * W.size
        header[name] = {"dtype": "F64", "shape": list(W.shape), "data_offsets": [begin, end]}
    text = dumps(header).encode("ascii")
    text += b" " * (-len(text) % 8)  # the arrays start at a multiple of 8 bytes
    if len(text) > LONGEST_HEADER:
        raise ModelFileError(
            f"the facts take {len(text):,} bytes, more than the {LONGEST_HEADER:,} a file may "
            "hold; shorten the history (max_iter) or what `extra` keeps."
        )
    data = b"".join(np.asarray(W, dtype="<f8").tobytes() for W in arrays.values())
    blank = len(text).to_bytes(8, "little") + text + data
    return blank.replace(BLANK.encode(), hashlib.sha256(blank).hexdigest().encode(), 1)


def dumps(value: Any) -> str:
    """Compact JSON in ASCII, without NaN."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def unpack(file: BinaryIO, size: int) -> tuple[Facts, Arrays]:
    """The facts and arrays of a file of so many bytes, or ModelFileError."""
    n = int.from_bytes(file.read(8), "little")
    require(2 <= n <= min(size - 8, LONGEST_HEADER), "it does not begin like a model file")
    text = file.read(n)
    require(len(text) == n, "it ends too soon")
    header = loads(text, "the header")
    metadata = header.pop("__metadata__", None)
    facts = check_metadata(metadata)
    places = [place(entry) for entry in header.values()]
    total = size - 8 - n
    at = 0
    for _, begin, end in sorted(places, key=lambda item: item[1:]):
        require(begin == at, "its arrays overlap or leave gaps")
        at = end
    require(
        at == total > 0, f"its arrays take {at:,} bytes where {total:,} are left; it was cut short"
    )
    data = file.read(total)
    require(len(data) == total, "it ends too soon")
    check_sum(text, data, metadata["sha256"])
    values = np.frombuffer(data, "<f8")
    arrays = {
        name: values[begin // 8 : end // 8].reshape(shape).astype(np.float64)
        for name, (shape, begin, end) in zip(header, places, strict=True)
    }
    for name, W in arrays.items():
        require(bool(np.isfinite(W).all()), f"its array {name!r:.40} holds NaN or infinity")
    return facts, arrays


def check_metadata(metadata: Any) -> Facts:
    """The facts, once format and version are what this library reads."""
    texts = isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())
    require(texts and metadata.get("format") == FORMAT, "it is of another kind")
    version = metadata.get("version", "")
    require(version.isascii() and version.isdigit() and len(version) < 10, "it has no version")
    require(
        int(version) <= VERSION,
        f"it has version {version} of the format and this library reads up to {VERSION}; "
        "update anmin",
    )
    require({"sha256", "facts"} <= metadata.keys(), "its header is incomplete")
    return loads(metadata["facts"].encode("utf-8", "replace"), "the facts")


def place(entry: Any) -> tuple[list[int], int, int]:
    """Shape, first and last byte of an array; checked before a byte of it is read."""
    require(
        isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "data_offsets"},
        "an array is not described by dtype, shape and data_offsets",
    )
    shape, offsets = entry["shape"], entry["data_offsets"]
    require(entry["dtype"] == "F64", "an array is not of type F64")
    require(isinstance(shape, list) and len(shape) <= 2 and all(map(natural, shape)), "a bad shape")
    require(
        isinstance(offsets, list) and len(offsets) == 2 and all(map(natural, offsets)),
        "bad offsets",
    )
    begin, end = offsets
    require(end - begin == 8 * prod(shape), "an array's shape and size do not agree")
    return shape, begin, end


def natural(value: Any) -> bool:
    """A whole number from 0 to 2⁵⁰, and no bool."""
    return type(value) is int and 0 <= value < 2**50


def check_sum(text: bytes, data: bytes, digest: str) -> None:
    """Compare the file with its checksum."""
    known = digest.encode("ascii", "replace")
    blank = text.replace(known, BLANK.encode(), 1) if len(known) == 64 else text
    found = hashlib.sha256(len(text).to_bytes(8, "little"))
    found.update(blank)
    found.update(data)
    require(found.hexdigest() == digest, "its checksum does not match: it was damaged or altered")


def loads(text: bytes, what: str) -> Facts:
    """A JSON object without duplicate names, NaN, or numbers out of range."""
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=distinct,
            parse_float=finite,
            parse_int=whole,
            parse_constant=refuse,
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} cannot be read: {error}") from error
    require(isinstance(value, dict), f"{what} is not a JSON object")
    return value


def distinct(pairs: list[tuple[str, Any]]) -> Facts:
    found = dict(pairs)
    require(len(found) == len(pairs), "a name occurs twice")
    return found


def finite(text: str) -> float:
    require(len(text) <= MOST_DIGITS and isfinite(float(text)), "a number is out of range")
    return float(text)


def whole(text: str) -> int:
    require(len(text) <= MOST_DIGITS, "a number is out of range")
    return int(text)


def refuse(text: str) -> None:
    require(False, f"{text} is no number")


def require(good: bool, complaint: str) -> None:
    """Refuse the file unless all is well."""
    if not good:
        raise ModelFileError(complaint)


def file_size(file: BinaryIO) -> int:
    """Bytes in an open file."""
    return os.fstat(file.fileno()).st_size
