"""A shape as a small network: ANMIN against scikit-learn's MLPRegressor.

    given pixels x and their signed distance y(x) to a silhouette, fit f(x) ≈ y(x)

Both methods get the same rows, the same number of hidden units and the same time limit.
MLPRegressor gets standardised X and y, and Adam at the best of six pairs of learning rate and batch
size tried on this very picture. Ours runs at its defaults.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from anmin import ANMINRegressor
from anmin.datasets import draw_shape, signed_distance
from anmin.files import open_atomically

Array = NDArray[np.float64]
Trained = tuple[Callable[[Array], Array], int, float, Array]  # predict, parameters, seconds, curve

OURS, ADAM = "ANMINRegressor", "MLPRegressor, Adam"
METHODS = (OURS, ADAM)
COLOURS = {OURS: "#0072B2", ADAM: "#D55E00"}  # also for colour-blind readers
FORMATS = (".png", ".pdf", ".svg")


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """What both methods are given; the time limit is in seconds and for each."""

    side: int = 160
    n_hidden: int = 64
    seed: int = 0
    max_time: float = 8.0


@dataclass(frozen=True, slots=True)
class DemoFit:
    """A network: its errors, its cost, how it was reached, and what it draws."""

    method: str
    train_mse: float
    test_mse: float
    seconds: float
    parameters: int
    curve: Array  # (steps, 2): seconds, training MSE
    field: Array  # (side, side)


@dataclass(frozen=True, slots=True)
class Demo:
    """The target and the fits, ours first."""

    settings: DemoSettings
    target: Array  # (side, side)
    fits: tuple[DemoFit, ...]

    def as_dict(self) -> dict[str, Any]:
        """Settings and table, ready for JSON."""
        columns = ("method", "train_mse", "test_mse", "seconds", "parameters")
        rows = [{name: getattr(fit, name) for name in columns} for fit in self.fits]
        return {"settings": asdict(self.settings), "results": rows}


def run(settings: DemoSettings, begin: Callable[[str], object]) -> Demo:
    """Build the data, fit both methods, and score them on the rows held out.

    `begin` is told the name of each method before its fit.
    """
    X, y = signed_distance(draw_shape(settings.side))
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.2, random_state=settings.seed
    )
    shape, fits = (settings.side, settings.side), []
    for method, train in ((OURS, train_ours), (ADAM, train_adam)):
        begin(method)
        with threadpool_limits(1):  # the fastest for matrices as small as these, and fair
            predict, size, seconds, curve = train(X_train, y_train, settings)
        train_mse = float(mean_squared_error(y_train, predict(X_train)))
        test_mse = float(mean_squared_error(y_test, predict(X_test)))
        field = predict(X).reshape(shape)
        fits.append(DemoFit(method, train_mse, test_mse, seconds, size, curve, field))
    return Demo(settings, y.reshape(shape), tuple(fits))


def train_ours(X: Array, y: Array, settings: DemoSettings) -> Trained:
    """Our estimator on raw X and y: one network of that size, as the others."""
    model = ANMINRegressor(
        settings.n_hidden, max_time=settings.max_time, n_networks=1, encoding=None,
        random_state=settings.seed,
    )  # fmt: skip
    start = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - start
    curve = np.array([(step.seconds, step.mse) for step in model.history_])
    return model.predict, count_parameters(model), seconds, curve


def train_adam(X: Array, y: Array, settings: DemoSettings) -> Trained:
    """MLPRegressor's Adam, an epoch a call: this is what its `fit` does, with a clock to it."""
    x_scale, y_scale = StandardScaler().fit(X), StandardScaler().fit(y[:, None])
    Z, t = x_scale.transform(X), y_scale.transform(y[:, None]).ravel()
    mlp = MLPRegressor(
        hidden_layer_sizes=(settings.n_hidden,), random_state=settings.seed,
        learning_rate_init=0.02, batch_size=min(500, len(X)),
    )  # fmt: skip

    def predict(X: Array) -> Array:
        return y_scale.inverse_transform(mlp.predict(x_scale.transform(X))[:, None]).ravel()

    seconds, curve = 0.0, []
    while seconds < settings.max_time:
        start = perf_counter()
        mlp.partial_fit(Z, t)
        seconds += perf_counter() - start
        curve.append((seconds, mean_squared_error(y, predict(X))))
    return predict, count_parameters(mlp), seconds, np.array(curve)


def count_parameters(model: ANMINRegressor | MLPRegressor) -> int:
    """Weights and biases of both layers."""
    return sum(part.size for part in [*model.coefs_, *model.intercepts_])


def draw(demo: Demo, path: Path) -> None:
    """Write the picture: the target, what each network draws, and loss against time."""
    figure = Figure(figsize=(10, 8.4), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    fields = {"Target: signed distance of a shape": demo.target}
    fields |= {
        f"{fit.method}\ntest MSE {fit.test_mse:.2f} after {fit.seconds:.1f} s": fit.field
        for fit in demo.fits
    }
    draw_maps(axes[:3], fields, demo.target)
    draw_curves(axes[3], demo.fits)
    side, n_hidden = demo.settings.side, demo.settings.n_hidden
    figure.suptitle(
        f"{side} × {side} pixels in a network of {n_hidden} hidden units, "
        f"{demo.fits[0].parameters} numbers (a fifth of the pixels held out)"
    )
    with open_atomically(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=110)


def draw_maps(axes: NDArray[Any], maps: dict[str, Array], target: Array) -> None:
    """Maps on one colour scale, white at zero, with their zero level sets over the outline."""
    limit = np.quantile(np.abs(list(maps.values())), 0.998)
    sky, black = ("#56B4E9", 3.0), ("black", 1.2)
    for axis, (title, values) in zip(axes, maps.items(), strict=True):
        image = axis.imshow(values, cmap="PuOr_r", vmin=-limit, vmax=limit)
        axis.set(title=title, xticks=[], yticks=[])
        for level, (colour, width) in ((target, sky), (values, black)):
            axis.contour(level, levels=[0], colors=colour, linewidths=width)
    lines = [Line2D([], [], color=colour, linewidth=width) for colour, width in (sky, black)]
    axes[0].legend(lines, ["true outline", "zero level set"], loc="upper right", fontsize="small")
    label = "pixels, negative inside"
    axes[0].figure.colorbar(image, ax=axes[1], label=label, extend="both", aspect=25)


def draw_curves(axis: Axes, fits: tuple[DemoFit, ...]) -> None:
    """Training MSE against seconds; a dot is the network that was returned."""
    for fit in fits:
        axis.plot(*fit.curve.T, color=COLOURS[fit.method], label=fit.method)
        axis.plot(fit.seconds, fit.train_mse, "o", color=COLOURS[fit.method])
    axis.set(xscale="log", yscale="log", xlabel="seconds", ylabel="training MSE, pixels²")
    axis.set_title("Loss against time (dot: network returned)")
    axis.grid(which="both", alpha=0.25)
    axis.legend(loc="upper right")
