"""Training loss against time, a panel a case, as a PNG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.methods import OURS
from benchmarks.record import Record
from benchmarks.table import select


def loss_against_time(records: Sequence[Record], path: str) -> None:
    """Draw the lowest training MSE so far of every run that recorded its curve."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    records = [record for record in select(records) if len(record.get("curve", ())) > 1]
    cases = list(dict.fromkeys(record["case"] for record in records))
    if not cases:
        return
    columns = min(3, len(cases))
    shape = (-(-len(cases) // columns), columns)
    figure, panels = plt.subplots(
        *shape, figsize=(5 * columns, 3.8 * shape[0]), squeeze=False, layout="constrained"
    )
    names = list(dict.fromkeys(record["method"] for record in records))
    colors = {name: f"C{i % 10}" for i, name in enumerate(names)}
    for panel in panels.flat[len(cases) :]:
        panel.set_visible(False)
    for case, panel in zip(cases, panels.flat, strict=False):
        for name in names:
            for i, record in enumerate(select(records, case=case, method=name)):
                seconds, losses = np.array(record["curve"]).T
                panel.plot(
                    np.maximum(seconds, 1e-4),
                    np.fmin.accumulate(losses),
                    color=colors[name],
                    lw=2.2 if name in OURS else 1.2,
                    label=name if i == 0 else None,
                    drawstyle="steps-post",
                )
        panel.set(title=case, xscale="log", yscale="log", xlabel="seconds", ylabel="training MSE")
        panel.grid(alpha=0.25, which="both")
        panel.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def error_against_seconds(dots: dict[str, tuple[float, float, bool]], path: str) -> None:
    """A dot a method: seconds, error over the best, and whether it ran on all sets."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, (seconds, error, everywhere) in dots.items():
        color = "C3" if name in OURS else "C0"
        face = color if everywhere else "none"
        axis.scatter(seconds, error, s=60, color=color, facecolor=face, zorder=3)
        label = f"anmin ({name})" if name in OURS else name
        label += "" if everywhere else ", some sets"
        beside, side = ((7, -13), "left") if name in OURS else ((-7, 4), "right")
        where = {"textcoords": "offset points", "fontsize": 9, "ha": side}  # dots may be near
        axis.annotate(label, (seconds, error), beside, **where)
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="seconds a fit, geometric mean over sets",
        ylabel="test RMSE over the best of the set",
    )
    axis.margins(x=0.3, y=0.1)
    axis.yaxis.set_major_formatter("{x:.2f}")
    axis.yaxis.set_minor_formatter("{x:.2f}")
    axis.grid(alpha=0.25, which="both")
    figure.savefig(path, dpi=130)
    plt.close(figure)
