"""The list of data sets: those in the data folder with their sizes, and those that are known but missing.

Nothing is unpacked, and of each file only the first line is read.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from neartag.core.errors import DataError
from neartag.data.files import read_lines
from neartag.data.formats.xmc import read_sizes
from neartag.data.registry import archives
from neartag.data.registry.checksums import listed_checksum
from neartag.data.registry.dataset_facts import CHECKSUMS, OTHERS, SETS
from neartag.data.registry.folders import cache_folder, data_folder
from neartag.data.registry.lookup import TEXT_SUFFIX, is_here, names
from neartag.data.registry.set_files import part_files, split_files

PARTS = ("train", "test")
Counts = tuple[int | None, int | None, int | None, int | None]  # training points, test points, features, labels
_UNKNOWN: Counts = (None, None, None, None)


@dataclass(frozen=True)
class Entry:
    """A data set, present or missing; a size that is not known is None."""

    name: str
    about: str
    path: Path | None = None  # its folder or its archive; None: it is missing
    train: int | None = None  # points
    test: int | None = None
    features: int | None = None
    labels: int | None = None
    note: str = ""  # what is missing or wrong


def entries() -> list[Entry]:
    """Return the paper's data sets, then the others that are known, then all others in the data folder."""
    own = [name for name in names() if name not in SETS]
    return [entry(name) for name in (*SETS, *own)]


def entry(name: str) -> Entry:
    """Return the entry of one data set."""
    about = SETS[name].about if name in SETS else ""
    for stored_name in (name, name + TEXT_SUFFIX):
        if is_here(stored_name):
            try:
                return _describe_present(stored_name, name, about)
            except DataError as error:
                return Entry(name, about, _path(stored_name), note=str(error))
    return Entry(name, about, None, *_known_counts(name), note=_describe_missing(name))


def _describe_present(stored_name: str, name: str, about: str) -> Entry:
    path = _path(stored_name)
    folder, counts = path, _UNKNOWN
    if path.is_file():
        checksum = listed_checksum(path)
        counts = _known_counts(name) if CHECKSUMS.get(path.name) == checksum else _UNKNOWN
        folder = archives.unpack_target(path, checksum, cache_folder())
        if not os.path.isdir(folder):
            return Entry(name, about, path, *counts, note="an archive, unpacked when it is first used")
        folder = archives.inner_folder(folder)
    if split := split_files(folder):
        _, features, labels = read_sizes(split[0])
        train, test = (sum(1 for _ in read_lines(file)) for file in split[1:])
        return Entry(name, about, path, train, test, features, labels)
    files = part_files(folder, ".txt")
    if not files:
        return Entry(name, about, path, *counts, note=_missing_parts(part_files(folder, ".jsonl")) or "texts")
    sizes = {part: read_sizes(files[part]) for part in PARTS if part in files}
    points: dict[str, int] = {part: size[0] for part, size in sizes.items()}
    return Entry(
        name,
        about,
        path,
        train=points.get("train"),
        test=points.get("test"),
        features=max((size[1] for size in sizes.values()), default=None),
        labels=max((size[2] for size in sizes.values()), default=None),
        note=_missing_parts(files),
    )


def _missing_parts(present: Collection[str]) -> str:
    return ", ".join(f"no {part} part" for part in PARTS if part not in present)


def _path(stored_name: str) -> Path:
    """Return the folder of a data set that is here, or else its archive."""
    folder = data_folder() / stored_name
    archive = archives.find_archive(data_folder(), stored_name)
    return folder if archive is None or folder.is_dir() else archive


def _known_counts(name: str) -> Counts:
    sizes = SETS[name].sizes if name in SETS else None
    return _UNKNOWN if sizes is None else (sizes.train, sizes.test, sizes.features, sizes.labels)


def _describe_missing(name: str) -> str:
    """Say that a data set is missing, and which other one is here in its place."""
    substitutes = [facts.name for facts in OTHERS if facts.stands_for == name and is_here(facts.name)]
    return f"missing; {substitutes[0]} stands for it" if substitutes else "missing"
