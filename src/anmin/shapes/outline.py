"""The zero set of a network in the plane, exactly: a polygon, found without a grid.

The hinges w·x + c = 0 cut the plane into convex cells, and f is linear on each of them. So the zero
set bends only where it meets a hinge, and:

    corners   along a hinge f is linear between its meetings with the others: a change of sign there
              is a corner, found by interpolation
    edges     within a cell the zero set is one segment, so that the two corners that lie on the rim
              of the same cell are joined; a cell is known by the side of every hinge that it is on
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from anmin.export import raw_network
from anmin.network import Network
from anmin.shapes.boundary import Array, ShapeError

NUDGES = (0.0, 1e-13, -1e-13, 1e-12, -1e-12)  # of the level, in sizes of the field
DEVIATIONS = 3.0  # around the mean of the training rows, where the shape is looked for


def outline_of(model: Any, bounds: Any = None) -> list[Array]:
    """The exact outline of the shape f(x) < 0 of a fitted model of two inputs.

    Parameters
    ----------
    model : ANMINRegressor
        Fitted to signed distances in the plane, without an encoding.
    bounds : array (2, 2), default=None
        Lowest and highest x where the outline is looked for; by default three deviations of the
        training rows around their mean.

    Returns
    -------
    loops : list of arrays (k, 2)
        The corners of each closed loop, all on the zero set. The area that a loop encloses counts
        positive, or negative for a hole, in the formula Σ (x_i y_i+1 − x_i+1 y_i) / 2. Lines that
        leave the bounds are left out: far from its rows a network says nothing of the shape.

    Examples
    --------
    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.shapes import outline_of
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(2000, 2))
    >>> y = np.linalg.norm(X, axis=1) - 1
    >>> settings = {"lam": 1e-6, "n_networks": 1, "encoding": None, "random_state": 0}
    >>> model = ANMINRegressor(16, max_iter=20, **settings).fit(X, y)
    >>> (loop,) = outline_of(model)
    >>> bool(np.abs(model.predict(loop)).max() < 1e-9)
    True
    """
    network = plain_network(model, 2)
    box = search_box(model, bounds)
    size = float(np.abs(network.forward(box)).max())
    for nudge in NUDGES:
        level = Network(network.A, network.B, network.b0 + nudge * size, network.slope)
        loops = trace(level, box)
        if loops is not None:
            return loops
    raise ShapeError("the zero set has no clear outline: f is 0 on an area, or hinges coincide")


def plain_network(model: Any, inputs: int) -> Network:
    """The network of a model on raw inputs, whose one output is a distance."""
    network = raw_network(model)
    if model._scaling.encoding is not None:
        raise ValueError("the model has an encoding; fit shapes with encoding=None.")
    if (found := network.A.shape[0] - 1) != inputs or len(network.b0) != 1:
        raise ValueError(
            f"the model has {found} inputs and {len(network.b0)} outputs; expected {inputs} and 1."
        )
    return network


def search_box(model: Any, bounds: Any) -> Array:
    """Where a shape is looked for: (2, d)."""
    if bounds is None:
        s = model._scaling
        return s.x_mean + DEVIATIONS * np.array([[-1.0], [1.0]]) * s.x_scale
    box = np.asarray(bounds, dtype=np.float64)
    d = model.n_features_in_
    if box.shape != (2, d) or not np.isfinite(box).all() or (box[0] >= box[1]).any():
        raise ValueError(f"bounds must be a lowest and a highest corner, (2, {d}); got {bounds!r}.")
    return box


@dataclass(frozen=True, slots=True)
class Corners:
    """Points of the zero set, and the hinge that each lies on."""

    at: Array  # (k, 2)
    line: Array  # (k,)


def trace(network: Network, box: Array) -> list[Array] | None:
    """The loops of the zero set in a box, or None where the corners cannot be told apart."""
    lines = hinges(network, box)
    corners = find_corners(network, lines)
    ends = segments(corners, lines)
    if ends is None:
        return None
    closed = within(ends, corners.line >= len(lines) - 4)
    if not len(closed):
        where = f"from {box[0].tolist()} to {box[1].tolist()}"
        raise ShapeError(f"the outline leaves the bounds {where}; give larger ones")
    loops = [corners.at[loop] for loop in follow(closed)]
    middle = [(loop + np.roll(loop, -1, axis=0))[:1] / 2 for loop in loops]
    return [turned(network, loop, m) for loop, m in zip(loops, middle, strict=True)]


def hinges(network: Network, box: Array) -> Array:
    """The different lines n·x + c = 0 with |n| = 1, the four sides of the box last: (m, 3)."""
    lines = np.concatenate([network.A[1:].T, network.A[:1].T], axis=1)  # (h, 3)
    length = np.linalg.norm(lines[:, :2], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        lines = lines / length[:, None]
    lines = lines[np.isfinite(lines).all(axis=1)]
    forward = (lines[:, 0] > 0) | ((lines[:, 0] == 0) & (lines[:, 1] > 0))
    lines = np.where(forward[:, None], lines, -lines)
    scale = np.abs(box).max()
    _, first = np.unique(np.round(lines / [1, 1, scale], 12), axis=0, return_index=True)
    sides = [[1, 0, -box[0, 0]], [0, 1, -box[0, 1]], [1, 0, -box[1, 0]], [0, 1, -box[1, 1]]]
    return np.concatenate([lines[np.sort(first)], sides])


def find_corners(network: Network, lines: Array) -> Corners:
    """Where f changes its sign along the lines, within the box of the last four."""
    low, high = -lines[-4:-2, 2], -lines[-2:, 2]
    at, where = [], []
    for j, (a, b, c) in enumerate(lines):
        foot, along = np.array([-a * c, -b * c]), np.array([-b, a])
        with np.errstate(divide="ignore", invalid="ignore"):
            t = -(lines[:, :2] @ foot + lines[:, 2]) / (lines[:, :2] @ along)
        points = foot + np.sort(t[np.isfinite(t)])[:, None] * along
        slack = 1e-12 * np.abs(high - low)
        points = points[((points >= low - slack) & (points <= high + slack)).all(axis=1)]
        f = network.forward(points)[:, 0]
        change = np.flatnonzero((f[:-1] > 0) != (f[1:] > 0))
        if len(change):
            p, q = points[change], points[change + 1]
            at.append(zero_between(network, p, q, f[change], f[change + 1]))
            where.append(np.full(len(change), j))
    if not at:
        raise ShapeError("the model has no zero set in the bounds: it is of one sign there")
    return Corners(np.concatenate(at), np.concatenate(where))


def zero_between(network: Network, p: Array, q: Array, f: Array, g: Array) -> Array:
    """The zero of a function that is linear from p, where it is f, to q, where it is g."""
    t = f / (f - g)
    for _ in range(2):  # the second removes what rounding left
        at = p + t[:, None] * (q - p)
        t = np.clip(t + network.forward(at)[:, 0] / (f - g), 0, 1)
    return p + t[:, None] * (q - p)


def segments(corners: Corners, lines: Array) -> Array | None:
    """The two corners of each segment of the zero set, (s, 2), or None where that is not clear."""
    k = len(corners.at)
    sides = corners.at @ lines[:, :2].T + lines[:, 2] > 0  # (k, m)
    cells = np.repeat(sides[None], 2, axis=0)
    cells[0, np.arange(k), corners.line] = False
    cells[1, np.arange(k), corners.line] = True
    keys = np.packbits(cells.reshape(2 * k, -1), axis=1)
    _, cell, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    cell = cell.ravel()
    alone = count[cell] == 1
    at_side = np.tile(corners.line >= len(lines) - 4, 2)
    if (count > 2).any() or (alone & ~at_side).any():
        return None
    order = np.argsort(cell, kind="stable")
    return order[~alone[order]].reshape(-1, 2) % k


def within(ends: Array, at_side: Array) -> Array:
    """The segments that are in no piece with a corner at a side of the box."""
    k = len(at_side)
    graph = coo_array((np.ones(len(ends)), tuple(ends.T)), shape=(k, k))
    _, piece = connected_components(graph, directed=False)
    leaves = np.isin(piece, piece[at_side])
    return ends[~leaves[ends[:, 0]]]


def follow(ends: Array) -> list[list[int]]:
    """Closed walks along segments, two of which meet in each corner."""
    joined: dict[int, list[int]] = {}
    for one, two in ends.tolist():
        joined.setdefault(one, []).append(two)
        joined.setdefault(two, []).append(one)
    loops = []
    while joined:
        here = first = min(joined)
        loop, here = [first], joined.pop(first)[0]
        while here != first:
            one, two = joined.pop(here)
            loop.append(here)
            here = two if one == loop[-2] else one
        loops.append(loop)
    return loops


def turned(network: Network, loop: Array, middle: Array) -> Array:
    """The loop in the direction that has the inside of the shape on its left."""
    along = loop[1] - loop[0]
    left = np.array([-along[1], along[0]])
    step = 1e-6 * left
    f = network.forward(np.concatenate([middle + step, middle - step]))[:, 0]
    return loop if f[0] < f[1] else loop[::-1]
