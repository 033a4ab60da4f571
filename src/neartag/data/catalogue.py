"""Which data sets there are: those in the data folder with their sizes, and those that are known and missing.

Nothing is unpacked and no file is read beyond its first line.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from neartag.core.errors import DataError
from neartag.data import archives, known, registry
from neartag.data.files import read_lines
from neartag.data.xmc import read_sizes

PARTS = ("train", "test")
Counts = tuple[int | None, int | None, int | None, int | None]  # points of both parts, features, labels
_UNKNOWN: Counts = (None, None, None, None)


@dataclass(frozen=True)
class Entry:
    """A data set, there or missing; a size that is not known is None."""

    name: str
    about: str
    path: Path | None = None  # its folder, or its archive; None: it is missing
    train: int | None = None  # points
    test: int | None = None
    features: int | None = None
    labels: int | None = None
    note: str = ""  # what is missing, or in doubt


def entries() -> list[Entry]:
    """Return the paper's data sets, the others that are known, and then all others that are in the data folder."""
    own = [name for name in registry.names() if name not in known.SETS]
    return [entry(name) for name in (*known.SETS, *own)]


def entry(name: str) -> Entry:
    """Return what is to be said of a data set."""
    about = registry.KNOWN.get(name, "")
    for each in (name, name + registry.TEXT):
        if registry.is_here(each):
            try:
                return _present(each, name, about)
            except DataError as error:
                return Entry(name, about, _place(each), note=str(error))
    return Entry(name, about, None, *_facts(name), note=_missing(name))


def _present(called: str, name: str, about: str) -> Entry:
    path = _place(called)
    folder, facts = path, _UNKNOWN
    if path.is_file():
        value = archives.listed_sum(path)
        facts = _facts(name) if known.SUMS.get(path.name) == value else _UNKNOWN
        folder = archives.place(path, value, registry.cache_folder())
        if not folder.is_dir():
            return Entry(name, about, path, *facts, note="an archive, unpacked when it is first used")
        folder = archives.content(folder)
    if split := registry.split_files(folder):
        _, features, labels = read_sizes(split[0])
        train, test = (sum(1 for _ in read_lines(file)) for file in split[1:])
        return Entry(name, about, path, train, test, features, labels)
    found = registry.parts(folder, ".txt")
    if not found:
        return Entry(name, about, path, *facts, note=_lacking(registry.parts(folder, ".jsonl")) or "texts")
    sizes = {part: read_sizes(found[part]) for part in PARTS if part in found}
    points: dict[str, int] = {part: each[0] for part, each in sizes.items()}
    return Entry(
        name,
        about,
        path,
        train=points.get("train"),
        test=points.get("test"),
        features=max((each[1] for each in sizes.values()), default=None),
        labels=max((each[2] for each in sizes.values()), default=None),
        note=_lacking(found),
    )


def _lacking(found: Collection[str]) -> str:
    return ", ".join(f"no {part} part" for part in PARTS if part not in found)


def _place(called: str) -> Path:
    """Return the folder of a data set that is here, or else its archive."""
    folder = registry.data_folder() / called
    archive = archives.find(registry.data_folder(), called)
    return folder if archive is None or folder.is_dir() else archive


def _facts(name: str) -> Counts:
    sizes = known.SETS[name].sizes if name in known.SETS else None
    return _UNKNOWN if sizes is None else (sizes.train, sizes.test, sizes.features, sizes.labels)


def _missing(name: str) -> str:
    """Say that a data set is not here, and what is in its stead."""
    others = [each.name for each in known.OTHERS if each.stands_for == name and registry.is_here(each.name)]
    return f"missing; {others[0]} stands for it" if others else "missing"
