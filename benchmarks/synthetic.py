"""Cases drawn from a formula: what is simplest, and what has no noise.

    noise-n200-d30            y is noise alone
    weak-n200-d30             y is noise of variance 1 and a linear signal of variance 0.1
    cauchy-, lognormal-, outlier-n200-d5    y is linear in X, of heavy tails or with one row of
                              norm 1e4 to train on, and noise of variance 1
    sinc-n20 sine-n20 power-n20             a function of one input; n − 1 units, so n linear pieces

A piecewise linear function of n free pieces has, for many pieces, an RMSE on [a, b] of at least

    n⁻²/√720 · (∫|f″|^{2/5})^{5/2} / √(b − a).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from benchmarks.cases import Split

Array = np.ndarray
CURVE_ROWS = 20_000
WEAK = 0.1  # variance of the weak signal
TEST_ROWS = 2000
ROWS = re.compile(r"(noise|weak|cauchy|lognormal|outlier)-n(\d+)-d(\d+)")
CURVE = re.compile(r"(sinc|sine|power)-n(\d+)")


def noise(rng: np.random.RandomState, n: int, d: int, kind: str) -> tuple[Array, Array]:
    """n rows to train on and then some to test on."""
    total = n + TEST_ROWS
    X = {
        "cauchy": rng.standard_cauchy,
        "lognormal": lambda size: rng.lognormal(sigma=2.0, size=size),
    }.get(kind, rng.standard_normal)((total, d))
    if kind == "outlier":
        X[0] *= 1e4 / np.linalg.norm(X[0])
    b = rng.standard_normal(d)
    b *= {"noise": 0.0, "weak": WEAK**0.5 / np.linalg.norm(b)}.get(kind, 1.0)
    return X, X @ b + rng.standard_normal(total)


CURVES: dict[str, tuple[Callable[[Array], Array], float, float]] = {  # of x in [a, b]
    "sinc": (lambda x: np.sinc(10 * x), -1.0, 1.0),
    "sine": (lambda x: np.sin(2 * np.pi * x), 0.0, 1.0),
    "power": (lambda x: np.abs(x) ** (2 / 3), 0.0, 1.0),
}
LIMITS = {  # RMSE of the best piecewise linear function, by the formula
    "sinc-n20": 1.83e-2, "sinc-n64": 1.78e-3, "sine-n20": 2.09e-3, "sine-n64": 2.04e-4,
    "power-n20": 1.39e-4, "power-n64": 1.36e-5,
}  # fmt: skip


def synthetic(case: str, seed: int) -> Split | None:
    """The split of such a case; None for other names."""
    from benchmarks.cases import Split

    rng = np.random.RandomState(seed)
    if match := ROWS.fullmatch(case):
        n, d = int(match[2]), int(match[3])
        X, y = noise(rng, n, d, match[1])
        return Split(case, seed, 64, X[:n], y[:n], X[n:], y[n:], scaled=False)
    if match := CURVE.fullmatch(case):
        f, a, b = CURVES[match[1]]
        X, X_test = np.linspace(a, b, CURVE_ROWS)[:, None], rng.uniform(a, b, (CURVE_ROWS, 1))
        units = int(match[2]) - 1
        return Split(case, seed, units, X, f(X)[:, 0], X_test, f(X_test)[:, 0], scaled=False)
    return None
