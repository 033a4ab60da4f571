"""A table with a row for each label: rows of the same id, or of the same text, become one document.

The file is read twice. First only ids, labels and a hash of each text are kept; then each document comes at its first
row, with the labels of all its rows. So texts are never in memory together, and the rows may stand in any order.
"""

from __future__ import annotations

from collections.abc import Callable

from neartag.core.errors import DataError
from neartag.data.documents.document import Document
from neartag.data.documents.parse import DocumentsOrErrors


def group_rows(read: Callable[[], DocumentsOrErrors]) -> DocumentsOrErrors:
    """Yield the documents that `read` gives in pieces, each once; errors as they come."""
    labels: dict[str | int, dict[str, None]] = {}
    text_of: dict[str, int] = {}
    for document in read():
        if isinstance(document, Document):
            labels.setdefault(_key(document), {}).update(dict.fromkeys(document.labels))
            if document.id is not None and document.text.strip():
                text_of.setdefault(document.id, hash(document.text))
    for document in read():
        if not isinstance(document, Document):
            yield document
            continue
        if document.id is not None and document.text.strip() and hash(document.text) != text_of[document.id]:
            yield DataError(
                f"{document.place}: the id {document.id!r} has another text here; rows of one document have the same "
                "text, or give --document-per-row and each row its own id"
            )
            continue
        if document.id is not None and not document.text.strip() and document.id in text_of:
            continue  # a further row of a document whose text stands elsewhere
        names = labels.pop(_key(document), None)
        if names is not None:
            yield document._replace(labels=list(names))


def _key(document: Document) -> str | int:
    return hash(document.text) if document.id is None else document.id
