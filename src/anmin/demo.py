"""A shape as a small network: ANMIN against scikit-learn's MLPRegressor.

    given pixels x and their signed distance y(x) to a silhouette, fit f(x) ≈ y(x)

Every method gets the same rows, the same number of hidden units and the same time limit.
MLPRegressor gets standardised X and y, and both L-BFGS and Adam, the latter at the best of six
pairs of learning rate and batch size tried on this very picture; the better of the two is drawn.
Ours runs at its defaults.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import nan
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from anmin import ANMINRegressor
from anmin.datasets import draw_shape, signed_distance
from anmin.engine import listening
from anmin.files import open_atomically

Array = NDArray[np.float64]
Share = Callable[[float], None]  # of the work that is done
Notify = Callable[[str, float], None]  # method, share of its work that is done
Steps = Iterator[tuple[float, MLPRegressor]]  # seconds so far, the network then

OURS, ADAM, LBFGS = "ANMINRegressor", "MLPRegressor, Adam", "MLPRegressor, L-BFGS"
METHODS = (OURS, ADAM, LBFGS)
COLOURS = {OURS: "#0072B2", ADAM: "#D55E00", LBFGS: "#009E73"}  # also for colour-blind readers
STYLES = {OURS: "-", ADAM: "--", LBFGS: ":"}
FORMATS = (".png", ".pdf", ".svg")


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """What every method is given; the time limit is in seconds and for each."""

    side: int = 160
    n_hidden: int = 64
    seed: int = 0
    max_time: float = 8.0


@dataclass(frozen=True, slots=True)
class DemoFit:
    """A network, how it was reached, and once it is judged its errors and its picture."""

    predict: Callable[[Array], Array]
    parameters: int
    seconds: float
    curve: Array  # (steps, 2): seconds, training MSE
    method: str = ""
    train_mse: float = nan
    test_mse: float = nan
    field: Array = field(default_factory=lambda: np.empty((0, 0)))  # (side, side)


@dataclass(frozen=True, slots=True)
class Demo:
    """The target and the fits, ours first."""

    settings: DemoSettings
    target: Array  # (side, side)
    fits: tuple[DemoFit, ...]

    @property
    def rival(self) -> DemoFit:
        """The better of the fits that are not ours."""
        return min(self.fits[1:], key=lambda fit: fit.test_mse)

    def as_dict(self) -> dict[str, Any]:
        """Settings and table, ready for JSON."""
        columns = ("method", "train_mse", "test_mse", "seconds", "parameters")
        rows = [{name: getattr(fit, name) for name in columns} for fit in self.fits]
        return {"settings": asdict(self.settings), "results": rows}


def run(settings: DemoSettings, notify: Notify) -> Demo:
    """Build the data, fit every method, and score it on the rows held out."""
    X, y = signed_distance(draw_shape(settings.side))
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.2, random_state=settings.seed
    )
    fits = []
    for method, train in TRAINERS.items():
        notify(method, 0.0)
        with threadpool_limits(1):  # the fastest for matrices as small as these, and fair
            fit = train(X_train, y_train, settings, partial(notify, method))
        notify(method, 1.0)
        train_mse = float(mean_squared_error(y_train, fit.predict(X_train)))
        test_mse = float(mean_squared_error(y_test, fit.predict(X_test)))
        image = fit.predict(X).reshape(settings.side, settings.side)
        judged = replace(fit, method=method, train_mse=train_mse, test_mse=test_mse, field=image)
        fits.append(judged)
    return Demo(settings, y.reshape(image.shape), tuple(fits))


def train_ours(X: Array, y: Array, settings: DemoSettings, notify: Share) -> DemoFit:
    """Our estimator on raw X and y, at its defaults."""
    model = ANMINRegressor(
        settings.n_hidden, max_time=settings.max_time, random_state=settings.seed
    )
    start = perf_counter()
    with listening(lambda step, _: notify(max(step.share, 1e-9))):
        model.fit(X, y)
    seconds = perf_counter() - start
    curve = np.array([(step.seconds, step.mse) for step in model.history_])
    return DemoFit(model.predict, count_parameters(model), seconds, curve)


def train_adam(X: Array, y: Array, settings: DemoSettings, notify: Share) -> DemoFit:
    """MLPRegressor's Adam, an epoch a call: this is what its `fit` does, with a clock to it."""
    mlp = MLPRegressor(
        hidden_layer_sizes=(settings.n_hidden,), random_state=settings.seed,
        learning_rate_init=0.02, batch_size=min(500, len(X)),
    )  # fmt: skip

    def steps(Z: Array, t: Array) -> Steps:
        seconds = 0.0
        while seconds < settings.max_time:
            start = perf_counter()
            mlp.partial_fit(Z, t)
            seconds += perf_counter() - start
            notify(seconds / settings.max_time)
            yield seconds, mlp

    return train_mlp(X, y, steps)


def train_lbfgs(X: Array, y: Array, settings: DemoSettings, notify: Share) -> DemoFit:
    """MLPRegressor's L-BFGS, which shows no curve: fitted afresh with ever more iterations."""

    def steps(Z: Array, t: Array) -> Steps:
        affordable, max_iter = 32, 0
        while affordable > 1.1 * max_iter:
            max_iter = min(affordable, max(2 * max_iter, 32))
            mlp = MLPRegressor(
                hidden_layer_sizes=(settings.n_hidden,), random_state=settings.seed,
                solver="lbfgs", max_iter=max_iter, tol=1e-6,
            )  # fmt: skip
            start = perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                mlp.fit(Z, t)
            seconds = perf_counter() - start
            notify(seconds / settings.max_time)
            yield seconds, mlp
            affordable = int(mlp.n_iter_ * settings.max_time / seconds)

    return train_mlp(X, y, steps)


def train_mlp(X: Array, y: Array, steps: Callable[[Array, Array], Steps]) -> DemoFit:
    """Standardise X and y, take the steps, and note the training MSE after each, off the clock."""
    x_scale, y_scale = StandardScaler().fit(X), StandardScaler().fit(y[:, None])

    def predict(mlp: MLPRegressor, X: Array) -> Array:
        return y_scale.inverse_transform(mlp.predict(x_scale.transform(X))[:, None]).ravel()

    curve = []
    for seconds, mlp in steps(x_scale.transform(X), y_scale.transform(y[:, None]).ravel()):
        curve.append((seconds, mean_squared_error(y, predict(mlp, X))))
    return DemoFit(partial(predict, mlp), count_parameters(mlp), seconds, np.array(curve))


TRAINERS = {OURS: train_ours, ADAM: train_adam, LBFGS: train_lbfgs}


def count_parameters(model: ANMINRegressor | MLPRegressor) -> int:
    """Weights and biases of both layers."""
    return sum(part.size for part in [*model.coefs_, *model.intercepts_])


def draw(demo: Demo, path: Path) -> None:
    """Write the picture: target and fits, their errors, and loss against time."""
    figure = Figure(figsize=(13, 8.4), layout="constrained")
    axes = figure.subplots(2, 3)
    shown = (demo.fits[0], demo.rival)
    fields = {"Target: signed distance of a shape": demo.target}
    fields |= {
        f"{fit.method}\ntest MSE {fit.test_mse:.2f} after {fit.seconds:.1f} s": fit.field
        for fit in shown
    }
    errors = {f"Error of {fit.method}": fit.field - demo.target for fit in shown}
    draw_maps(axes[0], fields, "pixels, negative inside")
    draw_maps(axes[1, 1:], errors, "fit − target, pixels")
    draw_outlines(axes[0], fields, demo.target)
    draw_curves(axes[1, 0], demo.fits)
    side, n_hidden = demo.settings.side, demo.settings.n_hidden
    figure.suptitle(
        f"{side} × {side} pixels in a network of {n_hidden} hidden units, "
        f"{shown[0].parameters} numbers (a fifth of the pixels held out)"
    )
    with open_atomically(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=110)


def draw_maps(axes: NDArray[Any], maps: dict[str, Array], label: str) -> None:
    """Maps side by side on one colour scale, white at zero."""
    limit = np.quantile(np.abs(list(maps.values())), 0.998)
    for axis, (title, values) in zip(axes, maps.items(), strict=True):
        image = axis.imshow(values, cmap="PuOr_r", vmin=-limit, vmax=limit)
        axis.set(title=title, xticks=[], yticks=[])
    axes[-1].figure.colorbar(image, ax=list(axes), label=label, extend="both", aspect=25)


def draw_outlines(axes: NDArray[Any], maps: dict[str, Array], target: Array) -> None:
    """The zero level set of each map, over the outline of the shape."""
    sky, black = ("#56B4E9", 3.0), ("black", 1.2)
    for axis, values in zip(axes, maps.values(), strict=True):
        for level, (colour, width) in ((target, sky), (values, black)):
            axis.contour(level, levels=[0], colors=colour, linewidths=width)
    lines = [Line2D([], [], color=colour, linewidth=width) for colour, width in (sky, black)]
    axes[0].legend(lines, ["true outline", "zero level set"], loc="upper right", fontsize="small")


def draw_curves(axis: Axes, fits: tuple[DemoFit, ...]) -> None:
    """Training MSE against seconds; a dot is the network that was returned."""
    for fit in fits:
        colour = COLOURS[fit.method]
        axis.plot(*fit.curve.T, STYLES[fit.method], color=colour, label=fit.method)
        axis.plot(fit.seconds, fit.train_mse, "o", color=colour)
    axis.set(xscale="log", yscale="log", xlabel="seconds", ylabel="training MSE, pixels²")
    axis.set_title("Loss against time (dot: network returned)")
    axis.grid(which="both", alpha=0.25)
    axis.set_ylim(top=5 * axis.get_ylim()[1])  # room for the legend
    axis.legend(loc="upper right")
