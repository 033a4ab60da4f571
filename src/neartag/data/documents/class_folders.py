"""Documents from a folder of subfolders: each subfolder is named after a label, and holds the texts of this label."""

from __future__ import annotations

import os
from pathlib import Path

from neartag.core.errors import DataError
from neartag.data.documents.encodings import UTF8
from neartag.data.documents.fields import Fields
from neartag.data.documents.parse import DocumentError, DocumentsOrErrors, RawDocument, decode_line, parse_document
from neartag.data.files import line_error, read_bytes, split_ending

_PARTS = {"train", "test", "valid", "validation", "dev"}  # of a data set, and hardly labels
_ABOUT = ("readme", "license", "licence")


def read_class_folders(folder: Path, fields: Fields) -> DocumentsOrErrors:
    """Yield the documents of all subfolders, in the order of their names; an id is LABEL/NAME."""
    classes = find_class_folders(folder)
    parts = sorted(_PARTS & {name.lower() for name in classes})
    if parts:
        raise DataError(f"{folder}: its subfolders {', '.join(parts)} look like parts of a data set: name one of them")
    for label, files in classes.items():
        for file in files:
            name, ending, _ = split_ending(file)
            is_text = ending in ("", ".txt") or ending[1:].isdigit()
            identity = f"{label}/{name if ending == '.txt' else file.name}"
            yield parse_document(file, 1, _read, file, label, identity, is_text, fields.encoding or UTF8)


def find_class_folders(folder: Path) -> dict[str, list[Path]]:
    """Return the files of each subfolder, by its name; none where the folder has other files or data sets."""
    try:
        entries = sorted((entry for entry in os.scandir(folder) if entry.name[0] != "."), key=lambda entry: entry.name)
        if any(not entry.is_dir() and not entry.name.lower().startswith(_ABOUT) for entry in entries):
            return {}
        classes = {entry.name: _visible(Path(entry.path)) for entry in entries if entry.is_dir()}
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror or error}") from error
    names = [split_ending(file)[:2] for files in classes.values() for file in files]
    if any(name.lower() in _PARTS for name, ending in names if ending):
        return {}  # data sets, a folder each
    return classes if any(ending in ("", ".txt") for _, ending in names) else {}


def read_text(file: Path, encoding: str) -> str:
    """Return the text in a file; DataError names the line where it is no text."""
    content = read_bytes(file)
    try:
        return decode_line(content, 1, encoding)
    except DocumentError as error:
        cause = error.__cause__
        place = cause.start if isinstance(cause, UnicodeDecodeError) else content.index(b"\0")
        raise line_error(file, content.count(b"\n", 0, place) + 1, *error.args) from error


def _visible(folder: Path) -> list[Path]:
    return sorted(Path(entry.path) for entry in os.scandir(folder) if entry.name[0] != ".")


def _read(file: Path, label: str, identity: str, is_text: bool, encoding: str) -> RawDocument:
    if not is_text or file.is_dir():
        raise DocumentError("is no text, but stands in the folder of a label", "take it out, or end its name with .txt")
    return RawDocument(read_text(file, encoding), [label], identity)
