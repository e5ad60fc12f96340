"""Trees on the rows of a problem: rules, a view of the inputs at their thresholds, a first layer.

Rules are candidates wherever units are drawn. Those of trees that are grown here come from the rows
that a path is walked on alone, so that held-out rows say what they are worth; only the thresholds
that the view cuts inputs at come from all rows, as quantiles do.
"""

from __future__ import annotations

import numpy as np

from anmin.solvers.hyperplanes import hyperplanes
from anmin.solvers.problem import Problem
from anmin.solvers.relocate import CPU, sample_rows
from anmin.solvers.views import LAST, STEPS, View
from anmin.sources.draws import draw
from anmin.starts import Rules, TreeStart

ROWS = 20_000  # that trees are grown on
LEAST = 1e-3  # of a unit that must be new, beyond the others


def shown(
    problem: Problem, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:  # fmt: skip
    """Raw rows, what the outputs of no network at all lack on them, and their weights."""
    n = len(problem.source)
    rows = draw(n, min(n, ROWS), rng)
    chunk, batch = problem.source.raw.gather(rows).chunk, problem.source.rows(rows)
    Y, root = (problem.backend.to_numpy(V) for V in (batch.Y, batch.X[:, :1]))
    F = np.zeros((len(Y), problem.source.shape[2]))
    return chunk.X, problem.objective.residual(Y, F, root) / root, chunk.w


def rules_on(problem: Problem, trees: TreeStart, rng: np.random.RandomState) -> Rules:
    """The rules of trees on the rows of a problem."""
    return trees.rules(*shown(problem, rng))


def with_trees(
    views: list[View], problem: Problem, trees: TreeStart, rng: np.random.RandomState
) -> list[View]:  # fmt: skip
    """The views, and one that is cut at the thresholds of trees and takes their rules for units."""
    X, R, weight = shown(problem, rng)
    encoding = trees.rules(X, R, weight).encoding(X, weight)
    own = max(views, key=lambda view: view.scaling.n_inputs).scaling.encoding
    if own is not None:
        encoding = encoding.refined(own)  # so that networks of both can be written in it
    scaling = problem.source.scaling.encoded_by(encoding, X, weight)
    cut = View(scaling, encoding.inputs, 1.0, 0.5, 0.1, 0, STEPS, LAST, trees=trees)
    return [*views, cut] if len(encoding.column) else views


def planted(problem: Problem, h: int, trees: TreeStart, rng: np.random.RandomState) -> np.ndarray:
    """A first hidden layer (p, h): rules by what each explains beyond those before it.

    Where there are too few, random hyperplanes are added.
    """
    T = rules_on(problem, trees, rng).units(problem.source.scaling)
    X, Y = sample_rows(problem, rng)
    T = T / np.maximum(np.linalg.norm(T, axis=0), 1e-300)
    chosen = forward(CPU.activate(X @ T, problem.slope), X[:, :1], Y, h)
    odds = X[:, 0] ** 2
    return np.hstack([T[:, chosen], hyperplanes(X, odds, h - len(chosen), rng)])


def forward(Z: np.ndarray, S: np.ndarray, Y: np.ndarray, h: int) -> list[int]:
    """Up to h columns of Z, each by what it explains of Y beyond S and those before it."""
    size = (Z * Z).sum(0)
    Z, R, new = Z.copy(), Y.copy(), S[:, 0]
    chosen: list[int] = []
    while True:
        q = new / max(float(np.linalg.norm(new)), 1e-300)
        R -= np.outer(q, q @ R)
        Z -= np.outer(q, q @ Z)
        left = (Z * Z).sum(0)
        gain = ((Z.T @ R) ** 2).sum(1) / np.maximum(left, 1e-300)
        gain[left <= LEAST * size] = 0.0
        if len(chosen) == h or not gain.max(initial=0.0) > 0:
            return chosen
        chosen.append(int(gain.argmax()))
        new = Z[:, chosen[-1]]
