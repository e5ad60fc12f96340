"""The sums of a thin pass: output layer, loss and gradient at one network; XᵀX.

With S = [σ(XA), 1] and W = [B; b0] the outputs are F = S W, and the objective compares them with
Y. A row of weight w enters as √w(x̃, y); "1" is then the column √w, which is the first of X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from anmin.backends import Array, Backend
from anmin.objective import SQUARED_ERROR, Objective, weights_of
from anmin.sources.batch import Batch
from anmin.sums.patterns import Sums


@dataclass(frozen=True, slots=True)
class OutputStats(Sums):
    """What the output layer and the loss need, in double precision."""

    n: float  # Σw
    StS: Array  # (h + 1, h + 1)
    StY: Array  # (h + 1, q)
    YtY: float

    def select(self, units: Array) -> OutputStats:
        """The sums with some of the hidden units only."""
        with_constant = [*(int(j) for j in units), len(self.StS) - 1]
        StS = self.StS[with_constant][:, with_constant]
        return OutputStats(self.n, StS, self.StY[with_constant], self.YtY)

    def scaled(self, s: Array) -> OutputStats:
        """The sums with hidden unit j multiplied by s_j > 0."""
        StS, StY = self.StS * 1, self.StY * 1
        StS[:-1] *= s[:, None]
        StS[:, :-1] *= s
        StY[:-1] *= s[:, None]
        return OutputStats(self.n, StS, StY, self.YtY)


@dataclass(frozen=True, slots=True)
class OutputPass:
    """The kernel of a thin pass, for the loss at a trial A.

    Sums are in double precision; the units too, but for a rough look, which has that of the rows.
    """

    A: Array  # (p, h)
    slope: float
    rough: bool = False

    def __call__(self, backend: Backend, batch: Batch) -> OutputStats:
        A = (backend.asarray if self.rough else backend.double)(self.A)
        fused = backend.fused(batch.X) if self.rough else None
        if fused is not None:
            of = partial(fused.output, A=fused.weights(A), Y=batch.Y, slope=self.slope)
            return backend.sum_over_groups(lambda rows: OutputStats(*of(rows)), len(batch))

        def part(rows: slice) -> OutputStats:
            X, Y = batch.X[rows], backend.double(batch.Y[rows])
            X = X if self.rough else backend.double(X)
            S = backend.double(hidden_outputs(backend, X, X @ A, self.slope))
            n = float(S[:, -1] @ S[:, -1])
            return OutputStats(n, S.T @ S, S.T @ Y, float((Y * Y).sum()))

        return backend.sum_over_blocks(part, len(batch))


def hidden_outputs(backend: Backend, X: Array, P: Array, slope: float) -> Array:
    """S = [σ(P), 1] with P = XA: (n, h + 1)."""
    return backend.append_column(backend.activate(P, slope), X[:, 0])


@dataclass(frozen=True, slots=True)
class NetworkPass:
    """What the kernels at one network share."""

    A: Array  # (p, h)
    W: Array  # [B; b0]: (h + 1, q)
    slope: float
    objective: Objective = SQUARED_ERROR

    def outputs(self, X: Array, hidden: Array) -> Array:
        """F = σ(XA) B + b0, given `hidden` = σ(XA)."""
        return hidden @ self.W[:-1] + X[:, :1] * self.W[-1]

    def cast(self, convert: Callable[[Array], Array]) -> Self:
        """The same with A and W converted, to the type of the rows or to double precision."""
        return replace(self, A=convert(self.A), W=convert(self.W))


def residual(backend: Backend, X: Array, Y: Array, at: NetworkPass) -> Array:
    """R = Y − σ(XA)B − b0 of the squared error; what the objective takes for it else: (n, q)."""
    F = at.outputs(X, backend.activate(X @ at.A, at.slope))
    return at.objective.residual(Y, F, X[:, :1])


@dataclass(frozen=True, slots=True)
class ResidualPass(NetworkPass):
    """The objective over a batch, in double precision and without cancellation."""

    def __call__(self, backend: Backend, batch: Batch) -> float:
        at = self.cast(backend.double)

        def part(rows: slice) -> float:
            X, Y = backend.double(batch.X[rows]), backend.double(batch.Y[rows])
            F = at.outputs(X, backend.activate(X @ at.A, at.slope))
            return at.objective.value(Y, F, X[:, :1])

        return backend.sum_over_blocks(part, len(batch))


@dataclass(frozen=True, slots=True)
class WorkingStats(Sums):
    """The quadratic that touches the objective at W, in double precision.

    At W + D it is value − 2 Σ D ∘ SᵀR + Σ_k D_kᵀ (SᵀVS)_k D_k.
    """

    n: float  # Σw
    value: float
    StR: Array  # (m, q)
    StVS: Array  # (q, m, m): a matrix for each output; none where they were not asked for


@dataclass(frozen=True, slots=True)
class WorkingPass:
    """The working least-squares problem of the outputs SW, with S = [σ(XA), 1], or X without A."""

    A: Array | None  # (p, h)
    W: Array  # (m, q)
    slope: float
    objective: Objective
    bend: bool = True  # whether the matrices are formed, which is most of the work

    def __call__(self, backend: Backend, batch: Batch) -> WorkingStats:
        W, known = backend.double(self.W), self.hidden(backend, batch)

        def part(rows: slice) -> WorkingStats:
            X, Y = backend.double(batch.X[rows]), backend.double(batch.Y[rows])
            S, root = X if known is None else known[rows], X[:, :1]
            F = S @ W
            value, R, V = self.objective.terms(Y, F, root)
            q = W.shape[1] if self.bend else 0
            StVS = backend.double(backend.zeros(q, len(W), len(W)))
            for k in range(len(StVS)):
                StVS[k] = (S * V[:, k : k + 1]).T @ S
            return WorkingStats(float(root[:, 0] @ root[:, 0]), value, S.T @ R, StVS)

        return backend.sum_over_blocks(part, len(batch))

    def hidden(self, backend: Backend, batch: Batch) -> Array | None:
        """S, remembered for the next W; None where that is X."""
        if self.A is None:
            return None
        A = backend.double(self.A)

        def compute() -> Array:
            S = backend.double(backend.empty(len(batch), A.shape[1] + 1))

            def part(rows: slice) -> None:
                X = backend.double(batch.X[rows])
                S[rows] = hidden_outputs(backend, X, X @ A, self.slope)

            backend.each_block(part, len(batch))
            return S

        return batch.once("S", self.A, compute)


def entry_weights(backend: Backend, batch: Batch, at: NetworkPass) -> Array:
    """The weights of the objective at a network, in the type of the rows: (n, q)."""
    at = at.cast(backend.asarray)
    V = backend.empty(len(batch), at.W.shape[1])

    def part(rows: slice) -> None:
        X, Y = batch.X[rows], batch.Y[rows]
        F = at.outputs(X, backend.activate(X @ at.A, at.slope))
        V[rows] = weights_of(at.objective, Y, F, X[:, :1])

    backend.each_block(part, len(batch))
    return V


@dataclass(frozen=True, slots=True)
class GradientPass(NetworkPass):
    """Xᵀ(G ∘ (R Bᵀ)): half the descent direction of the data term, times n."""

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        at = self.cast(backend.asarray)
        Bt = at.W[:-1].T
        if at.objective.least_squares and (rows := backend.fused(batch.X)) is not None:
            A = rows.weights(at.A)
            part_of = partial(rows.descent, A=A, Y=batch.Y, W=at.W, slope=at.slope)
            return backend.sum_over_groups(part_of, len(batch))

        def part(rows: slice) -> Array:
            X, Y = batch.X[rows], batch.Y[rows]
            P = X @ at.A  # (k, h)
            F = at.outputs(X, backend.activate(P, at.slope))
            R = at.objective.residual(Y, F, X[:, :1])
            return X.T @ (backend.gain(P > 0, at.slope) * (R @ Bt))

        return backend.sum_over_blocks(part, len(batch))


@dataclass(frozen=True, slots=True)
class InputSums:
    """The products of the inputs with themselves and with the targets, in double precision."""

    XtX: Array  # (p, p); its first entry is Σw
    XtY: Array  # (p, q)
    YtY: float
    largest: float  # norm of a row

    def __add__(self, other: InputSums) -> InputSums:
        XtX, XtY, YtY = self.XtX + other.XtX, self.XtY + other.XtY, self.YtY + other.YtY
        return InputSums(XtX, XtY, YtY, max(self.largest, other.largest))


class InputPass:
    """XᵀX, XᵀY, tr YᵀY and the largest norm of a row of a batch."""

    def __call__(self, backend: Backend, batch: Batch) -> InputSums:
        def part(rows: slice) -> InputSums:
            X, Y = backend.double(batch.X[rows]), backend.double(batch.Y[rows])
            norms = (X * X).sum(1) / X[:, 0] ** 2
            YtY = float((Y * Y).sum())
            return InputSums(X.T @ X, X.T @ Y, YtY, float(norms.max()) ** 0.5)

        return backend.sum_over_blocks(part, len(batch))
