"""Archives of data sets: told by their ending or content, checked by their checksum, unpacked once and safely.

Checksums stand in `SHA256SUMS` beside the archives. Several processes may unpack the same archive at a time.
"""

from __future__ import annotations

import lzma
import os
import secrets
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from neartag.core.errors import DataError
from neartag.data.files import digest, read_lines, replacing

SUMS = "SHA256SUMS"
# Endings in the order in which they are looked for, and the bytes with which such files begin.
ENDINGS = {".tar.xz": b"\xfd7zXZ\x00", ".tar.gz": b"\x1f\x8b", ".tar.bz2": b"BZh", ".zip": b"PK\x03\x04"}
_KEY_LENGTH = 16  # hexadecimal digits of a checksum in a folder's name: enough never to meet by chance
_FOREIGN = ("__MACOSX",)  # what some programs put beside the content


def find(folder: Path, name: str) -> Path | None:
    """Return the archive of a data set in a folder, None where there is none."""
    return next((path for ending in ENDINGS if (path := folder / (name + ending)).is_file()), None)


def stem(name: str) -> str | None:
    """Return a file's name without an archive's ending, None where it has none."""
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), None)


def kind(path: Path) -> str | None:
    """Return the ending that a file's content calls for, None where it is no archive."""
    with open(path, "rb") as stream:
        start = stream.read(8)
    return next((ending for ending, first in ENDINGS.items() if start.startswith(first)), None)


def checksum(path: Path) -> str:
    """Return a file's SHA-256."""
    with open(path, "rb") as stream:
        return digest(stream)


def listed_sum(archive: Path) -> str:
    """Return the checksum that the list beside an archive has for it; DataError where it has none."""
    found = sums(archive.parent).get(archive.name)
    if found is None:
        place = archive.with_name(SUMS)
        raise DataError(f"{archive}: is not listed in {place}; if you trust it: sha256sum {archive.name} >> {SUMS}")
    return found


def sums(folder: Path) -> dict[str, str]:
    """Return the checksums listed in a folder by their files' names; the first where a name stands twice."""
    found: dict[str, str] = {}
    if (folder / SUMS).is_file():
        for _, line in read_lines(folder / SUMS):
            fields = line.decode(errors="replace").split(maxsplit=1)
            if len(fields) == 2:
                # An asterisk before the name marks binary mode in some tools' lists.
                found.setdefault(fields[1].strip().lstrip("*"), fields[0].lower())
    return found


def list_sum(archive: Path, value: str) -> None:
    """List an archive's checksum, in place of what the list has for it."""
    target = archive.with_name(SUMS)
    lines = [line for _, line in read_lines(target)] if target.is_file() else []
    others = [
        line for line in lines if line.split()[1:2] not in ([archive.name.encode()], [b"*" + archive.name.encode()])
    ]
    with replacing(target) as stream:
        stream.writelines(line + b"\n" for line in [*others, f"{value}  {archive.name}".encode()])


def unpacked(archive: Path, cache: Path) -> Path:
    """Return the folder with an archive's content, unpacked on the first call if its checksum is the one listed."""
    expected = listed_sum(archive)
    target = place(archive, expected, cache)
    if not target.is_dir():
        actual = checksum(archive)
        if actual != expected:
            raise DataError(
                f"{archive}: its SHA-256 is {actual}, but {SUMS} says {expected}; "
                "it is damaged or was changed: get it again"
            )
        unpack(archive, target)
    return content(target)


def place(archive: Path, value: str, cache: Path) -> Path:
    """Return where an archive of this checksum is unpacked."""
    return cache / "unpacked" / f"{stem(archive.name)}-{value[:_KEY_LENGTH]}"


def content(target: Path) -> Path:
    """Return the folder of the data in what was unpacked: often the only one."""
    inside = [entry for entry in target.iterdir() if entry.name not in _FOREIGN]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else target


def unpack(archive: Path, target: Path) -> None:
    """Unpack into a folder of our own and give it its name at the end: whoever is first wins, the rest use that."""
    ours = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        ours.mkdir(parents=True)
        with _damage(archive):
            (_extract_zip if archive.name.endswith(".zip") else _extract_tar)(archive, ours)
        try:
            os.rename(ours, target)
        except OSError:
            if not target.is_dir():
                raise
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked into {target.parent}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(ours, ignore_errors=True)


@contextmanager
def _damage(archive: Path) -> Iterator[None]:
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
    with tarfile.open(archive, "r:*") as members:
        for member in members:
            if not (member.isfile() or member.isdir()):
                raise _escape(archive, member.name)
            _refuse_escape(archive, member.name)
            members.extract(member, folder, filter="data")


def _extract_zip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as members:
        for member in members.infolist():
            _refuse_escape(archive, member.filename)
            if stat.S_ISLNK(member.external_attr >> 16):
                raise _escape(archive, member.filename)
            if member.flag_bits & 1:
                raise DataError(f"{archive}: {member.filename!r} is encrypted; unpack it by hand beside the archive")
            members.extract(member, folder)


def _refuse_escape(archive: Path, name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise _escape(archive, name)


def _escape(archive: Path, name: str) -> DataError:
    return DataError(f"{archive}: holds {name!r}, which is a link or leads out of its folder; do not use it")
