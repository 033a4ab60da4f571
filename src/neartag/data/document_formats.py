"""Readers of texts with labels: JSON lines, CSV and TSV, fastText's lines, and folders with a file a text.

Each yields, in the file's order, a Document or the error that says what is wrong with one.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

from neartag.core.errors import DataError
from neartag.data.document import Columns, Document, Fields, Parts, Wrong, attempted, columns_of, vector_of
from neartag.data.files import fault, read_bytes, read_lines, reading, split_ending
from neartag.data.jsonlines import found, kind, object_in

Found = Iterator[Document | DataError]

_UTF8_REMEDY = "save the file as UTF-8"
# A quote that is never closed would take the rest of the file into one cell: csv's parser takes 4 bytes a character.
_LARGEST_CELL = 2**25
_CSV_REMEDY = "a cell in quotes ends with a quote, and a quote inside it is doubled"
_FASTTEXT_LABEL = re.compile(r"__label__([^ \t\v\f]*)[ \t\v\f]*")
_LABEL_ENDINGS = (".tags", ".labels", ".tsv", ".key")  # the first that is there is read


def read_json_lines(path: Path, fields: Fields, labelled: bool) -> Found:
    """Yield the documents of a file with a JSON object a line; empty lines are passed over."""
    for number, line in read_lines(path):
        if line.strip():
            yield attempted(path, number, _json_parts, path, number, line, fields, labelled)


def read_csv(path: Path, fields: Fields, labelled: bool) -> Found:
    """Yield the documents of a table with a header and commas between its cells."""
    return _read_table(path, fields, labelled, ",")


def read_tsv(path: Path, fields: Fields, labelled: bool) -> Found:
    """Yield the documents of a table with a header and tabs between its cells, quoted as in CSV."""
    return _read_table(path, fields, labelled, "\t")


def read_fasttext(path: Path, fields: Fields, labelled: bool) -> Found:
    """Yield the documents of a file with a text a line, its labels before it as `__label__NAME`."""
    for number, line in read_lines(path):
        if line.strip():
            yield attempted(path, number, _fasttext_parts, line, number)


def read_folder(folder: Path, fields: Fields, labelled: bool) -> Found:
    """Yield the documents of a folder, a file NAME.txt each, in the order of their names."""
    texts, labels = text_files(folder)
    if not texts:
        raise DataError(f"{folder}: has no text, that is no file NAME.txt")
    for name in sorted(texts):
        yield attempted(texts[name], 1, _file_parts, name, texts[name], labels.get(name), labelled)


def text_files(folder: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the files with a folder's texts and those with their labels, by the names before the ending."""
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


def _decoded(line: bytes, number: int) -> str:
    """Return a line's text, that of the first without a byte order mark."""
    if b"\0" in line:
        raise Wrong("there is a NUL byte", "it may be UTF-16 or no text at all: " + _UTF8_REMEDY)
    try:
        return (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).decode()
    except UnicodeDecodeError as error:
        raise Wrong(f"not UTF-8 ({error.reason})", _UTF8_REMEDY) from error


def _json_parts(path: Path, number: int, line: bytes, fields: Fields, labelled: bool) -> Parts:
    point = object_in(path, number, line)
    if not isinstance(point.get(fields.text), str):
        raise Wrong(found(point, fields.text), f"give each line its text as a string under {fields.text!r}")
    there = fields.labels_among(point)
    if labelled and not there:
        missing = f"there is no {' or '.join(map(repr, fields.label_fields))}"
        raise Wrong(missing, "give each line its labels, an empty list if it has none")
    labels = list(chain.from_iterable(_json_labels(point, field, labelled) for field in there))
    identity = None if fields.id is None else point.get(fields.id)
    vector = None
    if fields.vector is not None:
        numbers = point.get(fields.vector)
        if not isinstance(numbers, list):
            raise Wrong(found(point, fields.vector), "give each line its vector as a list of numbers")
        for value in numbers:
            if type(value) not in (int, float):  # numpy would take true, or a string of digits, for a number
                raise Wrong(f"{fields.vector!r} has a JSON {kind(value)} in it", "a vector is a list of numbers")
        vector = vector_of(numbers)
    return Parts(point[fields.text], labels, identity, vector)


def _json_labels(point: dict[str, Any], field: str, labelled: bool) -> list[str]:
    names = point[field]
    if names is None and not labelled:
        return []
    if not isinstance(names, list):
        raise Wrong(found(point, field), "labels must be a list of strings")
    for name in names:
        if not isinstance(name, str):
            raise Wrong(f"a label in {field!r} is a JSON {kind(name)}", "labels must be strings")
    return names


class _TableLines:
    """A table's lines as csv's reader wants them, and the first thing wrong with those it took."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.wrong: tuple[int, Wrong] | None = None

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self.stream, start=1):
            try:
                text = _decoded(line, number)
            except Wrong as wrong:
                # The parser must see the line all the same, to find where the row ends.
                self.wrong = self.wrong or (number, wrong)
                text = line.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
            yield text


def _read_table(path: Path, fields: Fields, labelled: bool, delimiter: str) -> Found:
    # The limit is csv's own for all its readers, so it is never made smaller.
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))
    with reading(path) as stream:
        rows = _table_rows(path, stream, delimiter)
        _, header = next(rows, (1, None))
        if header is None:
            raise fault(path, 1, "the file is empty", "begin it with a line of the columns' names")
        if isinstance(header, DataError):
            raise header
        header = [name.strip() for name in header]
        columns = columns_of(path, header, fields, labelled)
        for number, row in rows:
            if isinstance(row, DataError):
                yield row
            else:
                yield attempted(path, number, _row_parts, row, columns, len(header), fields)


def _table_rows(path: Path, stream: IO[bytes], delimiter: str) -> Iterator[tuple[int, list[str] | DataError]]:
    """Yield the line on which each row of a table begins, and its cells or what is wrong; empty lines are no rows."""
    lines = _TableLines(stream)
    parser = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = parser.line_num + 1
        lines.wrong = None
        row: list[str] | DataError | None
        try:
            row = next(parser, None)
        except csv.Error as error:
            row = fault(path, number, f"cannot be read as a row of cells ({error})", _CSV_REMEDY)
        if lines.wrong is not None:
            row = fault(path, lines.wrong[0], *lines.wrong[1].args)
        if row is None:
            return
        if row != []:
            yield number, row


def _row_parts(row: list[str], columns: Columns, width: int, fields: Fields) -> Parts:
    if len(row) != width:
        raise Wrong(f"there are {len(row)} cells, but {width} in the header", _CSV_REMEDY)
    labels = list(chain.from_iterable(fields.split(row[column]) for column in columns.labels))
    identity = None if columns.id is None else row[columns.id] or None
    vector = None
    if columns.vector is not None:
        vector = vector_of(row[columns.vector].strip().strip("[]()").replace(",", " ").split())
    return Parts(row[columns.text], labels, identity, vector)


def _fasttext_parts(line: bytes, number: int) -> Parts:
    text = _decoded(line, number).lstrip(" \t\v\f")
    labels, start = [], 0
    while match := _FASTTEXT_LABEL.match(text, start):
        if not match[1]:
            raise Wrong("there is a __label__ without a name", "write the name right after it")
        labels.append(match[1])
        start = match.end()
    return Parts(text[start:], labels)


def _file_parts(name: str, text_file: Path, label_file: Path | None, labelled: bool) -> Parts:
    if label_file is None and labelled:
        beside = ", ".join(name + ending for ending in _LABEL_ENDINGS)
        raise Wrong("there are no labels beside it", f"write them, a label a line, into one of {beside}")
    content = read_bytes(text_file)
    try:
        text = _decoded(content, 1)
    except Wrong as wrong:
        cause = wrong.__cause__
        place = cause.start if isinstance(cause, UnicodeDecodeError) else content.index(b"\0")
        raise fault(text_file, content.count(b"\n", 0, place) + 1, *wrong.args) from wrong
    return Parts(text, [] if label_file is None else _labels_in(label_file), name)


def _labels_in(file: Path) -> list[str]:
    """Return the labels of a file that has one a line, in a .tsv after a URI in pointed brackets and a tab."""
    labels = []
    for number, line in read_lines(file):
        try:
            label = _decoded(line, number).strip()
        except Wrong as wrong:
            raise fault(file, number, *wrong.args) from wrong
        if split_ending(file)[1] == ".tsv" and label.startswith("<"):
            uri, _, rest = label.partition("\t")
            label = rest.strip() or uri.strip().strip("<>")
        if label:
            labels.append(label)
    return labels
