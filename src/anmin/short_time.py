"""max_time as a promise: the rows that it allows for, and what the end of a fit takes.

Beside its iterations a fit goes over all rows a few times: it looks for copies of rows, tries a
straight line, measures the network that came out and reports on it. Where that alone would take
most of the time that is given, the fit has a sample of the rows.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from anmin import checks
from anmin.sources import RawSource
from anmin.sources.draws import draw

NUMBERS = 4e6  # inputs and units of all rows that a second allows for
READING = 4  # times as much that each of them costs where it is read anew in each pass
LEAST = 2000  # rows, however short the time
ROOM = 2**28  # bytes of a stream that may be held
END = 2.5e-8  # seconds for each of those numbers, from the last iteration on, ...
TURNS = 100  # ... as often under another loss than squares, whose linear models are iterated


def affordable(rows: RawSource, h: int, max_time: float) -> RawSource:
    """The rows, or as many of them in memory as the time allows for."""
    checks.real_number("max_time", max_time, least=0.0)
    if rows.remote or rows.sparse:
        return rows
    (n, _), (d, q) = rows.tally(), rows.width
    most = max(int(max_time * NUMBERS / (d + h)), LEAST)
    if n * (READING if rows.streamed else 1) <= most:
        return rows
    if rows.streamed:  # it may not fit in memory
        room = max(ROOM // (8 * (d + q)), LEAST)
        if room < n <= most:
            return rows
        most = min(most, room)
    few = rows.gather(draw(n, most, np.random.RandomState(0)) if n > most else np.arange(n))
    few.judge, few.passes = rows.judge, rows.passes
    if n > most:
        what = f"max_time={max_time:g} allows for {most:,} of {n:,} rows"
        warnings.warn(f"{what}; the network is fitted to a sample.", ConvergenceWarning, 5)
    return few


def ending(rows: RawSource, h: int, max_time: float, squares: bool) -> float:
    """Seconds of the time that are kept for the end."""
    seconds = END * rows.tally()[0] * (rows.width[0] + h)
    return min(seconds if squares else TURNS * seconds, max_time / 2)
