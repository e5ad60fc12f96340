"""
A solid as a network
====================

The signed distance to a surface in space, negative inside, learnt by networks of three inputs. What
a network knows of the solid is its zero set: a polyhedron, whose facets are where the hinges of the
units cut the space. ``anmin shape knot.obj -o knot.html`` does all of this in one line, and writes
a page on which a browser draws the network itself.
"""

# %%
# The data
# --------
# A tube along a knotted line, made of triangles. A mesh must be closed, so that it has an inside;
# ``sample_mesh`` also reads the files .obj, .ply, .stl and .off. It draws points, most of them near
# the surface, and measures how far they are from it.

import matplotlib.pyplot as plt
import numpy as np

from anmin import ANMINRegressor
from anmin.export import cost
from anmin.shapes import mesh_of, sample_mesh


def knot(around=90, across=12, radius=0.45):
    """Vertices and faces of a tube along the trefoil knot."""
    t = np.linspace(0, 2 * np.pi, around, endpoint=False)[:, None]
    line = np.hstack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)])
    along = np.roll(line, -1, axis=0) - np.roll(line, 1, axis=0)
    side = np.cross(along, line)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, along / np.linalg.norm(along, axis=1, keepdims=True))
    turn = np.linspace(0, 2 * np.pi, across, endpoint=False)[:, None, None]
    rings = line + radius * (np.cos(turn) * side + np.sin(turn) * up)  # (across, around, 3)
    a = np.arange(around * across).reshape(across, around)
    b, c = np.roll(a, -1, axis=0), np.roll(a, -1, axis=1)
    d = np.roll(b, -1, axis=1)
    faces = np.concatenate([np.stack([a, b, d], -1), np.stack([a, d, c], -1)]).reshape(-1, 3)
    return rings.reshape(-1, 3), faces


vertices, faces = knot()
X, y = sample_mesh((vertices, faces), 20_000, random_state=0)

# %%
# The fits
# --------
# Three sizes. An error counts more where the surface is near. ``mesh_of`` gives the zero set as
# triangles again, with every vertex on it.

meshes = {"the original": (vertices, faces)}
for n_hidden in (32, 64, 128):
    model = ANMINRegressor(
        n_hidden, lam=1e-9, n_networks=1, encoding=None, max_iter=50, max_time=10, random_state=0
    ).fit(X, y, sample_weight=1 / (np.abs(y) + 0.1))
    mesh = mesh_of(model, [X.min(axis=0), X.max(axis=0)], resolution=48)
    size = f"{model.n_hidden_} units, {cost(model).parameters} numbers"
    meshes[size] = mesh
    error = np.abs(model.predict(X) - y).mean()
    print(f"{size}: mean error {error:.3f} where the tube has radius 0.45,")
    print(f"    vertices on the zero set to {np.abs(model.predict(mesh[0])).max():.0e}")

# %%
# The picture
# -----------

figure, axes = plt.subplots(
    1, 4, figsize=(12, 3.4), layout="constrained", subplot_kw={"projection": "3d"}
)
for axis, (title, (places, triangles)) in zip(axes, meshes.items(), strict=True):
    colour = "#D58A2E" if title == "the original" else "#3F8FCC"
    axis.plot_trisurf(*places.T, triangles=triangles, color=colour, linewidth=0)
    axis.set_title(title)
    axis.set_box_aspect(np.ptp(vertices, axis=0), zoom=1.6)
    axis.view_init(elev=65, azim=30)
    axis.set_axis_off()
plt.show()
