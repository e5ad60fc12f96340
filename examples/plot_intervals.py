"""
How sure is it? Prediction intervals
====================================

With ``intervals=True`` a fit keeps what it takes to say how far a *new observation* may lie from a
prediction: the noise in the rows, and how loosely they hold the weights of both layers. Where
there are no rows, the band widens.
"""

# %%
# A river's level through the year. The gauge broke at the height of the flood, and the last weeks
# have not come yet.

import matplotlib.pyplot as plt
import numpy as np

from anmin import ANMINRegressor


def level(day):
    flood = 1.8 * np.exp(-((day - 110) ** 2) / 300)
    return 2.0 + 0.5 * np.sin(2 * np.pi * (day - 40) / 365) + flood


rng = np.random.default_rng(0)
day = np.sort(rng.uniform(0, 365, 500))
day = day[(day < 100) | ((day > 120) & (day < 300))]
y = level(day) + 0.12 * rng.normal(size=len(day))

# %%
# ``predict`` then returns two arrays: the prediction, and the standard deviation of a new
# observation around it. For noise that is Gaussian, about 95 of 100 lie within 1.96 of them.

model = ANMINRegressor(32, intervals=True, random_state=0).fit(day[:, None], y)
grid = np.linspace(0, 365, 400)
mean, std = model.predict(grid[:, None], return_std=True)

new = rng.uniform(120, 300, 4000)
observed = level(new) + 0.12 * rng.normal(size=len(new))
guess, spread = model.predict(new[:, None], return_std=True)
covered = np.mean(np.abs(observed - guess) < 1.96 * spread)
print(f"{covered:.1%} of 4,000 new observations lie within the band, where there are rows")

# %%
# A little less than 95 %: the band knows of noise and of loose weights, but not of bends that the
# network does not follow. In the flood it is rightly wide: hardly a row holds the units there.
# Beyond the last row the network goes on in a straight line, and the band does not know that a
# river may not. Intervals are no licence to extrapolate.

figure, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
axis.fill_between(
    grid, mean - 1.96 * std, mean + 1.96 * std, color="#0072B2", alpha=0.2, label="95 %"
)
axis.plot(grid, mean, color="#0072B2", linewidth=2, label="network")
axis.plot(grid, level(grid), "k--", linewidth=1, label="truth")
axis.plot(day, y, ".", color="0.4", markersize=3, label="rows")
for first, last in ((100, 120), (300, 365)):
    axis.axvspan(first, last, color="#D55E00", alpha=0.08)
axis.set(xlabel="day of the year", ylabel="level in metres", xlim=(0, 365), ylim=(0.8, 5.6))
axis.legend(ncols=4, loc="upper right", frameon=False)
plt.show()
