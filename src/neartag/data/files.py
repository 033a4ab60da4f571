"""Files: opened by their ending, replaced whole or not at all, and errors that name a file and a line."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, BinaryIO

from neartag.core.errors import DataError, ParameterError
from neartag.core.replace_file import replace_file
from neartag.data.read_limits import Unpacked, iterate_lines
from neartag.data.temporaries import temporary_beside

COMPRESSIONS = (".gz", ".xz", ".bz2")
_QUOTED_BYTES = 40  # of a file, in an error
_CHUNK_BYTES = 2**20  # hashed at a time


def line_error(path: Path | str, line: int, problem: str, remedy: str) -> DataError:
    """Return the error that says where a file is wrong, what is wrong there and what to do."""
    return DataError(f"{path}:{line}: {problem}; {remedy}")


def quote(text: bytes) -> str:
    """Return bytes of a file as a quoted text, cut to a length that fits into an error message."""
    return repr(text[:_QUOTED_BYTES].decode(errors="replace")) + ("…" if len(text) > _QUOTED_BYTES else "")


def split_ending(path: Path | str) -> tuple[str, str, str]:
    """Return a file's name in three parts, such as `train`, `.txt` and `.gz`; both endings in lower case."""
    name = Path(path).name
    compression = Path(name).suffix.lower()
    if compression not in COMPRESSIONS:
        compression = ""
    name = name[: len(name) - len(compression)]
    ending = Path(name).suffix
    return name[: len(name) - len(ending)], ending.lower(), compression


def read_bytes(path: Path | str) -> bytes:
    """Return the whole content of a file, decompressed if its ending is .gz, .xz or .bz2."""
    with open_to_read(path) as stream:
        return stream.read()


def read_lines(path: Path | str) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each line, from 1, and its bytes without the line end; only one line is in memory."""
    with open_to_read(path) as stream:
        for number, line in enumerate(iterate_lines(stream, path), start=1):
            yield number, line.rstrip(b"\n").removesuffix(b"\r")


@contextmanager
def open_to_read(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a file and read its decompressed bytes; whatever goes wrong with the file is a DataError."""
    try:
        with _open_decompressed(Path(path)) as stream:
            yield stream
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        # An error of the operating system has a number; one of a decompressor, which may be an OSError too, has none.
        if getattr(error, "errno", None) is not None:
            raise DataError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from error
        raise DataError(f"{path}: is cut short, damaged, or not compressed as its ending says ({error})") from error


@contextmanager
def open_to_replace(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a file to write it anew, compressed by its ending; the old one is replaced at the end, or not at all.

    A device or a pipe, such as /dev/null, cannot be replaced by a file: it is written to directly.
    """
    if _is_special(path):
        try:
            with open(path, "wb") as raw, _compress(raw, split_ending(path)[2]) as stream:
                yield stream
        except OSError as error:
            raise _write_error(path, error) from error
        return
    target = Path(os.path.realpath(path))  # of a link, the file that it points at is replaced
    try:
        with temporary_beside(target, lambda file: file.touch(exist_ok=False)) as temporary:
            with open(temporary, "wb") as raw:
                with _compress(raw, split_ending(target)[2]) as stream:
                    yield stream
                raw.flush()
                os.fsync(raw.fileno())
            replace_file(temporary, target)
    except OSError as error:
        raise _write_error(path, error) from error


def check_writable(target: Path | str, option: str) -> None:
    """Raise ParameterError, before any work is lost, where a file could not be written in the end.

    `option` is what the person gave the target by.
    """
    path = Path(target)
    if _is_special(path):
        return
    if path.is_dir():
        raise ParameterError(f"{option} {target} is a folder: name a file")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"{option} {target}: there is no folder {path.absolute().parent}: make it first")
    try:
        with tempfile.TemporaryFile(dir=path.absolute().parent):
            pass
    except OSError as error:
        raise ParameterError(f"{option} {target}: cannot be written: {error.strerror}") from error


def digest(handle: BinaryIO) -> str:
    """Return the SHA-256 of an open file, from its beginning, in hexadecimal digits."""
    handle.seek(0)
    state = hashlib.sha256()
    while chunk := handle.read(_CHUNK_BYTES):
        state.update(chunk)
    return state.hexdigest()


def _is_special(path: Path | str) -> bool:
    """Return whether the path is a device, a pipe or a socket; links are followed."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False  # nothing there, or an error that writing will report
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write_error(path: Path | str, error: OSError) -> DataError:
    return DataError(f"{path}: cannot be written: {error.strerror or error}")


def _open_decompressed(path: Path) -> AbstractContextManager[IO[bytes]]:
    raw = open(path, "rb")  # noqa: SIM115 (the caller closes it, or what is made of it)
    compression = split_ending(path)[2]
    if not compression:
        return raw
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
    return io.BufferedReader(Unpacked(openers[compression](raw, "rb"), raw, path), _CHUNK_BYTES)


def _compress(raw: IO[bytes], compression: str) -> AbstractContextManager[Any]:
    if compression == ".gz":
        # No time and no name inside: the same data give the same bytes.
        return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
    if compression == ".xz":
        return lzma.open(raw, "wb", preset=3)
    if compression == ".bz2":
        return bz2.open(raw, "wb")
    return nullcontext(raw)
