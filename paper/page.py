"""The report: one HTML file that needs nothing else, for a phone and a desk."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from paper.figures import Exhibit
from paper.tables import Cell, Table

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --back: #fff; --line: #d9d9d9; --soft: #f4f6f8;
  --quiet: #5c6670; --blue: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --back: #15181b; --line: #3a4046;
  --soft: #1e2327; --quiet: #9aa4ad; --blue: #4aa3dc; } }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--back);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.15rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 0.3rem; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
p { color: var(--quiet); margin: 0 0 0.5rem; max-width: 42rem; }
a { color: var(--blue); }
nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; font-size: 0.9rem; margin: 0.75rem 0; }
.notice { background: var(--soft); border-left: 4px solid #d55e00; padding: 0.6rem 0.9rem; }
.notice p { color: inherit; max-width: none; }
ul { padding-left: 1.2rem; max-width: 46rem; }
img { display: block; width: 100%; height: auto; max-width: 37rem; border-radius: 4px; }
.gallery { display: grid; gap: 1rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
@media (min-width: 48rem) { .twos { grid-template-columns: 1fr 1fr; } }
.wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.9rem 0.25rem 0.35rem; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); white-space: nowrap; }
th[scope=row], th[scope=col]:first-child, .word { text-align: left; font-weight: 400; }
th[scope=row] { position: sticky; left: 0; background: var(--back); white-space: normal;
  min-width: 5.5rem; }
thead th { white-space: normal; vertical-align: bottom; }
td.best { background: color-mix(in srgb, var(--blue) 14%, transparent); }
small { display: block; color: var(--quiet); font-size: 0.75rem; }
@media (max-width: 40rem) { body { font-size: 0.9rem; padding: 0.75rem; } }
"""
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
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


def section(name: str, title: str, *content: str) -> str:
    return f'<section id="{name}"><h2>{escape(title)}</h2>{"".join(content)}</section>'


def text(words: str) -> str:
    return f"<p>{escape(words)}</p>"


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
