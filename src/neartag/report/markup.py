"""Small pieces of HTML: numbers, tables and tiles. Every text from outside is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from neartag.core.html_page import inline

NOTHING = "–"  # where there is no number
# Characters that no page should hold: controls, and halves of a character pair, which cannot be written.
_UNFIT = {code: " " for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}


def clean(text: str) -> str:
    """Return a text from outside as HTML."""
    return escape(text.translate(_UNFIT).encode("utf-8", "replace").decode())


def percent(value: float | None) -> str:
    """Return a number from 0 to 100 as the page shows it."""
    return NOTHING if value is None else f"{value:.1f}"


def score(value: float) -> str:
    """Return a score from 0 to 1 as the page shows it."""
    return f"{value:.2f}" if value >= 0.01 or value == 0 else f"{value:.1g}"


def paragraph(text: str, css_class: str = "") -> str:
    """Return our own words as a paragraph; what stands between backticks is code."""
    return f"<p{_class(css_class)}>{inline(text)}</p>"


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    chosen: int | None = None,
) -> str:
    """Return a table of cells in HTML: a heading for each row, and then numbers. `chosen` is a row that stands out."""
    heads = "".join(
        f'<th scope="col"{_class("number") if column else ""}>{name}</th>' for column, name in enumerate(columns)
    )
    lines = []
    for number, row in enumerate(rows):
        cells = "".join(f'<td class="number">{cell}</td>' for cell in row[1:])
        css_class = _class("chosen") if number == chosen else ""
        lines.append(f'<tr{css_class}><th scope="row">{row[0]}</th>{cells}</tr>')
    body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return scroll(caption, f"<table><caption>{caption}</caption>{body}</table>")


def scroll(name: str, content: str, css_class: str = "scroll") -> str:
    """Return content that can be scrolled, with the keyboard too, where the screen is too narrow for it."""
    return f'<div class="{css_class}" role="region" aria-label="{name}" tabindex="0">{content}</div>'


def tiles(entries: Sequence[tuple[str, str]]) -> str:
    """Return big numbers, each with what it says."""
    shown = "".join(f"<li><b>{value}</b><span>{about}</span></li>" for value, about in entries)
    return f'<ul class="tiles">{shown}</ul>'


def fold(summary: str, content: str) -> str:
    """Return content that is shown when somebody asks for it."""
    return f"<details><summary>{summary}</summary>{content}</details>"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
