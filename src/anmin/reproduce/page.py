"""The report: one HTML file that needs nothing else, for a phone and a desk."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from anmin.cli.page_parts import CSS, PAGE, section, text
from anmin.reproduce.figures import Exhibit
from anmin.reproduce.tables import Cell, Table

STYLE = (
    CSS
    + """
nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; font-size: 0.9rem; margin: 0.75rem 0; }
a { color: var(--blue); }
.notice { background: var(--soft); border-left: 4px solid #d55e00; padding: 0.6rem 0.9rem; }
.notice p { color: inherit; margin: 0.2rem 0; max-width: none; }
ul { padding-left: 1.2rem; max-width: 46rem; }
li { margin: 0 0 0.4rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 0.3rem; }
img { display: block; width: 100%; height: auto; max-width: 37rem; border-radius: 4px; }
@media (min-width: 48rem) { .twos { grid-template-columns: 1fr 1fr; } }
td, th { vertical-align: top; white-space: nowrap; }
td.best { background: color-mix(in srgb, var(--blue) 14%, transparent); }
td { padding-left: 0.35rem; }
small { display: block; color: var(--quiet); font-size: 0.75rem; }
th[scope=row] { position: sticky; left: 0; background: var(--back); white-space: normal;
  min-width: 5.5rem; }
td.word, th.word { text-align: left; }
thead th { white-space: normal; vertical-align: bottom; }
@media (max-width: 40rem) { body { font-size: 0.9rem; padding: 0.75rem; }
  th, td { padding-right: 0.5rem; } }
"""
)
TITLE = "Training a Two Layer ReLU Network Analytically, reproduced"


@dataclass(frozen=True, slots=True)
class Report:
    """All that the page shows; pictures are PNG files by the name of their panel."""

    intro: list[str]
    notices: list[str]
    tables: list[Table]
    figures: list[Exhibit]
    pictures: dict[str, bytes]
    protocol: list[str]
    deviations: list[str]
    machine: list[str]


def report_page(report: Report) -> str:
    """The page as HTML."""
    parts = [
        "".join(map(text, report.intro)),
        contents(report),
        notice(report.notices),
        section("tables", "Tables", *(table_block(table) for table in report.tables)),
        section("figures", "Figures", *(figure_block(f, report.pictures) for f in report.figures)),
        section("protocol", "Protocol", bullets(report.protocol)),
        section("deviations", "Where this differs from the paper", bullets(report.deviations)),
        section("machine", "The machine", bullets(report.machine)),
    ]
    return PAGE.format(title=escape(TITLE), style=STYLE, body="\n".join(filter(None, parts)))


def contents(report: Report) -> str:
    links = [(table.name, table.title.partition(". ")[0]) for table in report.tables]
    links = [pair for k, pair in enumerate(links) if pair[1] not in {t for _, t in links[:k]}]
    links += [(name, name.title()) for name in ("figures", "protocol", "deviations", "machine")]
    shown = "".join(f'<a href="#{name}">{escape(words)}</a>' for name, words in links)
    return f"<nav>{shown}</nav>"


def notice(sentences: Sequence[str]) -> str:
    return f'<div class="notice">{"".join(map(text, sentences))}</div>' if sentences else ""


def bullets(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(words)}</li>' for words in sentences)}</ul>"


def table_block(table: Table) -> str:
    """A table, which scrolls sideways where it is too wide; the names stay in sight."""
    head = "".join(
        f'<th scope="col"{kind(k < table.words)}>{escape(name)}</th>'
        for k, name in enumerate(table.head)
    )
    rows = "".join(f"<tr>{table_row(row, table.words)}</tr>" for row in table.rows)
    caption = text(table.caption) if table.caption else ""
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    title = f'<h3 id="{table.name}">{escape(table.title)}</h3>'
    return f'{title}{caption}<div class="wide">{body}</div>'


def table_row(row: Sequence[Cell], words: int) -> str:
    first = f'<th scope="row">{cell_text(row[0])}</th>'
    return first + "".join(
        f"<td{kind(k < words, cell.best)}>{cell_text(cell)}</td>"
        for k, cell in enumerate(row[1:], start=1)
    )


def kind(word: bool, best: bool = False) -> str:
    names = " ".join(name for name, on in (("word", word), ("best", best)) if on)
    return f' class="{names}"' if names else ""


def cell_text(cell: Cell) -> str:
    shown = f"<b>{escape(cell.text)}</b>" if cell.bold else escape(cell.text)
    return shown + "".join(f"<small>{escape(line)}</small>" for line in cell.small.splitlines())


def figure_block(figure: Exhibit, pictures: dict[str, bytes]) -> str:
    images = "".join(
        f'<img alt="{escape(f"{figure.title}: {panel.title}")}" loading="lazy" '
        f'src="data:image/png;base64,{b64encode(pictures[panel.name]).decode()}">'
        for panel in figure.panels
    )
    caption = text(figure.caption) if figure.caption else ""
    title = f'<h3 id="{figure.name}">{escape(figure.title)}</h3>'
    return f'{title}{caption}<div class="gallery{" twos" if figure.pairs else ""}">{images}</div>'
