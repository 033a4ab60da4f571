"""Blocks of a report as one HTML page that needs nothing else: style and plots are in it, and there is no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from neartag.core.html_page import inline, make_page
from neartag.experiments.report import draw, wording
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Table, Text

# From so many columns on, a table is shown as cards on a narrow screen, and in landscape in print.
WIDE_TABLE_COLUMNS = 5
STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 76rem;
  margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 1px solid #ccc;
  padding-top: 1rem; } h3 { font-size: 1.05rem; margin-top: 2rem; }
p, li { max-width: 46rem; } a { color: #08519c; }
code { font: 0.9em ui-monospace, monospace; background: #f3f3f3; padding: 0 0.2em; overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figure svg { width: 100%; max-width: 44rem; height: auto; }
figcaption, .note { color: #555; font-size: 0.9rem; max-width: 46rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.55rem; border-bottom: 1px solid #e2e2e2; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid #999; vertical-align: bottom; }
th:first-child { min-width: 7rem; } td:last-child:not(.number) { min-width: 11rem; }
.number { text-align: right; white-space: nowrap; }
.number small { display: block; color: #666; font-size: 0.78rem; }
.best { font-weight: 700; color: #08306b; } .best::after { content: " \\2605"; font-size: 0.7em; }
.failed { color: #a33; white-space: normal; }
details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
nav ul { columns: 2; padding-left: 1.2rem; }
@media (max-width: 44rem) {
  body { padding: 0.75rem; } nav ul { columns: 1; }
  .wide thead { display: none; }
  .wide, .wide tbody, .wide tr, .wide td { display: block; width: 100%; }
  .wide tr { border: 1px solid #ccc; border-radius: 0.4rem; margin: 0 0 0.8rem; padding: 0.3rem 0.5rem; }
  .wide td { display: flex; justify-content: space-between; gap: 1rem; border-bottom: 1px solid #eee; }
  .wide td:last-child { border-bottom: 0; }
  .wide td::before { content: attr(data-name); color: #555; text-align: left; white-space: normal; flex: none; }
  .wide td.head { font-weight: 600; border-bottom: 0; padding-bottom: 0; } .wide td.head::before { content: none; }
  .wide .number > span { white-space: normal; } .wide .number small { display: inline; margin-left: 0.6em; }
}
@media print {
  @page { margin: 12mm; } @page across { size: A4 landscape; }
  body { font-size: 10pt; max-width: none; padding: 0; } nav { display: none; } a { color: inherit; }
  h2 { break-after: avoid; } h3 { break-after: avoid; } figure, tr { break-inside: avoid; }
  .scroll { overflow: visible; } .sheet { page: across; } .sheet table { font-size: 7pt; }
  .sheet small { font-size: 6.5pt; } .sheet th, .sheet td { padding: 0.15rem 0.25rem; }
}
"""


def page(title: str, parts: Sequence[tuple[str, str, str]]) -> str:
    """Return the whole page; each part is an id, a heading ("" for none) and its content as HTML."""
    return make_page(title, parts, STYLE)


def render(blocks: Sequence[Block]) -> str:
    """Return blocks as HTML."""
    return "\n".join(map(_render_block, blocks))


def _render_block(block: Block) -> str:
    head = f"<h3>{escape(block.title)}</h3>" if block.title else ""
    if isinstance(block, Text):
        if block.as_list:
            return head + "<ul>" + "".join(f"<li>{inline(entry)}</li>" for entry in block.paragraphs) + "</ul>"
        return head + "".join(f"<p>{inline(paragraph)}</p>" for paragraph in block.paragraphs)
    if isinstance(block, Figure):
        caption = f"<figcaption>{inline(block.note)}</figcaption>" if block.note else ""
        return f"{head}<figure>{draw.svg(block)}{caption}</figure>"
    note = f'<p class="note">{inline(block.note)}</p>' if block.note else ""
    return head + table(block) + note


def table(block: Table) -> str:
    """Return a table; below a measured number stand the paper's number and the difference, if there are any."""
    wide = len(block.columns) >= WIDE_TABLE_COLUMNS
    numeric = [any(isinstance(row[column], Number) for row in block.rows) for column in range(len(block.columns))]
    heads = "".join(
        f"<th{' class=number' if number else ''}>{inline(name)}</th>"
        for name, number in zip(block.columns, numeric, strict=True)
    )
    lines = []
    for row in block.rows:
        best, best_printed = block.winners(row), block.winners(row, printed=True)
        cells = "".join(
            _render_cell(
                entry, name, column in best, column in best_printed, head=not name or (not column and any(numeric))
            )
            for column, (entry, name) in enumerate(zip(row, block.columns, strict=True))
        )
        lines.append(f"<tr>{cells}</tr>")
    body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
    css_class = ' class="wide"' if wide else ""
    return f'<div class="scroll{" sheet" if wide else ""}"><table{css_class}>{body}</table></div>'


def _render_cell(entry: Entry, name: str, best: bool, best_printed: bool, head: bool) -> str:
    label = f' data-name="{escape(name)}"'
    if not isinstance(entry, Number):
        shown = f"{entry:,}" if isinstance(entry, int) else entry
        kind = ' class="head"' if head else ""
        return f"<td{kind}{label}><span>{inline(shown)}</span></td>"
    lines = [_mark_best(wording.format_value(entry), best)]
    if spread := wording.format_spread(entry):
        lines.append(f"<small>{spread}</small>")
    if entry.note:
        lines.append(f'<small class="failed">{inline(entry.note)}</small>')
    if paper := wording.format_printed(entry):
        lines.append(f"<small>paper {_mark_best(paper, best_printed)}</small>")
        lines.append(f"<small>{wording.format_difference(entry)}</small>")
    return f'<td class="number"{label}><span>{"".join(lines)}</span></td>'


def _mark_best(text: str, best: bool) -> str:
    return f'<span class="best">{text}</span>' if best else text
