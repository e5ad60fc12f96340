"""The curvature of several networks, for the frozen pattern of each (`curvature.py`).

    H = Xᵀ(G ∘ ((I − QQᵀ)(G∘XV)L)Lᵀ)        as a product, `CurvatureProducts`: (m, p, h) → (m, p, h)
    H = (ZᵀZ − ZᵀQQᵀZ) ∘ (LLᵀ ⊗ 11ᵀ)        as a matrix, `CurvatureMatrices`: (m, hp, hp)

with Q an orthonormal frame of S, B = L √n. The second where a lone network would form it too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import nan
from typing import Self

import torch
from torch import Tensor

from anmin.solvers.curvature import INEXACT, JITTER, UNSHIFTED, CurvatureRows
from anmin.sources.batch import Batch
from anmin.sums.slabs import Slab, gates, hidden_stack, padded


class Record:
    """Tensors that have the networks of a stack along their first axis."""

    def only(self, which: Sequence[int]) -> Self:
        """Of some of the networks."""
        return type(self)(*(V[which] for V in self.tensors()))

    def tensors(self) -> list[Tensor]:
        return [getattr(self, f.name) for f in fields(self)]  # type: ignore[arg-type]


class CurvedRows:
    """The rows that the curvature of each network is measured on."""

    def __init__(self, batches: Sequence[Batch], own: Sequence[CurvatureRows]) -> None:
        self.batches = batches  # held: they are known by who they are
        self.X = Slab.of(0, batches).X
        self.n = self.X[:, :, 0].double().square().sum(1)[:, None, None]
        self.own = own

    @cached_property
    def moments(self) -> tuple[Tensor, Tensor, Tensor]:
        """Eigenvalues (m, k, 1) and eigenvectors (m, p, k) of XᵀX/n, and the rest (m, 1, 1)."""
        values, vectors, rest = zip(*(rows.moments for rows in self.own), strict=True)
        return padded(values)[:, :, None], padded(vectors), self.X.new_tensor(rest)[:, None, None]


@dataclass(frozen=True, slots=True)
class Layers(Record):
    """Networks, their penalties, and the hidden layers that flips are counted from."""

    A: Tensor  # (m, p, h)
    W: Tensor  # (m, h + 1, q)
    before: Tensor  # (m, p, h)
    lam: Tensor  # (m,)
    idle: Tensor  # (m, h + 1): 1 for the units of zeros that a network is filled up with


@dataclass(frozen=True, slots=True)
class CurvatureProducts(Record):
    """H of each network as a product, and what its preconditioner needs."""

    X: Tensor  # (m, n, p)
    G: Tensor  # (m, n, h)
    Q: Tensor  # (m, n, h + 1)
    L: Tensor  # (m, h, q)
    K: Tensor  # (m, h, h)
    D: Tensor  # (m, 1, h)
    lam: Tensor  # (m, 1, 1)
    unit: Tensor  # (m, 1, 1)
    values: Tensor  # (m, k, 1)
    vectors: Tensor  # (m, p, k)
    rest: Tensor  # (m, 1, 1)

    def product(self, V: Tensor) -> Tensor:
        """Xᵀ(G ∘ ((U − QQᵀU) Lᵀ)) with U = (G∘XV)L: (m, p, h)."""
        U = (self.G * (self.X @ V)) @ self.L
        U = torch.baddbmm(U, self.Q, self.Q.mT @ U, alpha=-1)
        return self.X.mT @ (self.G * (U @ self.L.mT))

    def solve(self, g: Tensor, mu: Tensor) -> tuple[Tensor, list[Tensor]]:
        """v with (H + lam I + mu D) v = g, and what was there after 1, 2, 4, … products.

        As in `ProductCurvature`.
        """
        shift = self.lam + mu * self.D
        precondition, g = self.preconditioner(shift), (g / self.unit).to(self.X.dtype)
        V, r, goal = torch.zeros_like(g), g, INEXACT.tolerance**2 * dot(g, g)
        d = z = precondition(r)
        rz, rr, step, going = dot(r, z), dot(r, r), torch.ones_like(goal), goal >= 0
        way: list[Tensor] = []
        for k in range(INEXACT.products):
            if k and k & (k - 1) == 0:
                way.append(V)
            Hd = self.product(d) + shift * d
            goes_on, curve = going & (rr > goal) & (step > 0), dot(d, Hd)
            step = torch.where(going & (curve > 0), rz / curve, 0.0)
            V, r, going = V + step * d, r - step * Hd, goes_on
            if not going.any():
                break
            z = precondition(r)
            rz, old, rr = dot(r, z), rz, dot(r, r)
            d = z + torch.where(going, rz / old, 0.0) * d
        return V, way

    def preconditioner(self, shift: Tensor) -> Callable[[Tensor], Tensor]:
        """(K ⊗ XᵀX/n + shift)⁻¹ by eigenvectors, as a function of R (m, p, h)."""
        root = torch.maximum(shift, UNSHIFTED * self.D).sqrt()
        kappa, P = torch.linalg.eigh(self.K / (root.mT * root))
        kappa, P, Q = kappa.clamp(min=0)[:, None], P / root.mT, self.vectors
        weight = 1 / (self.values * kappa + 1)  # (m, k, h)
        if Q.shape[1] == Q.shape[2]:
            return lambda R: Q @ (weight * (Q.mT @ R @ P)) @ P.mT
        outside = 1 / (self.rest * kappa + 1)  # (m, 1, h)

        def inverse(R: Tensor) -> Tensor:
            T = R @ P
            return (outside * T + Q @ ((weight - outside) * (Q.mT @ T))) @ P.mT

        return inverse


def dot(U: Tensor, V: Tensor) -> Tensor:
    """The inner product of each network's matrices: (m, 1, 1)."""
    return (U * V).sum((1, 2), keepdim=True)


@dataclass(frozen=True, slots=True)
class CurvatureMatrices(Record):
    """H of each network as a matrix."""

    H: Tensor  # (m, hp, hp)
    D: Tensor  # (m, 1, h)
    lam: Tensor  # (m, 1, 1)
    unit: Tensor  # (m, 1, 1)

    def solve(self, g: Tensor, mu: Tensor) -> tuple[Tensor, list[Tensor]]:
        """v with (H + lam I + mu D) v = g; no number where that is not positive definite.

        Nothing comes with it on the way.
        """
        m, p, h = g.shape
        shift = (self.lam + mu * self.D).mT.expand(m, h, p).reshape(m, h * p)
        L, failed = torch.linalg.cholesky_ex(self.H + torch.diag_embed(shift))
        c = (g / self.unit).to(L.dtype).mT.reshape(m, h * p, 1)
        v = torch.cholesky_solve(c, L).view(m, h, p).mT
        return torch.where(failed[:, None, None] == 0, v, nan), []


Curvatures = CurvatureProducts | CurvatureMatrices


@dataclass(frozen=True, slots=True)
class Curved(Record):
    """What both need: patterns, frames and factors."""

    X: Tensor  # (m, n, p)
    G: Tensor  # (m, n, h)
    Q: Tensor  # (m, n, h + 1): an orthonormal frame of S
    L: Tensor  # (m, h, q): LLᵀ = BBᵀ / (n unit)
    lam: Tensor  # (m, 1, 1): over the unit
    unit: Tensor  # (m, 1, 1)
    fired: Tensor  # (m, h): rows that each unit fires on
    flips: Tensor  # (m,): entries of the pattern that differ from the ones before

    def products(self, rows: CurvedRows) -> CurvatureProducts:
        wG, p = self.X[:, :, :1] * self.G, self.X.shape[2]
        K = (self.L @ self.L.mT) * (wG.mT @ wG)
        values, _, rest = rows.moments
        trace = values.sum(1, keepdim=True) + rest * (p - values.shape[1])
        D = floored(K.diagonal(dim1=1, dim2=2)[:, None] * trace / p)
        terms = self.X, self.G, self.Q, self.L, K, D, self.lam, self.unit
        return CurvatureProducts(*terms, *rows.moments)

    def matrices(self) -> CurvatureMatrices:
        (m, n, h), p = self.G.shape, self.X.shape[2]
        Z = (self.G[:, :, :, None] * self.X[:, :, None]).view(m, n, h * p)
        T, LLt = self.Q.mT @ Z, self.L @ self.L.mT
        H = (Z.mT @ Z - T.mT @ T).view(m, h, p, h, p) * LLt[:, :, None, :, None]
        H = H.view(m, h * p, h * p)
        D = floored(H.diagonal(dim1=1, dim2=2).view(m, 1, h, p).mean(3))
        return CurvatureMatrices(H, D, self.lam, self.unit)


def floored(D: Tensor) -> Tensor:
    """The damping of each unit, kept away from zero: (m, 1, h)."""
    return torch.maximum(D, 1e-6 * D.amax(2, keepdim=True) + 1e-30)


def curved(rows: CurvedRows, at: Layers, slope: float) -> Curved:
    """The patterns and frames at some networks."""
    X, m, h = rows.X, len(at.A), at.A.shape[2]
    P = X @ at.A.to(X.dtype)
    F, S = P > 0, hidden_stack(X, P, slope, X.dtype)
    K = S.double().mT @ S.double() / rows.n + torch.diag_embed(at.lam[:, None] + at.idle)
    idle = at.idle.sum(1)
    size = (K.diagonal(dim1=1, dim2=2).sum(1) - idle) / (h + 1 - idle)
    eye = torch.eye(h + 1, device=K.device, dtype=K.dtype).expand(m, -1, -1)
    R, failed = torch.linalg.cholesky_ex(K + JITTER * size[:, None, None] * eye)
    T = torch.linalg.solve_triangular(R, eye, upper=False) / rows.n.sqrt()
    T = torch.where(failed[:, None, None] == 0, T, nan)  # which makes the step an odd one
    B, lam = at.W[:, :-1], at.lam[:, None, None]
    unit = torch.maximum(B.square().sum(2).amax(1)[:, None, None], lam)
    unit = torch.where(unit > 0, unit, 1.0)
    L = (B / (unit * rows.n).sqrt()).to(X.dtype)
    flips = ((X @ at.before.to(X.dtype) > 0) != F).sum((1, 2))
    scalars = (lam / unit).to(X.dtype), unit
    return Curved(X, gates(P, slope), S @ T.to(X.dtype).mT, L, *scalars, F.sum(1), flips)
