"""Rows as they were given, wherever they live.

A raw source only says how its rows are read, in order; whatever is asked of it is one pass:

    read       chunks of numbers, checked, without rows of weight 0
    measure    number of rows, weight, moments of the columns
    gather     some rows by their numbers, into memory
    part       some rows by a rule, still where they live
    prepared   the rows as the solvers want them

Files, memory maps and a user's batches need no more than `chunks`. Arrays in memory answer
faster, and Dask collections answer on their workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from anmin.backends import Backend, SeveralDevices
from anmin.columns import Columns
from anmin.sources.batch import Source
from anmin.sources.chunk import Chunk, Origin, ahead, bad_cells, checked, in_batches
from anmin.sources.draws import TABLE, Groups, Keep, Part, row_and_input_keys, rule
from anmin.sources.scaling import Measure, Scaling, measure, weight_unit
from anmin.sources.shared import SharedSource

Function = Callable[[np.ndarray], np.ndarray]  # (n, d) → (n, q)


class RawSource:
    """Where training rows come from. A new source is a class with `chunks`."""

    names: Sequence[str] | None = None  # of the columns of X
    flat = True  # whether y has one axis
    streamed = True  # whether rows are read anew in each pass
    remote = False  # whether workers elsewhere do the arithmetic
    sent: dict[Any, Any] | None = None  # inputs that a device has, as they are; None: of a stream
    sparse = False  # whether X is sparse
    weight_unit = 1.0  # by which weights are divided
    passes = 0  # over the rows, where each reads them anew
    judge: RawSource | None = None  # rows beside these, to judge on and never to train on

    def __init__(self, bad_rows: str = "error") -> None:
        if bad_rows not in ("error", "skip"):
            raise ValueError(f'bad_rows must be "error" or "skip"; got {bad_rows!r}.')
        self.bad_rows = bad_rows

    # ---- what a source says of itself -----------------------------------------------------------

    def chunks(self) -> Iterator[tuple[Chunk, Origin]]:
        """The rows in order, as they come, and where each chunk comes from."""
        raise NotImplementedError

    def inputs(self, names: Sequence[str] | None) -> Iterator[tuple[Chunk, Origin]]:
        """The same for predictions, which need no Y: the columns of these names, or else all."""
        have, wanted = ([] if given is None else list(given) for given in (self.names, names))
        if have and wanted and have != wanted:
            raise ValueError(f"{self!r} has the columns {have}; the model expects {wanted}.")
        return self.chunks()

    def fit_columns(self, categorical: Any) -> Columns | None:
        """How text and dates become numbers, from now on; None where all are numbers."""
        if categorical is None or isinstance(categorical, str):
            return None
        raise ValueError(
            f"categorical_features needs a frame in memory or Parquet files; got {self!r}."
        )

    def with_columns(self, columns: Columns) -> Self:  # noqa: ARG002
        """The same source, whose rows are made numbers by a model's columns."""
        raise ValueError(
            f"the model was fitted to a table with text, gaps or dates; {self!r} holds numbers "
            "only. Predict for a frame, a part at a time, or from files."
        )

    @classmethod
    def wraps(cls, X: object) -> bool:  # noqa: ARG003
        """Whether fit(X, y, weight) is to use cls(X, y, weight); see `sources/__init__.py`."""
        return False

    @classmethod
    def of_inputs(cls, X: Any) -> Self:
        """The source for predict(X), where it wraps X."""
        return cls(X, None)  # type: ignore[call-arg]

    # ---- what is asked of it ------------------------------------------------------------------

    def read(self) -> Iterator[Chunk]:
        """The rows in order, checked, and the same ones in each pass."""
        self.passes += 1
        known: Measure | None = self.__dict__.get("measured")
        n, width = 0, None if known is None else self.width
        for chunk, origin in self.chunks():
            width = width or chunk.width
            if chunk.width != width:
                raise ValueError(
                    f"{origin.label} has X of shape {chunk.X.shape} and y of {chunk.Y.shape}; "
                    f"expected (n, {width[0]}) and (n, {width[1]}), as in the rows read before. "
                    "Columns and rows must not change during a fit."
                )
            good = checked(chunk, origin, self.bad_rows).weighed_by(self.weight_unit)
            n += len(good)
            yield good
        if known is not None and n != known.x.n:
            raise ValueError(
                f"{self!r} gave {known.x.n:,} rows at first and {n:,} now; rows must not change "
                "during a fit."
            )

    def batches(self, size: int) -> Iterator[Chunk]:
        """The rows in order, `size` at a time; a stream is read ahead of its use."""
        batches = in_batches(self.read(), size)
        return ahead(batches) if self.streamed else batches

    @cached_property
    def measured(self) -> Measure:
        found = self.measure()
        if found is not None and (unit := weight_unit(found.heaviest)) != 1.0:
            self.weigh_by(unit)
            found = self.measure()
        if found is None or found.x.n == 0:
            skipped = found.skipped if found else 0
            left_out = f" ({skipped:,} bad ones were left out)" if skipped else ""
            raise ValueError(f"{self!r} has no row with a positive weight{left_out}.")
        if not len(found.x.mean):
            raise ValueError(f"{self!r} has no column to predict from.")
        return found

    def weigh_by(self, unit: float) -> None:
        """From now on, divide the weights by `unit`."""
        self.weight_unit = unit

    def measure(self) -> Measure | None:
        return measure(ahead(self.read()) if self.streamed else self.read())

    @property
    def n_skipped_(self) -> int:
        """Bad rows left out, counted in the first pass."""
        return self.measured.skipped

    def tally(self) -> tuple[int, float]:
        """Rows, and their weight."""
        return self.counted

    @cached_property
    def counted(self) -> tuple[int, float]:
        return self.measured.x.n, self.measured.x.w

    @property
    def width(self) -> tuple[int, int]:
        """d, q."""
        return len(self.measured.x.mean), len(self.measured.y.mean)

    def gather(self, rows: np.ndarray) -> ArrayRows:
        """The rows of these numbers, in this order, in memory."""
        found = Chunk.join([*ahead(selected(self.read(), rule(rows)))])
        return ArrayRows(found.select(np.argsort(np.argsort(rows, kind="stable"))))

    def part(self, part: Part) -> RawSource:
        """The rows that belong to `part`."""
        return SelectedRows(self, rule(part))

    def only(self, columns: np.ndarray) -> RawSource:
        """The same rows with some of the columns of X."""
        return SomeColumns(self, columns)

    def groups(self, most: float = TABLE) -> Groups:
        """Which rows are copies of others, for up to so many rows."""
        n = self.tally()[0]
        return Groups(n, None) if n > most else Groups.of(*self.keys().T)

    def keys(self) -> np.ndarray:
        """Two numbers for each row, that equal rows, and rows of equal X, share: (n, 2)."""
        return np.concatenate([row_and_input_keys(chunk) for chunk in ahead(self.read())])

    def on(self, device: str | list[str]) -> RawSource:  # noqa: ARG002
        """The same rows, for workers to use with this device; nothing to do without workers."""
        return self

    def prepared(self, scaling: Scaling, backend: Backend, batch_size: int) -> Source:
        """The rows as the solvers want them."""
        kind = SharedSource if isinstance(backend, SeveralDevices) else Source
        return kind(self, scaling, backend, batch_size)

    def predict(self, function: Function, names: Sequence[str] | None, d: int) -> Any:
        """function(X) for the d columns `names`; NaN for rows that the source leaves out."""
        parts = []
        for chunk, origin in ahead(self.inputs(names)):
            if chunk.X.shape[1] != d:
                raise ValueError(
                    f"{origin.label} has {chunk.X.shape[1]} columns; the model expects {d}."
                )
            rows = Chunk(chunk.X, chunk.Y[:, :0])
            checked(rows, origin, self.bad_rows)
            bad = bad_cells(rows)
            with np.errstate(all="ignore"):
                scores = function(rows.X)
            if bad is not None:
                scores[bad.any(axis=1)] = np.nan
            parts.append(scores)
        if not parts:
            raise ValueError(f"{self!r} has no rows to predict for.")
        return np.concatenate(parts)


def selected(chunks: Iterator[Chunk], keep: Keep) -> Iterator[Chunk]:
    """The rows that `keep` wants."""
    first = 0
    for chunk in chunks:
        yield chunk.select(keep(first, chunk))
        first += len(chunk)


class ArrayRows(RawSource):
    """Rows in memory, already checked."""

    streamed = False

    def __init__(self, chunk: Chunk) -> None:
        super().__init__()
        self.chunk, self.sent = chunk, {}

    def read(self) -> Iterator[Chunk]:
        yield self.chunk

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return issparse(self.chunk.X)

    @cached_property
    def counted(self) -> tuple[int, float]:
        return len(self.chunk), self.chunk.weight

    @property
    def width(self) -> tuple[int, int]:
        return self.chunk.width

    def gather(self, rows: np.ndarray) -> ArrayRows:
        return ArrayRows(self.chunk.select(rows))

    def part(self, part: Part) -> ArrayRows:
        return self.gather(part if isinstance(part, np.ndarray) else part(0, self.chunk))

    def only(self, columns: np.ndarray) -> ArrayRows:
        return ArrayRows(self.chunk.only(columns))


class SomeColumns(RawSource):
    """The rows of another source with some of the columns of X."""

    def __init__(self, whole: RawSource, columns: np.ndarray) -> None:
        super().__init__(whole.bad_rows)
        self.whole, self.columns = whole, columns

    def __repr__(self) -> str:
        return f"columns of {self.whole!r}"

    def read(self) -> Iterator[Chunk]:
        return (chunk.only(self.columns) for chunk in self.whole.read())

    @cached_property
    def counted(self) -> tuple[int, float]:
        return self.whole.tally()


class SelectedRows(RawSource):
    """Some of the rows of another source."""

    def __init__(self, whole: RawSource, keep: Keep) -> None:
        super().__init__(whole.bad_rows)
        self.whole, self.keep = whole, keep

    def __repr__(self) -> str:
        return f"a part of {self.whole!r}"

    def read(self) -> Iterator[Chunk]:
        return selected(self.whole.read(), self.keep)

    @cached_property
    def counted(self) -> tuple[int, float]:
        n, w = 0, 0.0
        for chunk in ahead(self.read()):
            n, w = n + len(chunk), w + chunk.weight
        return n, w
