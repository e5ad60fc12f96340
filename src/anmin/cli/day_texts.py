"""Dates and times of day among the texts of a column."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from anmin.cli.texts import Found

TIME = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
ZONE = r"(:\d\d(?:\.\d+)?) ?(?:Z|[-+]\d\d:?\d\d)$"
ISO = re.compile(rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}([T ]{TIME}( ?(Z|[-+]\d\d:?\d\d))?)?")
DAYS = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}})( {TIME}( ?[AaPp][Mm])?)?")
MONTHS = re.compile(
    rf"(\d{{1,2}}[-. ]+[A-Za-z]{{3,9}}[-,. ]+\d{{2,4}}"
    rf"|[A-Za-z]{{3,9}} \d{{1,2}},? \d{{4}})( {TIME})?"
)


def dated(texts: pd.Series) -> bool:
    """Whether all texts look like dates, or all like times of day."""
    patterns = (ISO, DAYS, MONTHS, re.compile(TIME))
    return any(all(map(pattern.fullmatch, texts)) for pattern in patterns)


def read_dates(name: str, column: pd.Series, texts: pd.Series, found: Found) -> None:
    """Put a column into what is found: dates, hours of the day, or a problem.

    `texts` are the different ones that are no gaps.
    """
    if all(re.fullmatch(TIME, text) for text in texts):
        whole = pd.to_timedelta(texts.where(texts.str.count(":") == 2, texts + ":00"))
        lookup = dict(zip(texts, whole.dt.total_seconds() / 3600, strict=True))
        found.columns[name] = column.map(lookup).astype(float)
        return found.say("times of day, taken as hours", name)
    parts = [DAYS.fullmatch(text) for text in texts]
    day_first = any(p and (p[2] == "." or int(p[1]) > 12) for p in parts)
    month_first = any(p and p[2] != "." and int(p[3]) > 12 for p in parts)
    if all(parts) and day_first == month_first:
        why = "change places" if day_first else "cannot be told apart"
        what = f"{name!r} holds dates such as {texts.iloc[0]}, whose day and month {why}"
        return found.refuse(name, what)
    shown = texts.str.replace(ZONE, r"\1", regex=True)  # the clock that the cells show
    dates = pd.to_datetime(shown, format="mixed", errors="coerce", dayfirst=day_first)
    if dates.isna().any():
        wrong = texts[dates.isna()].iloc[0]
        row = int(np.flatnonzero(column == wrong)[0]) + 1
        what = f"{name!r} holds dates, but {wrong!r} in row {row} is none"
        return found.refuse(name, what, "--missing", wrong)
    known = column.map(dict(zip(texts, dates, strict=True)))
    found.columns[name] = known.astype("datetime64[ns]")
    return None
