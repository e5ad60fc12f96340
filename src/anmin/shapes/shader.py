"""A network as a function of a shader (GLSL ES 3.00), one vector of four numbers a unit.

max(w·x + c, 0) v = ± max(|v| (w·x + c), 0), so with the units of positive v first

    f(x) = b + Σ_{j < P} max(W_j · (x, 1), 0) − Σ_{j ≥ P} max(W_j · (x, 1), 0)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Template
from typing import Any

import numpy as np

from anmin.shapes.boundary import Array
from anmin.shapes.outline import plain_network

SOURCE = Template("""\
// The signed distance of a shape, negative inside: a network of $units units, written by anmin.
// $operations multiply-adds a call. GLSL ES 3.00: WebGL 2, desktop GLSL 3.30 and newer.

const vec4 ${name}_w[$units] = vec4[$units](
$rows
);

float $name($vector p)
{
    vec4 q = vec4(p, $tail);
    float f = $bias;
    for (int j = 0; j < $positive; j++)
        f += max(dot(${name}_w[j], q), 0.0);
    for (int j = $positive; j < $units; j++)
        f -= max(dot(${name}_w[j], q), 0.0);
    return f;
}
""")


@dataclass(frozen=True, slots=True)
class Packed:
    """A network of two or three inputs, four numbers a unit."""

    rows: Array  # (h, 4) float32: w, padded with 0 in the plane, and c
    positive: int  # units that count positive; they come first
    bias: float


def packed(model: Any, centre: Any = 0.0, radius: float = 1.0) -> Packed:
    """The network of (x − centre) / radius, whose values are in radii."""
    d = model.n_features_in_
    if d not in (2, 3):
        raise ValueError(f"the model has {d} inputs; a shape has 2 or 3.")
    network = plain_network(model, d)
    if network.slope:
        raise ValueError("the model has a leaky slope; fit shapes with slope=0.")
    W, v = network.A[1:].T, network.B[:, 0]
    c = network.A[0] + W @ np.broadcast_to(centre, d)
    rows = np.zeros((len(v), 4))
    rows[:, :d], rows[:, 3] = W, c / radius
    rows *= np.abs(v)[:, None]
    order = np.argsort(v < 0, kind="stable")
    finite = rows[order].astype(np.float32)
    if not np.isfinite(finite).all():
        raise ValueError("weights overflow float32; use larger units for the distances.")
    return Packed(finite, int((v >= 0).sum()), float(network.b0[0] / radius))


def glsl_source(model: Any, name: str = "shape") -> str:
    """A function `float NAME(vec3 p)`, or of a vec2, to paste into a shader.

    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.shapes import glsl_source
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(500, 2))
    >>> settings = {"lam": 1e-4, "n_networks": 1, "encoding": None, "random_state": 0}
    >>> model = ANMINRegressor(8, max_iter=5, **settings)
    >>> "float disc(vec2 p)" in glsl_source(model.fit(X, np.linalg.norm(X, axis=1) - 1), "disc")
    True
    """
    if not re.fullmatch("[A-Za-z](?:_?[A-Za-z0-9])*", name) or name.startswith("gl_"):
        raise ValueError(f"name must be an identifier of GLSL such as 'shape'; got {name!r}.")
    net, d = packed(model), model.n_features_in_
    rows = ",\n".join(f"    vec4({', '.join(map(decimal, row))})" for row in net.rows)
    return SOURCE.substitute(
        name=name, units=len(net.rows), rows=rows, bias=decimal(np.float32(net.bias)),
        positive=net.positive, vector=f"vec{d}", tail="1.0" if d == 3 else "0.0, 1.0",
        operations=(d + 1) * len(net.rows),
    )  # fmt: skip


def decimal(value: np.float32) -> str:
    """The shortest decimal of a float32, with a point, as GLSL wants it.

    >>> decimal(np.float32(2)), decimal(np.float32(0.1))
    ('2.0', '0.1')
    """
    return repr(float(str(value)))
