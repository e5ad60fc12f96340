"""Rows as they were given, wherever they live.

A raw source only says how its rows are read, in order; whatever is asked of it is one pass:

    read       chunks of numbers, checked, without rows of weight 0
    measure    number of rows, weight, moments of the columns
    gather     some rows by their numbers, into memory
    part       some rows by a rule, still where they live
    prepared   the rows as the core wants them

Files, memory maps and a user's batches need no more than `chunks`. Arrays in memory answer
faster, and Dask collections answer on their workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from anmin.backends import Backend
from anmin.sources.chunk import BAD_ROWS, Chunk, Place, ahead, checked, in_batches
from anmin.sources.draws import Keep, Part, rule
from anmin.sources.prepared import Source
from anmin.sources.scaling import Measure, Scaling, measure


class RawSource:
    """Where training rows come from."""

    names: Sequence[str] | None = None  # of the columns of X
    flat = True  # whether y has one axis
    streamed = True  # whether rows are read anew in each pass
    remote = False  # whether workers elsewhere do the arithmetic

    def __init__(self, bad_rows: str = "error") -> None:
        if bad_rows not in BAD_ROWS:
            raise ValueError(f'bad_rows must be "error" or "skip"; got {bad_rows!r}.')
        self.bad_rows = bad_rows

    def chunks(self) -> Iterator[tuple[Chunk, Place]]:
        """The rows in order, as they come, and where each chunk comes from."""
        raise NotImplementedError

    def read(self) -> Iterator[Chunk]:
        """The rows in order, checked."""
        for chunk, place in self.chunks():
            yield checked(chunk, place, self.bad_rows)

    def inputs(
        self,
        names: Sequence[str] | None,  # noqa: ARG002
    ) -> Iterator[tuple[np.ndarray, Place]]:
        """X alone, for predictions: the columns of these names, or else all."""
        raise TypeError(f"predict cannot read a {self!r}; give it the X that it was made from.")

    def batches(self, size: int) -> Iterator[Chunk]:
        """The rows in order, `size` at a time, read ahead of their use."""
        return ahead(in_batches(self.read(), size))

    @cached_property
    def measured(self) -> Measure:
        found = self.measure()
        if found is None or found.x.n == 0:
            skipped = found.skipped if found else 0
            left_out = f" ({skipped:,} bad ones were left out)" if skipped else ""
            raise ValueError(f"{self!r} has no row with a positive weight{left_out}.")
        return found

    def measure(self) -> Measure | None:
        return measure(ahead(self.read()))

    @property
    def n_skipped_(self) -> int:
        """Bad rows left out, counted in the first pass."""
        return self.measured.skipped

    def tally(self) -> tuple[int, float]:
        """Rows, and their weight."""
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
        return View(self, rule(part))

    def on(self, device: str) -> RawSource:  # noqa: ARG002
        """The same rows, for workers to use with this device; nothing to do without workers."""
        return self

    def prepared(self, scaling: Scaling, backend: Backend, batch_size: int) -> Source:
        """The rows as the core wants them."""
        return Source(self, scaling, backend, batch_size)


def selected(chunks: Iterator[Chunk], keep: Keep, first: int = 0) -> Iterator[Chunk]:
    """The rows that `keep` wants, the first chunk's first row having the number `first`."""
    for chunk in chunks:
        yield chunk.select(keep(first, len(chunk)))
        first += len(chunk)


class ArrayRows(RawSource):
    """Rows in memory, already checked."""

    streamed = False

    def __init__(self, chunk: Chunk) -> None:
        super().__init__()
        self.chunk = chunk

    def read(self) -> Iterator[Chunk]:
        yield self.chunk

    def batches(self, size: int) -> Iterator[Chunk]:
        return in_batches(self.read(), size)

    def measure(self) -> Measure | None:
        return measure(self.read())

    @cached_property
    def counted(self) -> tuple[int, float]:
        return len(self.chunk), self.chunk.weight

    def tally(self) -> tuple[int, float]:
        return self.counted

    @property
    def width(self) -> tuple[int, int]:
        return self.chunk.X.shape[1], self.chunk.Y.shape[1]

    def gather(self, rows: np.ndarray) -> ArrayRows:
        return ArrayRows(self.chunk.select(rows))

    def part(self, part: Part) -> ArrayRows:
        return self.gather(part if isinstance(part, np.ndarray) else part(0, len(self.chunk)))


class View(RawSource):
    """Some of the rows of another source."""

    def __init__(self, whole: RawSource, keep: Keep) -> None:
        super().__init__(whole.bad_rows)
        self.whole, self.keep = whole, keep

    def read(self) -> Iterator[Chunk]:
        return selected(self.whole.read(), self.keep)

    @cached_property
    def counted(self) -> tuple[int, float]:
        n, w = 0, 0.0
        for chunk in ahead(self.read()):
            n += len(chunk)
            w += chunk.weight
        return n, w

    def tally(self) -> tuple[int, float]:
        return self.counted
