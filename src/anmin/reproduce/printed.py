"""Algorithm 1 as printed, in single precision and with the constants of the text.

    M + λI        summed in float32 over batches of 256 rows, then divided by N
    ln|M + λI|    by an LU factor; not a number where rounding made the determinant negative
    line 7        "ln|M + λI| > τ" is false then too: the system is degenerate

Exact arithmetic knows none of this, since M + λI is positive definite. The paper's ablation is
about what single precision does. On cards like the author's, PyTorch before 1.12 rounds the factors
of a matrix product to TF32, 10 bits after the leading one; `tf32` does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import nan
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from anmin.reproduce.ours import FLOOR, LAM, TAU, Experiment
from anmin.reproduce.protocol import Setup, Split
from anmin.reproduce.record import Curve, Fit

Array = NDArray[np.float32]
BATCH = 256
LOST_BITS = 13  # of the 23 that a float32 has after the leading one


def to_tf32(x: Array) -> Array:
    """The nearest numbers with 10 bits after the leading one.

    >>> to_tf32(np.float32([1 + 2**-10, 1 + 2**-12])) - 1
    array([0.00097656, 0.        ], dtype=float32)
    """
    bits = np.ascontiguousarray(x).view(np.uint32) + np.uint32(1 << (LOST_BITS - 1))
    return (bits >> LOST_BITS << LOST_BITS).view(np.float32)


def tf32_product(a: Array, b: Array) -> Array:
    return to_tf32(a) @ to_tf32(b)


@dataclass(frozen=True, slots=True)
class Network:
    """f(x) = σ(x̃A)B + b, with b in the last row of B."""

    A: Array
    B: Array
    loss: float


class Program:
    """The steps of Algorithm 1 on the rows of a split."""

    def __init__(self, split: Split, tf32: bool) -> None:
        self.X, self.Y = self.with_ones(split.X), split.Y.astype(np.float32)
        self.product: Callable[[Array, Array], Array] = tf32_product if tf32 else np.matmul

    @staticmethod
    def with_ones(X: NDArray) -> Array:
        return np.column_stack([np.ones(len(X)), X]).astype(np.float32)

    def batches(self) -> Iterator[tuple[Array, Array]]:
        for first in range(0, len(self.X), BATCH):
            yield self.X[first : first + BATCH], self.Y[first : first + BATCH]

    def features(self, X: Array, A: Array) -> Array:
        hidden = np.maximum(self.product(X, A), 0)
        return np.column_stack([hidden, np.ones(len(X), np.float32)])

    def predict(self, X: Array, A: Array, B: Array) -> Array:
        return self.product(self.features(X, A), B)

    def with_output_layer(self, A: Array) -> Network:
        """B for this A, and the loss of Eq. (1)."""
        n, size = len(self.X), A.shape[1] + 1
        G, r = np.zeros((size, size), np.float32), np.zeros((size, self.Y.shape[1]), np.float32)
        for X, Y in self.batches():
            S = self.features(X, A)
            G += self.product(S.T, S)
            r += self.product(S.T, Y)
        B = np.linalg.solve(G / n + LAM * np.eye(size, dtype=np.float32), r / n)
        residual = self.predict(self.X, A, B) - self.Y
        loss = (residual**2).sum() / n + LAM * ((A**2).sum() + (B**2).sum())
        return Network(A, B, float(loss))

    def hidden_system(self, A: Array, B: Array) -> tuple[Array, Array]:
        """M + λI and c."""
        n, size = np.float32(len(self.X)), A.size
        M, c = np.zeros((size, size), np.float32), np.zeros(size, np.float32)
        for X, Y in self.batches():
            fires = (self.product(X, A) > 0).astype(np.float32)
            for b, b0, y in zip(B[:-1].T, B[-1], Y.T, strict=True):
                Z = ((fires * b)[:, :, None] * X[:, None, :]).reshape(len(X), size)
                M += self.product(Z.T, Z)
                c += self.product(Z.T, y - b0)
        return M / n + LAM * np.eye(size, dtype=np.float32), c / n


def floored_solution(M: Array, c: Array) -> Array:
    """Lines 10 to 12."""
    U, D, Vt = np.linalg.svd(M)
    return U @ ((Vt @ c) / np.maximum(D, np.float32(FLOOR)))


def printed(split: Split, setup: Setup, *, experiment: Experiment, tf32: bool) -> Fit:
    """Algorithm 1, line by line; a run ends where its numbers are no longer finite."""
    start, rng = perf_counter(), np.random.default_rng([split.number, 1])
    program, A = Program(split, tf32), split.start().astype(np.float32)
    shape = A.T.shape
    best = here = program.with_output_layer(A)
    curve: Curve = {"step": [], "logdet": [], "loss": []}
    for k in range(setup.size.iterations):
        M, c = program.hidden_system(here.A, here.B)
        sign, size = np.linalg.slogdet(M)
        degenerate = not (sign > 0 and size > TAU)  # line 7
        if degenerate and experiment.degenerate == "stop":
            break
        try:
            if not degenerate:
                A = np.linalg.solve(M, c).reshape(shape).T
            elif experiment.degenerate == "reinit":
                A = rng.standard_normal(A.shape).astype(np.float32)
            else:
                A = floored_solution(M, c).reshape(shape).T
            here = program.with_output_layer(A)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(here.loss):
            break
        best = min(best, here, key=lambda network: network.loss)
        curve["step"].append(k + 1)
        curve["logdet"].append(float(size) if sign > 0 else nan)
        curve["loss"].append(here.loss)
    kept = best if experiment.keep == "best" else here

    def predict(X: NDArray) -> NDArray:
        return program.predict(program.with_ones(X), kept.A, kept.B).astype(np.float64)

    return Fit(perf_counter() - start, predict, curve)
