"""Which files in a data set's folder hold which part: plain names, and the names under which sets are published."""

from __future__ import annotations

from pathlib import Path

from neartag.data.files import COMPRESSIONS
from neartag.data.registry.dataset_facts import PAPER

_NAME_FILES = ("labels", "features")  # files beside the points that name their columns
# Parts by the names of published files, in lower case and without an ending.
_PUBLISHED_PARTS = {
    file.lower().removesuffix(".txt"): part
    for facts in PAPER
    if len(facts.files) == 2
    for part, file in zip(("train", "test"), facts.files, strict=True)
}
_PUBLISHED_SPLITS = tuple(facts.files for facts in PAPER if len(facts.files) == 3)


def part_files(folder: Path, ending: str) -> dict[str, Path]:
    """Return the parts of a data set, such as train and test, with their files, compressed or not."""
    files = {
        part: file
        for compression in ("", *COMPRESSIONS)
        for file in folder.glob(f"*{ending}{compression}")
        if (part := file.name.removesuffix(ending + compression)) not in _NAME_FILES
    }
    for name in [name for name in files if ending == ".txt" and name.lower() in _PUBLISHED_PARTS]:
        files.setdefault(_PUBLISHED_PARTS[name.lower()], files.pop(name))
    return files


def split_files(folder: Path) -> tuple[Path, Path, Path] | None:
    """Return the three files of a set that is published as one, or None.

    They are the file of all points, the list of training rows, and the list of test rows.
    """
    here = {file.name.lower(): file for file in folder.glob("*.txt")}
    for points, train, test in _PUBLISHED_SPLITS:
        if all(file.lower() in here for file in (points, train, test)):
            return here[points.lower()], here[train.lower()], here[test.lower()]
    return None
