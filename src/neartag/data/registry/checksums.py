"""The list of checksums beside archives, `SHA256SUMS`: one line `CHECKSUM  FILE` per archive."""

from __future__ import annotations

from pathlib import Path

from neartag.core.errors import DataError
from neartag.data.files import digest, open_to_replace, read_lines

CHECKSUM_FILE = "SHA256SUMS"


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as stream:
        return digest(stream)


def read_checksums(folder: Path) -> dict[str, str]:
    """Return the checksums listed in a folder by file name; where a name stands twice, the first one."""
    listed: dict[str, str] = {}
    if (folder / CHECKSUM_FILE).is_file():
        for _, line in read_lines(folder / CHECKSUM_FILE):
            fields = line.decode(errors="replace").split(maxsplit=1)
            if len(fields) == 2:
                # An asterisk before the name marks binary mode in some tools' lists.
                listed.setdefault(fields[1].strip().lstrip("*"), fields[0].lower())
    return listed


def listed_checksum(archive: Path) -> str:
    """Return the checksum that the list beside an archive has for it; DataError where it has none."""
    listed = read_checksums(archive.parent).get(archive.name)
    if listed is None:
        place = archive.with_name(CHECKSUM_FILE)
        raise DataError(
            f"{archive}: is not listed in {place}; if you trust it: sha256sum {archive.name} >> {CHECKSUM_FILE}"
        )
    return listed


def write_checksum(archive: Path, value: str) -> None:
    """Write an archive's checksum into the list, in place of the one that the list has for it."""
    target = archive.with_name(CHECKSUM_FILE)
    lines = [line for _, line in read_lines(target)] if target.is_file() else []
    own_names = [archive.name.encode()], [b"*" + archive.name.encode()]
    others = [line for line in lines if line.split()[1:2] not in own_names]
    with open_to_replace(target) as stream:
        stream.writelines(line + b"\n" for line in [*others, f"{value}  {archive.name}".encode()])
