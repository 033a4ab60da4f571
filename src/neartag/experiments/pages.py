"""Writes the report: one HTML page that needs nothing else, and Markdown with its plots beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from neartag.core.errors import DataError
from neartag.data.files import open_to_replace
from neartag.experiments import details
from neartag.experiments.report import draw, html, markdown
from neartag.experiments.report.blocks import Block, Figure, Text
from neartag.experiments.results import Results
from neartag.experiments.runner import NAMES, Overview, get

TITLE = "The paper's experiments, measured"
FILE_NAME = "reproduction"


class Section(NamedTuple):
    """The part of one experiment."""

    name: str
    title: str
    blocks: list[Block]


def write_report(results: Results, folder: Path, names: Sequence[str] = NAMES) -> list[Path]:
    """Write reproduction.html, reproduction.md and the plots in reproduction/; return the paths of the two pages."""
    sections = make_sections(results, names)
    pages = {
        folder / f"{FILE_NAME}.html": _to_html(sections, results),
        folder / f"{FILE_NAME}.md": to_markdown(sections, results),
    }
    figures = [block for section in sections for block in section.blocks if isinstance(block, Figure)]
    plots = {folder / FILE_NAME / f"{figure.name}.svg": draw.svg(figure) + "\n" for figure in figures}
    for path, text in {**plots, **pages}.items():  # pages last: they refer to the plots
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{path.parent}: cannot be made: {error.strerror or error}") from error
        with open_to_replace(path) as stream:
            stream.write(text.encode())
    return list(pages)


def make_sections(results: Results, names: Sequence[str] = NAMES) -> list[Section]:
    """Return the parts of those experiments that have something to show, with the command that makes their numbers."""
    quick = " --quick" if results.plan.quick else ""
    sections = []
    for name in names:
        experiment = get(name)
        command = f"`neartag reproduce{quick} --only {name}`"
        blocks = [_with_command(block, command) for block in experiment.report(results)]
        if blocks and not isinstance(experiment, Overview):  # which measures nothing
            blocks.insert(0, Text([f"Measured by {command}."]))
        if blocks:
            sections.append(Section(name, experiment.title, blocks))
    return sections


def _with_command(block: Block, command: str) -> Block:
    if not isinstance(block, Figure):
        return block
    return replace(block, note=" ".join(filter(None, [block.note, f"Made by {command}."])))


def _to_html(sections: Sequence[Section], results: Results) -> str:
    parts = [("about", "", html.render(details.introduction(results)))]
    parts += [(section.name, section.title, html.render(section.blocks)) for section in sections]
    table = html.render(details.every_number(results))
    folded = f"<details><summary>Settings, seeds, machine and versions of every number</summary>{table}</details>"
    return html.page(TITLE, [*parts, ("details", "Details", folded)])


def to_markdown(sections: Sequence[Section], results: Results) -> str:
    """Return the Markdown page, which refers to the plots as files."""

    def plot_path(figure: Figure) -> str:
        return f"{FILE_NAME}/{figure.name}.svg"

    parts = [markdown.section(TITLE, details.introduction(results), plot_path).replace("## ", "# ", 1)]
    parts += [markdown.section(section.title, section.blocks, plot_path) for section in sections]
    parts.append(markdown.section("Details", details.every_number(results), plot_path))
    return "\n\n".join(parts) + "\n"
