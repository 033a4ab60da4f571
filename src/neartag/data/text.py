"""Texts with their labels as JSON lines, `{"text": "…", "labels": ["name", …]}`, other fields being passed over.

`neartag.data.documents` reads them in other formats too. Sparse rows as JSON lines are read and written by `read_jsonl`
and `write_jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from neartag.data.documents import Fields, documents
from neartag.data.jsonlines import read_jsonl, write_jsonl

__all__ = ["iter_text_jsonl", "read_jsonl", "read_text_jsonl", "write_jsonl"]


def read_text_jsonl(
    path: Path | str, text_field: str = "text", label_fields: Sequence[str] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Return the texts of a file of JSON lines and, for each, the names of its labels."""
    texts, labels = [], []
    for text, names in iter_text_jsonl(path, text_field, label_fields):
        texts.append(text)
        labels.append(names)
    return texts, labels


def iter_text_jsonl(
    path: Path | str, text_field: str = "text", label_fields: Sequence[str] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield each text of a file of JSON lines with the names of its labels.

    They are those in all of the label fields; unless any are named, those in the first of "labels" and "subjects".
    """
    fields = Fields(text=text_field, labels=None if label_fields is None else tuple(label_fields), id=None)
    for document in documents(path, fields, kind="jsonl"):
        yield document.text, document.labels
