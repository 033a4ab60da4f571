"""Data sets by name: folders `NAME/` or archives `NAME.tar.xz` in the data folder ($NEARTAG_DATA).

A folder holds `train.txt` and `test.txt` in the XMC format; `NAME-text` its texts, `train.jsonl` and `test.jsonl`.
An archive is checked by its checksum and unpacked once, safely even where several processes do so at a time.
"""

from __future__ import annotations

import lzma
import os
import secrets
import shutil
import sys
import tarfile
from pathlib import Path, PurePosixPath

from neartag.data import formats
from neartag.data.dataset import Dataset
from neartag.data.files import COMPRESSIONS, digest, read_lines
from neartag.data.text import read_text_jsonl
from neartag.errors import DataError

__all__ = ["KNOWN", "cache_folder", "data_folder", "find", "load", "load_text", "names", "text_file"]

KNOWN = {
    "bibtex": "BibTeX, 7,395 bookmarks, 159 tags",
    "delicious": "Delicious, 16,105 pages, 983 tags",
    "mediamill-rand": "MediaMill, 43,907 shots, 101 concepts",
    "eurlex4k-partial": "EUR-Lex, 10,251 documents, 3,141 subjects",
    "yso-finna-en-100k": "Finna titles, 110,003, 23,969 subjects",
    "cooking": "cooking questions, 15,404, 736 tags; text only",
}
_ARCHIVE = ".tar.xz"
_SUMS = "SHA256SUMS"
_KEY_LENGTH = 16  # hexadecimal digits of a checksum in a folder's name: enough never to meet by chance
_TEXT = "-text"


def cache_folder() -> Path:
    """Return the folder for files that can be made again: $NEARTAG_CACHE, else `neartag` in the platform's cache."""
    if chosen := os.environ.get("NEARTAG_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "neartag"


def data_folder() -> Path:
    """Return the folder in which data sets are looked for by name: $NEARTAG_DATA, else the cache folder."""
    chosen = os.environ.get("NEARTAG_DATA")
    return Path(chosen).expanduser() if chosen else cache_folder()


def names() -> list[str]:
    """Return the names of the data sets that are in the data folder, sorted."""
    found = set()
    folder = data_folder()
    for entry in folder.iterdir() if folder.is_dir() else ():
        if entry.is_file() and entry.name.endswith(_ARCHIVE):
            found.add(entry.name.removesuffix(_ARCHIVE).removesuffix(_TEXT))
        elif entry.is_dir() and (_parts(entry, ".txt") or _parts(entry, ".jsonl")):
            found.add(entry.name.removesuffix(_TEXT))
    return sorted(found)


def find(name: str) -> Path:
    """Return the folder of a data set, unpacked from its archive where need be; `NAME-text` is that of its texts."""
    folder = data_folder() / name
    if _is_here(name):
        return folder if folder.is_dir() else _unpacked(data_folder() / (name + _ARCHIVE))
    base = name.removesuffix(_TEXT)
    about = f" ({KNOWN[base]})" if base in KNOWN else ""
    present = ", ".join(names()) or "nothing"
    hint = "; only its texts are there, see load_text" if _is_here(name + _TEXT) else ""
    raise DataError(
        f"data set {name!r}{about} is not in {data_folder()}, where there is {present}{hint}; put the folder {name}/ "
        f"there, or {name}{_ARCHIVE} with its line in {_SUMS}, or set NEARTAG_DATA to the folder that has it"
    )


def load(name: str | Path, part: str = "train", *, labelled: bool = True) -> Dataset:
    """Return a part, such as `train` or `test`, of a data set given by name or by folder, or a data file as it is.

    `labelled` is for a data file, as in `formats.read`.
    """
    path = Path(name)
    if not _is_here(str(name)) and path.is_file():
        return formats.read(path, labelled=labelled)
    folder = path if not _is_here(str(name)) and path.is_dir() else find(str(name))
    dataset = formats.read(_part_file(folder, part, ".txt", name))
    dataset.name = f"{folder.name}/{part}"
    return dataset


def load_text(name: str | Path, part: str = "train") -> tuple[list[str], list[list[str]]]:
    """Return the texts of a part of a data set, given as for `load`, and the names of each one's labels."""
    return read_text_jsonl(text_file(name, part))


def text_file(name: str | Path, part: str = "train") -> Path:
    """Return the file that has the texts of a part of a data set, given as for `load`."""
    path = Path(name)
    here = [base for base in (f"{name}{_TEXT}", str(name)) if _is_here(base)]
    if not here and path.is_file():
        return path
    folder = path if not here and path.is_dir() else find(here[0] if here else f"{name}{_TEXT}")
    return _part_file(folder, part, ".jsonl", name)


def _is_here(name: str) -> bool:
    if name in ("", "..") or Path(name).name != name:  # a name with a separator in it would lead elsewhere
        return False
    return (data_folder() / name).is_dir() or (data_folder() / (name + _ARCHIVE)).is_file()


def _part_file(folder: Path, part: str, ending: str, name: str | Path) -> Path:
    parts = _parts(folder, ending)
    if part not in parts:
        found = f"parts {', '.join(sorted(parts))}" if parts else f"no part at all in {ending}"
        hint = "; it is text only: see load_text" if ending == ".txt" and _parts(folder, ".jsonl") else ""
        raise DataError(f"data set '{name}' has no part {part!r}: {folder} has {found}{hint}")
    return parts[part]


def _parts(folder: Path, ending: str) -> dict[str, Path]:
    """Return the parts of a data set, train or test or others, and their files, compressed or not."""
    return {
        part: file
        for compression in ("", *COMPRESSIONS)
        for file in folder.glob(f"*{ending}{compression}")
        if (part := file.name.removesuffix(ending + compression)) not in ("labels", "features")  # these are names
    }


def _unpacked(archive: Path) -> Path:
    """Return the folder with an archive's content, unpacked on the first call if its checksum is the one listed."""
    expected = _listed_sum(archive)
    target = cache_folder() / "unpacked" / f"{archive.name.removesuffix(_ARCHIVE)}-{expected[:_KEY_LENGTH]}"
    if not target.is_dir():
        with open(archive, "rb") as stream:
            actual = digest(stream)
        if actual != expected:
            raise DataError(
                f"{archive}: its SHA-256 is {actual}, but {_SUMS} says {expected}; "
                "it is damaged or was changed: get it again"
            )
        _unpack(archive, target)
    inside = list(target.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else target


def _listed_sum(archive: Path) -> str:
    sums = archive.with_name(_SUMS)
    if sums.is_file():
        for _, line in read_lines(sums):
            fields = line.decode(errors="replace").split(maxsplit=1)
            # An asterisk before the name marks binary mode in some tools' lists.
            if len(fields) == 2 and fields[1].strip().lstrip("*") == archive.name:
                return fields[0].lower()
    raise DataError(f"{archive}: is not listed in {sums}; if you trust it: sha256sum {archive.name} >> {_SUMS}")


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
