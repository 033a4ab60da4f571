"""Archives of data sets: recognised by ending or content, checked by their checksum, unpacked once and safely.

Several processes may unpack the same archive at the same time.
"""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from neartag.core.errors import DataError
from neartag.data.read_limits import Unpacking
from neartag.data.registry.checksums import CHECKSUM_FILE, checksum, listed_checksum
from neartag.data.registry.folders import OTHER_FOLDERS
from neartag.data.temporaries import temporary_beside

# Endings in the order in which they are looked for, and the bytes with which such files begin.
ENDINGS = {".tar.xz": b"\xfd7zXZ\x00", ".tar.gz": b"\x1f\x8b", ".tar.bz2": b"BZh", ".zip": b"PK\x03\x04"}
_CHECKSUM_DIGITS = 16  # of a checksum in a folder's name: enough that two archives never share one by chance
_FOREIGN_FOLDERS = ("__MACOSX",)  # what some programs put beside the content


def find_archive(folder: Path, name: str) -> Path | None:
    """Return the archive of a data set in a folder, or None."""
    return next((path for ending in ENDINGS if os.path.isfile(path := folder / (name + ending))), None)


def without_ending(name: str) -> str | None:
    """Return a file's name without an archive's ending; None if it does not end so."""
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), None)


def ending_of_content(path: Path) -> str | None:
    """Return the ending that fits a file's first bytes; None if it is not an archive."""
    with open(path, "rb") as stream:
        start = stream.read(8)
    return next((ending for ending, first in ENDINGS.items() if start.startswith(first)), None)


def unpack_once(archive: Path, cache: Path) -> Path:
    """Return the folder with an archive's content; the first call unpacks it, if its checksum is the listed one."""
    expected = listed_checksum(archive)
    target = unpack_target(archive, expected, cache)
    if not os.path.isdir(target):
        actual = checksum(archive)
        if actual != expected:
            raise DataError(
                f"{archive}: its SHA-256 is {actual}, but {CHECKSUM_FILE} says {expected}; "
                "it is damaged or was changed: get it again"
            )
        unpack(archive, target)
    return inner_folder(target)


def unpack_target(archive: Path, value: str, cache: Path) -> Path:
    """Return the folder into which an archive of this checksum is unpacked."""
    return cache / "unpacked" / f"{without_ending(archive.name)}-{value[:_CHECKSUM_DIGITS]}"


def inner_folder(target: Path) -> Path:
    """Return the folder with the data: archives often hold a single folder, with everything inside it."""
    inside = [entry for entry in target.iterdir() if entry.name not in _FOREIGN_FOLDERS]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else target


def unpack(archive: Path, target: Path) -> None:
    """Unpack an archive into a folder.

    Each process unpacks into a folder of its own and renames it at the end. The first one to finish wins; the others
    use its folder.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(target, Path.mkdir) as ours:
            with _report_damage(archive):
                (_extract_zip if archive.name.endswith(".zip") else _extract_tar)(archive, ours)
            try:
                os.rename(ours, target)
            except OSError:
                if not target.is_dir():
                    raise
    except OSError as error:
        place, why = target.parent, error.strerror or error
        raise DataError(f"{archive}: cannot be unpacked into {place}: {why}; {OTHER_FOLDERS}") from error


@contextmanager
def _report_damage(archive: Path) -> Iterator[None]:
    """Turn what the readers of archives raise into a DataError."""
    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, NotImplementedError) as error:
        raise DataError(f"{archive}: cannot be unpacked ({error}); get it again") from error
    except OSError as error:
        if error.errno is not None:  # the system's; a decompressor's has no number
            raise
        raise DataError(f"{archive}: cannot be unpacked ({error}); get it again") from error


def _extract_tar(archive: Path, folder: Path) -> None:
    if not hasattr(tarfile, "data_filter"):
        raise DataError(
            f"{archive}: this Python cannot unpack it safely; update it, or unpack by hand beside the archive"
        )
    unpacked = Unpacking(archive)
    with tarfile.open(archive, "r:*") as members:
        for member in members:
            unpacked.count(member.size)
            if not (member.isfile() or member.isdir()):
                raise _unsafe_member(archive, member.name)
            _check_path(archive, member.name)
            members.extract(member, folder, filter="data")


def _extract_zip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as members:
        unpacked = Unpacking(archive)
        for member in members.infolist():
            unpacked.count(member.file_size)
            _check_path(archive, member.filename)
            if stat.S_ISLNK(member.external_attr >> 16):
                raise _unsafe_member(archive, member.filename)
            if member.flag_bits & 1:
                raise DataError(f"{archive}: {member.filename!r} is encrypted; unpack it by hand beside the archive")
            members.extract(member, folder)


def _check_path(archive: Path, name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if not name or path.is_absolute() or ".." in path.parts:
        raise _unsafe_member(archive, name)


def _unsafe_member(archive: Path, name: str) -> DataError:
    return DataError(f"{archive}: holds {name!r}, which is a link or leads out of its folder; do not use it")
