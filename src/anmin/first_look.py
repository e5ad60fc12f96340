"""The numbers of Huber's loss, by what a first network makes of rows that it has not seen.

With r = y − f on these rows, and c the median of y,

    delta = 1.35 s               s a robust deviation of r
    far   = 1.5 max |y − c|      over rows with |r| ≤ max(|y − c| / 2, 3 s): those it explains

An outlier pulls no harder than other rows, but that suffices for networks that have room to spare:
they follow it. So what lies further from c than all that can be explained has no say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anmin import checks
from anmin.engine import unheard
from anmin.losses import Huber
from anmin.losses.loss import spread
from anmin.sources import RawSource
from anmin.sources.draws import draw

BEND, NOISE = 1.35, 3.0  # robust deviations: where the loss becomes straight; that explain a row
HALF, REACH = 0.5, 1.5
STEPS = 200  # of the network, where seconds may not count
ROWS, FIFTH = 8000, 5  # that are looked at, every fifth of them by a network of the others


def first_look(network: Any, rows: RawSource) -> Huber:
    """Huber's loss for rows, by a network that is still to be fitted to some of them."""
    n = rows.tally()[0]
    some = rows.gather(draw(n, min(n, ROWS), np.random.RandomState(0))).chunk
    apart = np.arange(len(some)) % FIFTH == FIFTH - 1
    fit, judge = (some.select(np.flatnonzero(part)) for part in (~apart, apart))
    if not len(judge):
        return Huber(BEND)
    with unheard():
        network.fit(fit.X, fit.Y, fit.w)
    if network.report().status == "interrupted":
        raise KeyboardInterrupt  # nothing of the fit itself is there yet
    f = network.predict(judge.X).reshape(judge.Y.shape)
    w = np.ones(len(judge)) if judge.w is None else judge.w
    c = Huber().start(judge.Y, w)
    r, size = judge.Y - f, abs(judge.Y - c)
    s = spread(r, w)
    explained = abs(r) <= np.maximum(HALF * size, NOISE * s)
    return Huber(BEND * s, REACH * float(size[explained].max(initial=s)), tuple(c.tolist()))


def first_network(kind: Callable[..., Any], model: Any) -> Any:
    """One network of least absolute error, still to be fitted, in a fifth of the model's time.

    With a checkpoint, which has to find the same again, in some iterations instead.
    """
    most, max_time, max_iter = model.connections, model.max_time, None
    most = int(np.sum(most, axis=0).max()) if np.ndim(most) else most  # of a mask, its largest
    if max_time is not None:
        max_time = checks.real_number("max_time", max_time, least=0.0) / 5
        if model.checkpoint is not None:
            max_time, max_iter = None, STEPS
    return kind(
        64, loss="absolute_error", slope=model.slope, cv=1, random_state=0, n_networks=1,
        encoding=None, connections=most, max_time=max_time, max_iter=max_iter,
        n_jobs=model.n_jobs,
    )  # fmt: skip
