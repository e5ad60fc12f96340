"""
Rows on many machines, with Dask
================================

Nine survey stations hold nine tiles of a map. No machine ever sees another one's rows: in each
pass every worker adds up its own, and only the *sums* travel. They are the same to the last bit
whether two workers do the work or twenty.
"""

# %%
# Nine tiles
# ----------
# Heights of a landscape at random places, a Dask array of nine partitions. On a cluster they would
# come from files that each worker can read, and the client's address would be that of the
# scheduler; here the workers are threads of this process.

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from anmin import ANMINRegressor

TILES, ROWS = 9, 1000


def landscape(east, north):
    """A ridge, a round hill, a lake with a flat surface, in hundreds of metres."""
    ridge = 3.0 * np.exp(-((north - 0.5 * east - 0.3) ** 2) / 0.02) * (0.4 + 0.6 * east)
    hill = 2.5 * np.exp(-((east - 0.75) ** 2 + (north - 0.2) ** 2) / 0.015)
    slope = 1.0 + 1.2 * north
    lake = 3.0 * np.exp(-((east - 0.2) ** 2 + (north - 0.85) ** 2) / 0.03)
    return np.maximum(slope + ridge + hill - lake, 0.9)


@dask.delayed
def survey(tile):
    """The rows of one station: east, north, height."""
    rng = np.random.default_rng(tile)
    places = (rng.uniform(size=(ROWS, 2)) + np.array([tile % 3, tile // 3])) / 3
    heights = landscape(*places.T) + 0.1 * rng.normal(size=ROWS)
    return np.column_stack([places, heights])


parts = [da.from_delayed(survey(tile), (ROWS, 3), float) for tile in range(TILES)]
rows = da.concatenate(parts)  # nothing is computed yet

# %%
# The fit
# -------
# ``fit`` takes Dask arrays and dataframes as it takes NumPy's. The penalty is given here, which
# saves the search for it, and the time is limited.

with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
    model = ANMINRegressor(lam=1e-5, max_time=8, random_state=0).fit(rows[:, :2], rows[:, 2])
    predicted = model.predict(rows[:, :2]).compute()  # a lazy array until then
    truth = rows[:, 2].compute()
print(f"{len(rows):,} rows in {rows.numblocks[0]} partitions, {model.n_hidden_} units")
print(f"error {np.sqrt(np.mean((predicted - truth) ** 2)):.3f}, noise 0.1")

# %%
# The map
# -------
# Left, what each station sees. Right, what the network made of all of them: contours run through
# the borders of the tiles as if there were none.

fine = np.linspace(0, 1, 200)
east, north = np.meshgrid(fine, fine)
learnt = model.predict(np.column_stack([east.ravel(), north.ravel()])).reshape(east.shape)
seen = rows.compute()

figure, axes = plt.subplots(1, 3, figsize=(12, 4.0), layout="constrained")
axes[0].scatter(*seen[:, :2].T, c=np.repeat(np.arange(TILES), ROWS), s=1, cmap="tab10", vmax=9)
axes[0].set_title("nine stations")
style = {"levels": np.linspace(0.8, 5.0, 22), "cmap": "terrain"}
maps = {"landscape": landscape(east, north), f"network of {model.n_hidden_} units": learnt}
for axis, (title, height) in zip(axes[1:], maps.items(), strict=True):
    shown = axis.contourf(fine, fine, height, **style, extend="both")
    axis.contour(fine, fine, height, levels=style["levels"], colors="black", linewidths=0.3)
    axis.set_title(title)
for axis in axes:
    axis.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
figure.colorbar(shown, ax=axes, label="height, 100 m", shrink=0.8)
plt.show()
