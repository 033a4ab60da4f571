"""Texts with their labels, from files of many formats, one document at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neartag.core.lazy import lazy_names

if TYPE_CHECKING:
    from neartag.data.documents.document import BadLines, Document
    from neartag.data.documents.fields import LABEL_FIELDS, Fields
    from neartag.data.documents.read import ENDINGS, KINDS, documents, holds_documents, resolve_fields

__all__ = [
    "ENDINGS",
    "KINDS",
    "LABEL_FIELDS",
    "BadLines",
    "Document",
    "Fields",
    "documents",
    "holds_documents",
    "resolve_fields",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BadLines": "document",
        "Document": "document",
        "Fields": "fields",
        "LABEL_FIELDS": "fields",
        "ENDINGS": "read",
        "KINDS": "read",
        "documents": "read",
        "holds_documents": "read",
        "resolve_fields": "read",
    },
)
