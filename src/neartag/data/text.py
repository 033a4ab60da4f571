"""Texts with their labels as JSON lines, `{"text": "…", "labels": ["name", …]}`, other fields being passed over.

Sparse rows as JSON lines are read and written by `read_jsonl` and `write_jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from neartag.data.files import fault
from neartag.data.jsonlines import found, kind, objects, read_jsonl, write_jsonl

__all__ = ["iter_text_jsonl", "read_jsonl", "read_text_jsonl", "write_jsonl"]

LABEL_FIELDS = ("labels", "subjects")


def read_text_jsonl(
    path: Path | str, text_field: str = "text", label_fields: Sequence[str] = LABEL_FIELDS
) -> tuple[list[str], list[list[str]]]:
    """Return the texts of a file of JSON lines and, for each, the names of its labels."""
    texts, labels = [], []
    for text, names in iter_text_jsonl(path, text_field, label_fields):
        texts.append(text)
        labels.append(names)
    return texts, labels


def iter_text_jsonl(
    path: Path | str, text_field: str = "text", label_fields: Sequence[str] = LABEL_FIELDS
) -> Iterator[tuple[str, list[str]]]:
    """Yield each text of a file of JSON lines with the names of its labels, from the first label field it has."""
    for number, point in objects(path):
        if not isinstance(point.get(text_field), str):
            remedy = f"give each line its text as a string under {text_field!r}"
            raise fault(path, number, found(point, text_field), remedy)
        field = next((field for field in label_fields if field in point), None)
        if field is None:
            missing = f"there is no {' or '.join(map(repr, label_fields))}"
            raise fault(path, number, missing, "give each line its labels, an empty list if it has none")
        names = point[field]
        if not isinstance(names, list):
            raise fault(path, number, found(point, field), "labels must be a list of strings")
        for name in names:
            if not isinstance(name, str):
                wrong = f"a label in {field!r} is a JSON {kind(name)}"
                raise fault(path, number, wrong, "labels must be strings")
        yield point[text_field], names
