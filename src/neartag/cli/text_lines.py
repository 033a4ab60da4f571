"""Lines of text from standard input, or from a file of plain text."""

from __future__ import annotations

import sys
from pathlib import Path

from neartag.core.errors import DataError

STDIN = "-"


def read_text_lines(source: str = STDIN) -> list[str]:
    """Return the lines of standard input (-) or of a file; DataError names the first line that is no UTF-8."""
    from neartag.data.documents.parse import DocumentError, decode_line

    content = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
    # Not splitlines: texts and ids may have characters that it takes for the end of a line.
    lines = content.split(b"\n")
    read = []
    for number, line in enumerate(lines[: -1 if not lines[-1] else None], start=1):
        try:
            read.append(decode_line(line.removesuffix(b"\r"), number))
        except DocumentError as error:
            place = f"standard input, line {number}" if source == STDIN else f"{source}:{number}"
            raise DataError(f"{place}: {error.args[0]}; give texts as UTF-8") from error
    return read
