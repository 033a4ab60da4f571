"""Texts or vectors, lists of labels and ids, as Python code has them, made into documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from neartag.core.errors import ParameterError
from neartag.data.documents import Document
from neartag.encoders.base import Encoder, make_document

_ENDED = object()


def make_documents(
    encoder: Encoder, items: Iterable[Any], labels: Iterable[Sequence[str]], ids: Iterable[str] | None
) -> Iterator[Document]:
    """Yield items, texts or vectors as the encoder reads them, with their labels and ids as documents.

    ParameterError where there are not as many of each, or something is of the wrong type.
    """
    if isinstance(items, str) or isinstance(labels, str):
        raise ParameterError("give a list of texts, and for each a list of labels")
    sources: list[Iterator[Any]] = [iter(items), iter(labels), *([] if ids is None else [iter(ids)])]
    number = 0
    while True:
        values: list[Any] = [next(source, _ENDED) for source in sources]
        ended = [value is _ENDED for value in values]
        if all(ended):
            return
        if any(ended):
            raise ParameterError(f"there must be as many lists of labels (and ids) as texts: one ended after {number}")
        item, names, *rest = values
        is_list = isinstance(names, Iterable) and not isinstance(names, str)
        if not is_list or not all(isinstance(name, str) for name in names):
            raise ParameterError(f"the labels of text {number} are {names!r:.60}: give a list of names")
        if encoder.accepts == "text" and not isinstance(item, str):
            raise ParameterError(f"text {number} is {item!r:.60}: must be a string")
        identifier = str(rest[0]) if rest and rest[0] is not None else None
        yield make_document(encoder, item, list(names), identifier, f"text {number}")
        number += 1
