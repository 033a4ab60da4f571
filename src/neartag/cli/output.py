"""What commands print: results on standard output, as tables, text or JSON; messages and progress on standard error."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from neartag.core.progress import Progress

# Names come from anyone's data, and a terminal obeys control characters; these are the two ranges of them.
_CODES = (*range(0x20), *range(0x7F, 0xA0))
CONTROLS = {code: f"\\x{code:02x}" for code in _CODES} | {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_CONTROLS_IN_JSON = {code: f"\\u{code:04x}" for code in _CODES}
_MAX_WIDE_COLUMNS = 7  # a table with more has less space between columns
_MAX_LINE_COLUMNS = 100  # longer lines of text are hard to read
_EIGHTHS = " ▏▎▍▌▋▊▉"  # of a column, for the end of a bar
NO_TELLING_WORD = "no telling word in common"  # words that say little are not listed, though both texts have them
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def things(of_texts: bool) -> str:
    """Return what to call what a model learned from: people who have texts think of documents."""
    return "documents" if of_texts else "points"


def message(text: str, *, quiet: bool = False) -> None:
    """Print something that is not part of the result."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def suggest(command: str, purpose: str, *, quiet: bool = False) -> None:
    """Print what to do next: a command or an option, and what it is for."""
    message(f"next: {escape_controls(command)}  {purpose}", quiet=quiet)


def _tell_compiling() -> None:
    message("compiling what this command needs, once: up to a minute (neartag warm-up compiles everything ahead)")


def progress(quiet: bool) -> Progress:
    """Return how progress is shown: a bar on a terminal, lines elsewhere, nothing if quiet."""
    from neartag.core import jit
    from neartag.core.progress import choose

    jit.tell_compiling = None if quiet else _tell_compiling
    return choose("silent" if quiet else "auto")


def show_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(json_line(value, ascii_only=(sys.stdout.encoding or "").lower().replace("-", "") != "utf8"))


def json_line(value: Any, *, ascii_only: bool = False) -> str:
    """Return a value as one line of JSON; numbers of numpy are written as those of Python."""
    import json  # here, because --help must not wait for it

    line = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, default=lambda number: number.item())
    return line.translate(_CONTROLS_IN_JSON)  # JSON itself asks for escapes only below 0x20


def show_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    words: Sequence[int] = (0,),
    strong: int | None = None,
    marked: Collection[tuple[int, int]] = (),
) -> None:
    """Print a table, drawn on a terminal and plainly aligned elsewhere; control characters are shown as escapes.

    `words` are the columns of words; the others have numbers. `strong` is a row that stands out. `marked` are single
    cells (row, column) that stand out; without colours they get a star.
    """
    console = find_terminal()
    title = escape_controls(title)
    names, *lines = [[escape_controls(cell) for cell in row] for row in (headings, *rows)]
    if console is None:
        _show_plain([names, *(_add_stars(row, number, marked) for number, row in enumerate(lines))], title, words)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if title:
        console.print(Text(title, style="bold"), soft_wrap=True)
    # Many columns stand closer together: many terminals have only 80 characters per line.
    close = len(names) > _MAX_WIDE_COLUMNS
    drawn = Table(box=box.SIMPLE_HEAD, header_style="dim", show_edge=False, pad_edge=False, collapse_padding=close)
    for number, name in enumerate(names):
        drawn.add_column(Text(name), justify="left" if number in words else "right", overflow="fold")
    for number, row in enumerate(lines):
        styles = ["bold green" if (number, column) in marked else "" for column in range(len(row))]
        cells = (Text(cell, style=style) for cell, style in zip(row, styles, strict=True))
        drawn.add_row(*cells, style="bold green" if number == strong else "")
    console.print(drawn)


def show_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names with their values, all values in one column; control characters are shown as escapes."""
    pairs = [(escape_controls(name), escape_controls(value)) for name, value in pairs]
    console = find_terminal()
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        if console is None:
            print(f"{name:<{width}}  {value}")
        else:
            from rich.text import Text

            console.print(Text.assemble((f"{name:<{width}}  ", "dim"), value), soft_wrap=True)


def shorten(text: str, width: int = 0) -> str:
    """Return a text as one line that fits the terminal, with control characters as escapes."""
    line = escape_controls(" ".join(text.split()))
    room = width or max(40, shutil.get_terminal_size().columns - 8)
    return line if len(line) <= room else line[: room - 1] + "…"


def show_list(entries: Iterable[tuple[str, Sequence[str]]], *, title: str = "") -> None:
    """Print names, each with its paragraphs beside it, in lines that fit the terminal."""
    entries = [(escape_controls(name), [escape_controls(text) for text in texts]) for name, texts in entries]
    indent = max((len(name) for name, _ in entries), default=0) + 2
    console = find_terminal()
    if title:
        show_words(title, "bold")
    for name, texts in entries:
        lines = [(line, "dim" if number else "") for number, text in enumerate(texts) for line in wrap(text, indent)]
        for number, (line, style) in enumerate(lines or [("", "")]):
            start = ("" if number else name).ljust(indent)
            if console is None:
                print(f"{start}{line}".rstrip())
            else:
                from rich.text import Text

                console.print(Text.assemble((start, "bold"), (line, style)), soft_wrap=True)


def show_words(text: str, style: str = "") -> None:
    """Print a paragraph in lines that fit the terminal; a terminal shows the style."""
    console = find_terminal()
    for line in wrap(escape_controls(text)):
        if console is None:
            print(line)
        else:
            console.print(line, style=style or None, markup=False, soft_wrap=True)


def wrap(text: str, indent: int = 0, hanging: int = 0) -> list[str]:
    """Return the lines of a paragraph; they fit the terminal after `indent` columns.

    All lines but the first begin with `hanging` blanks.
    """
    width = max(20, min(columns(), _MAX_LINE_COLUMNS) - indent)
    return textwrap.wrap(text, width, subsequent_indent=" " * hanging, break_on_hyphens=False, break_long_words=False)


def show_bars(bars: Sequence[tuple[str, float]], *, title: str = "") -> None:
    """Print a bar for each value, from 0 to the largest, as wide as the terminal allows, and the value after it."""
    if title:
        show_words(title, "bold")
    names, values = [escape_controls(name) for name, _ in bars], [max(0.0, value) for _, value in bars]
    indent, tail = max(map(len, names), default=0) + 2, 8
    room = max(10, min(columns(), _MAX_LINE_COLUMNS) - indent - tail)
    blocks = "█" if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else "#"
    for name, value in zip(names, values, strict=True):
        eighths = round(8 * room * value / (max(values) or 1))
        bar = blocks * (eighths // 8) + (_EIGHTHS[eighths % 8].strip() if blocks == "█" else "")
        print(f"{name:<{indent}}{bar} {value:.2f}")


def columns() -> int:
    """Return how many columns the terminal has; 80 if there is none."""
    return shutil.get_terminal_size().columns


def escape_controls(text: str) -> str:
    """Return a text with its control characters as escapes, such as \\x1b, which a terminal does not obey."""
    return text.translate(CONTROLS)


def find_terminal() -> Console | None:
    """Return the console to draw on, or None if standard output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console(highlight=False)


def human_bytes(count: float) -> str:
    """Return a number of bytes for people, such as 12.3 MB."""
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def _add_stars(row: list[str], number: int, marked: Collection[tuple[int, int]]) -> list[str]:
    """Return a row with a star after its marked cells; other cells of such a column get a blank, to stay aligned."""
    starred = {column for _, column in marked}
    return [
        cell + ("*" if (number, column) in marked else " ") if column in starred else cell
        for column, cell in enumerate(row)
    ]


def _show_plain(rows: list[list[str]], title: str, words: Sequence[int]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    if title:
        print(title)
    for number, row in enumerate(rows):
        cells = (
            cell.ljust(width) if column in words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
