"""Lines of text from standard input, or from a file of plain text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext

from neartag.core.errors import DataError

STDIN = "-"


def read_text_lines(source: str = STDIN) -> list[str]:
    """Return the lines of standard input (-) or of a file; DataError names the first line that is no UTF-8."""
    return [line for _, line in iterate_text_lines(source)]


def iterate_text_lines(source: str = STDIN) -> Iterator[tuple[int, str]]:
    """Yield the number of each line and the line, as `read_text_lines` returns them."""
    from neartag.data.documents.parse import DocumentError, decode_line

    # Not splitlines: texts and ids may have characters that it takes for the end of a line.
    with nullcontext(sys.stdin.buffer) if source == STDIN else open(source, "rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                yield number, decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), number)
            except DocumentError as error:
                place = f"standard input, line {number}" if source == STDIN else f"{source}:{number}"
                raise DataError(f"{place}: {error.args[0]}; give texts as UTF-8") from error
