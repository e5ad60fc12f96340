"""
A table as people have it
=========================

Rents of flats: towns and heating are text, the year of building is not always known, offers have a
date. The table is made from a formula, so that it is known what there is to find. It goes into
``fit`` as it is, and the model takes such rows as they are.
"""

# %%
# The table
# ---------
# The rent falls with the age of the house, rises in summer, and each town has a price of its own.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import root_mean_squared_error

from anmin import ANMINRegressor, load_model

NOISE = 40.0


def flats(n, seed):
    """Offers of flats, and their rents."""
    rng = np.random.default_rng(seed)
    area, floor = rng.gamma(9, 8, n) + 15, rng.integers(0, 6, n)
    year = rng.integers(1900, 2024, n).astype(float)
    town = rng.choice(["Ulm", "Bonn", "Kiel", "Jena", "Trier"], n, p=[0.3, 0.3, 0.2, 0.15, 0.05])
    heating = rng.choice(["gas", "oil", "heat pump"], n)
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 730, n), unit="D")
    price = pd.Series(town).map({"Ulm": 12, "Bonn": 14, "Kiel": 10, "Jena": 9, "Trier": 11})
    age = np.minimum(2024 - year, 80) / 80
    summer = np.cos(2 * np.pi * (day.day_of_year - 200) / 365.25)
    rent = area * price * (1.2 - 0.4 * age) + 25 * floor + 30 * (heating == "heat pump")
    rent = (rent + 60 * summer).to_numpy() + NOISE * rng.normal(size=n)
    year[rng.uniform(size=n) < 0.1] = np.nan
    table = {"area": area.round(1), "floor": floor, "year": year, "town": town, "heating": heating}
    return pd.DataFrame(table | {"offered": day}), rent.round()


X, y = flats(2000, seed=0)
X_test, y_test = flats(2000, seed=1)
print(X.head())

# %%
# One line
# --------
# Text, gaps and dates need nothing beforehand. Boosted trees want text as categories, and no dates.

model = ANMINRegressor(random_state=0).fit(X, y)


def for_trees(X):
    days = (X["offered"] - pd.Timestamp("2023-01-01")).dt.days
    texts = {name: X[name].astype("category") for name in ("town", "heating")}
    return X.assign(offered=days, **texts)


trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
trees.fit(for_trees(X), y)
errors = {
    "the mean": root_mean_squared_error(y_test, DummyRegressor().fit(X, y).predict(X_test)),
    "boosted trees": root_mean_squared_error(y_test, trees.predict(for_trees(X_test))),
    "anmin": root_mean_squared_error(y_test, model.predict(X_test)),
    "the noise": NOISE,
}
for name, error in errors.items():
    print(f"{name:14s} {error:6.1f}")

# %%
# What it found
# -------------
# The mean prediction with one column set to each of its values, drawn by hand: a frame in which one
# column is replaced is all that it takes.


def dependence(name, values):
    return [model.predict(X_test[:300].assign(**{name: value})).mean() for value in values]


fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
years = np.arange(1900, 2024, 4.0)
days = pd.date_range("2023-01-01", "2024-12-31", periods=60)
towns = ["Jena", "Kiel", "Trier", "Ulm", "Bonn"]
axes[0].plot(years, dependence("year", years))
axes[0].set(xlabel="year", ylabel="mean rent")
axes[1].plot(days, dependence("offered", days))
axes[1].set_xticks(pd.to_datetime(["2023-01-01", "2024-01-01", "2025-01-01"]))
axes[1].set(xlabel="offered")
axes[2].plot(towns, dependence("town", towns), "o")
axes[2].set(xlabel="town")

# %%
# New rows
# --------
# A town that was never seen, or a year that is not known, is no error. The file holds all that
# predictions need; ``to_onnx`` and ``to_c`` take the same columns.

strange = X_test[:2].assign(town=["Rom", "Ulm"], year=[1990, np.nan])
model.save("flats.anmin")
print(load_model("flats.anmin").predict(strange))
plt.show()
