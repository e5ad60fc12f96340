"""The columns of a table in C: a struct with a field a column, and its way to numbers.

    enum model_colour { MODEL_COLOUR_RED, …, MODEL_COLOUR_OTHER, MODEL_COLOUR_MISSING };
    struct model_row { float age; enum model_colour colour; double when; };

A number or a date that is missing is NaN; a date is seconds since 1970. A number that is a code is
looked up among those that are known.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from string import Template
from typing import Any

import numpy as np

from anmin.columns import PARTS, CategoryColumn, CodeColumn, Columns, DateColumn

KEYWORDS = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|"
    "inline|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|"
    "union|unsigned|void|volatile|while|asm|bool|true|false|class|new|this"
)

ROW = Template("""\
$enums/* One row of the table. */
struct ${name}_row {
$fields
};
""")

CALENDAR = Template("""
static double ${name}_floor(double x)
{
    double n = (double)(long long)x;

    return n > x ? n - 1 : n;
}

/* $parts. */
static void ${name}_calendar(double t, double part[$count])
{
    double days = ${name}_floor(t / 86400), z = days + 719468;
    double within = z - ${name}_floor(z / 146097) * 146097;
    double leaps = ${name}_floor(within / 1460) - ${name}_floor(within / 36524)
        + ${name}_floor(within / 146096);
    double year = ${name}_floor((within - leaps) / 365);
    double day = within - (365 * year + ${name}_floor(year / 4) - ${name}_floor(year / 100));
    double month = ${name}_floor((5 * day + 2) / 153), season = day + 60;

    part[0] = t / 31556952;
    part[1] = season < 366 ? season : season - 366;
    part[2] = month < 10 ? month + 3 : month - 9;
    part[3] = day - ${name}_floor((153 * month + 2) / 5) + 1;
    part[4] = days + 3 - ${name}_floor((days + 3) / 7) * 7 + 1;
    part[5] = (t - days * 86400) / 3600;
}
""")

PREDICT = Template("""
void ${name}_predict(const struct ${name}_row *row, $real y[${NAME}_OUTPUTS]);

void ${name}_predict(const struct ${name}_row *row, $real y[${NAME}_OUTPUTS])
{
    $real x[${NAME}_INPUTS] = {0};
$calendar
$steps
    ${name}_network(x, y);
}
""")


def identifiers(texts: list[str], prefix: str = "", taken: Sequence[str] = ()) -> list[str]:
    """Identifiers of C for texts, as like them as can be; all different, and none that is taken.

    >>> from anmin.export.c_columns import identifiers
    >>> identifiers(["lot size", "lot-size", "2nd", "int"])
    ['lot_size', 'lot_size_2', '_2nd', 'int_']
    """
    found: list[str] = []
    for text in texts:
        word = prefix + (re.sub("[^A-Za-z0-9_]", "_", text)[:40] or "_")
        word = f"_{word}" if word[0].isdigit() else word
        word = f"{word}_" if KEYWORDS.fullmatch(word) else word
        same, k = word, 2
        while same in found or same in taken:
            same, k = f"{word}_{k}", k + 1
        found.append(same)
    return found


def quoted(text: str) -> str:
    """JSON that cannot end the comment it stands in."""
    return json.dumps(text).replace("/", "\\u002f").replace("?", "\\u003f")


def table_values(columns: Columns, values: dict[str, Any], end: str) -> dict[str, str]:
    """What the columns add to the file: declarations, and the function that takes a row."""
    name, real = values["name"], values["real"]
    fields = identifiers([column.name for column in columns.columns])
    number = np.float32 if real == "float" else np.float64
    enums, lines, tables, steps = [], [], [], []
    words: list[str] = []
    first = 0
    for field, column in zip(fields, columns.columns, strict=True):
        comment = f"/* {quoted(column.name)} */"
        if isinstance(column, CategoryColumn):
            kind = f"{name}_{field}"
            words += (own := enumerators(kind, column, words))
            enums.append(enum(kind, column, own))
            lines.append(f"    enum {kind} {field}; {comment}")
            tables.append(level_tables(kind, column, real, number, end))
            steps.append(category_step(kind, field, column, first))
        elif isinstance(column, CodeColumn):
            kind = f"{name}_{field}"
            lines.append(f"    {real} {field}; {comment}")
            tables.append(code_table(kind, column, real, number, end))
            steps.append(number_step(field, column.number, first, number, end, name))
            steps.append(code_step(kind, field, column.category, first + 1))
        else:
            date = isinstance(column, DateColumn)
            lines.append(f"    {'double' if date else real} {field}; {comment}")
            step = date_step if date else number_step
            steps.append(step(field, column, first, number, end, name))
        first += len(column.made)
    dates = any(isinstance(column, DateColumn) for column in columns.columns)
    parts = {"parts": ", ".join(PARTS), "count": len(PARTS)}
    row = ROW.substitute(values, enums="".join(enums), fields="\n".join(lines))
    calendar = CALENDAR.substitute(values, **parts) if dates else ""
    scratch = f"    double part[{len(PARTS)}], t;\n" if dates else ""
    last = PREDICT.substitute(values, calendar=scratch, steps="\n".join(steps))
    return {"row_type": row, "after": "".join(tables) + calendar + last}


def enumerators(kind: str, column: CategoryColumn, taken: list[str]) -> list[str]:
    """A name for each level, for others and for gaps."""
    texts = [*map(str.upper, column.levels), "OTHER", "MISSING"]
    return identifiers(texts, f"{kind.upper()}_", taken)


def enum(kind: str, column: CategoryColumn, words: list[str]) -> str:
    """The levels by name; others and gaps come last."""
    texts = [*map(quoted, column.levels), "any other level", "no value"]
    lines = [f"    {word}, /* {text} */" for word, text in zip(words, texts, strict=True)]
    return f"enum {kind} {{\n" + "\n".join(lines) + "\n};\n\n"


def level_tables(kind: str, column: CategoryColumn, real: str, number: Any, end: str) -> str:
    """The place of the 1 for each level, −1 for none; and the means of the target."""
    if not column.made:
        return ""
    slots = textwrap.fill(", ".join(map(str, column.slots)), 90)
    text = f"\nstatic const short {kind}_slot[] = {{\n{textwrap.indent(slots, '    ')}\n}};\n"
    if t := column.means.shape[1]:
        each = [", ".join(f"{v!s}{end}" for v in row) for row in column.means.astype(number)]
        rows = ",\n".join(f"    {{{row}}}" for row in each)
        text += f"\nstatic const {real} {kind}_means[][{t}] = {{\n{rows}\n}};\n"
    return text


def category_step(kind: str, field: str, column: CategoryColumn, first: int) -> str:
    m = len(column.levels)
    level = f"(int)row->{field} < 0 || (int)row->{field} > {m + 1} ? {m} : (int)row->{field}"
    if not column.made:
        return f"    /* {field} says nothing */"
    return level_step(kind, column, first, [f"        int level = {level};", ""])


def code_table(kind: str, column: CodeColumn, real: str, number: Any, end: str) -> str:
    """The values that are known, and what `level_tables` has for each."""
    values = ", ".join(f"{number(level)!s}{end}" for level in column.category.levels)
    text = textwrap.indent(textwrap.fill(values, 90), "    ")
    known = f"\nstatic const {real} {kind}_code[] = {{\n{text}\n}};\n"
    return known + level_tables(kind, column.category, real, number, end)


def code_step(kind: str, field: str, column: CategoryColumn, first: int) -> str:
    search = [
        "        int level = 0;", "",
        f"        while (level < {len(column.levels)} && {kind}_code[level] != row->{field})",
        "            level++;",
    ]  # fmt: skip
    return level_step(kind, column, first, search)


def level_step(kind: str, column: CategoryColumn, first: int, search: list[str]) -> str:
    """The inputs of a level, once it is found."""
    t = column.means.shape[1]
    k = len(column.made) - t
    lines = ["    {", *search, f"        if ({kind}_slot[level] >= 0)"]
    lines += [f"            x[{first} + {kind}_slot[level]] = 1;"]
    lines += [f"        x[{first + k + i}] = {kind}_means[level][{i}];" for i in range(t)]
    return "\n".join([*lines, "    }"])


def number_step(field: str, column: Any, first: int, number: Any, end: str, _: str) -> str:
    x, neutral = f"row->{field}", f"{number(column.neutral)!s}{end}"
    lines = [f"    x[{first}] = {x} != {x} ? {neutral} : {x};"]
    if column.gaps:
        lines.append(f"    x[{first + 1}] = {x} != {x};")
    return "\n".join(lines)


def date_step(field: str, column: Any, first: int, number: Any, _: str, name: str) -> str:
    t, real = f"row->{field}", "float" if number is np.float32 else "double"
    lines = [f"    t = {t} != {t} ? {column.neutral!r} : {t};", f"    {name}_calendar(t, part);"]
    lines += [
        f"    x[{first + i}] = ({real})part[{PARTS.index(part)}];"
        for i, part in enumerate(column.parts)
    ]
    if column.gaps:
        lines.append(f"    x[{first + len(column.parts)}] = {t} != {t};")
    return "\n".join(lines)
