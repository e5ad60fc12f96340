"""What is drawn into one pair of axes: curves of runs, from the records alone."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from paper.methods import METHODS
from paper.record import Record

Array = NDArray[np.float64]
Draw = Callable[[Axes], None]

COLOURS = {  # also for colour-blind readers
    "anmin": "#0072B2", "anmin-l": "#0072B2", "adam": "#D55E00", "sgd": "#009E73",
    "lbfgs": "#AA4499",
}  # fmt: skip
LABELS = {"mse": "MSE", "r2": "R²"}
PARTS = ("train", "test")


def column(record: Record, name: str) -> Array:
    """A column of a curve, NaN where it is not finite."""
    values = np.array(record.curve.get(name, []), dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


def measured(record: Record, part: str, measure: str) -> Array:
    """The curve of the train or test MSE, or of R²; the last R² tells the spread of the targets."""
    mse = column(record, f"{part}_mse")
    if measure == "mse":
        return mse
    final, r2 = getattr(record, f"{part}_mse"), getattr(record, f"{part}_r2")
    return 1 - mse * (1 - r2) / final


def draw_lines(ax: Axes, pairs: Sequence[tuple[Array, Array]], **style: Any) -> None:
    """Many curves as one line with gaps."""
    gap = np.array([np.nan])
    x = np.concatenate([part for xs, _ in pairs for part in (xs, gap)] or [gap])
    y = np.concatenate([part for _, ys in pairs for part in (ys, gap)] or [gap])
    ax.plot(x, y, **style)


def faint(records: Sequence[Record]) -> float:
    """How opaque a thin line is: the more of them, the less."""
    return float(np.clip(3 / max(len(records), 1), 0.25, 0.8))


def after_start(seconds: Array) -> Array:
    """Times for a logarithmic axis: the start itself has no place there."""
    return np.where(seconds > 0, seconds, np.nan)


def mean_curve(columns: Sequence[Array]) -> tuple[Array, Array]:
    """Mean and deviation over runs, point by point, where all runs still go on."""
    table = np.array([values[: min(map(len, columns))] for values in columns])
    return table.mean(0), table.std(0, ddof=1) if len(table) > 1 else 0 * table[0]


def against_time(runs: dict[str, list[Record]], measure: str) -> Draw:
    """Training error of every run, and the mean test error with its deviation, against seconds."""

    def draw(ax: Axes) -> None:
        for method, records in runs.items():
            colour, name = COLOURS[method], METHODS[method].title
            seconds = [after_start(column(record, "seconds")) for record in records]
            train = [measured(record, "train", measure) for record in records]
            pairs = list(zip(seconds, train, strict=True))
            draw_lines(ax, pairs, color=colour, alpha=faint(records), linewidth=0.7)
            x = mean_curve(seconds)[0]
            y, spread = mean_curve([measured(record, "test", measure) for record in records])
            ax.plot(x, y, color=colour, linewidth=1.8, label=f"{name}, test mean ± sd")
            ax.fill_between(x, y - spread, y + spread, color=colour, alpha=0.2, linewidth=0)
        ax.set(xscale="log", xlabel="seconds", ylabel=LABELS[measure])
        scale_errors(ax, runs, measure)
        ax.legend(title="thin: training, each split", title_fontsize="small")

    return draw


def scale_errors(ax: Axes, runs: dict[str, list[Record]], measure: str) -> None:
    """A logarithmic axis for errors; for R² the part where the last ones lie."""
    if measure == "mse":
        ax.set_yscale("log")
        return
    last = [getattr(r, f"{part}_r2") for rs in runs.values() for r in rs for part in PARTS]
    known = [value for value in last if np.isfinite(value)] or [0.0]
    low = max(0.0, min(known))
    ax.set_ylim(max(-0.05, low - 1.5 * (1 - low)), min(1.02, 1 + 0.1 * (1 - low)))


def every_step(records: list[Record], method: str, x: str, lowest: bool) -> Draw:
    """Training MSE of every run at each step, or the lowest so far."""

    def draw(ax: Axes) -> None:
        pairs = []
        for record in records:
            mse, place = column(record, "train_mse"), column(record, x)
            place = after_start(place) if x == "seconds" else place
            pairs.append((place, np.fmin.accumulate(mse) if lowest else mse))
        draw_lines(ax, pairs, color=COLOURS[method], alpha=faint(records), linewidth=0.8)
        ax.set(yscale="log", xlabel=x, ylabel="lowest MSE so far" if lowest else "training MSE")

    return draw


def passes(runs: dict[str, list[Record]]) -> Draw:
    """Training MSE of every run against passes over the data."""

    def draw(ax: Axes) -> None:
        for method, records in runs.items():
            pairs = [(after_start(column(r, "step")), column(r, "train_mse")) for r in records]
            draw_lines(ax, pairs, color=COLOURS[method], alpha=faint(records), linewidth=0.8)
            ax.plot([], [], color=COLOURS[method], label=METHODS[method].title)
        ax.set(xscale="log", yscale="log", xlabel="passes over the data", ylabel="training MSE")
        ax.legend()

    return draw


def sorted_runs(runs: dict[str, list[Record]]) -> Draw:
    """Final train and test MSE, the runs of each method in decreasing order of the test MSE."""

    def draw(ax: Axes) -> None:
        for method, records in runs.items():
            ranked = sorted(records, key=lambda record: -record.test_mse)
            name, colour = METHODS[method].title, COLOURS[method]
            place = np.arange(1, len(ranked) + 1)
            mark = "o" if len(ranked) == 1 else None
            for part, dash in (("test", "-"), ("train", ":")):
                values = [getattr(record, f"{part}_mse") for record in ranked]
                ax.plot(place, values, dash, marker=mark, color=colour, label=f"{name}, {part}")
        ax.set(xlabel="runs, by decreasing test MSE", ylabel="MSE")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(bottom=0)
        ax.legend()

    return draw


def diagnosed(records: list[Record], name: str) -> Draw:
    """ln|M + λI| or the condition number against the iteration, for every run."""

    def draw(ax: Axes) -> None:
        pairs = [(column(record, "step"), column(record, name)) for record in records]
        style = {"alpha": faint(records), "marker": "." if len(records) < 3 else ""}
        draw_lines(ax, pairs, color=COLOURS["anmin"], linewidth=0.8, **style)
        label = "ln |M + λI|" if name == "logdet" else "condition number of M + λI"
        ax.set(xlabel="iteration", ylabel=label)
        if name == "condition":
            ax.set_yscale("log")

    return draw


def activation(slope: float) -> Draw:
    def draw(ax: Axes) -> None:
        x = np.linspace(-3, 3, 301)
        ax.plot(x, np.maximum(x, slope * x), color=COLOURS["anmin"], linewidth=2)
        ax.set(xlabel="x", ylabel="σ(x)", aspect="equal", ylim=(-1.2, 3.2))
        ax.grid(alpha=0.3)

    return draw


def image(pixels: Array) -> Draw:
    def draw(ax: Axes) -> None:
        ax.imshow(pixels, cmap="gray")
        ax.axis("off")

    return draw
