"""What a DATA argument stands for: a data file, a folder with parts such as train and test, or a data set's name.

Heavy imports stand inside the functions: `neartag --help` reads this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neartag.errors import DataError

if TYPE_CHECKING:
    from neartag.data.dataset import Dataset
    from neartag.features import Text

EMBEDDED = "debian"
HELP = "A data file (.txt, .npz, .jsonl), a folder with train.txt and test.txt, or a data set's name, such as debian."


class Texts(NamedTuple):
    """Texts with the names of their labels, and what each text is called, where known."""

    texts: Sequence[Text]
    labels: list[list[str]]
    point_names: list[str] | None = None


def read(data: str, part: str, *, labelled: bool = True) -> Dataset | Texts:
    """Return the points that DATA stands for, or their texts; `part` is the one wanted of a data set that has parts.

    Without `labelled`, JSON lines need no labels.
    """
    from neartag.data import debian, registry

    if data == EMBEDDED:
        packages = debian.load("train" if part == "train" else "test")
        return Texts(list(packages.words), packages.tags, packages.names)
    path = Path(data)
    if path.is_file() and data not in registry.names():
        return _read_texts(path, labelled) if _holds_texts(path) else registry.load(path, labelled=labelled)
    folder = path if path.is_dir() and data not in registry.names() else _find(data)
    if any(folder.glob(f"{part}.txt*")) or not any(folder.glob(f"{part}.jsonl*")):
        return registry.load(data, part)
    return Texts(*registry.load_text(data, part))


def _find(data: str) -> Path:
    """Return the folder of a data set known by name, that of its texts where there is no other."""
    from neartag.data import formats, registry

    names = registry.names()
    try:
        return registry.find(data)
    except DataError:
        if data in names:
            return registry.find(f"{data}-text")
        if data in registry.KNOWN:
            raise  # it says where to put the data set
    if len(Path(data).parts) > 1 or formats.is_data_file(data):
        raise DataError(f"{data}: there is no such file or folder")
    known = ", ".join([f"{EMBEDDED} (always there)", *names])
    raise DataError(f"{data}: there is no such file or folder, nor a data set of that name; known are {known}")


def _holds_texts(path: Path) -> bool:
    from neartag.data.files import split_ending
    from neartag.data.jsonlines import objects

    if split_ending(path)[1] != ".jsonl":
        return False
    first = next((point for _, point in objects(path)), {})
    return "text" in first and "features" not in first


def _read_texts(path: Path, labelled: bool) -> Texts:
    from neartag.data.files import fault
    from neartag.data.jsonlines import objects
    from neartag.data.text import read_text_jsonl

    if labelled:
        return Texts(*read_text_jsonl(path))
    texts: list[Text] = []
    for number, point in objects(path):
        if not isinstance(point.get("text"), str):
            raise fault(path, number, "there is no text", "give each line its text as a string under 'text'")
        texts.append(point["text"])
    return Texts(texts, [[] for _ in texts])
