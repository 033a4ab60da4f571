"""A report's blocks as Markdown; plots are files beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neartag.experiments import wording
from neartag.experiments.blocks import Block, Entry, Figure, Number, Table, Text

_LINE = "<br>"


def section(title: str, blocks: Sequence[Block], place: Callable[[Figure], str]) -> str:
    """Return an experiment's part; `place` says where a figure's file is, as the page names it."""
    return "\n\n".join([f"## {title}", *(_block(block, place) for block in blocks)])


def _block(block: Block, place: Callable[[Figure], str]) -> str:
    if isinstance(block, Text):
        words = [f"- {words}" if block.listed else words for words in block.paragraphs]
        return _joined(block.title, ("\n" if block.listed else "\n\n").join(words))
    if isinstance(block, Figure):
        return _joined(block.title, f"![{block.title}]({place(block)})", block.note)
    return _joined(block.title, table(block), block.note)


def _joined(title: str, *parts: str) -> str:
    return "\n\n".join(filter(None, [f"### {title}" if title else "", *parts]))


def table(block: Table) -> str:
    """Return a table; a cell with a figure of the paper's has it below the measured one, and the difference below."""
    numeric = [any(isinstance(row[column], Number) for row in block.rows) for column in range(len(block.columns))]
    rule = ["--:" if number else "---" for number in numeric]
    lines = ["| " + " | ".join(map(_safe, block.columns)) + " |", "|" + "|".join(rule) + "|"]
    for row in block.rows:
        best, best_printed = block.winners(row), block.winners(row, printed=True)
        cells = [_cell(entry, column in best, column in best_printed) for column, entry in enumerate(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(entry: Entry, best: bool, best_printed: bool) -> str:
    if not isinstance(entry, Number):
        return _safe(f"{entry:,}" if isinstance(entry, int) else entry)
    measured = " ".join(filter(None, [_strong(wording.value(entry), best), wording.spread(entry)]))
    lines = [measured, entry.note and f"*{_safe(entry.note)}*"]
    if paper := wording.printed(entry):
        lines += [f"paper {_strong(paper, best_printed)}", wording.difference(entry)]
    return _LINE.join(filter(None, lines))


def _strong(text: str, yes: bool) -> str:
    return f"**{text}**" if yes else text


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
