"""Ways of looking at the inputs, and the relevance of each.

A network of the path weighs its inputs; those that it hardly uses should not cost the others. With
the columns of X at deviation 1, the relevance of column j, and of the whole input that it belongs
to, is the root of Σ (A_jl ‖b_l‖)² over the units l, and over the input's columns. Each relative to
its mean,

    s_j = (column + floor)^(power (1 − mix)) · (input + floor)^(power mix)

is the new scale of the column. The function stays as it is, A_j becoming A_j / s_j, but from then
on penalty, candidates and damping act on what the network sees: inputs that matter become cheap,
the others dear. It is a group penalty on the inputs, reweighted along the path.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anmin.encoding import Encoding
from anmin.sources import Scaling

HINGES = 16  # of an input, at most


@dataclass(frozen=True, slots=True)
class View:
    """A scaling, with or without an encoding, and how relevance acts on its columns."""

    scaling: Scaling
    inputs: np.ndarray  # the input of each column
    power: float = 1.0  # 0: relevance has no part
    mix: float = 0.0
    floor: float = 0.05
    relocations: int = 2  # in a row without a gain that end the last stage

    def stretched(self, s: np.ndarray) -> Scaling:
        """The scaling with column j times s_j."""
        return replace(self.scaling, x_scale=self.scaling.x_scale / s)

    def relevance(self, A: np.ndarray, B: np.ndarray, s: np.ndarray) -> np.ndarray:
        """New column scales for a network at the scales s."""
        weight = ((s[:, None] * A[1:] * np.linalg.norm(B, axis=1)) ** 2).sum(1)  # (p − 1,)
        group = np.bincount(self.inputs, weight)[self.inputs]
        column, whole = (relative(np.sqrt(v)) + self.floor for v in (weight, group))
        new = column ** (self.power * (1 - self.mix)) * whole ** (self.power * self.mix)
        return new / np.sqrt((new * new).mean())


def relative(v: np.ndarray) -> np.ndarray:
    return v / max(v.mean(), 1e-300)


def encoded(
    scaling: Scaling, encoding: Encoding, X: np.ndarray, weight: np.ndarray | None, **how: float
) -> View:
    """The view through an encoding, its columns measured on the rows X."""
    return View(scaling.encoded_by(encoding, X, weight), encoding.inputs, **how)  # type: ignore[arg-type]


def competing_views(scaling: Scaling, X: np.ndarray, weight: np.ndarray | None) -> list[View]:
    """The clipped inputs alone, and with hinges, where relevance acts mildly or strongly.

    Relocations were found to gain nothing with hinges (docs/experiments.md).
    """
    hinged = Encoding.fit(X, weight, HINGES)
    views = [encoded(scaling, hinged.without_hinges(), X, weight)]
    if len(hinged.column):
        mild = encoded(scaling, hinged, X, weight, power=0.5, relocations=0)
        views += [mild, replace(mild, power=1.0, mix=0.5, floor=0.2)]
    return views
