"""Meshes from files, checked: closed, oriented, without a face that goes through another.

trimesh reads the formats. What a header claims is compared with the size of the file before that,
so that a short file cannot ask for memory; no other file that a mesh names is opened.
"""

from __future__ import annotations

import io
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path

import igl
import numpy as np
import trimesh

from anmin.shapes.boundary import Array, Boundary, ShapeError
from anmin.shapes.crossings import crossing_faces

MESHES = (".obj", ".ply", ".stl", ".off")
TEXTS = (".obj", ".off")
MOST_BYTES, MOST_FACES = 2**28, 100_000
UNREADABLE = (
    ArithmeticError, AttributeError, EOFError, ImportError, LookupError, NameError,
    NotImplementedError, OSError, RecursionError, TypeError, ValueError, struct.error,
)  # fmt: skip
PLY_BYTES = {
    "char": 1, "uchar": 1, "int8": 1, "uint8": 1, "short": 2, "ushort": 2, "int16": 2,
    "uint16": 2, "int": 4, "uint": 4, "int32": 4, "uint32": 4, "float": 4, "float32": 4,
    "double": 8, "float64": 8,
}  # fmt: skip


def read_mesh(path: str | os.PathLike[str]) -> Boundary:
    """The solid in a mesh file, or ShapeError."""
    path = Path(path)
    data = read_bytes(path)
    kind = path.suffix.lower()
    CLAIMS.get(kind, lambda _: None)(data)
    if kind in TEXTS:  # a name in another encoding is no reason to guess which
        data = data.decode("utf-8", errors="replace").encode()
    try:
        with np.errstate(all="ignore"):
            found = trimesh.load(
                io.BytesIO(data), file_type=kind[1:], force="mesh", process=False,
                skip_materials=True,
            )  # fmt: skip
            vertices = np.array(found.vertices, dtype=np.float64)
            faces = np.array(found.faces, dtype=np.int64)
    except UNREADABLE as error:
        raise ShapeError(f"it cannot be read as a mesh ({kind}): {error}") from error
    return solid(vertices, faces)


def read_bytes(path: Path) -> bytes:
    """The file, unless it is empty or huge."""
    size = path.stat().st_size
    if size == 0:
        raise ShapeError("the file is empty")
    if size > MOST_BYTES:
        raise ShapeError(f"the file has {size:,} bytes; at most {MOST_BYTES:,} are read")
    return path.read_bytes()


def solid(vertices: Array, faces: Array) -> Boundary:
    """The boundary made of these triangles, or ShapeError where they bound nothing."""
    require(len(faces) > 0, "it has no faces")
    require(len(faces) <= MOST_FACES, f"it has {len(faces):,} faces; simplify it to {MOST_FACES:,}")
    good = faces.shape[1] == 3 and vertices.shape[1] == 3
    good = good and faces.min() >= 0 and faces.max() < len(vertices)
    require(good, "its faces name vertices that are not there")
    finite = np.isfinite(vertices).all(axis=1)
    some = np.count_nonzero(~finite)
    require(not some, f"{some:,} of its {len(vertices):,} vertices are not finite numbers")
    vertices, faces = merged(vertices, faces)
    faces = oriented(faces)
    found = Boundary(vertices, faces)
    if found.content < 0:
        found = Boundary(vertices, faces[:, ::-1])
    require(found.content > 1e-9 * found.radius**3, "it encloses no volume")
    if (pair := crossing_faces(vertices, found.simplices)) is not None:
        raise ShapeError(
            f"it goes through itself, for example faces {pair[0]:,} and {pair[1]:,}; make a union "
            "of its parts first"
        )
    return found


def merged(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """One vertex for each place, and no face without a surface: formats repeat their vertices."""
    used, faces = np.unique(faces, return_inverse=True)
    faces = faces.reshape(-1, 3)
    places, same = np.unique(vertices[used] + 0.0, axis=0, return_inverse=True)  # −0 is 0
    faces = same.ravel()[faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    require(len(faces) > 0, "its faces have no area")
    return places, faces


def oriented(faces: Array) -> Array:
    """The faces, neighbours turned the same way; ShapeError where an edge has not two of them."""
    _, count = np.unique(np.sort(half_edges(faces), axis=1), axis=0, return_counts=True)
    open_edges, crowded = np.count_nonzero(count == 1), np.count_nonzero(count > 2)
    advice = "fill its holes first"
    require(not open_edges, f"it is open: {open_edges:,} edges have one face only; {advice}")
    require(not crowded, f"it is no closed surface: {crowded:,} edges have more than two faces")
    if consistent(faces):
        return faces
    turned, _ = igl.bfs_orient(faces)
    require(consistent(turned), "its surface has one side only, so that nothing is inside")
    return turned


def half_edges(faces: Array) -> Array:
    """The sides of all faces, each in the direction of its face: (3f, 2)."""
    return np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])


def consistent(faces: Array) -> bool:
    """Whether the two faces of every edge run along it in opposite directions."""
    return len(np.unique(half_edges(faces), axis=0)) == 3 * len(faces)


def require(good: bool | np.bool_, complaint: str) -> None:
    """Refuse the mesh unless all is well."""
    if not good:
        raise ShapeError(complaint)


# ---- what headers claim -------------------------------------------------------------------------


def stl_claims(data: bytes) -> None:
    """A binary STL is 84 bytes and 50 for each face; a text begins with `solid`."""
    if len(data) >= 84:
        n = int.from_bytes(data[80:84], "little")
        if len(data) == 84 + 50 * n:
            return
        text = data[:512].lstrip().lower().startswith(b"solid") and b"\0" not in data
        require(text, claim(f"{n:,} faces, {84 + 50 * n:,} bytes", len(data)))


def ply_claims(data: bytes) -> None:
    """Every element of a PLY takes its bytes; in text, two for each property."""
    head, end, _ = data[: 2**16].partition(b"end_header")
    require(head.startswith(b"ply") and bool(end), "it has no header of a PLY file")
    binary = b"format binary" in head
    needed, count = 0, 0
    for line in head.decode("latin-1").splitlines():
        match line.split():
            case ["element", _, number]:
                count = int(number) if re.fullmatch("[0-9]{1,15}", number) else 2**50
            case ["property", "list", size, _, _]:
                needed += count * (PLY_BYTES.get(size, 1) if binary else 2)
            case ["property", kind, _]:
                needed += count * (PLY_BYTES.get(kind, 1) if binary else 2)
    have = len(data) - len(head)
    require(needed <= have, claim(f"at least {needed:,} bytes of elements", have))


def off_claims(data: bytes) -> None:
    """A vertex of an OFF file takes six bytes or more, and so does a face."""
    text = re.sub(rb"#[^\n]*", b"", data[: 2**16]).split(maxsplit=4)
    require(bool(text) and text[0].upper().endswith(b"OFF"), "it has no header of an OFF file")
    counts = [int(word) for word in text[1:3] if re.fullmatch(b"[0-9]{1,15}", word)]
    require(len(counts) == 2, "its header has no counts of vertices and faces")
    needed = 6 * sum(counts)
    require(needed <= len(data), claim(f"{counts[0]:,} vertices, {counts[1]:,} faces", len(data)))


def claim(claimed: str, size: int) -> str:
    return f"its header claims {claimed}, and the file has {size:,} bytes"


CLAIMS: dict[str, Callable[[bytes], None]] = {
    ".stl": stl_claims,
    ".ply": ply_claims,
    ".off": off_claims,
}
