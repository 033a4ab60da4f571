"""The report of what was measured: one HTML page that needs nothing else, and Markdown with its plots beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neartag.core.errors import DataError
from neartag.data.files import replacing
from neartag.experiments import details, draw, html, markdown
from neartag.experiments.blocks import Block, Figure, Number, Series, Table, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import NAMES, get

__all__ = ["Block", "Figure", "Number", "Series", "Table", "Text", "write"]

TITLE = "The paper's experiments, measured"
NAME = "reproduction"


def write(results: Results, folder: Path, names: Sequence[str] = NAMES) -> list[Path]:
    """Write reproduction.html, reproduction.md and the plots in reproduction/, and return the two pages' places."""
    sections = [(name, get(name).title, blocks) for name in names if (blocks := get(name).report(results))]
    pages = {
        folder / f"{NAME}.html": _as_html(sections, results),
        folder / f"{NAME}.md": _as_markdown(sections, results),
    }
    figures = [block for _, _, blocks in sections for block in blocks if isinstance(block, Figure)]
    pictures = {folder / NAME / f"{figure.name}.svg": draw.svg(figure) + "\n" for figure in figures}
    for path, text in {**pictures, **pages}.items():  # pages last: they speak of the others
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{path.parent}: cannot be made: {error.strerror or error}") from error
        with replacing(path) as stream:
            stream.write(text.encode())
    return list(pages)


def _as_html(sections: Sequence[tuple[str, str, list[Block]]], results: Results) -> str:
    parts = [("about", "", html.content(details.introduction(results)))]
    parts += [(name, title, html.content(blocks)) for name, title, blocks in sections]
    table = html.content(details.every_number(results))
    folded = f"<details><summary>Settings, seeds, machine and versions of every number</summary>{table}</details>"
    return html.page(TITLE, [*parts, ("details", "Details", folded)])


def _as_markdown(sections: Sequence[tuple[str, str, list[Block]]], results: Results) -> str:
    def place(figure: Figure) -> str:
        return f"{NAME}/{figure.name}.svg"

    parts = [markdown.section(TITLE, details.introduction(results), place).replace("## ", "# ", 1)]
    parts += [markdown.section(title, blocks, place) for _, title, blocks in sections]
    parts.append(markdown.section("Details", details.every_number(results), place))
    return "\n\n".join(parts) + "\n"
