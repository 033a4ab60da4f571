"""Documents from a folder: one file NAME.txt per text, and beside it its labels, one per line.

Or the folder has subfolders, each named after a label, with the texts of this label (`class_folders`).
"""

from __future__ import annotations

import os
from pathlib import Path

from neartag.core.errors import DataError
from neartag.data.documents.class_folders import find_class_folders, read_class_folders, read_text
from neartag.data.documents.encodings import UTF8
from neartag.data.documents.fields import Fields
from neartag.data.documents.parse import DocumentError, DocumentsOrErrors, RawDocument, decode_line, parse_document
from neartag.data.files import line_error, read_lines, split_ending

_LABEL_ENDINGS = (".tags", ".labels", ".tsv", ".key")  # the first one that is there is read


def read_folder(folder: Path, fields: Fields, labelled: bool) -> DocumentsOrErrors:
    """Yield the documents of a folder, in the order of the file names."""
    texts, labels = find_text_files(folder)
    if not texts and find_class_folders(folder):
        yield from read_class_folders(folder, fields)
        return
    if not texts:
        raise DataError(f"{folder}: has no text, that is no file NAME.txt")
    for name in sorted(texts):
        yield parse_document(
            texts[name], 1, _read_text, name, texts[name], labels.get(name), labelled, fields.encoding or UTF8
        )


def find_text_files(folder: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the files with texts and the files with their labels, both by the name before the ending."""
    texts: dict[str, Path] = {}
    labels: dict[str, Path] = {}
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file() and entry.name[0] != ".")
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror or error}") from error
    for file in map(folder.joinpath, names):
        name, ending, _ = split_ending(file)
        if ending == ".txt" and texts.setdefault(name, file) != file:
            raise DataError(f"{folder}: holds both {texts[name].name} and {file.name}; keep one of them")
        if ending in _LABEL_ENDINGS:
            other = labels.get(name)
            if other is None or _rank(file) < _rank(other):
                labels[name] = file
    return texts, {name: file for name, file in labels.items() if name in texts}


def _rank(file: Path) -> int:
    return _LABEL_ENDINGS.index(split_ending(file)[1])


def _read_text(name: str, text_file: Path, label_file: Path | None, labelled: bool, encoding: str) -> RawDocument:
    if label_file is None and labelled:
        choices = ", ".join(name + ending for ending in _LABEL_ENDINGS)
        raise DocumentError("there are no labels beside it", f"write them, one label per line, into one of {choices}")
    text = read_text(text_file, encoding)
    return RawDocument(text, [] if label_file is None else _read_labels(label_file, encoding), name)


def _read_labels(file: Path, encoding: str) -> list[str]:
    """Return the labels in a file, one per line; in a .tsv a label follows a URI in angle brackets and a tab."""
    labels = []
    for number, line in read_lines(file):
        try:
            label = decode_line(line, number, encoding).strip()
        except DocumentError as error:
            raise line_error(file, number, *error.args) from error
        if split_ending(file)[1] == ".tsv" and label.startswith("<"):
            uri, _, rest = label.partition("\t")
            label = rest.strip() or uri.strip().strip("<>")
        if label:
            labels.append(label)
    return labels
