"""Data sets by name: folders `NAME/` or archives `NAME.tar.xz` in the data folder ($NEARTAG_DATA).

A folder holds `train.txt` and `test.txt` in the XMC format; `NAME-text` its texts, `train.jsonl` and `test.jsonl`.
"""

from __future__ import annotations

from pathlib import Path

from neartag.data import formats
from neartag.data.archives import SUMS, unpacked
from neartag.data.dataset import Dataset
from neartag.data.files import COMPRESSIONS
from neartag.data.folders import cache_folder, data_folder
from neartag.data.text import read_text_jsonl
from neartag.errors import DataError

__all__ = ["KNOWN", "cache_folder", "data_folder", "find", "load", "load_text", "names"]

KNOWN = {
    "bibtex": "BibTeX, 7,395 bookmarks, 159 tags",
    "delicious": "Delicious, 16,105 pages, 983 tags",
    "mediamill-rand": "MediaMill, 43,907 shots, 101 concepts",
    "eurlex4k-partial": "EUR-Lex, 10,251 documents, 3,141 subjects",
    "yso-finna-en-100k": "Finna titles, 110,003, 23,969 subjects",
    "cooking": "cooking questions, 15,404, 736 tags; text only",
}
_ARCHIVE = ".tar.xz"
_TEXT = "-text"


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
        return folder if folder.is_dir() else unpacked(data_folder() / (name + _ARCHIVE))
    base = name.removesuffix(_TEXT)
    about = f" ({KNOWN[base]})" if base in KNOWN else ""
    present = ", ".join(names()) or "nothing"
    hint = "; only its texts are there, see load_text" if _is_here(name + _TEXT) else ""
    raise DataError(
        f"data set {name!r}{about} is not in {data_folder()}, where there is {present}{hint}; put the folder {name}/ "
        f"there, or {name}{_ARCHIVE} with its line in {SUMS}, or set NEARTAG_DATA to the folder that has it"
    )


def load(name: str | Path, part: str = "train") -> Dataset:
    """Return a part, such as `train` or `test`, of a data set given by name or by folder, or a data file as it is."""
    path = Path(name)
    if not _is_here(str(name)) and path.is_file():
        return formats.read(path)
    folder = path if not _is_here(str(name)) and path.is_dir() else find(str(name))
    dataset = formats.read(_part_file(folder, part, ".txt", name))
    dataset.name = f"{folder.name}/{part}"
    return dataset


def load_text(name: str | Path, part: str = "train") -> tuple[list[str], list[list[str]]]:
    """Return the texts of a part of a data set, given as for `load`, and the names of each one's labels."""
    path = Path(name)
    here = [base for base in (f"{name}{_TEXT}", str(name)) if _is_here(base)]
    if not here and path.is_file():
        return read_text_jsonl(path)
    folder = path if not here and path.is_dir() else find(here[0] if here else f"{name}{_TEXT}")
    return read_text_jsonl(_part_file(folder, part, ".jsonl", name))


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
