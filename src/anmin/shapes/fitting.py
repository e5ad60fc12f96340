"""Networks for a shape, and how well they draw it.

    minimise  mean of (f(x) − y)² / (|y| + r/20)  +  lam · weights²,     r the radius of the shape

An error counts more where the boundary is near. There is no noise, so the penalty is next to none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from anmin import ANMINRegressor
from anmin.shapes.boundary import Array, Boundary
from anmin.shapes.sampling import MARGIN, sample

LAM = 1e-9
SOFT = 0.05  # radii: the distance at which an error counts half
ITERATIONS = 100
SECONDS = 0.1  # a unit, at most: for machines that are slow or busy
SIZES = {2: (16, 32, 64, 128), 3: (32, 64, 128, 256)}
SAMPLES, JUDGED = 40_000, 50_000  # points


@dataclass(frozen=True, slots=True)
class FittedShape:
    """A network and its quality as a shape.

    >>> from anmin.shapes import FittedShape
    >>> FittedShape(None, 64, 321, 0.004, 0.973, 1.0).words()
    '64 units, 321 numbers: 97.3 % overlap, mean error 0.40 % of the radius'
    """

    model: Any
    units: int
    numbers: int  # weights and biases
    near_error: float  # mean |f − y| within about 2 % of the boundary, in radii
    overlap: float  # volume, or area, of the intersection over that of the union
    seconds: float

    def words(self) -> str:
        """Size and error in words."""
        size = f"{self.units} units, {self.numbers:,} numbers"
        error = f"mean error {100 * self.near_error:.2f} % of the radius"
        return f"{size}: {100 * self.overlap:.1f} % overlap, {error}"


def fit_shape(
    boundary: Boundary,
    units: Sequence[int] = (),
    random_state: int = 0,
    begin: Callable[[str], object] = lambda _: None,
) -> list[FittedShape]:
    """Networks of these sizes for a shape; `begin` is told of each before its fit.

    >>> from anmin.datasets import draw_shape
    >>> from anmin.shapes import fit_shape
    >>> from anmin.shapes.pictures import outline_boundary
    >>> (small,) = fit_shape(outline_boundary(draw_shape(60)), [12])
    >>> bool(small.overlap > 0.6)
    True
    """
    X, y = sample(boundary, SAMPLES, random_state)
    weight = 1 / (np.abs(y) + SOFT * boundary.radius)
    fitted = []
    for h in units or SIZES[boundary.dimension]:
        begin(f"fitting {h} units")
        model = ANMINRegressor(
            h, lam=LAM, n_networks=1, encoding=None, max_iter=ITERATIONS,
            max_time=4 + SECONDS * h, random_state=random_state,
        )  # fmt: skip
        start = perf_counter()
        model.fit(X, y, sample_weight=weight)
        fitted.append(judged(model, boundary, random_state + 1, perf_counter() - start))
    return fitted


def judged(model: Any, boundary: Boundary, seed: int, seconds: float) -> FittedShape:
    """The quality of a model on new points."""
    rng = np.random.default_rng(seed)
    h, d = model.n_hidden_, boundary.dimension
    near = boundary.points(JUDGED // 5, rng)
    near = near + 0.02 * boundary.radius * rng.standard_normal(near.shape)
    error = np.abs(model.predict(near) - boundary.signed_distance(near)).mean()
    share = overlap(model.predict, boundary, rng)
    return FittedShape(model, h, (d + 2) * h + 1, error / boundary.radius, share, seconds)


def overlap(
    predict: Callable[[Array], Array], boundary: Boundary, rng: np.random.Generator
) -> float:
    """Intersection over union of {f < 0} and the inside, by points spread over the box."""
    P = boundary.spread(JUDGED, MARGIN, rng)
    ours, true = predict(P) < 0, boundary.inside(P)
    return float((ours & true).sum() / (ours | true).sum())
