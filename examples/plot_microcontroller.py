"""
On a microcontroller
====================

A pressure sensor whose reading drifts with temperature must be corrected on a chip with a few
kilobytes of memory. Common practice is a table of measured values and interpolation. A small
network does better with the same number of bytes, and ``to_c`` writes it as one file of plain C.
"""

# %%
# The sensor
# ----------
# What the chip knows: the raw reading of the bridge and its temperature. What it wants: the
# pressure. 2,000 points from the test bench, with a little noise.

import subprocess
import tempfile
from pathlib import Path
from shutil import which

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import RegularGridInterpolator

from anmin import ANMINRegressor
from anmin.export import cost


def pressure(reading, celsius):
    """Kilopascals: saturation, a dead zone near zero, a drift that is worse in the cold."""
    t = (celsius - 25) / 60
    gain = 1 - 0.25 * t + 0.12 * t**2
    bend = 60 * np.log1p(np.exp((reading - 0.75 + 0.1 * t) / 0.06)) * 0.06
    return 100 * gain * np.maximum(reading - 0.08 - 0.05 * t, 0) + 2.5 * bend


rng = np.random.default_rng(0)
low, high = np.array([0.0, -40.0]), np.array([1.0, 85.0])
X = rng.uniform(low, high, (2000, 2))
y = pressure(*X.T) + 0.1 * rng.normal(size=len(X))

# %%
# Network and table of equal size
# -------------------------------
# Every number is stored as a 32-bit float. The table gets the true pressures on its grid, without
# noise; it has at least as many numbers as the network.

model = ANMINRegressor(16, random_state=0).fit(X, y)
spent = cost(model)
side = int(np.ceil(np.sqrt(spent.parameters)))
grid = [np.linspace(a, b, side) for a, b in zip(low, high, strict=True)]
table = RegularGridInterpolator(grid, pressure(*np.meshgrid(*grid, indexing="ij")))
print(f"network: {spent.hidden} units, {4 * spent.parameters} bytes")
print(f"table:   {side} × {side}, {4 * side**2} bytes")
print(f"the network takes {spent.multiply_adds} multiplications and additions at most")

# %%
# The C file
# ----------
# No library, no allocation, no state: constants and two loops. Here is its end.

folder = tempfile.TemporaryDirectory()
source = Path(folder.name, "sensor.c")
model.to_c(source, name="sensor")
print(source.read_text()[source.read_text().index("void sensor_predict", 900) :])

# %%
# Where there is a compiler, the same numbers come out of the compiled program.

MAIN = """
#include <stdio.h>
void sensor_predict(const float x[2], float y[1]);
int main(void)
{
    float x[2], y[1];
    while (scanf("%f %f", &x[0], &x[1]) == 2) {
        sensor_predict(x, y);
        printf("%.9g\\n", y[0]);
    }
    return 0;
}
"""
compiler = which("cc") or which("gcc") or which("clang")
if compiler:
    Path(folder.name, "main.c").write_text(MAIN)
    program = str(Path(folder.name, "sensor"))
    files = [str(source), str(Path(folder.name, "main.c"))]
    subprocess.run([compiler, "-std=c99", "-O2", "-o", program, *files], check=True)
    lines = "\n".join(f"{a:.9g} {b:.9g}" for a, b in X[:500])
    answer = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    gap = np.abs(np.array(answer.stdout.split(), float) - model.predict(X[:500])).max()
    print(f"largest difference between C and Python: {gap:.1e} kPa")
folder.cleanup()

# %%
# Errors over the whole range
# ---------------------------
# A table with lines at equal distances errs wherever the truth bends between them. The network puts
# its hinges there.

places = np.meshgrid(*(np.linspace(a, b, 200) for a, b in zip(low, high, strict=True)))
rows = np.column_stack([place.ravel() for place in places])
truth = pressure(*rows.T)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
shown = axes[0].pcolormesh(*places, truth.reshape(200, 200), cmap="viridis")
axes[0].set_title("pressure")
figure.colorbar(shown, ax=axes[0], label="kPa")
guesses = {
    f"table, {4 * side**2} bytes": table(rows),
    f"network, {4 * spent.parameters} bytes": model.predict(rows),
}
for axis, (name, guess) in zip(axes[1:], guesses.items(), strict=True):
    miss = (guess - truth).reshape(200, 200)
    shown = axis.pcolormesh(*places, miss, cmap="RdBu_r", vmin=-1, vmax=1)
    axis.set_title(
        f"{name}\nerror {np.sqrt(np.mean(miss**2)):.2f} kPa, at most {np.abs(miss).max():.1f}"
    )
figure.colorbar(shown, ax=axes[2], label="error, kPa", extend="both")
for axis in axes:
    axis.set(xlabel="reading", ylabel="°C" if axis is axes[0] else "")
plt.show()
