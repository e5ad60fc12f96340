"""Rows in a Dask collection: every pass runs where they are, and only sums travel.

    driver                      workers
    kernel with A      ──▶      each partition: prepare, kernel, sum over its batches
    total              ◀──      partial sums, added in groups of `FAN` in the order of partitions

The order of the additions is fixed by the numbers of the partitions, so neither the number of
workers nor the loss of one changes a bit. What travels in a pass is the kernel, once a worker,
and at most one sum a partition; nothing of the size of the data.

Partitions as numbers are kept in the workers' memory when they take less than `KEEP` of it. A lost
worker's partitions are made again by Dask from the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from anmin.backends import Backend
from anmin.sources import worker
from anmin.sources.batch import Kernel, S, Source, moved
from anmin.sources.chunk import Chunk, Origin, column_names
from anmin.sources.draws import Part, rule
from anmin.sources.raw import ArrayRows, Function, RawSource
from anmin.sources.scaling import Measure, Scaling

T = TypeVar("T")
FAN = 8  # sums added at a time
FEW = 2**24  # bytes of rows that may come to the driver


def is_dask(X: object) -> bool:
    return hasattr(X, "__dask_graph__")


class DaskSource(RawSource):
    """Rows of a Dask array or dataframe, with y and weights in collections that match.

    `fit(X, y)` makes one by itself; make it yourself to leave bad rows out.

    Parameters
    ----------
    X : dask array (n, d) or dataframe
    y : dask array, series or dataframe in the same partitions, or an array
    weight : likewise, or None
    bad_rows : "error" names the first cell that is no finite number; "skip" leaves such rows
        out and counts them in `n_skipped_`

    Examples
    --------
    >>> import dask.array as da
    >>> from anmin import ANMINRegressor
    >>> from anmin.sources import DaskSource
    >>> X = da.random.default_rng(0).normal(size=(300, 2), chunks=(100, 2))
    >>> model = ANMINRegressor(4, random_state=0).fit(DaskSource(X, abs(X[:, 0])))
    >>> model.predict(X).compute().shape  # lazy until then
    (300,)
    """

    remote = True
    whole = True  # not a part of another
    device = "cpu"

    def __init__(self, X: Any, y: Any, weight: Any = None, bad_rows: str = "error") -> None:
        from dask.delayed import delayed

        super().__init__(bad_rows)
        refuse_text_columns(X)
        self.X, self.names, self.flat = X, column_names(X), np.ndim(y) == 1
        self.inputs_only = y is None
        parts = [partitions(*given, X) for given in (("X", X), ("y", y), ("weight", weight))]
        self.pieces = [
            delayed(worker.load)(i, *item, self.names, bad_rows)
            for i, item in enumerate(zip(*parts, strict=True))
        ]

    def __repr__(self) -> str:
        return f"DaskSource of {len(self.pieces)} partitions"

    @classmethod
    def wraps(cls, X: object) -> bool:
        return is_dask(X)

    def predict(self, function: Function, names: Sequence[str] | None, d: int) -> Any:
        """A lazy array."""
        if not self.inputs_only:
            raise TypeError(f"predict cannot read a {self!r}; give it the X that it was made from.")
        X = self.X
        if column_names(X) is not None:
            wanted = list(X.columns if names is None else names)
            missing = [name for name in wanted if name not in X.columns]
            if missing:
                raise ValueError(f"X has no column {missing[0]!r}; it has {', '.join(X.columns)}.")
            X = X[wanted].to_dask_array()
        if X.shape[1] != d:
            raise ValueError(f"X has {X.shape[1]} features, but the model expects {d}.")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        chunks = X.chunks[0], (function(np.zeros((1, d))).shape[1],)
        return X.map_blocks(worker.block_scores, function, dtype=np.float64, chunks=chunks)

    def chunks(self) -> Iterator[tuple[Chunk, Origin]]:
        raise NotImplementedError("the rows of a Dask collection stay on its workers.")

    def measure(self) -> Measure | None:
        found = self.total(ArrayRows.measure)
        if found is not None and self.whole:
            self.pieces = worker.kept(self.pieces, 8 * found.x.n * (len(found.x.mean) + 2))
        return found

    def weigh_by(self, unit: float) -> None:
        from dask.delayed import delayed

        self.pieces = [delayed(Chunk.weighed_by)(piece, unit) for piece in self.pieces]

    def gather(self, rows: np.ndarray) -> ArrayRows:
        wanted = self.part(rows)
        found = wanted.total(worker.all_rows)
        assert found is not None
        return ArrayRows(found.select(np.argsort(np.argsort(rows, kind="stable"))))

    def part(self, part: Part) -> DaskSource:
        from dask.delayed import delayed

        other = copy(self)
        for known in ("measured", "counted"):
            other.__dict__.pop(known, None)
        other.whole, keep = False, delayed(rule(part), pure=False)
        firsts = accumulate(self.measured.sizes, initial=0)
        other.pieces = [
            delayed(worker.some_rows)(piece, keep, first)
            for piece, first in zip(self.pieces, firsts, strict=False)
        ]
        return other

    def keys(self) -> np.ndarray:
        found = self.total(worker.all_keys)
        assert found is not None
        return found.X

    def on(self, device: str | list[str]) -> DaskSource:
        assert isinstance(device, str)  # `checks.devices` refuses several
        other = copy(self)
        other.device = device
        return other

    def prepared(self, scaling: Scaling, backend: Backend, batch_size: int) -> SpreadRows:
        return SpreadRows(self, scaling, backend, batch_size)

    def total(self, work: worker.Work[T]) -> T | None:
        """Σ work(partition) over the partitions, in their order; None where all are empty."""
        from dask.delayed import delayed

        task = delayed(work, pure=False)  # travels once a worker
        parts = [delayed(worker.run)(task, piece, i) for i, piece in enumerate(self.pieces)]
        while len(parts) > 1:
            parts = [delayed(worker.added)(parts[i : i + FAN]) for i in range(0, len(parts), FAN)]
        return worker.computed(parts[0])


class SpreadRows(Source):
    """The rows of a Dask collection, prepared by the workers in each pass."""

    raw: DaskSource

    def reduce(self, kernel: Kernel[S]) -> S:
        dtype = self.backend.dtype
        work = worker.Pass(kernel, self.scaling, self.raw.device, str(dtype), self.batch_size)
        total = self.raw.total(work)
        if total is None:
            raise ValueError(f"{self.raw!r} has no rows.")
        return moved(total, lambda W: W.astype(dtype) if W.dtype.kind == "f" else W)

    def using(self, backend: Backend) -> Source:
        """Few rows come to the driver, which sums them in an order of its own: no partition shows
        in the last digits of single precision.
        """
        n, p, q = self.shape
        if 8 * n * (p + q) <= FEW:
            return self.take(np.arange(n), backend)
        return super().using(backend)


def refuse_text_columns(X: Any) -> None:
    """An error that names the columns of a dataframe that hold no numbers."""
    kinds = getattr(X, "dtypes", None)
    if kinds is None or not hasattr(X, "columns"):
        return
    words = ("string", "str", "category", "datetime", "timestamp", "dictionary")
    if texts := [name for name in X.columns if str(kinds[name]).startswith(words)]:
        raise ValueError(
            f"the columns {texts!r:.200} of the dataframe hold text or dates; Dask rows must be "
            "numbers: drop or encode them, or fit to Parquet files: anmin.sources.ParquetSource."
        )


def partitions(name: str, rows: Any, X: Any) -> list[Any]:
    """The partitions of rows, one delayed object each, cut as those of X are; None if not given."""
    blocks = getattr(X, "chunks", None)  # an array's; a dataframe's sizes are not known
    count = X.npartitions if blocks is None else X.numblocks[0]
    if rows is None:
        return [None] * count
    if not is_dask(rows):
        import dask.array as da

        if blocks is None or np.isnan(sum(blocks[0])):
            raise ValueError(
                f"{name} is not a Dask collection, and the partitions of X have unknown sizes; "
                f"give {name} as a collection made from the same partitions as X."
            )
        rows = da.from_array(np.asarray(rows), chunks=(blocks[0], *np.shape(rows)[1:]))
    if hasattr(rows, "numblocks"):
        rows = aligned(rows, blocks)
    found = list(np.ravel(rows.to_delayed()))
    if len(found) != count:
        raise ValueError(f"{name} has {len(found)} partitions, X has {count}; they must match.")
    return found


def aligned(rows: Any, blocks: Any) -> Any:
    """A Dask array in the row blocks of X, and with all its columns in one block."""
    known = blocks is not None and not np.isnan(sum(blocks[0])) and not np.isnan(rows.shape[0])
    if known and sum(blocks[0]) != rows.shape[0]:
        raise ValueError(f"X has {sum(blocks[0])} rows but y or weight {rows.shape[0]}.")
    wanted = dict.fromkeys(range(1, rows.ndim), -1) | ({0: blocks[0]} if known else {})
    return rows.rechunk(wanted)
