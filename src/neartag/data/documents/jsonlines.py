"""Documents from JSON lines: one JSON object per line, `{"text": "…", "labels": ["name", …]}`.

Labels may also be one name, or numbers, which become names; a name may hold several labels, as a cell of a table does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from neartag.core.errors import DataError
from neartag.core.processes import map_in_order, offered_processes
from neartag.data.documents.cells import join_texts, name_of, parse_labels
from neartag.data.documents.document import Document
from neartag.data.documents.fields import Fields
from neartag.data.documents.layout import settle_cells, settle_unlabelled
from neartag.data.documents.packed import IN_A_SECOND, PackedDocuments, pack, unpack
from neartag.data.documents.parse import (
    DocumentError,
    DocumentsOrErrors,
    RawDocument,
    parse_document,
    parse_vector,
)
from neartag.data.files import read_lines
from neartag.data.json_objects import describe_field, json_type, parse_object
from neartag.data.line_blocks import read_line_blocks, split_lines

_SAMPLE_BYTES = 2**19


def settle_json_lines(path: Path, fields: Fields, labelled: bool) -> Fields:
    """Return the fields with nothing left open, by the first lines of a file."""
    if not labelled:
        return settle_unlabelled(fields)
    cells: dict[str, list[Any]] = {}
    n_bytes = 0
    for number, line in read_lines(path):
        n_bytes += len(line)
        try:
            record = parse_object(path, number, line) if line.strip() else {}
        except DataError:
            record = {}  # told when it is read
        for name in fields.select_label_fields(record):
            cells.setdefault(name, []).append(record[name])
        if n_bytes > _SAMPLE_BYTES:
            break
    return replace(settle_cells(path, list(cells.values()), fields), label_per_row=bool(fields.label_per_row))


def read_json_lines(path: Path, fields: Fields, labelled: bool) -> DocumentsOrErrors:
    """Yield the documents of a file with one JSON object per line; empty lines are skipped."""
    if offered_processes() is None or not path.is_file():  # a pipe may bring one line after the other
        for _, document in _parse_lines(path, fields, labelled, read_lines(path)):
            yield document
        return
    parse = partial(parse_block, path, fields, labelled)
    for _, packed in map_in_order(parse, read_line_blocks(path), lambda block: block[1].count(b"\n") / IN_A_SECOND):
        yield from unpack(path, packed)


def parse_block(path: Path, fields: Fields, labelled: bool, first: int, content: bytes) -> PackedDocuments:
    """Return the documents in a block of lines, the first of which has this number."""
    return pack(_parse_lines(path, fields, labelled, split_lines(first, content)))


def _parse_lines(
    path: Path, fields: Fields, labelled: bool, lines: Iterable[tuple[int, bytes]]
) -> Iterator[tuple[int, Document | DataError]]:
    for number, line in lines:
        if line.strip():
            yield number, parse_document(path, number, _parse_line, path, number, line, fields, labelled)


def parse_line(path: Path, number: int, line: bytes, fields: Fields) -> tuple[dict[str, Any], Document | DataError]:
    """Return the object in a line, and the document in it, without labels, or what is wrong with the line."""
    try:
        record = parse_object(path, number, line)
    except DataError as error:
        return {}, error
    return record, parse_document(path, number, _parse_record, record, fields, False)


def read_keys(path: Path) -> list[str]:
    """Return the names that objects of a file have, in their order; lines that hold none are passed over."""
    names: dict[str, None] = {}
    for number, line in read_lines(path):
        try:
            names.update(dict.fromkeys(parse_object(path, number, line) if line.strip() else ()))
        except DataError:
            continue  # told when it is read
    return list(names)


def _parse_line(path: Path, number: int, line: bytes, fields: Fields, labelled: bool) -> RawDocument:
    return _parse_record(parse_object(path, number, line), fields, labelled)


def _parse_record(record: dict[str, Any], fields: Fields, labelled: bool) -> RawDocument:
    text = _parse_text(record, fields)
    label_fields = fields.select_label_fields(record)
    if labelled and not label_fields:
        problem = f"there is no {' or '.join(map(repr, fields.label_fields))}"
        raise DocumentError(problem, "give each line its labels, an empty list if it has none")
    labels = list(chain.from_iterable(_parse_labels(record, field, fields, labelled) for field in label_fields))
    identity = None if fields.id is None else record.get(fields.id)
    vector = None if fields.vector is None else _parse_vector(record, fields.vector)
    return RawDocument(text, labels, identity, vector)


def _parse_text(record: dict[str, Any], fields: Fields) -> str:
    """Return the text of an object; of several fields, some may be missing."""
    texts = [value for name in fields.text_fields if isinstance(value := record.get(name), str)]
    for name in fields.text_fields:
        value = record.get(name)
        if not isinstance(value, str) and (value is not None or not texts):
            problem = describe_field(record, name)
            raise DocumentError(problem, f"give each line its text as a string under {name!r}, or another --text-field")
    return join_texts(texts)


def _parse_labels(record: dict[str, Any], field: str, fields: Fields, labelled: bool) -> list[str]:
    value = record[field]
    if value is None and not labelled:
        return []
    if fields.indicators:
        return parse_labels(value, field, fields)
    if isinstance(value, list):
        for name in value:
            if isinstance(name, bool) or not isinstance(name, str | int | float):
                raise DocumentError(
                    f"a label in {field!r} is a JSON {json_type(name)}", "labels must be names or numbers"
                )
        return [name_of(name) for name in value]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DocumentError(describe_field(record, field), "labels must be a list of names, or one name")
    return parse_labels(value, field, fields)


def _parse_vector(record: dict[str, Any], field: str) -> np.ndarray:
    numbers = record.get(field)
    if not isinstance(numbers, list):
        raise DocumentError(describe_field(record, field), "give each line its vector as a list of numbers")
    for value in numbers:
        if type(value) not in (int, float):  # numpy would take true, or a string of digits, for a number
            raise DocumentError(f"{field!r} has a JSON {json_type(value)} in it", "a vector is a list of numbers")
    return parse_vector(numbers)
