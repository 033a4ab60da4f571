"""Texts or vectors, lists of labels and ids, as Python code has them, made into documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from neartag.core.errors import ParameterError
from neartag.data.documents import Document, Fields
from neartag.data.documents.frames import frame_texts, is_frame, read_frame
from neartag.encoders.base import Encoder, make_document

_ENDED = object()


def read_texts(items: Any, fields: Fields | None = None) -> Any:
    """Return the texts of a data frame, and anything else as it is; ParameterError for a dict."""
    if isinstance(items, Mapping):
        raise ParameterError("the texts are a dict, whose keys would be tagged: give a list of texts")
    return frame_texts(items, fields) if is_frame(items) else items


def make_documents(
    encoder: Encoder,
    items: Iterable[Any],
    labels: Iterable[Sequence[str]] | None,
    ids: Iterable[str] | None,
    fields: Fields | None = None,
) -> Iterator[Document]:
    """Yield items, texts or vectors as the encoder reads them, with their labels and ids as documents.

    Without labels, the items are a data frame with them. ParameterError where there are not as many of each, or
    something is of the wrong type.
    """
    if labels is None:
        if not is_frame(items):
            raise ParameterError("give the labels of each text; only a data frame may hold both")
        if ids is not None:
            raise ParameterError("the ids of a data frame are its own: name their column by fields=Fields(id=…)")
        yield from read_frame(items, fields)
        return
    items = read_texts(items, fields)
    if isinstance(items, str) or isinstance(labels, str):
        raise ParameterError("give a list of texts, and for each a list of labels")
    if is_frame(labels):
        raise ParameterError("the labels are a data frame: give its column of labels, such as frame['labels']")
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
