"""Shares of models in a mean, by their predictions for rows held out.

With F the predictions of m models, one column each, the squared error of their weighted mean Fw is
yᵀy − 2 wᵀFᵀy + wᵀFᵀFw: small sums, which add over rows and parts, are all that is needed. Of a loss
that is not quadratic they are those of the quadratic that touches it at some w, and a few turns
lead to the best shares: Newton's method again, on a simplex.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from scipy.optimize import nnls

from anmin.backends import Array, Backend
from anmin.network import Network
from anmin.objective import SQUARED_ERROR, Objective
from anmin.solvers.problem import Problem
from anmin.sources import Batch, Source
from anmin.sums.output import hidden_outputs
from anmin.sums.patterns import Sums

SLIGHT = 0.05  # share below which a model is left out
DOUBT = 2.0  # standard errors, that networks must be better by than the simplest models
TURNS, HALVINGS = 8, 5
SETTLED = 1e-5  # of the loss


@dataclass(frozen=True, slots=True)
class Products(Sums):
    """Products of predictions with each other and with the targets, over rows and outputs."""

    FtF: Array  # (m, m)
    FtY: Array  # (m,)
    YtY: float
    n: float

    def error(self, w: Array) -> float:
        """The squared error of the mean with shares w; rounding leaves nothing below 0."""
        return max(self.YtY - 2 * float(w @ self.FtY) + float(w @ self.FtF @ w), 0.0)


@dataclass(frozen=True, slots=True)
class PredictionPass:
    """The products of the predictions of m networks that stand side by side."""

    A: Array  # (p, H)
    W: Array  # (H + 1, m q): output weights of each network, zero for the units of others
    slope: float
    objective: Objective = SQUARED_ERROR
    shares: Array | None = None  # (m,): where a loss that is not quadratic is looked at

    def __call__(self, backend: Backend, batch: Batch) -> Products:
        def part(rows: slice) -> Products:
            X, Y = backend.double(batch.X[rows]), backend.double(batch.Y[rows])
            F = hidden_outputs(backend, X, X @ self.A, self.slope) @ self.W
            (k, q), n = Y.shape, float(X[:, 0] @ X[:, 0])
            F = F.reshape(k, -1, q).swapaxes(1, 2).reshape(k * q, -1)
            if self.shares is not None:
                return self.working(backend.double(self.shares), F, Y, X[:, :1])
            y = Y.reshape(-1)
            return Products(F.T @ F, F.T @ y, float(y @ y), n)

        return backend.sum_over_blocks(part, len(batch))

    def working(self, w: Array, F: Array, Y: Array, root: Array) -> Products:
        """FᵀVF, Fᵀ(VFw + R) and the value at the shares w."""
        f = (F @ w).reshape(Y.shape)
        value, R, V = self.objective.terms(Y, f, root)
        VF = V.reshape(-1, 1) * F
        return Products(VF.T @ F, F.T @ (V * f + R).reshape(-1), value, float((root * root).sum()))


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Networks, and the rows that none of them has seen."""

    source: Source
    networks: PredictionPass

    def at(self, shares: np.ndarray | None) -> Products:
        at = None if shares is None else self.source.backend.double(shares)
        found = self.source.reduce(replace(self.networks, shares=at))
        FtF, FtY = (self.source.backend.to_numpy(V) for V in (found.FtF, found.FtY))
        return replace(found, FtF=FtF, FtY=FtY)

    def loss(self, shares: np.ndarray) -> float:
        """The loss of given shares on these rows."""
        squares = self.networks.objective.least_squares
        return self.at(None).error(shares) if squares else self.at(shares).YtY


def best_shares(parts: list[HeldOut], alone: bool, doubt: bool = True) -> np.ndarray:
    """The shares of least loss over the rows of all parts.

    Where one model is to stand alone, the best of them has it all. With `doubt` a gain in squared
    error that chance explains is none: then the last model, the simplest, shares with the mean.
    """

    def at(shares: np.ndarray | None) -> Products:
        return reduce(add, [part.at(shares) for part in parts])

    if parts[0].networks.objective.least_squares:
        total = at(None)
        choose = best_alone if alone else simplex
        w, simple = choose(total.FtF, total.FtY), np.zeros(len(total.FtY))
        simple[-1:] = choose(total.FtF[-1:, -1:], total.FtY[-1:])
        rows = sum(part.source.raw.groups().count * part.source.shape[2] for part in parts)
        if doubt and gain(total, w, simple, rows) < DOUBT:
            w = simple
        return w
    m = parts[0].networks.W.shape[1] // parts[0].source.shape[2]
    corners = [*np.eye(m), np.zeros(m)]
    losses = [at(corner).YtY for corner in corners]
    best = int(np.argmin(losses))
    return corners[best] if alone else descend_simplex(at, corners[best])


def gain(total: Products, w: np.ndarray, simple: np.ndarray, rows: int) -> float:
    """How much less error w has than `simple`, in standard errors of that difference.

    Where y is noise about both, of variance σ², the variance of the difference is 4σ² Σ(f − g)².
    Copies of a row are one row here, so that repeating and weighting rows come to the same.
    """
    step = w - simple
    apart, error = float(step @ total.FtF @ step), total.error(simple)
    return (error - total.error(w)) / max(2 * (error / rows * apart) ** 0.5, 1e-300)


def descend_simplex(at: Callable[[np.ndarray], Products], w: np.ndarray) -> np.ndarray:
    """Shares w that no quadratic improves on, each turn no worse than the one before."""
    here = at(w)
    for _ in range(TURNS):
        new = simplex(here.FtF, here.FtY)
        for _ in range(HALVINGS):
            there = at(new)
            if there.YtY < here.YtY:
                break
            new = (w + new) / 2
        else:
            break
        gain, w, here = here.YtY - there.YtY, new, there
        if gain <= SETTLED * here.YtY:
            break
    return w


def side_by_side(problem: Problem, networks: list[Network]) -> PredictionPass:
    A, q, at = np.hstack([net.A for net in networks]), len(networks[0].b0), 0
    W = np.zeros((A.shape[1] + 1, len(networks) * q))
    for k, net in enumerate(networks):
        own, units = slice(k * q, k * q + q), slice(at, at + len(net.B))
        W[units, own], W[-1, own], at = net.B, net.b0, units.stop
    double = problem.backend.double
    return PredictionPass(double(A), double(W), problem.slope, problem.objective)


def best_alone(FtF: np.ndarray, FtY: np.ndarray) -> np.ndarray:
    """All for the model of the least error, or nothing for any where the mean is better."""
    error = FtF.diagonal() - 2 * FtY
    best = int(error.argmin())
    return np.eye(len(FtY))[best] * (error[best] < 0)


def simplex(FtF: np.ndarray, FtY: np.ndarray) -> np.ndarray:
    """w ≥ 0 with sum at most 1 that minimises wᵀFᵀFw − 2wᵀFᵀy; slight shares go to the others.

    What is missing to 1 is the share of the mean, which predicts 0.
    """
    size = np.trace(FtF) / len(FtF) or 1.0
    L = np.linalg.cholesky(FtF / size + 1e-10 * np.eye(len(FtF)))
    c = np.linalg.solve(L, FtY / size)
    active = np.ones(len(FtY), dtype=bool)
    for _ in range(2):
        M = np.vstack([L.T[:, active], np.zeros((1, active.sum()))])
        w = np.zeros(len(FtY))
        w[active] = nnls(M, np.append(c, 0.0))[0]
        if w.sum() > 1:  # on the boundary: a heavy row holds the sum
            M[-1] = 1e4
            w[active] = nnls(M, np.append(c, 1e4))[0]
            w /= w.sum()
        active = w >= SLIGHT
        if not active.any():
            return np.zeros(len(FtY))
    return w
