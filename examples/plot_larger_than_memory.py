"""
More rows than memory
=====================

Rows need not be in memory: :class:`anmin.sources.ParquetSource` reads files piece by piece, as
often as the fit wants to see them. A pass over the rows collects *sums*, whose size is that of the
network. What there is room for is kept between passes, the rest is read again.
"""

# %%
# Files
# -----
# Taxi trips that never took place: a file a day, a fortnight of them to learn from. A few rows are
# damaged, as in real files. For files larger than memory nothing below would change.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from anmin import ANMINRegressor
from anmin.sources import ParquetSource

DAYS, ROWS = 14, 3_000


def streets(hour, km, weekend):
    """Minutes for a trip: full streets on weekday mornings and evenings, slow short trips."""
    rush = np.exp(-((hour - 8.5) ** 2) / 2) + np.exp(-((hour - 17.5) ** 2) / 4)
    speed = 38 - 22 * rush * (1 - 0.8 * weekend) - 8 * np.exp(-km / 3)
    return 2 + 60 * km / speed


def trips(day):
    rng = np.random.default_rng(day)
    hour, km = rng.uniform(0, 24, ROWS), rng.gamma(2.0, 3.0, ROWS)
    weekend = np.full(ROWS, float(day % 7 >= 5))
    minutes = streets(hour, km, weekend) + (0.5 + 0.15 * km) * rng.normal(size=ROWS)
    minutes[rng.integers(ROWS, size=3)] = np.nan
    return pa.table({"hour": hour, "km": km, "weekend": weekend, "minutes": minutes})


folder = tempfile.TemporaryDirectory()
for day in range(DAYS + 1):
    part = "train" if day < DAYS else "test"
    pq.write_table(trips(day), Path(folder.name, f"{part}-{day:02d}.parquet"))

# %%
# The fit
# -------
# A source takes the place of ``X`` and ``y``. Rows with a cell that is no number would be an error
# that names the file, the row and the column; here they are left out and counted.

rows = ParquetSource(f"{folder.name}/train-*.parquet", target="minutes", bad_rows="skip")
model = ANMINRegressor(48, random_state=0).fit(rows)
print(f"{DAYS * ROWS:,} rows, {model.n_skipped_} damaged ones left out")
print(f"{model.n_hidden_} units on {', '.join(model.feature_names_in_)}")

# %%
# ``predict`` reads sources as well. It returns one number a row, NaN for a damaged one.

day = f"{folder.name}/test-{DAYS}.parquet"
predicted = model.predict(ParquetSource(day, target="minutes", bad_rows="skip"))
table = pq.read_table(day).to_pandas()
missed = predicted - table["minutes"]
print(f"mean absolute error on a day not seen: {missed.abs().mean():.2f} minutes")

# %%
# What it learnt
# --------------
# Left, the day of three trips: the rush hours are there on weekdays and gone at weekends. Right,
# the errors of the day that was not seen, which are as wide as the noise that was put in.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
hour = np.linspace(0, 24, 300)
for km, colour in ((3.0, "#009E73"), (8.0, "#0072B2"), (15.0, "#D55E00")):
    for weekend, line in ((0.0, "-"), (1.0, ":")):
        trip = pd.DataFrame({"hour": hour, "km": km, "weekend": weekend})
        minutes = model.predict(trip)
        label = f"{km:.0f} km, {'weekend' if weekend else 'weekday'}"
        left.plot(hour, minutes, line, color=colour, linewidth=2, label=label)
        left.plot(hour, streets(**trip), color="black", linewidth=0.6)
left.set(xlabel="hour", ylabel="minutes", xlim=(0, 24), xticks=range(0, 25, 4))
left.set_title("learnt (colour) and true (black)")
left.legend(fontsize="small", ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.15))
km = np.linspace(0, 25, 50)
right.hexbin(table["km"], missed, extent=(0, 25, -12, 12), bins="log", cmap="Blues", gridsize=35)
for sign in (-2, 2):
    right.plot(km, sign * (0.5 + 0.15 * km), "--", color="#D55E00")
right.text(24, 9.5, "twice the noise", color="#D55E00", ha="right")
right.set(xlabel="km", ylabel="predicted − true minutes", title="a day not seen")
folder.cleanup()
plt.show()
