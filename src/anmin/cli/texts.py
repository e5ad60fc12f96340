"""What the texts of a column mean: numbers, truth values, dates, times of day, or just texts.

A column is decided as a whole. Whether 1,234 is 1234 or 1.234 is told by a cell that can be read in
one way only, first in the column, then in the file: 0,5 or 1.234,5 has a decimal comma, 1.5 or
1,234,567 a decimal point. Where nothing tells, the column is a problem and not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from anmin.cli.app import Flaw, InputError, quoted
from anmin.cli.day_texts import dated, read_dates

GAPS = frozenset({  # those of pandas
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
})  # fmt: skip
NUMBER_GAPS = frozenset(word.lower() for word in GAPS) | {  # more of them, among numbers
    "?", "-", "--", "---", ".", "..", "…", "–", "—", "n.a.", "k.a.", "missing", "unknown",
    "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!",
}  # fmt: skip
SOME = 1000  # cells that are looked at one by one
FEW = 20  # different values of a column that may well be texts although most are numbers
CURRENCIES = [*"$€£¥₹₩₽₺", "CHF", "EUR", "USD", "GBP", "kr", "zł", "R$", "US$"]
CORE = r"(?:\d[\d .,'’_\u00a0\u2009\u202f]*\d|\d|[.,]\d+|\d+[.,])(?:[eE][-+]?\d+)?"
AFFIX = r"[^\d\s.,'’()+-][^\d\s()+-]{0,5}"
WRITTEN = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+])?\s*(?P<before>{AFFIX})?\s*(?P<inner>[-+])?(?P<core>{CORE})"
    rf"\s*(?P<after>{AFFIX})?(?P<close>\))?"
)
SPACED = re.compile(r"(?<=\d)[ '’_\u00a0\u2009\u202f](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known beforehand: of the user's options, or of the table that a model came from."""

    decimal: str | None = None  # for columns that tell nothing
    missing: Sequence[str] = ()  # texts that stand for no value
    kinds: Mapping[str, str] = field(default_factory=dict)  # "number", "text", "date", …

    @classmethod
    def of(cls, decimal: str | None, missing: Sequence[str], text: Sequence[str]) -> Reading:
        """From the user's options."""
        if decimal not in (None, ".", ","):
            raise InputError(f"--decimal must be . or ,; got {decimal!r}")
        return cls(decimal, missing, dict.fromkeys(text, "text"))


@dataclass(slots=True)
class Found:
    """Columns with a meaning, what there is to say of them, and what is wrong."""

    columns: dict[str, pd.Series] = field(default_factory=dict)
    remarks: dict[str, list[str]] = field(default_factory=dict)  # remark → columns
    problems: dict[str, Flaw] = field(default_factory=dict)  # column → what is wrong with it
    decimal: str | None = None  # the mark, where the file has only this one

    def say(self, remark: str, name: str) -> None:
        self.remarks.setdefault(remark, []).append(name)

    def refuse(self, name: str, what: str, *remedy: str) -> None:
        self.problems[name] = Flaw(what, remedy or ("--drop", name))


def make_sense(texts: pd.DataFrame, separator: str, reading: Reading) -> Found:
    """Columns of numbers, dates and texts from columns of texts."""
    found, numbers = Found(), {}
    for name in texts:
        kind = reading.kinds.get(name)
        column = texts[name].where(~texts[name].isin(set(reading.missing)), "")
        if kind == "text":
            found.columns[name] = as_text(column)
        elif (plain := simple(column, kind)) is not None or (plain := usual(column)) is not None:
            found.columns[name] = plain
        else:
            numbers[name] = Figures.of(column)
    usual_marks = {"." for c in found.columns.values() if c.dtype == float}
    marks = usual_marks | {
        mark for figures in numbers.values() for mark in figures.marks if figures.usable
    }
    for name, figures in numbers.items():
        figures.decide(name, marks, separator, reading, found)
    found.columns = {name: found.columns.get(name, texts[name]) for name in texts}
    found.decimal = next(iter(marks)) if len(marks) == 1 else None
    return found


def as_text(column: pd.Series) -> pd.Series:
    """Texts, None where there is none."""
    return column.where(~column.isin(GAPS), None)


def simple(column: pd.Series, kind: str | None) -> pd.Series | None:
    """Truth values, or texts of which none has a digit; None for all else."""
    some = pd.Series(column[~column.isin(GAPS)].unique(), dtype=object)
    lower = set(some.str.lower()) if len(some) else set()
    if lower and lower <= {"true", "false"}:
        if len(some) and not column.isin(GAPS).any():
            return column.str.lower() == "true"
        words = column.str.lower().map({"true": True, "false": False})
        return words.astype(object).where(words.notna(), None)
    if kind is None and lower and not lower <= NUMBER_GAPS and not some.str.contains(r"\d").any():
        return as_text(column)
    return None


def usual(column: pd.Series) -> pd.Series | None:
    """Numbers as programs write them, among which one has a decimal point for certain."""
    gaps = column.str.lower().isin(NUMBER_GAPS)
    given = column[~gaps]
    if not any(proves(text.lstrip("+-"), ".") for text in given[:SOME]) or "_" in "".join(given):
        return None
    try:
        return column.where(~gaps, "nan").astype(float)
    except ValueError:
        return None


@dataclass(slots=True)
class Figures:
    """The different texts of a column, and what they would be as numbers."""

    column: pd.Series
    texts: pd.Series  # those that are no gaps, each once
    cores: pd.Series  # digits and marks alone, NaN where it is no number
    signs: pd.Series
    affixes: pd.Series
    marks: set[str]  # decimal marks that some cell proves

    @classmethod
    def of(cls, column: pd.Series) -> Figures:
        texts = pd.Series(column.unique(), dtype=object)
        texts = texts[~texts.str.lower().isin(NUMBER_GAPS)].reset_index(drop=True)
        parts = [WRITTEN.fullmatch(text.replace("−", "-")) for text in texts]
        good = [
            p is not None
            and bool(p["open"]) == bool(p["close"])
            and (not p["before"] or p["before"] in CURRENCIES)
            for p in parts
        ]
        cores = pd.Series(
            [
                SPACED.sub("", p["core"]) if p and ok else np.nan
                for p, ok in zip(parts, good, strict=True)
            ],
            dtype=object,
        )
        cores = cores.where(cores.map(is_figure, na_action="ignore").eq(True), np.nan)
        signs = [
            -1.0 if p and (p["open"] or "-" in (p["sign"], p["inner"])) else 1.0 for p in parts
        ]
        affixes = [(p["before"] or "") + "…" + (p["after"] or "") if p else "" for p in parts]
        marks = {m for m in ".," if any(proves(core, m) for core in cores.dropna())}
        given = pd.Series(signs, dtype=float), pd.Series(affixes, dtype=object)
        return cls(column, texts, cores, *given, marks)

    @property
    def usable(self) -> bool:
        """Whether all that is written is numbers."""
        return bool(self.cores.notna().all())

    def decide(
        self, name: str, marks: set[str], separator: str, reading: Reading, found: Found
    ) -> None:
        """Put the column into what is found, as numbers, dates or texts, or as a problem."""
        kind = reading.kinds.get(name)
        if self.texts.empty:  # nothing but gaps
            found.columns[name] = pd.Series(np.nan, self.column.index)
        elif kind == "date" or (kind is None and not self.usable and dated(self.texts)):
            read_dates(name, self.column, self.texts, found)
        elif not self.usable or (kind is None and self.coded()):
            self.as_texts(name, kind, found)
        elif self.one_unit(name, kind, found):
            mark = self.decimal(name, marks, separator, reading, found)
            if mark is not None:
                found.columns[name] = self.values(mark)

    # ---- numbers --------------------------------------------------------------------------------

    def values(self, mark: str) -> pd.Series:
        """The column as numbers."""
        other = "," if mark == "." else "."
        plain = self.cores.str.replace(other, "", regex=False).str.replace(mark, ".", regex=False)
        lookup = dict(zip(self.texts, self.signs * plain.astype(float), strict=True))
        numbers = self.column.map(lookup).astype(float)
        whole = numbers.notna().all() and not self.cores.str.contains(r"[.,eE]").any()
        return numbers.astype(np.int64) if whole and numbers.abs().max() < 2**53 else numbers

    def decimal(
        self, name: str, marks: set[str], separator: str, reading: Reading, found: Found
    ) -> str | None:
        """The decimal mark of the column; None, and a problem, where nothing tells."""
        if len(self.marks) == 2:
            pairs = list(zip(self.texts, self.cores, strict=True))
            cells = [next(text for text, core in pairs if proves(core, m)) for m in ".,"]
            what = f"{name!r} mixes decimal points and commas, as in {cells[0]!r} and {cells[1]!r}"
            found.refuse(name, what)
            return None
        mark: str | None = next(iter(self.marks), None)
        if mark is None:
            doubtful = self.cores[self.cores.str.contains("[.,]")]
            mark = self.undecided(doubtful, marks, separator, reading)
            if mark is None:
                example = doubtful.iloc[0]
                group, point = re.sub("[.,]", "", example), re.sub("[.,]", ".", example)
                what = f"{name!r} holds {example}, which may be {group} or {point}"
                found.refuse(name, what, "--decimal", guess(doubtful, separator))
                return None
            if mark == "." and not marks and doubtful.str.contains(".", regex=False).any():
                found.say("decimal points, as far as can be told", name)
        if mark == "," and self.cores.str.contains(",").any():
            found.say("decimal commas", name)
        if self.cores.str.contains("." if mark == "," else ",", regex=False).any():
            found.say("thousands marks", name)
        return mark

    def undecided(
        self, doubtful: pd.Series, marks: set[str], separator: str, reading: Reading
    ) -> str | None:
        """The mark where no cell proves one: whole numbers, or three digits behind it."""
        if doubtful.empty:
            return "."
        if reading.decimal:
            return reading.decimal
        if len(marks) == 1:
            return next(iter(marks))
        sign = "," if "," in doubtful.iloc[0] else "."
        small = self.cores.str.fullmatch(r"\d{1,3}").any()  # 987 beside 1,234
        if sign == ",":  # where there are many, fractions would not all have three digits
            grouped = small and len(doubtful) >= FEW
            return "." if grouped and not marks and separator == "," else None
        return "." if separator in (",", " ") and not small and not marks else None

    def one_unit(self, name: str, kind: str | None, found: Found) -> bool:
        """Whether all numbers are in one unit: of money, percent, or another that all carry."""
        units = [unit for unit in self.affixes.unique() if unit != "…"]
        if not units:
            return True
        money = all(unit.strip("…") in CURRENCIES for unit in units)
        everywhere = (self.affixes != "…").all()
        shown = quoted(unit.strip("…") for unit in units)
        if len(units) == 1 and (everywhere or money):
            found.say(f"numbers are taken without their {units[0].strip('…')}", name)
            return True
        if money or "…%" in units or kind == "number" or self.texts.size > FEW:
            what = f"{name!r} mixes numbers in {shown}" + " and without a unit" * (not everywhere)
            found.refuse(name, what)
        else:
            found.columns[name] = as_text(self.column)
        return False

    # ---- texts and dates ------------------------------------------------------------------------

    def coded(self) -> bool:
        """Whether the numbers are codes: with leading zeros, or longer than a number may be."""
        digits = self.cores[self.affixes == "…"]
        zeros = digits.str.fullmatch(r"0\d\d+")
        return bool(zeros.any() or digits.str.fullmatch(r"\d{16,}").any())

    def as_texts(self, name: str, kind: str | None, found: Found) -> None:
        """Texts; but many numbers and a few texts among them are a problem."""
        words = self.texts[self.cores.isna()]
        numeric = self.column.isin(set(self.texts[self.cores.notna()])).sum()
        rare = len(self.texts) > FEW and numeric > len(self.column) / 2 and len(words) <= FEW
        if words.empty:
            found.say("numbers that are codes, taken as texts", name)
        elif rare or kind == "number":
            row = int(np.flatnonzero(self.column == words.iloc[0])[0]) + 1
            more = int(self.column.isin(set(words)).sum()) - 1
            also = f" and {more} more" if more else ""
            what = f"{name!r} holds numbers, but {words.iloc[0]!r} in row {row}{also}"
            found.refuse(name, what, *(w for word in words for w in ("--missing", word)))
            return
        found.columns[name] = as_text(self.column)


def is_figure(core: str) -> bool:
    """Whether digits and marks are a number with one decimal mark or another."""
    head = re.split("[eE]", core)[0]
    return any(re.fullmatch(pattern(m), head) for m in ".,")


def pattern(mark: str) -> str:
    """Numbers with that decimal mark, and the other one between thousands if anywhere."""
    mark, other = re.escape(mark), re.escape("," if mark == "." else ".")
    return rf"(\d+|[1-9]\d{{0,2}}({other}\d{{3}})+)?({mark}\d*)?"


def proves(core: object, mark: str) -> bool:
    """Whether a number can only be read with that decimal mark.

    >>> [proves(core, ",") for core in ("0,5", "1.234,5", "1.234.567", "1,234", "12")]
    [True, True, True, False, False]
    """
    if not isinstance(core, str) or not re.search("[.,]", core):
        return False
    head, *power = re.split("[eE]", core)
    other = "," if mark == "." else "."
    if power:
        return mark in head
    return bool(re.fullmatch(pattern(mark), head)) and not re.fullmatch(pattern(other), head)


def guess(doubtful: pd.Series, separator: str) -> str:
    """The decimal mark that is likelier where nothing proves one, for a command to try."""
    return "," if separator == ";" or "." in doubtful.iloc[0] else "."
