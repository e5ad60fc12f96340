"""How many inputs each hidden unit may see, and which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from anmin import checks
from anmin.backends import Backend, NumpyBackend
from anmin.encoding import Encoding
from anmin.sources import RawSource


@dataclass(frozen=True, slots=True, eq=False)
class Connections:
    """At most so many inputs a unit; or those that a column of a mask says, each column once."""

    most: int
    mask: np.ndarray | None = None  # (d, h) booleans

    @classmethod
    def of(cls, value: Any, d: int, h: int) -> Connections:
        """What a user gave, a number or a mask.

        >>> from anmin.solvers.connections import Connections
        >>> Connections.of(3, d=100, h=64).most
        3
        """
        if np.ndim(value) == 0:
            return cls(min(checks.whole_number("connections", value, least=1), d))
        mask = np.asarray(value)
        if mask.dtype != bool or mask.shape != (d, h):
            raise ValueError(
                f"connections must be None, a whole number or a mask of booleans of shape "
                f"(n_features, n_hidden) = {(d, h)}; got {mask.dtype} of shape {mask.shape}."
            )
        return cls(int(mask.sum(axis=0).max()), mask)

    @classmethod
    def asked(
        cls, model: Any, solver: Any, rows: RawSource, h: int, backend: Backend
    ) -> Connections | None:  # fmt: skip
        """What an estimator asks for; None where its units see all inputs."""
        if isinstance(model.encoding, Encoding):
            raise ValueError("connections are from the inputs as they are; use encoding=None.")
        if model.monotonic_cst is not None:
            raise ValueError("connections and monotonic_cst cannot be asked for together.")
        if checks.from_trees(model.init):
            raise ValueError("connections and a start from trees cannot be asked for together.")
        if getattr(model, "intervals", False) is True:
            raise ValueError('connections and intervals=True: use intervals="conformal".')
        if not solver.any_connections or rows.remote or not isinstance(backend, NumpyBackend):
            raise ValueError(
                'connections need solver="varpro", device="cpu" and rows on this machine; got '
                f"solver={model.solver!r}, device={model.device!r}, {rows!r}."
            )
        found = cls.of(model.connections, rows.width[0], h)
        everything = found.mask is None and found.most == rows.width[0] and not rows.sparse
        return None if everything else found

    def places(self, A: np.ndarray) -> np.ndarray:
        """A column of the mask for each of the units A (p, units); −1 where there is none left."""
        assert self.mask is not None
        if A.shape[1] == 0:
            return np.empty(0, dtype=int)
        beyond = (A[1:] != 0).T.astype(int) @ ~self.mask  # (units, h)
        return maximum_bipartite_matching(csr_array(beyond == 0), perm_type="column")

    def free(self, A: np.ndarray) -> np.ndarray:
        """Columns of the mask that the units A leave for others."""
        assert self.mask is not None
        return np.setdiff1d(np.arange(self.mask.shape[1]), self.places(A))

    def hold(self, A: np.ndarray) -> bool:
        """Whether every unit of A can have a column of its own."""
        return self.mask is None or bool((self.places(A) >= 0).all())
