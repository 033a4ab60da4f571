"""Documents from JSON lines: one JSON object per line, `{"text": "…", "labels": ["name", …]}`."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from neartag.data.documents.document import Fields
from neartag.data.documents.parse import (
    DocumentError,
    DocumentsOrErrors,
    RawDocument,
    parse_document,
    parse_vector,
)
from neartag.data.files import read_lines
from neartag.data.json_objects import describe_field, json_type, parse_object


def read_json_lines(path: Path, fields: Fields, labelled: bool) -> DocumentsOrErrors:
    """Yield the documents of a file with one JSON object per line; empty lines are skipped."""
    for number, line in read_lines(path):
        if line.strip():
            yield parse_document(path, number, _parse_line, path, number, line, fields, labelled)


def _parse_line(path: Path, number: int, line: bytes, fields: Fields, labelled: bool) -> RawDocument:
    record = parse_object(path, number, line)
    text = record.get(fields.text)
    if not isinstance(text, str):
        problem = describe_field(record, fields.text)
        raise DocumentError(problem, f"give each line its text as a string under {fields.text!r}")
    label_fields = fields.select_label_fields(record)
    if labelled and not label_fields:
        problem = f"there is no {' or '.join(map(repr, fields.label_fields))}"
        raise DocumentError(problem, "give each line its labels, an empty list if it has none")
    labels = list(chain.from_iterable(_parse_labels(record, field, labelled) for field in label_fields))
    identity = None if fields.id is None else record.get(fields.id)
    vector = None if fields.vector is None else _parse_vector(record, fields.vector)
    return RawDocument(text, labels, identity, vector)


def _parse_labels(record: dict[str, Any], field: str, labelled: bool) -> list[str]:
    names = record[field]
    if names is None and not labelled:
        return []
    if not isinstance(names, list):
        raise DocumentError(describe_field(record, field), "labels must be a list of strings")
    for name in names:
        if not isinstance(name, str):
            raise DocumentError(f"a label in {field!r} is a JSON {json_type(name)}", "labels must be strings")
    return names


def _parse_vector(record: dict[str, Any], field: str) -> np.ndarray:
    numbers = record.get(field)
    if not isinstance(numbers, list):
        raise DocumentError(describe_field(record, field), "give each line its vector as a list of numbers")
    for value in numbers:
        if type(value) not in (int, float):  # numpy would take true, or a string of digits, for a number
            raise DocumentError(f"{field!r} has a JSON {json_type(value)} in it", "a vector is a list of numbers")
    return parse_vector(numbers)
