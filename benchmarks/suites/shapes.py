"""Quality against size: shapes as networks of ours and as networks trained by Adam.

    spot fandisk   NAME.obj in the folder ANMIN_SHAPES
    horse          the paper's, from ANMIN_DATA or the cache
    cat            drawn in code

Judged by points that no method saw: volume (or area) of the intersection over the union, mean
|f − y| within about 2 % of the boundary, and the chamfer distance, the mean of both ways between
the zero set and the boundary; the last two in per cent of the radius.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from skimage.measure import find_contours, marching_cubes

from anmin import ANMINRegressor
from anmin.datasets import draw_shape
from anmin.shapes import Boundary, ShapeError, read_shape
from anmin.shapes.fitting import ITERATIONS, LAM, SOFT, overlap
from anmin.shapes.isosurface import on_zero_set, shape_grid
from anmin.shapes.pictures import outline_boundary, polygons
from anmin.shapes.sampling import MARGIN, sample
from anmin.shapes.webpage import reach
from benchmarks.record import Record, SkippedError
from benchmarks.runner import say
from benchmarks.suites import Settings
from benchmarks.table import show
from paper.data import load_rows

CASES = ("spot", "fandisk", "horse", "cat")
SIZES = {2: (16, 32, 64, 128, 256), 3: (32, 64, 128, 256, 512)}
MATCHED = {2: 128, 3: 256}  # units at which the rivals run
RIVALS = (("adam-two-layer", 10.0), ("adam-deep", 1.0), ("adam-deep", 10.0))  # times our time
GRID, POINTS = 96, 20_000

Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Job:
    """A shape, its rows and their weights."""

    case: str
    boundary: Boundary
    X: np.ndarray
    y: np.ndarray
    w: np.ndarray


def load(case: str, quick: bool) -> Job:
    if case == "cat":
        boundary = outline_boundary(draw_shape(160))
    elif case == "horse":
        _, y = load_rows("sdf", download_if_missing=False)
        boundary = outline_boundary(y.reshape(232, 315) < 0)
    else:
        folder = os.environ.get("ANMIN_SHAPES")
        if not folder:
            raise FileNotFoundError("Set ANMIN_SHAPES to the folder with NAME.obj; it is not set.")
        boundary = read_shape(Path(folder, f"{case}.obj"))
    X, y = sample(boundary, 4000 if quick else 40_000, 0)
    return Job(case, boundary, X, y, 1 / (np.abs(y) + SOFT * boundary.radius))


def ours(job: Job, h: int, quick: bool) -> tuple[Predict, float, int]:
    model = ANMINRegressor(
        h, lam=LAM, n_networks=1, encoding=None, max_iter=5 if quick else ITERATIONS,
        random_state=0,
    )  # fmt: skip
    begin = time.perf_counter()
    model.fit(job.X, job.y, sample_weight=job.w)
    seconds = time.perf_counter() - begin
    return model.predict, seconds, sum(W.size for W in [*model.coefs_, *model.intercepts_])


def rival(job: Job, name: str, h: int, seconds: float) -> tuple[Predict, float, int]:
    try:
        from benchmarks.rivals import torch_shapes as rivals
    except ModuleNotFoundError as error:
        raise SkippedError(f"{name} needs {error.name}, which is not installed") from error
    make = rivals.two_layers if name == "adam-two-layer" else rivals.deep
    b = job.boundary
    Z = (job.X - b.centre) / b.radius
    net = rivals.adam(lambda: make(b.dimension, h), Z, job.y / b.radius, job.w, seconds)
    return rivals.predictor(net, b.centre, b.radius), seconds, rivals.count(net)


# ---- judging ------------------------------------------------------------------------------------


def judge(job: Job, predict: Predict, quick: bool) -> Record:
    b, rng = job.boundary, np.random.default_rng(1)
    near = b.points(POINTS, rng)
    near = near + 0.02 * b.radius * rng.standard_normal(near.shape)
    error = np.abs(predict(near) - b.signed_distance(near)).mean()
    inside = overlap(predict, b, rng)
    return {
        "iou": inside,
        "near_error": 100 * float(error) / b.radius,
        "chamfer": chamfer(b, predict, 32 if quick else GRID),
    }


def chamfer(b: Boundary, predict: Predict, cells: int) -> float | None:
    """Mean distance from the zero set to the boundary and back, in per cent of the radius."""
    try:
        zero_set = surface(predict, b, cells)
    except ShapeError:
        return None
    rng = np.random.default_rng(2)
    there = np.abs(b.signed_distance(zero_set.points(POINTS, rng))).mean()
    back = np.abs(zero_set.signed_distance(b.points(POINTS, rng))).mean()
    return 100 * float(there + back) / 2 / b.radius


def surface(predict: Predict, b: Boundary, cells: int) -> Boundary:
    """The zero set of any function near a boundary."""
    box = b.box(0.3)
    if b.dimension == 3:
        network = SimpleNamespace(forward=lambda X: predict(X)[:, None])
        axes, field = shape_grid(network, box, cells)
        places, faces, _, _ = marching_cubes(field, 0.0, gradient_direction="descent")
        return Boundary(on_zero_set(network, places.astype(float), axes), faces)
    axes = [np.linspace(low, high, 4 * cells) for low, high in box.T]
    x, y = np.meshgrid(*axes, indexing="ij")
    field = predict(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    step = (box[1] - box[0]) / (4 * cells - 1)
    return polygons([box[0] + loop[:-1] * step for loop in find_contours(field, 0.0)])


def evaluations(b: Boundary, predict: Predict, side: int = 120) -> float | None:
    """How often the page evaluates a network for a pixel, in the mean over a picture of a solid.

    The steps of the shader of `shape.html`, for all rays at once: sphere tracing from where a ray
    enters the box, and where it hits, eight halvings and a gradient, which costs as much as f.
    """
    if b.dimension == 2:
        return 1.0
    (yaw, pitch), (low, high) = (0.6, 0.35), b.box(MARGIN)
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    right, up = np.array([cy, 0, -sy]), np.array([-sy * sp, cp, -cy * sp])
    away = -np.array([sy * cp, sp, cy * cp])
    u, v = np.meshgrid(*[np.linspace(-1, 1, side) * reach(b) * b.radius] * 2)
    origin = b.centre + u.reshape(-1, 1) * right + v.reshape(-1, 1) * up - 4 * b.radius * away
    near, far = np.sort([(low - origin) / away, (high - origin) / away], axis=0)
    t, end = near.max(axis=1), far.min(axis=1)
    spent, active = np.zeros(len(t)), np.flatnonzero(t < end)
    for _ in range(160):
        f = predict(origin[active] + t[active, None] * away)
        spent[active] += 1
        spent[active[f < 0]] += 9
        t[active] += np.maximum(0.8 * f, 0.004 * b.radius)
        active = active[(f >= 0) & (t[active] < end[active])]
        if not len(active):
            break
    return float(spent.mean())


# ---- the suite ----------------------------------------------------------------------------------


def shapes(settings: Settings) -> None:
    """Ours at several sizes, and Adam's at one of them for a multiple of our time."""
    wanted = settings.methods
    for case in settings.cases or CASES:
        job = load(case, settings.quick)
        d = job.boundary.dimension
        sizes: Sequence[int] = (16, 32) if settings.quick else SIZES[d]
        matched = sizes[-1] if settings.quick else MATCHED[d]
        for h in sizes:
            predict, seconds, numbers = ours(job, h, settings.quick)
            note(settings, job, "anmin", h, predict, seconds, numbers)
            for name, times in RIVALS if h == matched else ():
                if wanted is None or name in wanted:
                    found = rival(job, name, h, times * seconds)
                    note(settings, job, f"{name}-{times:g}x", h, *found)
    header = ["case", "method", "units", "numbers", "seconds", "IoU", "near error %", "chamfer %",
              "evaluations a pixel"]  # fmt: skip
    keys = ("case", "method", "h", "numbers", "seconds", "iou", "near_error", "chamfer",
            "evaluations")  # fmt: skip
    show("Shapes as networks", header, [[r[k] for k in keys] for r in settings.results.records])


def note(
    settings: Settings, job: Job, method: str, h: int, predict: Predict, seconds: float,
    numbers: int,
) -> None:  # fmt: skip
    record = {"case": job.case, "method": method, "seed": 0, "h": h, "numbers": numbers}
    record |= {"seconds": seconds, **judge(job, predict, settings.quick)}
    record["evaluations"] = evaluations(job.boundary, predict, 30 if settings.quick else 120)
    settings.results.add(record)
    say(f"{job.case} {method} {h}: {seconds:.1f} s, IoU {record['iou']:.4f}")
