"""The figures of the paper, each a row of panels, as PNG and SVG.

A panel is a picture of its own, so that a page can set three side by side on a desk and one below
the other on a phone.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from anmin.files import write_atomically
from paper import panels
from paper.data import CASES
from paper.methods import LANDSCAPE, METHODS
from paper.panels import Draw
from paper.plan import title
from paper.record import Folder, Record
from paper.summary import Results

STYLE: Any = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11.0,
    "axes.titley": 1.0,  # where it would go anyway, without the search
    "font.size": 10.0,
    "legend.fontsize": 8.0,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.75,
    "svg.fonttype": "none",
}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SIZE, DPI = (4.6, 3.3), 130
RIVALS = {"adam": 4, "sgd": 5, "lbfgs": 6}  # method → number of the figure


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: the name of its files, its title, and how it is drawn."""

    name: str
    title: str
    draw: Draw


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A figure: panels with one caption."""

    name: str
    title: str
    caption: str
    panels: list[Panel]
    pairs: bool = False  # whether the panels belong together two by two


def all_figures(results: Results, folder: Folder) -> list[Exhibit]:
    """Every figure for which there are runs."""
    figures = [activations(), pictures(folder), blow_up(results)]
    figures += [against(results, rival, number) for rival, number in RIVALS.items()]
    figures += [*simulations(results), jumps(results), *diagnoses(results)]
    return [figure for figure in figures if figure.panels]


def activations() -> Exhibit:
    slopes = {"leaky ReLU, slope 0.1": 0.1, "ReLU": 0.0}
    shown = [
        Panel(f"figure1-{k}", name, panels.activation(slope))
        for k, (name, slope) in enumerate(slopes.items())
    ]
    return Exhibit("figure1", "Figure 1. The activation functions", "", shown)


def pictures(folder: Folder) -> Exhibit:
    names = {"shape": "The shape whose signed distance is learnt", "image": "The image of the DAE"}
    shown = [
        Panel(f"figure2-{name}", words, panels.image(found))
        for name, words in names.items()
        if (found := folder.picture(name)) is not None
    ]
    caption = "Both put together again from the data: the pixels with negative distance, and the "
    caption += "mean of the patches that overlap."
    return Exhibit("figure2", "Figure 2. The shape and the image", caption, shown)


def blow_up(results: Results) -> Exhibit:
    runs = results.of("abalone", "lbfgs")
    kinds = {"At each step": False, "Lowest so far": True}
    shown = [
        Panel(f"figure3-{k}", name, panels.every_step(runs, "lbfgs", "step", lowest))
        for k, (name, lowest) in enumerate(kinds.items())
        if runs
    ]
    caption = "Training MSE of LBFGS without a line search, every split. A line ends where the "
    caption += "weights are no longer finite."
    return Exhibit("figure3", "Figure 3. LBFGS on abalone blows up", caption, shown)


def against(results: Results, rival: str, number: int) -> Exhibit:
    """MSE and R² against time, a rival and ANMIN."""
    shown = []
    for data in CASES:
        runs = {m: results.of(data, m) for m in (rival, "anmin") if results.has(data, m)}
        if rival in runs:
            shown += [
                Panel(f"figure{number}-{data}-{measure}", title(data), draw)
                for measure in panels.LABELS
                for draw in [panels.against_time(runs, measure)]
            ]
    name = METHODS[rival].title
    return Exhibit(
        f"figure{number}",
        f"Figure {number}. {name} and ANMIN against time",
        "Thin: training, every split. Thick: the mean on the test rows with one deviation; for "
        "ANMIN and LBFGS that of the network with the lowest training loss so far.",
        shown,
        pairs=True,
    )


def simulations(results: Results) -> Iterator[Exhibit]:
    names = sorted(
        {data for data, _ in results.runs if data.startswith("sin-")},
        key=lambda name: [int(part[1:]) for part in name.split("-")[1:]],
    )
    runs = {
        data: {m: results.of(data, m) for m in ("adam", "anmin") if results.has(data, m)}
        for data in names
    }
    curves = [Panel(f"figure7-{d}", title(d), panels.passes(runs[d])) for d in names]
    ranks = [Panel(f"figure8-{d}", title(d), panels.sorted_runs(runs[d])) for d in names]
    yield Exhibit(
        "figure7",
        "Figure 7. Simulations: y = sin ‖x‖²",
        "Training MSE of every run. A pass is an epoch of Adam or an iteration of ANMIN.",
        curves,
    )
    yield Exhibit(
        "figure8",
        "Figure 8. Simulations: final errors, sorted",
        "The runs of each method in decreasing order of their test MSE.",
        ranks,
    )


def jumps(results: Results) -> Exhibit:
    shown = []
    for data in ("sdf", "bike"):
        for words, lowest in (("each iteration", False), ("lowest so far", True)):
            if runs := results.of(data, "anmin"):
                draw = panels.every_step(runs, "anmin", "seconds", lowest)
                name = f"figure9-{data}-{'lowest' if lowest else 'each'}"
                shown.append(Panel(name, f"{title(data)}, {words}", draw))
    caption = "Training MSE of ANMIN against time, every split."
    words = "Figure 9. The loss jumps, its minimum falls"
    return Exhibit("figure9", words, caption, shown, pairs=True)


def diagnoses(results: Results) -> Iterator[Exhibit]:
    """Log-determinants as in the paper, and condition numbers, which it only mentions."""
    numbers = {("logdet", "anmin"): 10, ("logdet", "anmin-l"): 11,
               ("condition", "anmin"): 12, ("condition", "anmin-l"): 13}  # fmt: skip
    words = {"logdet": "ln |M + λI|", "condition": "Condition number of M + λI"}
    for (name, method), number in numbers.items():
        shown = []
        for data in CASES:
            runs = results.of(data, LANDSCAPE[method]) or results.of(data, method)
            if is_known(runs, name):
                draw = panels.diagnosed(runs, name)
                shown.append(Panel(f"figure{number}-{data}", title(data), draw))
        network = "ReLU" if method == "anmin" else "leaky ReLU"
        yield Exhibit(
            f"figure{number}",
            f"Figure {number}. {words[name]}, {network}",
            "Against the iteration, every split, with M as a mean over the rows (Eq. 7). Where M "
            "is too large to form at every iteration, at a few of them and on one split."
            + ("" if name == "logdet" else " Not drawn in the paper; estimated in the 1-norm."),
            shown,
        )


def is_known(runs: list[Record], name: str) -> bool:
    """Whether a column has a number in any of the runs."""
    return any(np.isfinite(panels.column(run, name)).any() for run in runs)


class PlainMinor(LogFormatter):
    """Labels between the powers of ten where there is room, in plain text."""

    def __call__(self, value: float, position: int | None = None) -> str:
        return f"{value:g}" if super().__call__(value, position) else ""


def plain_power(value: float) -> str:
    """A power of ten as plain text, which is drawn much sooner than a formula.

    >>> plain_power(0.1), plain_power(1000.0), plain_power(1e26)
    ('0.1', '1000', '10²⁶')
    """
    exponent = round(np.log10(value))
    if -3 < exponent < 5:
        return f"{value:g}"
    return "10" + str(exponent).translate(SUPERSCRIPT)


def save_panel(panel: Panel, folder: Path) -> bytes:
    """Write NAME.png and NAME.svg; returns the PNG."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=SIZE)
        axes = figure.add_axes((0.18, 0.15, 0.78, 0.75))
        panel.draw(axes)
        axes.set_title(panel.title)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                axis.set_major_formatter(lambda value, _: plain_power(value))
                axis.set_minor_formatter(PlainMinor(minor_thresholds=(1.5, 0.5)))
        for suffix in ("svg", "png"):
            file = io.BytesIO()
            figure.savefig(file, format=suffix, dpi=DPI)
            write_atomically(folder / f"{panel.name}.{suffix}", file.getvalue())
    return file.getvalue()
