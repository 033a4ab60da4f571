"""Blocks of a report as Markdown; plots are files beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neartag.experiments.report import wording
from neartag.experiments.report.blocks import Block, Entry, Figure, Number, Table, Text

_LINE_BREAK = "<br>"


def section(title: str, blocks: Sequence[Block], plot_path: Callable[[Figure], str]) -> str:
    """Return a section of the page; `plot_path` returns the path of a figure's file, as the page refers to it."""
    return "\n\n".join([f"## {title}", *(_render_block(block, plot_path) for block in blocks)])


def _render_block(block: Block, plot_path: Callable[[Figure], str]) -> str:
    if isinstance(block, Text):
        if block.as_list:
            return _with_title(block.title, "\n".join(f"- {entry}" for entry in block.paragraphs))
        return _with_title(block.title, "\n\n".join(block.paragraphs))
    if isinstance(block, Figure):
        return _with_title(block.title, f"![{block.title}]({plot_path(block)})", block.note)
    return _with_title(block.title, table(block), block.note)


def _with_title(title: str, *parts: str) -> str:
    return "\n\n".join(filter(None, [f"### {title}" if title else "", *parts]))


def table(block: Table) -> str:
    """Return a table; below a measured number stand the paper's number and the difference, if there are any."""
    numeric = [any(isinstance(row[column], Number) for row in block.rows) for column in range(len(block.columns))]
    rule = ["--:" if number else "---" for number in numeric]
    lines = ["| " + " | ".join(map(_escape, block.columns)) + " |", "|" + "|".join(rule) + "|"]
    for row in block.rows:
        best, best_printed = block.winners(row), block.winners(row, printed=True)
        cells = [_render_cell(entry, column in best, column in best_printed) for column, entry in enumerate(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _render_cell(entry: Entry, best: bool, best_printed: bool) -> str:
    if not isinstance(entry, Number):
        return _escape(f"{entry:,}" if isinstance(entry, int) else entry)
    measured = " ".join(filter(None, [_bold(wording.format_value(entry), best), wording.format_spread(entry)]))
    lines = [measured, entry.note and f"*{_escape(entry.note)}*"]
    if paper := wording.format_printed(entry):
        lines += [f"paper {_bold(paper, best_printed)}", wording.format_difference(entry)]
    return _LINE_BREAK.join(filter(None, lines))


def _bold(text: str, yes: bool) -> str:
    return f"**{text}**" if yes else text


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
