"""A GPU, or PyTorch on the CPU: the same calls as `NumpyBackend`, on tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from anmin.backends.protocol import Groups, Sum

PAIR_BYTES = 2**30  # of pairwise products held at a time
PIECE = 2**17  # rows summed at a time: enough to fill a card, few enough to share out
ROUND = 256  # rows; columns of a batch then begin where a card likes to read


class TorchBackend:
    """Arithmetic on one PyTorch device, the rows in one floating-point type."""

    def __init__(self, device: str, dtype: str = "float64") -> None:
        self.device = torch.device(device)
        self.dtype = getattr(torch, dtype)

    @property
    def working(self) -> int:
        return 2**33 if self.device.type == "cuda" else 2**28

    @property
    def scratch(self) -> int:
        return 2**26 if self.device.type == "cuda" else 2**19

    @property
    def room(self) -> int:
        if self.device.type == "cuda":
            return torch.cuda.mem_get_info(self.device)[0] // 2
        return 2**28

    def batch(self, n: int, most: int) -> int:
        """As few batches as `PIECE` allows, and these of about equal size."""
        most = min(most, PIECE)
        even = -(-n // max(1, -(-n // most)))
        return min(most, max(1, -(-even // ROUND)) * ROUND)

    looks_up = False
    side_by_side = 1
    stacks = True

    def single(self) -> TorchBackend:
        return self if self.dtype == torch.float32 else TorchBackend(str(self.device), "float32")

    def for_width(self, p: int) -> TorchBackend:  # noqa: ARG002
        return self

    def session(self) -> AbstractContextManager[None]:
        return nullcontext()

    def eps(self, array: Tensor) -> float:
        return float(torch.finfo(array.dtype).eps)

    def asarray(self, values: npt.ArrayLike | Tensor) -> Tensor:
        return torch.as_tensor(values, device=self.device, dtype=self.dtype).contiguous()

    def double(self, values: npt.ArrayLike | Tensor) -> Tensor:
        return torch.as_tensor(values, device=self.device).to(torch.float64)

    def integers(self, values: np.ndarray) -> Tensor:
        return torch.as_tensor(values, device=self.device)

    def carried(self, array: Tensor) -> Tensor:
        return array.to(self.device) if isinstance(array, Tensor) else array

    def to_numpy(self, array: Tensor) -> np.ndarray:
        return array.to("cpu", torch.float64).numpy()

    def zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, device=self.device, dtype=self.dtype)

    def empty(self, *shape: int) -> Tensor:
        return torch.empty(shape, device=self.device, dtype=self.dtype)

    def shifted(self, M: Tensor, shift: float) -> Tensor:
        M = M.clone()
        M.diagonal().add_(shift)
        return M

    def contiguous(self, array: Tensor) -> Tensor:
        return array.contiguous()

    def append_column(self, left: Tensor, column: Tensor) -> Tensor:
        return torch.column_stack([left, column])

    def where(self, test: Tensor, yes: Tensor | float, no: Tensor | float) -> Tensor:
        return torch.where(test, yes, no)

    # ---- rows -----------------------------------------------------------------------------

    def fused(self, X: torch.Tensor) -> None:  # noqa: ARG002
        return None

    def one_sweep(self, X: Tensor, G: Tensor, L: Tensor, V: Tensor) -> Tensor | None:
        if self.device.type != "cuda" or X.dtype != torch.float32 or (card := _card()) is None:
            return None
        return card.product(X, G, L, V)

    def each_group(self, part: Callable[[slice], None], n: int) -> None:
        part(slice(0, n))

    def sum_over_groups(self, part: Callable[[slice], Sum], n: int) -> Sum:
        return part(slice(0, n))

    def sum_over_blocks(self, part: Callable[[slice], Sum], n: int) -> Sum:
        """part(all rows): a GPU is filled by one call."""
        return part(slice(0, n))

    def each_block(self, part: Callable[[slice], None], n: int) -> None:
        part(slice(0, n))

    def subblocks(self, rows: slice, width: int) -> Iterator[slice]:
        """`rows` in pieces whose `width` numbers a row stay within `PAIR_BYTES`."""
        size = max(1, PAIR_BYTES // (8 * width))
        for start in range(rows.start, rows.stop, size):
            yield slice(start, min(start + size, rows.stop))

    def fires(self, X: Tensor, A: Tensor) -> Tensor:
        return X @ A > 0

    def gain(self, F: Tensor, slope: float) -> Tensor:
        G = F.to(self.dtype)
        return G if slope == 0 else (1 - slope) * G + slope

    def activate(self, P: Tensor, slope: float) -> Tensor:
        return torch.nn.functional.leaky_relu(P, slope)

    # ---- products of pairs ----------------------------------------------------------------

    def pairs(self, V: Tensor) -> Tensor:
        Vt = V.T.contiguous()  # (m, n)
        first, second = _pair_columns(len(Vt), self.device)
        return Vt[first] * Vt[second]

    def table_sums(self, F: Tensor, products: Callable[[slice], Tensor], slope: float) -> None:
        """None: a GPU multiplies faster than it looks up."""

    def row_pairs(self, V: Tensor) -> Tensor:
        return self.pairs(V).T

    def add_product(self, total: Tensor, left: Tensor, right: Tensor) -> None:
        total.addmm_(left, right.T)

    # ---- cells ----------------------------------------------------------------------------

    def group_rows(self, F: Tensor) -> tuple[Tensor, Groups]:
        n, h = F.shape
        words = [_code(F[:, k : k + 62]) for k in range(0, h, 62)]
        order = torch.argsort(words[0], stable=True)
        for word in words[1:]:
            order = order[torch.argsort(word[order], stable=True)]
        new = torch.zeros(n, dtype=torch.bool, device=self.device)
        new[0] = True
        for word in words:
            new[1:] |= word[order[1:]] != word[order[:-1]]
        starts = torch.nonzero(new)[:, 0]
        return order[starts], (order, starts)

    def sum_groups(self, V: Tensor, groups: Groups, k: int) -> Tensor:  # noqa: ARG002
        order, starts = groups
        end = torch.tensor([len(order)], device=self.device)
        lengths = torch.diff(torch.cat([starts, end]))
        return torch.segment_reduce(V[order], "sum", lengths=lengths, axis=0)

    def count(self, F: Tensor, before: Tensor) -> tuple[Tensor, int]:
        return F.sum(0), int((before != F).sum())

    # ---- symmetric systems ----------------------------------------------------------------

    def cholesky(self, M: Tensor) -> Tensor | None:
        L, info = torch.linalg.cholesky_ex(M)
        return L if int(info) == 0 and bool(torch.isfinite(L[-1, -1])) else None

    def cho_solve(self, L: Tensor, c: Tensor) -> Tensor:
        return torch.cholesky_solve(c.reshape(len(L), -1), L).reshape(c.shape)

    def triangular_inverse(self, L: Tensor) -> Tensor:
        eye = torch.eye(len(L), device=self.device, dtype=L.dtype)
        return torch.linalg.solve_triangular(L, eye, upper=False)

    def logdet(self, L: Tensor) -> float:
        return 2.0 * float(torch.diagonal(L).double().log().sum())

    def condition(self, M: Tensor, L: Tensor) -> float:
        norms = [float(W.abs().sum(0).max()) for W in (M, torch.cholesky_inverse(L))]
        return norms[0] * norms[1]

    def eigh(self, M: Tensor) -> tuple[Tensor, Tensor]:
        return torch.linalg.eigh(M)

    def orthonormal(self, V: Tensor) -> Tensor:
        return torch.linalg.qr(V)[0]


@cache
def _card() -> Any:
    """Products in one sweep; None where there is no Triton that can say them."""
    try:
        return import_module("anmin.backends.card")
    except ImportError:
        return None


@cache
def _pair_columns(m: int, device: torch.device) -> tuple[Tensor, Tensor]:
    first, second = torch.triu_indices(m, m, device=device)
    return first, second


def _code(F: Tensor) -> Tensor:
    """A word of at most 62 bits for each row of booleans."""
    bits = torch.arange(F.shape[1], device=F.device)
    return (F.to(torch.int64) << bits).sum(1)
