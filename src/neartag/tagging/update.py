"""Documents added to a stored model and forgotten: what changes in memory. storage/additions.py writes it."""

from __future__ import annotations

import uuid
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError, ParameterError
from neartag.data.documents import Document
from neartag.encoders.base import read_items
from neartag.linalg import csr
from neartag.linalg.rows import as_rows, normalise
from neartag.storage.bundle import StoredModel, update_module
from neartag.storage.segments import Segment
from neartag.storage.texts import Texts
from neartag.tagging.explained_meaning import sentence_encoder
from neartag.tagging.ranking import has_features
from neartag.vocabulary.mapping import map_labels


def make_segment(stored: StoredModel, documents: Sequence[Document], taken: Container[str]) -> Segment:
    """Return the documents as a segment of the model; `taken` holds the ids of the model's points.

    A document without an id gets one that no other document has. DataError for an id that is taken or given twice, and
    for a label that a closed vocabulary does not have.
    """
    check_ids(documents, taken)
    ids = [uuid.uuid4().hex if document.id is None else document.id for document in documents]
    column = {name: place for place, name in enumerate(stored.label_names or [])}
    known = len(column)
    named = [_known_labels(stored, document, column) for document in documents]
    columns = [sorted({column.setdefault(name, len(column)) for name in names}) for names in named]
    indices = np.array([place for row in columns for place in row], np.int32)
    pieces = np.ones(len(indices), np.float32), indices, csr.pointer([len(row) for row in columns])
    Y = csr_matrix(pieces, shape=(len(ids), len(column)))  # (m, L) with the new labels
    rows = normalise(as_rows(encode_documents(stored.features, documents)))  # (m, d)
    texts = None if stored.texts is None else Texts.from_strings(document.text for document in documents)
    return Segment(rows, Y, ids, list(column)[known:], texts)


def check_ids(documents: Sequence[Document], taken: Container[str]) -> None:
    """Raise DataError where a document's id is taken or given twice."""
    seen: set[str] = set()
    for name in (document.id for document in documents if document.id is not None):
        if name in taken or name in seen:
            why = "given twice" if name in seen else "there already: replace or forget it, or choose another id"
            raise DataError(f"the document {name!r} is {why}")
        seen.add(name)


def _known_labels(stored: StoredModel, document: Document, known: Container[str]) -> list[str]:
    """Return the document's labels as the model's vocabulary has them."""
    if stored.vocabulary is None:
        return document.labels
    return map_labels(document.labels, stored.vocabulary, known, document.place)


def encode_documents(encoder: Any, documents: Sequence[Document]) -> Any:
    """Return the documents' feature rows, by a model's encoder; ParameterError where the model has none."""
    if encoder is None:
        raise ParameterError("the model was trained on rows of features, not on documents: nothing makes rows of them")
    return encoder.transform(list(read_items(encoder, documents)))


def count_unknown(encoder: Any, documents: Sequence[Document]) -> int:
    """Return how many documents have a row of zeros; none where a sentence encoder makes a vector of any text."""
    if sentence_encoder(encoder) is not None:
        return 0
    return int((~has_features(encode_documents(encoder, documents))).sum())


def forget_points(stored: StoredModel, gone: np.ndarray) -> StoredModel:
    """Return the model without the points where `gone` (n,) is true: only what was learned from them is left."""
    points = stored.point_names
    if points is not None:
        points = [points[row] for row in np.flatnonzero(~gone)]
    texts = None if stored.texts is None else stored.texts.keep(~gone)
    model = update_module(stored.model).forget(stored.model, gone)
    return replace(stored, model=model, point_names=points, texts=texts)


def forget_kept_vectors(stored: StoredModel, gone: np.ndarray) -> None:
    """Remove the vectors of the points where `gone` (n,) is true from what a sentence encoder keeps on disk."""
    forget_texts = getattr(stored.features, "forget_texts", None)
    if forget_texts is not None and stored.texts is not None:
        forget_texts(stored.texts[int(row)] for row in np.flatnonzero(gone))


def number_points(stored: StoredModel) -> dict[str, int]:
    """Return the row of each point by its id, which is its number where the model has no ids."""
    ids = stored.point_names
    ids = [str(row) for row in range(int(stored.model.n_points))] if ids is None else ids
    return {name: row for row, name in enumerate(ids)}


def mark_points(n_points: int, row_of: Mapping[str, int], ids: Iterable[str]) -> np.ndarray:
    """Return a mask (n_points,) of those that have these ids; DataError where there is no such point."""
    marked = np.zeros(n_points, bool)
    names = list(ids)
    check_known(names, row_of)
    marked[[row_of[name] for name in names]] = True
    return marked


def check_known(ids: Iterable[str], known: Container[str]) -> None:
    """Raise DataError where there is no document of such an id."""
    for name in ids:
        if name not in known:
            raise DataError(f"there is no document {name!r} to forget: check its id")
