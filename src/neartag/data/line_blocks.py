"""A text file in blocks of whole lines, each with the number of its first line: to be worked on side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neartag.data.files import open_to_read
from neartag.data.read_limits import LINE, limit, too_large

BLOCK_BYTES = 2**21  # of text: what is made of it takes some times as much, in every process


def read_line_blocks(path: Path | str, block_bytes: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, in blocks: the number of the first one, from 1, and the bytes of all of them.

    A block has so many bytes (None: BLOCK_BYTES), and what its last line has more. What is wrong with the file is an
    error after the lines before it, as in `read_lines`.
    """
    longest = limit(LINE)
    size = min(block_bytes or BLOCK_BYTES, longest)  # so that only a block's last line can be too long
    number = 1
    with open_to_read(path) as stream:
        while True:
            content, error = _read_some(stream, size)
            end = content.rfind(b"\n") + 1
            if error is None and end < len(content):
                begun = len(content) - end
                rest, error = _read_rest(stream, longest + 1 - begun)
                if error is None and begun + len(rest) > longest:
                    line = number + content.count(b"\n")
                    error = too_large(f"{path}:{line}", f"the line is longer than {longest:,} bytes", LINE)
                if error is None:
                    content += rest
                    end = len(content)
            if end:
                yield number, content[:end]
                number += content.count(b"\n", 0, end)
            if error is not None:
                raise error
            if not content:
                return


def split_lines(first: int, content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each line of a block and its bytes without the line end, as `read_lines` does."""
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()  # what stands behind the last line end
    for number, line in enumerate(lines, start=first):
        yield number, line.removesuffix(b"\r")


def _read_some(stream: Any, size: int) -> tuple[bytes, Exception | None]:
    """Return so many bytes, fewer at the end of the file or before an error; and the error."""
    pieces: list[bytes] = []
    try:
        while size > 0 and (there := len(stream.peek())):  # a longer read would lose what stands before an error
            pieces.append(stream.read(min(there, size)))
            size -= len(pieces[-1])
    except Exception as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


def _read_rest(stream: Any, size: int) -> tuple[bytes, Exception | None]:
    """Return the rest of a line, at most so many bytes, or the error there."""
    try:
        return stream.readline(size), None
    except Exception as error:
        return b"", error
