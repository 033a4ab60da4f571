"""Files opened by their ending, replaced whole or not at all, known by their checksum, faulted by file and line."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, BinaryIO

from neartag.core.errors import DataError

COMPRESSIONS = (".gz", ".xz", ".bz2")
_SHOWN = 40  # bytes of a file that an error quotes
_CHUNK = 2**20  # bytes hashed at a time


def fault(path: Path | str, line: int, found: str, remedy: str) -> DataError:
    """Return the error that says where a file is wrong, what was found there and what to do."""
    return DataError(f"{path}:{line}: {found}; {remedy}")


def shown(text: bytes) -> str:
    """Return bytes of a file as a quoted text short enough for an error's message."""
    return repr(text[:_SHOWN].decode(errors="replace")) + ("…" if len(text) > _SHOWN else "")


def split_ending(path: Path | str) -> tuple[str, str, str]:
    """Return a file's name in three parts, such as `train`, `.txt` and `.gz`; endings are in lower case."""
    name = Path(path).name
    compression = Path(name).suffix.lower()
    if compression not in COMPRESSIONS:
        compression = ""
    name = name[: len(name) - len(compression)]
    ending = Path(name).suffix
    return name[: len(name) - len(ending)], ending.lower(), compression


def read_bytes(path: Path | str) -> bytes:
    """Return the whole content of a file, decompressed where its ending is .gz, .xz or .bz2."""
    with reading(path) as stream:
        return stream.read()


def read_lines(path: Path | str) -> Iterator[tuple[int, bytes]]:
    """Yield each line's number, from 1, and its bytes without the line end; a file of any size fits."""
    with reading(path) as stream:
        for number, line in enumerate(stream, start=1):
            yield number, line.rstrip(b"\n").removesuffix(b"\r")


@contextmanager
def reading(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a file to read its decompressed bytes; whatever goes wrong with the file is a DataError."""
    try:
        with _decompressed(Path(path)) as stream:
            yield stream
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        # An operating system's error has a number; a decompressor's, which may also be an OSError, has none.
        if getattr(error, "errno", None) is not None:
            raise DataError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from error
        raise DataError(f"{path}: is cut short, damaged, or not compressed as its ending says ({error})") from error


@contextmanager
def replacing(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a file to write, compressed by its ending; it takes its place whole at the end, or not at all.

    What is no plain file, such as /dev/null or a named pipe, cannot be replaced by one and is written to as it is.
    """
    if _is_special(path):
        try:
            with open(path, "wb") as raw, _compressed(raw, split_ending(path)[2]) as stream:
                yield stream
        except OSError as error:
            raise _unwritable(path, error) from error
        return
    target = Path(os.path.realpath(path))  # what a link points at is replaced, not the link
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as raw:
            with _compressed(raw, split_ending(target)[2]) as stream:
                yield stream
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def digest(handle: BinaryIO) -> str:
    """Return the SHA-256 of an open file, from its beginning, in hexadecimal digits."""
    handle.seek(0)
    state = hashlib.sha256()
    while chunk := handle.read(_CHUNK):
        state.update(chunk)
    return state.hexdigest()


def _is_special(path: Path | str) -> bool:
    """Return whether there is a device, a pipe or a socket; links are followed, which only the system can for pipes."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False  # there is nothing, or whatever is wrong shows when it is written
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _unwritable(path: Path | str, error: OSError) -> DataError:
    return DataError(f"{path}: cannot be written: {error.strerror or error}")


def _decompressed(path: Path) -> AbstractContextManager[IO[bytes]]:
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open, "": open}
    return openers[split_ending(path)[2]](path, "rb")


def _compressed(raw: IO[bytes], compression: str) -> AbstractContextManager[Any]:
    if compression == ".gz":
        # No time and no name inside, so that the same data give the same bytes.
        return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
    if compression == ".xz":
        return lzma.open(raw, "wb", preset=3)
    if compression == ".bz2":
        return bz2.open(raw, "wb")
    return nullcontext(raw)
