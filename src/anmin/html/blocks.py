"""Pieces of HTML; everything that they are given is text and is escaped, pictures aside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np


def section(name: str, title: str, *content: str) -> str:
    return (
        f'<section id="{name}">\n<h2>{escape(title)}</h2>\n' + "\n".join(content) + "\n</section>"
    )


def side_by_side(*parts: str) -> str:
    """Sections next to each other, where there is room."""
    return '<div class="pair">' + "\n".join(filter(None, parts)) + "</div>"


def text(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def gallery(*pictures: tuple[str, str]) -> str:
    """Pictures with their captions, side by side where there is room."""
    shown = "".join(
        f"<figure>{svg}{f'<figcaption>{escape(caption)}</figcaption>' if caption else ''}</figure>"
        for svg, caption in pictures
    )
    return f'<div class="gallery">{shown}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "numbers") -> str:
    """A table of numbers or words, which scrolls where it is too wide; names come first."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    head_row = f"<thead><tr>{top}</tr></thead>" if head else ""
    return f'<div class="wide"><table class="{kind}">{head_row}<tbody>{body}</tbody></table></div>'


def number(value: Any) -> str:
    """A number for a reader.

    >>> number(12345), number(0.6), number(0.000123456), number(float("nan"))
    ('12,345', '0.6000', '0.0001235', '–')
    """
    if isinstance(value, (int, np.integer)) or 1e3 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:#.4g}" if np.isfinite(value) else "–"
