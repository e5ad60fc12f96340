"""How a text file is laid out: encoding, separator, comments, header; and its cells.

Nothing here knows what a cell means. What is recognised without a doubt is said in a remark; what
is not is refused in one sentence.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count, islice

import pandas as pd

from anmin.cli.app import InputError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
SAMPLE = 500  # rows that show the separator
OPENINGS = {  # of files that are no text
    b"PK\x03\x04": "an Excel or zip file; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file; save the table as CSV",
    b"PAR1": "a Parquet file; its name must end in .parquet",
    b"<!DOCTYPE": "a web page; download the table itself",
    b"<html": "a web page; download the table itself",
    b"[{": "JSON; save the table as CSV",
}
MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
Row = tuple[int, list[str]]  # the line where it ends, and its cells


@dataclass(slots=True)
class Layout:
    """The cells of a text file as texts, how they were separated, and what there is to say."""

    texts: pd.DataFrame
    separator: str
    remarks: list[str] = field(default_factory=list)


def lay_out(data: bytes) -> Layout:
    """The cells of a file; a ValueError says why they cannot be told apart.

    >>> lay_out(b"a;b\\n1,5;x\\n2,5;y\\n").texts["a"].tolist()
    ['1,5', '2,5']
    """
    remarks: list[str] = []
    text = decode(data, remarks)
    if not text.strip():
        raise ValueError("is empty")
    text, separator = announced(text)
    separator = separator or best_separator(text)
    if separator not in ",\t":
        remarks.append(f"cells are separated by {SEPARATORS.get(separator, repr(separator))}")
    top, rows = head_and_rows(list(split(text, separator)), remarks)
    names = top[1]
    if is_data(top):
        names, rows = [f"x{i}" for i in range(len(names))], [top, *rows]
        remarks.append(f"there is no header: its columns are x0 … x{len(names) - 1}")
    marked = separator not in ", " or len(re.findall('[\r\n]"', text)) >= len(rows)
    names, rows = even(names, rows, remarks, marked)
    texts = pd.DataFrame([cells for _, cells in rows], columns=range(len(names)), dtype=object)
    return Layout(named(texts, names, remarks), separator, remarks)


def decode(data: bytes, remarks: list[str]) -> str:
    """The text of a file: UTF-8, UTF-16, or the Windows encoding of western Europe."""
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    for opening, what in OPENINGS.items():
        if data[:64].lstrip().startswith(opening):
            raise ValueError(f"is {what}")
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data[len(mark) * (mark == codecs.BOM_UTF8) :].decode(encoding)
    head = data[:4000]
    if b"\0" in head:  # of UTF-16 every other byte is 0 where the letters are plain
        even_zeros, odd_zeros = head[::2].count(0), head[1::2].count(0)
        if max(even_zeros, odd_zeros) < len(head) / 4 or min(even_zeros, odd_zeros) > 0:
            raise ValueError("is no text: it holds bytes that are 0")
        return data.decode("utf-16-le" if odd_zeros else "utf-16-be")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    if not data.decode("utf-8", errors="ignore").isascii():
        raise ValueError(
            f"mixes UTF-8 with another encoding, first in line {line}; save it as UTF-8"
        )
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise ValueError(
            f"is neither UTF-8 nor Windows-1252 (line {line}); save it as UTF-8"
        ) from None
    remarks.append("it is not UTF-8 and is read as Windows-1252")
    return text


def announced(text: str) -> tuple[str, str]:
    """The text without a first line such as `sep=;`, which Excel writes, and what it says."""
    found = re.match(r'"?sep=(.)"?[ ,;\t|]*(\r\n|\n|\r)', text)
    return (text[found.end() :], found[1]) if found else (text, "")


def split(text: str, separator: str) -> Iterator[Row]:
    """The rows that are not blank, with the line that each ends in."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=separator or ",",
        skipinitialspace=True,
        strict=True,
    )
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if separator == " " and stripped and not stripped[-1]:
                stripped.pop()
            if any(stripped):
                yield reader.line_num, stripped
    except csv.Error as error:
        raise ValueError(
            f"breaks off in line {reader.line_num}: {error}; check its quotes"
        ) from None


def best_separator(text: str) -> str:
    """The separator that cuts most rows into as many cells, more than one; "" where none does."""
    scores = {}
    for separator in SEPARATORS:
        try:
            rows = list(islice(split(text, separator), SAMPLE))
        except ValueError:
            continue
        widths = [len(row[1]) for row in rows if not is_comment(row)] or [1]
        width, often = max(Counter(widths).items(), key=lambda item: (item[1], item[0]))
        named_rows = [width - 1, *[width] * (len(widths) - 1)]  # R's, without a name above them
        if width > 1 and (separator != " " or often == len(widths) or widths == named_rows):
            first = next((w for w in widths if w > 1), 1)  # a title may stand above the header
            scores[separator] = (first == width, often / len(widths), width)
    if len(scores) > 1:
        scores.pop(" ", None)  # blanks separate where nothing else does
    return max(scores, key=lambda separator: scores[separator]) if scores else ""


def head_and_rows(rows: list[Row], remarks: list[str]) -> tuple[Row, list[Row]]:
    """The header, or the first row of data, and the rows below; no titles and comments."""
    width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    start = next((i for i, (_, cells) in enumerate(rows) if not is_title(cells, width)), 0)
    while start and has_number(rows[start]) and not is_comment(rows[start - 1]):
        start -= 1  # what stands right above numbers is their header
    top, rest = rows[start], rows[start + 1 :]
    above = [uncommented(row) for row in rows[:start] if is_comment(row)]
    if is_comment(top):
        top = uncommented(top)
    elif is_data(top) and above and len(above[-1][1]) == width:  # as numpy.savetxt writes a header
        start, top, rest = start - 1, above[-1], [top, *rest]
    if start:
        remarks.append(f"lines left out above the header: {start}")
    kept = [row for row in rest if not is_comment(row) or len(row[1]) == len(top[1])]
    if len(kept) < len(rest):
        remarks.append(f"lines left out that start with #: {len(rest) - len(kept)}")
    return top, kept


def is_title(cells: list[str], width: int) -> bool:
    """Whether a line above the header is a title or a comment rather than the header."""
    alone = width > 1 and sum(map(bool, cells)) == 1 and len(cells) in (1, width)
    return alone or (cells[0].startswith("#") and len(cells) != width)


def is_comment(row: Row) -> bool:
    return row[1][0].startswith("#")


def uncommented(row: Row) -> Row:
    """A row without the sign of a comment."""
    first = row[1][0].lstrip("# ")
    return row[0], [first, *row[1][1:]] if first else row[1][1:]


def is_data(row: Row) -> bool:
    """Whether a row holds numbers alone."""
    return all(is_plain_number(cell) for cell in row[1] if cell)


def has_number(row: Row) -> bool:
    """Whether a row is no header: one of its cells is a number, and no year."""
    return any(is_plain_number(c) and not re.fullmatch(r"(1[5-9]|20)\d\d", c) for c in row[1])


def is_plain_number(cell: str) -> bool:
    """Whether a cell is a number as programs write it, or as people do with a decimal comma.

    >>> is_plain_number("-1.5e3"), is_plain_number("1,5"), is_plain_number("1_000")
    (True, True, False)
    """
    return bool(
        re.fullmatch(r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?|nan|inf", cell, re.IGNORECASE)
    )


def even(
    names: list[str], rows: list[Row], remarks: list[str], marked: bool
) -> tuple[list[str], list[Row]]:
    """Names and rows of one length, or a ValueError that tells the lines which are not.

    One cell more in every row is the row's name, as R writes it. It may also be a part of a number,
    1,5 or 1 234, so rows must be marked by another separator or by quotes, or names count or are
    texts.
    """
    width = len(names)
    if rows and all(len(cells) == width + 1 for _, cells in rows):
        first, last = zip(*((cells[0], cells[-1]) for _, cells in rows), strict=True)
        if not any(last):
            remarks.append("every line ends with a separator")
        elif counts(first) or (len(set(first)) == len(first) and (marked or texts(first))):
            remarks.append("the first cell of each row has no name in the header")
            names, width = ["", *names], width + 1
    rows = [(line, c[:width] if not any(c[width:]) else c) for line, c in rows]
    uneven = [(line, len(cells)) for line, cells in rows if len(cells) != width]
    if uneven:
        some = ", ".join(f"{n} in line {line}" for line, n in uneven[:3])
        more = f" and {len(uneven) - 3} more" if len(uneven) > 3 else ""
        advice = "a text that holds the separator needs quotes"
        if all(n == 2 * width for _, n in uneven):
            advice = "decimal commas need another separator, such as ;"
        raise ValueError(
            f"has rows of another length than its header of {width} cells: {some}{more}; {advice}"
        )
    return names, rows


def texts(cells: tuple[str, ...]) -> bool:
    """Whether no cell begins like a number."""
    return not any(re.match(r"[-+(]?[\d.,]", cell) for cell in cells)


def counts(cells: tuple[str, ...]) -> bool:
    """Whether cells are 0, 1, 2, … or 1, 2, 3, …"""
    start = int(cells[0] == "1")  # two of them may do so by chance
    return len(cells) > 2 and list(cells) == [str(start + i) for i in range(len(cells))]


def named(texts: pd.DataFrame, names: list[str], remarks: list[str]) -> pd.DataFrame:
    """The columns by names that are all different; one without name or content is left out."""
    chosen: dict[int, str] = {}
    for k, given in enumerate(names):
        name = " ".join(given.split())
        if not name and not (texts[k] != "").any():
            continue
        if not name and texts[k].is_unique:
            remarks.append(f"column {k + 1} has no name, names the rows, and is left out")
            continue
        chosen[k] = free(name or f"column {k + 1}", chosen.values())
        if name and chosen[k] != name:
            remarks.append(f"another column {name!r} is called {chosen[k]!r}")
    if not chosen:
        raise InputError("no column has a name")
    return texts[list(chosen)].set_axis(list(chosen.values()), axis=1)


def free(name: str, taken: Iterable[str]) -> str:
    """The name, with a number where it is taken."""
    numbered = (f"{name} ({k})" for k in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)
