"""Which inputs a network uses, and which pairs of them it uses together.

With g_i = A (G_i ∘ B) the gradient of the network at row i, in its columns, the mean of g_i g_iᵀ is

    M = A (BBᵀ ∘ GᵀG/n) Aᵀ

and the importance of an input with the columns c is tr(M_cc C_cc), C the covariance of the columns:
the squared change, to first order, when the input alone is drawn anew. Relative to their sum.

For a pair, x′ another row and f′_k the prediction for x with input k of x′,

    (f − f′_k − f′_l + f′_kl)² / 4

is zero where the effects of k and l add up. Its mean, relative to the variance of f, is the share
of the variance that is due to both together.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anmin.backends import WIDE
from anmin.network import Network, gain
from anmin.solvers import Problem
from anmin.sources.chunk import within
from anmin.sources.draws import draw

MOST_ROWS = 4000  # that the mean is taken over
PAIRED = 512  # rows that pairs are tried on
FIRST = 12  # inputs that are paired, the most important ones


class Interaction(NamedTuple):
    """Two inputs, and the share of the variance of the predictions that is due to both together."""

    first: str
    second: str
    share: float


class Understanding:
    """What an estimator tells of its inputs."""

    feature_importances_: np.ndarray

    def _columns_of_inputs(self) -> list[np.ndarray]:
        """For each column of X, the columns of the network that are made of it."""
        model: Any = self
        encoding, columns = model._scaling.encoding, model._columns
        made = np.arange(model._scaling.n_inputs) if encoding is None else encoding.inputs
        origin = made if columns is None else columns.origin[made]
        return [np.flatnonzero(origin == j) for j in range(model.n_features_in_)]

    def interactions(self, X: Any, n_pairs: int = 10) -> list[Interaction]:
        """The pairs of inputs that act together most, on rows X, the strongest first.

        >>> import numpy as np
        >>> from anmin import ANMINRegressor
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> model = ANMINRegressor(16, random_state=0).fit(X, X[:, 0] * X[:, 2] + X[:, 1])
        >>> model.interactions(X)[0][:2]
        ('x0', 'x2')
        """
        check_is_fitted(self)
        model: Any = self
        rng = np.random.RandomState(0)
        Z = model._inputs(X)
        Z = Z[draw(len(Z), min(len(Z), PAIRED), rng)]
        Z = Z.toarray() if hasattr(Z, "toarray") else Z  # of a sparse X
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])
        order = np.argsort(-self.feature_importances_, kind="stable")[:FIRST]
        found = pairs(model._network, Z, self._columns_of_inputs(), order, rng)
        best = sorted(found, key=lambda pair: -found[pair])[:n_pairs]
        return [Interaction(names[k], names[j], found[k, j]) for k, j in best]


def pairs(
    network: Network, Z: np.ndarray, columns: list[np.ndarray], inputs: Any, rng: Any
) -> dict[tuple[int, int], float]:
    """The share of each pair of inputs."""
    other = Z[rng.permutation(len(Z))]

    def drawn(*some: int) -> np.ndarray:
        V = Z.copy()
        for k in some:
            V[:, columns[k]] = other[:, columns[k]]
        return network.forward(V)

    f, alone = drawn(), {k: drawn(k) for k in inputs}
    variance = max(float(f.var(axis=0).sum()), 1e-300)
    return {
        (k, j): float(((f - alone[k] - alone[j] + drawn(k, j)) ** 2).sum(1).mean()) / 4 / variance
        for k, j in combinations(sorted(map(int, inputs)), 2)
    }


def on_used_inputs(
    problem: Problem, network: Network, columns: list[np.ndarray]
) -> tuple[Problem, Network, list[np.ndarray]]:
    """The same without the inputs that a network of few connections does not see."""
    if problem.connections is None:
        return problem, network, columns
    used = np.flatnonzero(network.A[1:].any(axis=1))
    place = np.full(len(network.A) - 1, -1)
    place[used] = np.arange(len(used))
    own = [place[some][place[some] >= 0] for some in columns]
    A = np.vstack([network.A[:1], network.A[1:][used]])
    return replace(problem, source=problem.source.only(used)), replace(network, A=A), own


def importances(problem: Problem, network: Network, columns: list[np.ndarray]) -> np.ndarray:
    """The importance of each input, given the columns that are made of it; they sum to 1."""
    n, p, _ = problem.source.shape
    rows = draw(n, min(n, within(MOST_ROWS, 2 * p)), np.random.RandomState(0))
    X = problem.backend.to_numpy(problem.source.rows(rows).X).astype(np.float64)  # times √w
    G = X[:, :1] * gain(X @ network.A > 0, network.slope)
    K = (network.B @ network.B.T) * (G.T @ G)  # (h, h)
    found = np.zeros(len(columns))
    if len(columns) > WIDE and p == len(columns) + 1:  # one column an input: all at once
        mean = X[:, 0] @ X[:, 1:] / (X[:, 0] @ X[:, 0])
        X[:, 1:] -= X[:, :1] * mean
        A = network.A[1:]
        found = np.maximum(((A @ K) * A).sum(1) * (X[:, 1:] ** 2).sum(0), 0.0)
        columns = []
    for j, own in enumerate(columns):
        A, V = network.A[1:][own], X[:, 1:][:, own]
        mean = X[:, 0] @ V / (X[:, 0] @ X[:, 0])
        V = V - X[:, :1] * mean
        found[j] = max(float(((A @ K @ A.T) * (V.T @ V)).sum()), 0.0)
    total = found.sum()
    return found / total if total > 0 else found
