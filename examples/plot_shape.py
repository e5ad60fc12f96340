"""
A shape as a network
====================

A *signed distance field* gives every point of the plane its distance to an outline, negative
inside. A small network that has learnt it is the shape: 321 numbers instead of a picture, at any
resolution, with distances for free. Graphics, robot planning and fonts use such fields.
"""

# %%
# The data
# --------
# A silhouette drawn in code, 120 by 120 pixels. ``signed_distance`` turns it into rows: the place
# of each pixel, and its distance to the outline. Any picture of yours works the same way, as an
# array of booleans that are true inside the shape: ``image > level``.

import matplotlib.pyplot as plt
import numpy as np

from anmin import ANMINRegressor
from anmin.datasets import draw_shape, signed_distance
from anmin.export import cost

mask = draw_shape(120)
X, y = signed_distance(mask)  # (14400, 2), (14400,)

# %%
# The fit
# -------
# The penalty is so small that it hardly counts, since there is no noise to be afraid of. After six
# seconds the best network so far is returned.

model = ANMINRegressor(n_hidden=80, lam=1e-7, max_time=6, random_state=0).fit(X, y)
field = model.predict(X).reshape(mask.shape)
agree = np.mean((field < 0) == mask)
print(f"{cost(model).parameters} numbers instead of {mask.size} pixels")
print(f"root mean square error {np.sqrt(np.mean((field.ravel() - y) ** 2)):.2f} pixels")
print(f"{agree:.1%} of the pixels are on the right side of the outline")

# %%
# The picture
# -----------
# In the middle the learnt field, drawn four times as fine as the data. On the right its hinges:
# they cut the plane into polygons, and on each of them the network is linear.

fine = np.linspace(0, mask.shape[0] - 1, 4 * mask.shape[0])
down, right = np.meshgrid(fine, fine, indexing="ij")
smooth = model.predict(np.column_stack([down.ravel(), right.ravel()])).reshape(down.shape)

figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
style = {"cmap": "RdBu_r", "vmin": -20, "vmax": 20}
axes[0].imshow(y.reshape(mask.shape), **style)
axes[0].contour(mask, levels=[0.5], colors="black", linewidths=1)
axes[0].set_title("true distance")
extent = (-0.5, mask.shape[1] - 0.5, mask.shape[0] - 0.5, -0.5)
shown = axes[1].imshow(smooth, extent=extent, **style)
axes[1].contour(fine, fine, smooth, levels=[0.0], colors="black", linewidths=1.5)
axes[1].set_title(f"network of {model.n_hidden_} units")
axes[2].contourf(fine, fine, smooth, levels=[-1e3, 0.0], colors=["0.8"])
for w, bias in zip(model.coefs_[0].T, model.intercepts_[0], strict=True):
    row, column = -bias * w / (w @ w)  # the point of the hinge that is nearest to the origin
    along = (column + w[0], row - w[1])
    axes[2].axline((column, row), along, color="#D55E00", linewidth=0.7)
axes[2].set(title="its hinges", xlim=extent[:2], ylim=extent[2:], aspect="equal")
for axis in axes:
    axis.set_axis_off()
figure.colorbar(shown, ax=axes, label="distance in pixels", shrink=0.8)
plt.show()
