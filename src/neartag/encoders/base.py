"""What an encoder is: it reads one part of each document and returns a feature row for it.

An encoder is one file. docs/adding-an-encoder.md shows a whole one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol

import numpy as np

from neartag.core.errors import DataError
from neartag.data.documents import Document

PARTS = ("text", "vector")  # of a document, which an encoder may read
_METHODS = ("fit", "fit_transform", "transform", "to_state", "from_state")


class Encoder(Protocol):
    """What neartag needs of an encoder.

    The constructor only stores parameters; `fit` checks them. Rows (n, n_features) are a float32 array or CSR matrix.

    An encoder of texts may also have `terms_of(text)`, a list of (term, column) with column -1 for an unknown term:
    explanations then name the terms. Where terms are not whole words, `word_parts(text)` may say which words of the
    text hold them: a list of (word, column, part), in which the parts of a column add up to 1. And `spans(text)`, a
    list of (start, end, word, column): the server's page then marks the words in the text.
    """

    kind: ClassVar[str]  # its name: for `neartag train --encoder`, for the entry point, and in model.json
    accepts: ClassVar[str]  # the part of a document that it reads: "text" or "vector"

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""

    def fit(self, items: Iterable[Any]) -> Any:
        """Learn from texts (or vectors), read once, and return self."""

    def fit_transform(self, items: Iterable[Any]) -> Any:
        """Return the same rows as `fit(items).transform(items)`, reading the items once."""

    def transform(self, items: Iterable[Any]) -> Any:
        """Return a row for each item. The row of an item must not depend on the other items."""

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what `from_state` needs: settings that JSON can hold, and arrays by name."""

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """Return the fitted encoder of this state; the arrays are read-only. ModelError where it cannot be one."""


def check_encoder(encoder: Any) -> None:
    """Raise TypeError where an object, or a class, is no encoder, and say what it lacks."""
    missing = [name for name in ("kind", "accepts", *_METHODS) if not hasattr(encoder, name)]
    if missing:
        raise TypeError(f"{encoder!r:.60} is no encoder: it has no {', '.join(missing)}")
    if encoder.accepts not in PARTS:
        raise TypeError(f"the encoder {encoder.kind!r} accepts {encoder.accepts!r}: must be one of {PARTS}")


def read_items(encoder: Encoder, documents: Iterable[Document]) -> Iterator[Any]:
    """Yield the part of each document that the encoder reads; DataError for a document that does not have it."""
    part = encoder.accepts
    for number, document in enumerate(documents):
        item = getattr(document, part)
        if item is None:
            place = document.place or f"document {number}"
            raise DataError(f"{place}: it has no {part}, and the model learns from each document's {part}: add one")
        yield item


def make_document(encoder: Encoder, item: Any, labels: list[str], name: str | None, place: str) -> Document:
    """Return a document that has this item as the part that the encoder reads; `name` is its id."""
    empty = Document(text="", labels=labels, id=name, vector=None, place=place)
    return empty._replace(**{encoder.accepts: item})
