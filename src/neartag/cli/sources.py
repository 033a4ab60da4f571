"""What a DATA argument stands for: rows of features or documents, in a file, a folder, or a data set known by name.

Heavy imports stand inside the functions: `neartag --help` reads this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neartag.cli.reading import Reading, list_words
from neartag.cli.text_lines import STDIN
from neartag.core.errors import DataError

if TYPE_CHECKING:
    from neartag.data.dataset import Dataset
    from neartag.data.documents import Document

EMBEDDED = "debian"
HELP = (
    "Documents (.jsonl, .csv, .tsv, .xlsx, .parquet, .ft, a folder of texts), rows of features (.txt, .npz, .jsonl), a "
    "folder with train.txt and test.txt, or a data set's name, such as debian."
)


def read_data(
    data: str, part: str, reading: Reading | None = None, *, labelled: bool = True
) -> Dataset | Iterator[Document]:
    """Return the points that DATA stands for: rows of features, or documents that are read one at a time.

    `part` says which part of a data set to read. Without `labelled`, documents need no labels.
    """
    from neartag.data import registry
    from neartag.data.documents import holds_documents
    from neartag.data.registry.set_files import part_files, split_files

    reading = reading or Reading()
    if data == EMBEDDED:
        return _embedded_documents(part)
    path = Path(data)
    known = data in registry.names()
    if path.exists() and not known and (reading.means_documents or _is_documents(path, part, reading, holds_documents)):
        return reading.documents(path, labelled=labelled)
    if path.is_file() and not known:
        _check_ending(path)
        return registry.load(path, labelled=labelled)
    if path.is_dir() and not known:
        _check_folder(path)
    folder = path if path.is_dir() and not known else _find_folder(data)
    has_rows = bool(part_files(folder, ".txt")) or split_files(folder) is not None
    if any(folder.glob(f"{part}.txt*")) or (has_rows and not any(folder.glob(f"{part}.jsonl*"))):
        return registry.load(data, part)
    return reading.documents(registry.text_file(data, part), labelled=labelled)


def check_source(data: str) -> None:
    """Raise DataError where DATA names nothing that there is: at once, before anything heavy is imported."""
    if not data.strip():
        raise DataError("DATA is empty: name a file, a folder or a data set, such as debian")
    if data not in (EMBEDDED, STDIN) and not Path(data).exists():
        _find_folder(data)


def _is_documents(path: Path, part: str, reading: Reading, holds_documents: Any) -> bool:
    """Return whether a file or folder holds documents, not rows of features or a data set with parts."""
    if path.is_dir() and any(path.glob(f"{part}.*")):
        return False
    return bool(holds_documents(path, reading.fields))


def _check_ending(path: Path) -> None:
    """Raise DataError where a file's ending does not say how it is written, and name all endings that do."""
    from neartag.data.documents import ENDINGS, KINDS
    from neartag.data.files import COMPRESSIONS
    from neartag.data.formats import FORMATS, is_data_file

    if not is_data_file(path):
        raise DataError(
            f"{path}: its ending does not say how it is written; known are {', '.join(ENDINGS)} for documents and "
            f"{', '.join(FORMATS)} for rows of features, and {', '.join(COMPRESSIONS)} after most of them; give "
            f"documents with another ending --format, {list_words(list(KINDS))}"
        )


def _check_folder(folder: Path) -> None:
    """Raise DataError where a folder, which is none of texts, has no part of a data set either."""
    from neartag.data.registry.set_files import part_files, split_files

    if not part_files(folder, ".txt") and not part_files(folder, ".jsonl") and split_files(folder) is None:
        raise DataError(
            f"{folder} holds no data: a folder may hold train.txt and test.txt (rows of features), train.jsonl and "
            "test.jsonl (documents), texts NAME.txt, each with its labels in NAME.labels, or subfolders of texts, each "
            "named after a label"
        )


def _embedded_documents(part: str) -> Iterator[Document]:
    """Yield the packages of the embedded corpus as documents."""
    from neartag.data import debian
    from neartag.data.documents import Document

    packages = debian.load("train" if part == "train" else "test")
    for name, words, tags in zip(packages.names, packages.words, packages.tags, strict=True):
        yield Document(" ".join(words), tags, name, None, f"the package {name}")


def _find_folder(data: str) -> Path:
    """Return the folder of a data set known by name; the folder of its texts where it has no other."""
    from neartag.data import registry
    from neartag.data.files import split_ending
    from neartag.data.registry import dataset_facts
    from neartag.data.registry.folders import describe_problem

    names = registry.names()
    try:
        return registry.find(data)
    except DataError:
        if data in names:
            return registry.find(f"{data}-text")
        if data in dataset_facts.SETS:
            raise  # it says where to put the data set
    if len(Path(data).parts) > 1 or split_ending(data)[1]:
        raise DataError(f"{data}: there is no such file or folder")
    known = ", ".join([f"{EMBEDDED} (always there)", *names])
    problem = describe_problem(registry.data_folder())
    raise DataError(f"{data}: there is no such file or folder, nor a data set of that name; known are {known}{problem}")
