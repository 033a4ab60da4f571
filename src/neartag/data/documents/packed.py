"""Documents that go from one process to another: in a few long lists, which is quicker than many small objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neartag.core.errors import DataError
from neartag.data.documents.document import Document

IN_A_SECOND = 2**16  # documents that one process reads: how long their texts are matters little


class PackedDocuments(NamedTuple):
    """Documents, and errors of lines that are none, each with the number of its line."""

    numbers: list[int]
    texts: list[str]
    labels: list[list[str]]
    ids: list[str | None]
    vectors: list[np.ndarray | None] | None  # None: no document has one
    errors: dict[int, DataError]  # by their places in the lists, which have something empty there


def pack(numbered: Iterable[tuple[int, Document | DataError]]) -> PackedDocuments:
    """Return documents and errors packed, each with the number of its line."""
    packed = PackedDocuments([], [], [], [], [], {})
    assert packed.vectors is not None
    for place, (number, each) in enumerate(numbered):
        if isinstance(each, DataError):
            packed.errors[place] = each
            each = Document("", [], None, None, "")
        packed.numbers.append(number)
        packed.texts.append(each.text)
        packed.labels.append(each.labels)
        packed.ids.append(each.id)
        packed.vectors.append(each.vector)
    return packed if any(vector is not None for vector in packed.vectors) else packed._replace(vectors=None)


def unpack(path: Path | str, packed: PackedDocuments) -> Iterator[Document | DataError]:
    """Yield the documents and errors of a file."""
    numbers, texts, labels, ids, vectors, errors = packed
    for place, number in enumerate(numbers):
        if place in errors:
            yield errors[place]
            continue
        vector = None if vectors is None else vectors[place]
        yield Document(texts[place], labels[place], ids[place], vector, f"{path}:{number}")
