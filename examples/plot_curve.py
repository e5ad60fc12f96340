"""
A curve and its hinges
======================

A network of ReLU units with one input is a piecewise linear curve: each unit adds one *hinge*,
a place where the slope changes. Fitting the network means placing the hinges. Here a curve with a
jump in its slope, a bump and a flat part is hidden in noise, and nothing is tuned.
"""

# %%
# The curve
# ---------
# 400 points, noise of deviation 0.15. The rows are thinner on the right, as real rows often are.

import matplotlib.pyplot as plt
import numpy as np

from anmin import ANMINRegressor
from anmin.plotting import PathDisplay


def curve(x):
    return np.abs(x) + 1.5 * np.exp(-((x - 2.0) ** 2) / 0.1) - 0.7 * np.maximum(x - 3.0, 0)


rng = np.random.default_rng(0)
x = np.sort(5.0 - 8.0 * np.sqrt(rng.uniform(size=400)))
y = curve(x) + 0.15 * rng.normal(size=len(x))

# %%
# The fit
# -------
# ``n_hidden=64`` is the most units there may be. The penalty starts so large that no unit is worth
# its price, and walks down; rows held out say where to stop. So most of the 64 are never used.

model = ANMINRegressor(random_state=0).fit(x[:, None], y)
print(f"{model.n_hidden_} of 64 units are left, lam = {model.lam_:.2g}")
missed = model.predict(x[:, None]) - curve(x)
print(f"distance to the true curve: {np.sqrt(np.mean(missed**2)):.3f}, noise: 0.15")

# %%
# Left: the rows, the network and the truth. Right: the walk of the penalty. The
# training error falls all the way, the held-out error does not, and the units are counted in grey.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=[3, 2]
)
left.plot(x, y, ".", color="0.7", label="rows")
left.plot(x, model.predict(x[:, None]), linewidth=2, label="network")
left.plot(x, curve(x), "k--", linewidth=1, label="truth")
left.legend()
PathDisplay.from_estimator(model, ax=right)
plt.show()
