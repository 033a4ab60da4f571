"""Data sets by name: folders `NAME/` or archives `NAME.tar.xz` in the data folder ($NEARTAG_DATA).

A folder holds `train.txt` and `test.txt` in the XMC format; `NAME-text` its texts, `train.jsonl` and `test.jsonl`. The
files of the paper's sets may be called as they are published (`known`), and archives may be .tar.gz, .tar.bz2 or .zip.
An archive is checked by its checksum and unpacked once, safely even where several processes do so at a time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from neartag.core.errors import DataError
from neartag.data import archives, formats, known
from neartag.data.archives import SUMS
from neartag.data.dataset import Dataset
from neartag.data.files import COMPRESSIONS
from neartag.data.text import read_text_jsonl
from neartag.data.xmc import read_split

__all__ = [
    "KNOWN",
    "cache_folder",
    "data_folder",
    "find",
    "load",
    "load_text",
    "names",
    "parts",
    "split_files",
    "text_file",
]

KNOWN = {name: each.about for name, each in known.SETS.items()}
TEXT = "-text"
_ARCHIVE = ".tar.xz"
_NAMES = ("labels", "features")  # files beside the points that name their columns
# Parts by what published files are called, in lower case and without an ending.
_PUBLISHED = {
    file.lower().removesuffix(".txt"): part
    for each in known.PAPER
    if len(each.files) == 2
    for part, file in zip(("train", "test"), each.files, strict=True)
}
_SPLITS = tuple(each.files for each in known.PAPER if len(each.files) == 3)


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
        packed = archives.stem(entry.name)
        if packed is not None and entry.is_file():
            found.add(packed.removesuffix(TEXT))
        elif entry.is_dir() and (parts(entry, ".txt") or parts(entry, ".jsonl")):
            found.add(entry.name.removesuffix(TEXT))
    return sorted(found)


def find(name: str) -> Path:
    """Return the folder of a data set, unpacked from its archive where need be; `NAME-text` is that of its texts."""
    if is_here(name):
        archive = archives.find(data_folder(), name)
        folder = data_folder() / name
        return folder if archive is None or folder.is_dir() else archives.unpacked(archive, cache_folder())
    base = name.removesuffix(TEXT)
    about = f" ({KNOWN[base]})" if base in KNOWN else ""
    present = ", ".join(names()) or "nothing"
    hint = "; only its texts are there, see load_text" if is_here(name + TEXT) else ""
    raise DataError(
        f"data set {name!r}{about} is not in {data_folder()}, where there is {present}{hint}; put the folder {name}/ "
        f"there, or {name}{_ARCHIVE} with its line in {SUMS}, or set NEARTAG_DATA to the folder that has it"
        + ("; neartag datasets get tells where it is published" if base in KNOWN else "")
    )


def load(name: str | Path, part: str = "train", *, labelled: bool = True) -> Dataset:
    """Return a part, such as `train` or `test`, of a data set given by name or by folder, or a data file as it is.

    `labelled` is for a data file, as in `formats.read`.
    """
    path = Path(name)
    if not is_here(str(name)) and path.is_file():
        return formats.read(path, labelled=labelled)
    folder = path if not is_here(str(name)) and path.is_dir() else find(str(name))
    split = split_files(folder)
    if split is not None and part in ("train", "test") and part not in parts(folder, ".txt"):
        dataset = read_split(*split)[part == "test"]
    else:
        dataset = formats.read(_part_file(folder, part, ".txt", name))
    dataset.name = f"{folder.name}/{part}"
    return dataset


def load_text(name: str | Path, part: str = "train") -> tuple[list[str], list[list[str]]]:
    """Return the texts of a part of a data set, given as for `load`, and the names of each one's labels."""
    return read_text_jsonl(text_file(name, part))


def text_file(name: str | Path, part: str = "train") -> Path:
    """Return the file that has the texts of a part of a data set, given as for `load`."""
    path = Path(name)
    here = [base for base in (f"{name}{TEXT}", str(name)) if is_here(base)]
    if not here and path.is_file():
        return path
    folder = path if not here and path.is_dir() else find(here[0] if here else f"{name}{TEXT}")
    return _part_file(folder, part, ".jsonl", name)


def is_here(name: str) -> bool:
    """Return whether the data folder has the folder or the archive of a data set, or, by `NAME-text`, of its texts."""
    if name in ("", "..") or Path(name).name != name:  # a name with a separator in it would lead elsewhere
        return False
    return (data_folder() / name).is_dir() or archives.find(data_folder(), name) is not None


def _part_file(folder: Path, part: str, ending: str, name: str | Path) -> Path:
    found = parts(folder, ending)
    if part not in found:
        there = f"parts {', '.join(sorted(found))}" if found else f"no part at all in {ending}"
        hint = "; it is text only: see load_text" if ending == ".txt" and parts(folder, ".jsonl") else ""
        raise DataError(f"data set '{name}' has no part {part!r}: {folder} has {there}{hint}")
    return found[part]


def parts(folder: Path, ending: str) -> dict[str, Path]:
    """Return the parts of a data set, train or test or others, and their files, compressed or not."""
    found = {
        part: file
        for compression in ("", *COMPRESSIONS)
        for file in folder.glob(f"*{ending}{compression}")
        if (part := file.name.removesuffix(ending + compression)) not in _NAMES
    }
    for called in [called for called in found if ending == ".txt" and called.lower() in _PUBLISHED]:
        found.setdefault(_PUBLISHED[called.lower()], found.pop(called))
    return found


def split_files(folder: Path) -> tuple[Path, Path, Path] | None:
    """Return the files of a set that is published as one: its points, the rows of training and of test; None if not."""
    here = {file.name.lower(): file for file in folder.glob("*.txt")}
    for data, train, test in _SPLITS:
        if all(file.lower() in here for file in (data, train, test)):
            return here[data.lower()], here[train.lower()], here[test.lower()]
    return None
