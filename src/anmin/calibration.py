"""Quantiles that hold as many new rows as they should.

A network has come closer to the rows that it was fitted to than to others, and an average of
networks is not where each of them is: of new rows too many or too few lie below a quantile. So some
rows take no part in the fit, and each output is shifted by its quantile of y − f(x) on them. Of m
such rows and a new one each order is as likely: the new one lies below with the probability that
was asked for, up to 1 / m, whatever the noise and the network are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anmin.conformal import inputs_of
from anmin.history import Fit
from anmin.losses import Loss
from anmin.solvers import Problem
from anmin.solvers.members import looked_at
from anmin.sources import Chunk, RawSource

FOR_SHIFT, LEAST = 0.1, 100  # of the rows, and how many of them are worth taking out of the fit


def worth_a_shift(loss: Loss, rows: RawSource) -> bool:
    """Whether outputs are to be shifted, and there are the rows to say by how much."""
    return loss.shifted and FOR_SHIFT * rows.tally()[0] >= LEAST


def shifted(loss: Loss, apart: Chunk, problem: Problem, fit: Fit) -> Fit:
    """The fit with outputs that hold as many of the rows kept apart as the loss asks for."""
    scaling, units = problem.source.scaling, problem.units
    f = fit.network.forward(inputs_of(apart, scaling)) + scaling.y_mean
    w = np.ones(len(apart)) if apart.w is None else apart.w
    network = replace(fit.network, b0=fit.network.b0 + loss.shift(apart.Y, f, w))
    point = looked_at(problem, network.scaled(1 / units.y)).point
    return replace(fit, network=network, loss=point.loss * units.loss)
