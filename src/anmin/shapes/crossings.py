"""Faces that go through each other.

Two triangles cross where an edge of one passes through the other, at a + t (b − a) inside it:

    a + t (b − a) = p + u (q − p) + v (r − p),      0 < t < 1,  0 ≤ u, v,  u + v ≤ 1

Pairs come from a sweep along the longest side of the box. Pairs that share an edge touch only
there, and of pairs that share a vertex only the edges opposite to it can cross.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

Array = np.ndarray
SLACK = 1e-9  # in units of an edge: meeting at an end is touching
AT_ONCE = 2**22  # pairs


def crossing_faces(vertices: Array, faces: Array) -> tuple[int, int] | None:
    """Two faces of a mesh that cross, or None."""
    corners = vertices[faces]  # (f, 3, 3)
    for one, two in close_pairs(corners.min(axis=1), corners.max(axis=1)):
        shared = faces[one][:, :, None] == faces[two][:, None, :]  # (m, 3, 3)
        apart = shared.sum(axis=(1, 2)) < 2
        one, two, shared = one[apart], two[apart], shared[apart]  # noqa: PLW2901
        for first, second, same in ((one, two, shared.any(2)), (two, one, shared.any(1))):
            for k in range(3):  # the edge from corner k to the next
                free = ~(same[:, k] | same[:, (k + 1) % 3])
                a, b = corners[first[free], k], corners[first[free], (k + 1) % 3]
                crossed = np.flatnonzero(passes(a, b, corners[second[free]]))
                if len(crossed):
                    return int(first[free][crossed[0]]), int(second[free][crossed[0]])
    return None


def close_pairs(low: Array, high: Array) -> Iterator[tuple[Array, Array]]:
    """Pairs of boxes that overlap, some at a time: (m,), (m,)."""
    axis = int(np.argmax(high.max(axis=0) - low.min(axis=0)))
    order = np.argsort(low[:, axis])
    last = np.searchsorted(low[order, axis], high[order, axis], side="right")
    count = last - np.arange(len(order)) - 1  # boxes that begin before this one ends
    ends = np.cumsum(count)
    cuts = np.searchsorted(ends, np.arange(AT_ONCE, ends[-1] + AT_ONCE, AT_ONCE))
    for begin, end in zip([0, *(cuts + 1)], [*(cuts + 1), len(order)], strict=True):
        some = count[begin:end]
        i = np.repeat(np.arange(begin, begin + len(some)), some)
        within = np.arange(len(i)) - np.repeat(np.cumsum(some) - some, some)
        one, two = order[i], order[i + 1 + within]
        for other in {0, 1, 2} - {axis}:
            below, above = low[:, other], high[:, other]
            overlap = (below[one] <= above[two]) & (below[two] <= above[one])
            one, two = one[overlap], two[overlap]
        yield one, two


def passes(a: Array, b: Array, triangle: Array) -> Array:
    """Whether segments from a to b (m, 3) pass through triangles (m, 3, 3)."""
    p, q, r = triangle[:, 0], triangle[:, 1], triangle[:, 2]
    along, right, up = b - a, q - p, r - p
    normal = np.cross(right, up)
    steep = np.einsum("md,md->m", along, normal)
    scale = np.linalg.norm(along, axis=1) * np.linalg.norm(normal, axis=1)
    with np.errstate(all="ignore"):  # flat triangles and parallel edges do not count
        t = np.einsum("md,md->m", p - a, normal) / steep
        square = np.einsum("md,md->m", normal, normal)
        at = a + t[:, None] * along - p
        u = np.einsum("md,md->m", np.cross(at, up), normal) / square
        v = np.einsum("md,md->m", np.cross(right, at), normal) / square
        inside = (u >= -SLACK) & (v >= -SLACK) & (u + v <= 1 + SLACK)
        return (np.abs(steep) > SLACK * scale) & (t > SLACK) & (t < 1 - SLACK) & inside
