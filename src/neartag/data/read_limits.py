"""Limits on what a file may unpack to, so that a small file cannot fill memory or disk.

No real data set comes near them. Where one does, a variable of the environment raises the limit.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from neartag.core.errors import DataError
from neartag.core.parameters import parse_bytes

# Each limit's variable, and its default.
LINE, RATIO, UNPACKED, MEMBERS = "NEARTAG_MAX_LINE", "NEARTAG_MAX_RATIO", "NEARTAG_MAX_UNPACKED", "NEARTAG_MAX_MEMBERS"
DEFAULTS = {LINE: "128MB", RATIO: "300", UNPACKED: "100GB", MEMBERS: "100000"}
# Texts shrink to a tenth, tables of zeros to a hundredth; up to so many bytes any ratio will do.
FREE_BYTES = 256 * 2**20


def limit(name: str) -> int:
    """Return a limit: its variable's value, or its default."""
    return parse_bytes(os.environ.get(name) or DEFAULTS[name])


def too_large(place: object, problem: str, name: str) -> DataError:
    """Return the error for something beyond a limit; it says how to raise it."""
    return DataError(f"{place}: {problem}; if the file is sound, set {name} to more than {DEFAULTS[name]}")


def iterate_lines(stream: IO[Any], path: Path | str) -> Iterator[Any]:
    """Yield the lines of a stream with their ends; DataError for one that is longer than the limit."""
    longest = limit(LINE)
    number = 0
    while line := stream.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise too_large(f"{path}:{number}", f"the line is longer than {longest:,} bytes", LINE)
        yield line


class Unpacked(io.RawIOBase):
    """The bytes of a decompressor, as long as they are not far more than the bytes of the file."""

    def __init__(self, decompressor: IO[bytes], compressed: IO[bytes], path: Path) -> None:
        self._inner, self._compressed, self._path = decompressor, compressed, path
        self._total, self._ratio, self._most = 0, limit(RATIO), limit(UNPACKED)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; returns how many bytes there were."""
        content = self._inner.read(len(buffer))
        self._total += len(content)
        if self._total > self._most:
            raise too_large(self._path, f"it unpacks to more than {self._most:,} bytes", UNPACKED)
        if self._total > FREE_BYTES and self._total > self._ratio * self._compressed.tell():
            raise too_large(self._path, f"it unpacks to more than {self._ratio} times its size", RATIO)
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        """Close the decompressor and the file."""
        try:
            self._inner.close()
        finally:
            self._compressed.close()
            super().close()


class Unpacking:
    """What an archive has been unpacked to so far, member by member, as it says itself before each is written."""

    def __init__(self, archive: Path) -> None:
        self._archive, self._size = archive, archive.stat().st_size
        self._members = self._bytes = 0
        self._most, self._ratio, self._most_members = limit(UNPACKED), limit(RATIO), limit(MEMBERS)

    def count(self, member_bytes: int, *, member: bool = True) -> None:
        """Count a member in, or without `member` something else that is packed; DataError beyond a limit."""
        self._members, self._bytes = self._members + member, self._bytes + member_bytes
        if self._members > self._most_members:
            raise too_large(self._archive, f"it holds more than {self._most_members:,} files", MEMBERS)
        if self._bytes > self._most:
            raise too_large(self._archive, f"it unpacks to more than {self._most:,} bytes", UNPACKED)
        if self._bytes > FREE_BYTES and self._bytes > self._ratio * self._size:
            raise too_large(self._archive, f"it unpacks to more than {self._ratio} times its size", RATIO)


def check_zip(path: Path | str, stream: IO[bytes]) -> None:
    """Raise DataError where the files of a zip, which other libraries unpack, go beyond a limit together."""
    with zipfile.ZipFile(stream) as archive:
        check_members(path, archive)
    stream.seek(0)


def check_members(path: Path | str, archive: zipfile.ZipFile) -> None:
    """Raise DataError where the files of an open zip go beyond a limit together."""
    unpacked = Unpacking(Path(path))
    for member in archive.infolist():
        unpacked.count(member.file_size)
