"""Documents added to a stored model and forgotten: what changes, and nothing of how it is written."""

from __future__ import annotations

import uuid
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError, ParameterError
from neartag.data.documents import Document
from neartag.linalg.rows import as_rows, normalise
from neartag.storage.bundle import StoredModel, updates
from neartag.storage.segments import Segment
from neartag.storage.texts import Texts


def segment_of(stored: StoredModel, documents: Sequence[Document], taken: Container[str]) -> Segment:
    """Return the documents as a segment of the model; `taken` are the ids that its points have.

    A document without an id gets one that nobody has. DataError for an id that is taken, or given twice.
    """
    ids = [uuid.uuid4().hex if document.id is None else document.id for document in documents]
    seen: set[str] = set()
    for name in ids:
        if name in taken or name in seen:
            why = "given twice" if name in seen else "there already: replace or forget it, or choose another id"
            raise DataError(f"the document {name!r} is {why}")
        seen.add(name)
    column = {name: place for place, name in enumerate(stored.label_names or [])}
    known = len(column)
    columns = [sorted({column.setdefault(name, len(column)) for name in document.labels}) for document in documents]
    pointer = np.cumsum([0, *map(len, columns)])
    indices = np.array([place for row in columns for place in row], np.int32)
    Y = csr_matrix((np.ones(len(indices), np.float32), indices, pointer), shape=(len(ids), len(column)))
    rows = normalise(as_rows(rows_of(stored.features, documents)))
    texts = None if stored.texts is None else Texts.of(document.text for document in documents)
    return Segment(rows, Y, ids, list(column)[known:], texts)


def rows_of(features: Any, documents: Sequence[Document]) -> Any:
    """Return the documents' feature rows: of their texts, or their vectors."""
    if features is None:
        raise ParameterError("the model was trained on rows of features, not on documents: nothing makes rows of them")
    if features.kind == "vectors":
        for document in documents:
            if document.vector is None:
                raise DataError(f"{document.place or 'a document'}: the model needs a vector for each document")
        return features.transform([document.vector for document in documents])
    return features.transform([document.text for document in documents])


def without(stored: StoredModel, gone: np.ndarray) -> StoredModel:
    """Return the model without some of its points, gone (n,) bool: nothing of them is left but what was learned."""
    kept = np.flatnonzero(~gone)
    points = None if stored.point_names is None else [stored.point_names[row] for row in kept]
    texts = None if stored.texts is None else stored.texts.kept(~gone)
    return replace(stored, model=updates(stored.model).forget(stored.model, gone), point_names=points, texts=texts)
