"""What a checkpoint belongs to: parameters, and rows to the last bit and in their order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from anmin.backends import Backend
from anmin.sources import Batch, Source

NO_MATTER = ("checkpoint", "intervals", "verbose")  # parameters that do not change the fit
SHOWN = 60  # characters of a parameter


def fit_facts(params: dict[str, Any], source: Source) -> dict[str, Any]:
    """What may not change between two runs of a fit, and a seed where there is none yet."""
    s = source.scaling
    scaling = fingerprint(s.x_mean, s.x_scale, s.y_mean, s.y_scale)
    return {
        "params": {name: describe(v) for name, v in params.items() if name not in NO_MATTER},
        "data": scaling + source.reduce(MarkPass()).digest.hex(),
        "seed": int(np.random.default_rng().integers(2**31)),
    }


@dataclass(frozen=True, slots=True)
class Mark:
    """Rows, known by a sum over their bits; marks add in the order of the rows."""

    digest: bytes

    def __add__(self, other: Mark) -> Mark:
        return Mark(hashlib.sha256(self.digest + other.digest).digest())


class MarkPass:
    """A batch in, its mark out."""

    def __call__(self, backend: Backend, batch: Batch) -> Mark:
        def part(rows: slice) -> Mark:
            digest = hashlib.sha256()
            for V in (batch.X[rows], batch.Y[rows]):
                digest.update(np.ascontiguousarray(backend.to_numpy(V)).data)
            return Mark(digest.digest())

        return backend.sum_over_blocks(part, len(batch))


def fingerprint(*arrays: Any) -> str:
    """A short name for some arrays of numbers.

    >>> import numpy as np
    >>> from anmin.checkpoint.facts import fingerprint
    >>> fingerprint(np.zeros(3)) == fingerprint(np.zeros(3)) != fingerprint(np.ones(3))
    True
    """
    digest = hashlib.sha256()
    for W in arrays:
        numbers = np.ascontiguousarray(W, dtype=np.float64)
        digest.update(repr(numbers.shape).encode() + numbers.tobytes())
    return digest.hexdigest()[:32]


def describe(value: Any) -> str:
    """A parameter in a few words, different for different values."""
    if isinstance(value, np.random.RandomState):
        kind, keys, *rest = value.get_state(legacy=True)
        return f"RandomState {kind} {fingerprint(keys)} {rest}"
    if isinstance(value, np.ndarray):
        return f"array {fingerprint(value)}"
    if isinstance(value, (list, tuple)):
        text = ", ".join(describe(item) for item in value)
    else:
        text = repr(value)
    if len(text) <= SHOWN:
        return text
    return f"{text[:SHOWN]}… {hashlib.sha256(text.encode()).hexdigest()[:16]}"
