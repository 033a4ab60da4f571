"""Texts with their labels from files of many formats, one at a time: no file's texts are ever in memory together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from neartag.core.errors import DataError, ParameterError
from neartag.data.document import LABEL_FIELDS, BadLines, Document, Fields
from neartag.data.document_formats import (
    read_csv,
    read_fasttext,
    read_folder,
    read_json_lines,
    read_tsv,
    text_files,
)
from neartag.data.document_parquet import read_parquet
from neartag.data.files import COMPRESSIONS, read_lines, split_ending
from neartag.data.jsonlines import object_in

__all__ = ["KINDS", "LABEL_FIELDS", "BadLines", "Document", "Fields", "documents", "holds_documents"]

Reader = Callable[[Path, Fields, bool], Iterator[Document | DataError]]

# A reader yields a document or, for a line that is wrong, its error, and goes on; what is wrong with all of a file it
# raises.
KINDS: dict[str, Reader] = {
    "jsonl": read_json_lines,
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "fasttext": read_fasttext,
    "folder": read_folder,
}
_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".ft": "fasttext",
    ".fasttext": "fasttext",
}
_WITHOUT_VECTORS = ("fasttext", "folder")
_NO_FIELDS = Fields()
_LOOKED_AT = 100  # lines in which a file must show what it holds


def documents(
    path: Path | str,
    fields: Fields = _NO_FIELDS,
    *,
    labelled: bool = True,
    bad: BadLines | None = None,
    kind: str | None = None,
) -> Iterator[Document]:
    """Return the documents of a file or folder, each read when it is asked for.

    How the file is written is said by its ending or by `kind`, one of KINDS; compression is by ending either way.
    Without `labelled` a document need not say what labels it has. A line that is wrong is a DataError, or, with `bad`,
    noted there and passed over; what is wrong with the file as a whole is a DataError all the same.
    """
    path = Path(path)
    if kind is None:
        kind = _kind(path)
    elif kind not in KINDS:
        raise ParameterError(f"kind={kind!r}: must be one of {', '.join(map(repr, KINDS))}")
    if fields.vector is not None and kind in _WITHOUT_VECTORS:
        raise ParameterError(f"vector={fields.vector!r}: {path} has no vectors, for its format ({kind}) has none")
    return _sound(KINDS[kind](path, fields, labelled), bad)


def holds_documents(path: Path | str, fields: Fields = _NO_FIELDS) -> bool:
    """Return whether a file or folder has texts for `documents`, rather than rows of features or nothing known.

    A file's ending decides, but for .jsonl, where the first object does. A folder has texts where one of them has
    labels beside it, or where there are only files NAME.txt and the first is no file of feature rows.
    """
    path = Path(path)
    if path.is_dir():
        return _is_folder_of_texts(path)
    if not path.is_file():
        return False
    _, ending, compression = split_ending(path)
    if ending != ".jsonl":
        return ending in _ENDINGS and not (compression and ending == ".parquet")
    for number, line in islice(read_lines(path), _LOOKED_AT):
        try:
            point = object_in(path, number, line)
        except DataError:
            continue
        return fields.text in point and "features" not in point
    return False


def _kind(path: Path) -> str:
    if path.is_dir():
        return "folder"
    _, ending, compression = split_ending(path)
    if ending not in _ENDINGS or (compression and ending == ".parquet"):
        raise ParameterError(
            f"{path}: its ending does not say how its texts are written; known are {', '.join(_ENDINGS)}, "
            f"and {', '.join(COMPRESSIONS)} after any of them but .parquet; or say what kind it is"
        )
    return _ENDINGS[ending]


def _sound(found: Iterator[Document | DataError], bad: BadLines | None) -> Iterator[Document]:
    """Yield the documents; raise or note the errors, and vectors that are not as long as the first."""
    length: int | None = None
    for document in found:
        if isinstance(document, Document):
            vector = document.vector
            if vector is None or length in (None, vector.size):
                length = length if vector is None else vector.size
                yield document
                continue
            document = DataError(
                f"{document.place}: the vector has {vector.size} numbers, but the first has {length}; "
                "make all of them as long"
            )
        if bad is None:
            raise document
        bad.add(document)


def _is_folder_of_texts(folder: Path) -> bool:
    texts, labels = text_files(folder)
    if labels:
        return True
    visible = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    named = sorted(texts.keys() - {"labels", "features"})  # beside feature rows, these have names
    if not named or any(split_ending(file)[1] != ".txt" for file in visible):
        return False
    # Feature rows begin with the numbers of points, features and labels.
    counts = next((line for _, line in read_lines(texts[named[0]])), b"").split()
    return not (len(counts) == 3 and all(count.isdigit() for count in counts))
