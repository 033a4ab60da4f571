"""Limits on what a file may unpack to, so that a small file cannot fill memory or disk.

No real data set comes near them. Where one does, an option of the command or a variable of the environment raises the
limit.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from neartag.core.errors import DataError, ParameterError
from neartag.core.parameters import parse_bytes

# Each limit's variable, and its default.
LINE, RATIO, UNPACKED, MEMBERS = "NEARTAG_MAX_LINE", "NEARTAG_MAX_RATIO", "NEARTAG_MAX_UNPACKED", "NEARTAG_MAX_MEMBERS"
DEFAULTS = {LINE: "128MB", RATIO: "300", UNPACKED: "100GB", MEMBERS: "100000"}
# Each limit as an option of a command, without dashes.
OPTION_NAMES = {name: name.removeprefix("NEARTAG_").lower() for name in DEFAULTS}
# Texts shrink to a tenth, tables of zeros to a hundredth; up to so many bytes any ratio will do.
FREE_BYTES = 256 * 2**20


_held: ContextVar[dict[str, int]] = ContextVar("read_limits")


@contextmanager
def hold_limits(given: Mapping[str, str | None]) -> Iterator[None]:
    """Let these limits hold, by the names of their options; what is None stays as it is."""
    wanted = {name: given.get(option) for name, option in OPTION_NAMES.items()}
    token = _held.set({**_held.get({}), **{name: _parse(name, text) for name, text in wanted.items() if text}})
    try:
        yield
    finally:
        _held.reset(token)


def limit(name: str) -> int:
    """Return a limit: what holds here, its variable's value, or its default."""
    held = _held.get({}).get(name)
    return _parse(name, os.environ.get(name) or DEFAULTS[name], name) if held is None else held


def _parse(name: str, text: str, called: str = "") -> int:
    """Return the number that a limit's text stands for; `called` is where the text was given, if by no option."""
    try:
        value = parse_bytes(text)
    except ParameterError as error:
        raise ParameterError(f"{called or _option(name)}: {error}") from error
    if value <= 0:
        raise ParameterError(f"{called or _option(name)} must be above 0, not {text}")
    return value


def _option(name: str) -> str:
    return "--" + OPTION_NAMES[name].replace("_", "-")


def too_large(place: object, problem: str, name: str) -> DataError:
    """Return the error for something beyond a limit; it says how to raise it."""
    return DataError(
        f"{place}: {problem}; if the file is sound, give {_option(name)} or set {name} to more than {DEFAULTS[name]}"
    )


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
