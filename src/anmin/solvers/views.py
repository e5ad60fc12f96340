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
from math import inf

import numpy as np

from anmin.backends import WIDE
from anmin.encoding import MOST_COLUMNS, Encoding
from anmin.sources import Scaling, Source
from anmin.sources.chunk import within
from anmin.sources.draws import draw
from anmin.starts import TreeStart

STEPS, LAST = 5, 30  # damped steps of one of several networks: at each penalty, and on all rows
LAST_TOL = 1e-2  # gain of five of the latter that is too little
HINGES = 16  # of an input, at most
ENCODED = 20_000  # rows that an encoding is fitted to


@dataclass(frozen=True, slots=True)
class View:
    """A scaling, with or without an encoding, and how relevance acts on its columns."""

    scaling: Scaling
    inputs: np.ndarray  # the input of each column
    power: float = 1.0  # 0: relevance has no part
    mix: float = 0.0
    floor: float = 0.05
    relocations: int = 1  # in a row without a gain that end the last stage
    steps: int = 8  # damped ones at each penalty
    last: float = inf  # damped ones on all rows, ...
    tol: float = 1e-3  # ... or until five of them gain less than this share
    trend: bool = True  # whether its paths begin with that
    trees: TreeStart | None = None  # whose rules are candidates for units

    def patient(self) -> View:
        """The same, refined to the end: without noise every step is worth it."""
        return replace(self, relocations=4, last=inf, tol=0.0)

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


def encoded_views(
    source: Source, encoding: Encoding | str, rng: np.random.RandomState, most: int = MOST_COLUMNS
) -> list[View]:  # fmt: skip
    """The view through an encoding that was given; else those that compete.

    They are the clipped inputs alone, and with hinges, where relevance acts mildly or strongly. Of
    several only the last begins with a trend. Averaged networks gain little by relocations.
    """
    n, enough = len(source), within(ENCODED, source.shape[1])
    rows = source.raw.gather(np.arange(n) if n <= enough else draw(n, enough, rng)).chunk

    def view(encoding: Encoding, relocations: int = 0, power: float = 1.0) -> View:
        scaling = source.scaling.encoded_by(encoding, rows.X, rows.w)
        return View(scaling, encoding.inputs, power, 0.0, 0.05, relocations, STEPS, LAST, LAST_TOL)

    if isinstance(encoding, Encoding):
        return [view(encoding, relocations=2)]
    most, hinges = min(most, len(rows)), HINGES if rows.width[0] <= WIDE else 0
    hinged = Encoding.fit(rows.X, rows.w, hinges, most)
    plain = view(hinged.without_hinges())
    if not len(hinged.column):
        return [plain]
    mild, strong = view(hinged, power=0.5), replace(view(hinged), mix=0.5, floor=0.1)
    return [replace(plain, trend=False), replace(mild, trend=False), strong]
