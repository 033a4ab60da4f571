"""Archives checked by their checksum and unpacked once, safely even where several processes do so at a time."""

from __future__ import annotations

import hashlib
import lzma
import os
import secrets
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from neartag.data.files import read_lines
from neartag.data.folders import cache_folder
from neartag.errors import DataError

SUMS = "SHA256SUMS"
_KEY_LENGTH = 16  # hexadecimal digits of a checksum in a folder's name: enough never to meet by chance


def unpacked(archive: Path) -> Path:
    """Return the folder with an archive's content, unpacked on the first call if its checksum is the one listed."""
    expected = _listed_sum(archive)
    target = cache_folder() / "unpacked" / f"{archive.name.removesuffix('.tar.xz')}-{expected[:_KEY_LENGTH]}"
    if not target.is_dir():
        actual = _sum_of(archive)
        if actual != expected:
            raise DataError(
                f"{archive}: its SHA-256 is {actual}, but {SUMS} says {expected}; "
                "it is damaged or was changed: get it again"
            )
        _unpack(archive, target)
    inside = list(target.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else target


def _listed_sum(archive: Path) -> str:
    sums = archive.with_name(SUMS)
    if sums.is_file():
        for _, line in read_lines(sums):
            fields = line.decode(errors="replace").split(maxsplit=1)
            # An asterisk before the name marks binary mode in some tools' lists.
            if len(fields) == 2 and fields[1].strip().lstrip("*") == archive.name:
                return fields[0].lower()
    raise DataError(f"{archive}: is not listed in {sums}; if you trust it: sha256sum {archive.name} >> {SUMS}")


def _sum_of(archive: Path) -> str:
    digest = hashlib.sha256()
    with open(archive, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _unpack(archive: Path, target: Path) -> None:
    """Unpack into a folder of our own and give it its name at the end: whoever is first wins, the rest use that."""
    if not hasattr(tarfile, "data_filter"):
        raise DataError(
            f"{archive}: this Python cannot unpack it safely; update it, or unpack by hand beside the archive"
        )
    ours = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        ours.mkdir(parents=True)
        with tarfile.open(archive, "r:xz") as members:
            for member in members:
                _refuse_escape(member, archive)
                members.extract(member, ours, filter="data")
        try:
            os.rename(ours, target)
        except OSError:
            if not target.is_dir():
                raise
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise DataError(f"{archive}: cannot be unpacked ({error}); get it again") from error
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked into {target.parent}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(ours, ignore_errors=True)


def _refuse_escape(member: tarfile.TarInfo, archive: Path) -> None:
    path = PurePosixPath(member.name.replace("\\", "/"))
    if not (member.isfile() or member.isdir()) or path.is_absolute() or ".." in path.parts:
        raise DataError(f"{archive}: holds {member.name!r}, which is a link or leads out of its folder; do not use it")
