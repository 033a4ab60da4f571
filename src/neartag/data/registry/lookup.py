"""Data sets by name: a folder `NAME/` or an archive `NAME.tar.xz` in the data folder ($NEARTAG_DATA).

A folder holds `train.txt` and `test.txt` in the XMC format; `NAME-text` holds the texts, `train.jsonl` and
`test.jsonl`. Files of the paper's sets may keep the names under which they are published (`dataset_facts`). Archives
may also be .tar.gz, .tar.bz2 or .zip. An archive is unpacked once, after its checksum was checked; several processes
may do so at the same time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from neartag.core.errors import DataError
from neartag.data.registry import archives
from neartag.data.registry.checksums import CHECKSUM_FILE
from neartag.data.registry.dataset_facts import SETS
from neartag.data.registry.folders import cache_folder, data_folder, describe_problem, list_folder
from neartag.data.registry.set_files import part_files, split_files

if TYPE_CHECKING:  # a name that is not there is told before anything heavy is imported
    from neartag.data.dataset import Dataset

TEXT_SUFFIX = "-text"
_USUAL_ARCHIVE = ".tar.xz"


def names() -> list[str]:
    """Return the names of the data sets in the data folder.

    Returns
    -------
    list of str
        Sorted; a set that has only texts is among them, without the suffix `-text`.

    Examples
    --------
    >>> from neartag.data import registry
    >>> isinstance(registry.names(), list)
    True
    """
    present = set()
    for entry in list_folder(data_folder()):
        packed = archives.without_ending(entry.name)
        if packed is not None and entry.is_file():
            present.add(packed.removesuffix(TEXT_SUFFIX))
        elif entry.is_dir() and (part_files(entry, ".txt") or part_files(entry, ".jsonl")):
            present.add(entry.name.removesuffix(TEXT_SUFFIX))
    return sorted(present)


def find(name: str) -> Path:
    """Return the folder of a data set.

    Parameters
    ----------
    name : str
        Name of the data set; `NAME-text` for its texts. An archive is unpacked into the cache folder first.

    Returns
    -------
    Path

    Raises
    ------
    DataError
        If the data folder has neither the folder nor the archive, or the archive is damaged. The message says
        where to put the data set.
    """
    if is_here(name):
        archive = archives.find_archive(data_folder(), name)
        folder = data_folder() / name
        return folder if archive is None or folder.is_dir() else archives.unpack_once(archive, cache_folder())
    base = name.removesuffix(TEXT_SUFFIX)
    about = f" ({SETS[base].about})" if base in SETS else ""
    present = ", ".join(names()) or "nothing"
    hint = "; only its texts are there, see load_text" if is_here(name + TEXT_SUFFIX) else ""
    raise DataError(
        f"data set {name!r}{about} is not in {data_folder()}, where there is {present}{hint}; put the folder {name}/ "
        f"there, or {name}{_USUAL_ARCHIVE} with its line in {CHECKSUM_FILE}, or set NEARTAG_DATA to the folder that "
        "has it"
        + describe_problem(data_folder())
        + ("; neartag datasets get tells where it is published" if base in SETS else "")
    )


def load(name: str | Path, part: str = "train", *, labelled: bool = True) -> Dataset:
    """Return one part of a data set.

    Parameters
    ----------
    name : str or Path
        Name of a data set in the data folder, or a folder with its parts, or a data file, which is read whole.
    part : str, default "train"
        Such as "train" or "test".
    labelled : bool, default True
        For a data file: whether each point must say which labels it has, as in `neartag.data.read`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If there is no such data set or part, or a file is wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neartag import data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "train.txt").write_text("2 3 2\\n0 1:0.5\\n1 0:1 2:2\\n")
    ...     data.load(folder, "train").n_points
    2
    """
    from neartag.data import formats
    from neartag.data.formats.split import read_split

    path = Path(name)
    if not is_here(str(name)) and path.is_file():
        return formats.read(path, labelled=labelled)
    folder = path if not is_here(str(name)) and path.is_dir() else find(str(name))
    split = split_files(folder)
    if split is not None and part in ("train", "test") and part not in part_files(folder, ".txt"):
        dataset = read_split(*split)[part == "test"]
    else:
        dataset = formats.read(_part_file(folder, part, ".txt", name))
    dataset.name = f"{folder.name}/{part}"
    return dataset


def load_text(name: str | Path, part: str = "train") -> tuple[list[str], list[list[str]]]:
    """Return the texts of one part of a data set, and the names of the labels of each.

    Parameters
    ----------
    name : str or Path
        Name of a data set, a folder, or a file of JSON lines.
    part : str, default "train"

    Returns
    -------
    texts : list of str
    labels : list of list of str

    Raises
    ------
    DataError
        If there is no such data set or part, or a line is wrong.
    """
    from neartag.data.documents import Fields, documents

    texts, labels = [], []
    for document in documents(text_file(name, part), Fields(id=None), kind="jsonl"):
        texts.append(document.text)
        labels.append(document.labels)
    return texts, labels


def text_file(name: str | Path, part: str = "train") -> Path:
    """Return the file with the texts of one part of a data set; the arguments are those of `load_text`."""
    path = Path(name)
    here = [base for base in (f"{name}{TEXT_SUFFIX}", str(name)) if is_here(base)]
    if not here and path.is_file():
        return path
    folder = path if not here and path.is_dir() else find(here[0] if here else f"{name}{TEXT_SUFFIX}")
    return _part_file(folder, part, ".jsonl", name)


def is_here(name: str) -> bool:
    """Return whether the data folder has the folder or the archive of a data set (`NAME-text`: of its texts)."""
    if name in ("", "..") or Path(name).name != name:  # a name with a separator in it would lead elsewhere
        return False
    # os.path: where the folder may not be read, nothing is there, and files elsewhere can be used all the same.
    return os.path.isdir(data_folder() / name) or archives.find_archive(data_folder(), name) is not None


def _part_file(folder: Path, part: str, ending: str, name: str | Path) -> Path:
    files = part_files(folder, ending)
    if part not in files:
        there = f"parts {', '.join(sorted(files))}" if files else f"no part at all in {ending}"
        hint = "; it is text only: see load_text" if ending == ".txt" and part_files(folder, ".jsonl") else ""
        raise DataError(f"data set '{name}' has no part {part!r}: {folder} has {there}{hint}")
    return files[part]
