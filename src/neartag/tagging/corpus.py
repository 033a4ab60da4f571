"""Documents as they come in, turned into what training takes: feature rows, label rows, ids and texts, in one pass."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError
from neartag.data.documents import Document
from neartag.data.mapped import SpillableArrays
from neartag.encoders.base import Encoder, read_items
from neartag.encoders.tfidf import TfidfFeatures
from neartag.storage.texts import Texts


@dataclass(frozen=True)
class Corpus:
    """Labelled points, ready to be trained on: documents, or rows of features that somebody else made."""

    X: Any  # (n, d)
    Y: csr_matrix  # (n, L)
    label_names: list[str] | None  # of documents: sorted
    ids: list[str] | None  # of the points
    texts: Texts | None = None


def build_corpus(documents: Iterable[Document], encoder: Encoder, *, keep_texts: bool = True) -> Corpus:
    """Return the documents as a corpus; the encoder is fitted to them.

    Each document is read once and not kept. A document without an id gets its number. Texts that would take too much
    memory are kept in a file.
    """
    collector = DocumentCollector(keep_texts)
    items = chain(read_items(encoder, collector.collect(documents)), collector.refuse_none())
    X = encoder.fit_transform(items)
    Y, names = collector.label_rows()
    return Corpus(X, Y, names, collector.unique_ids(), collector.texts())


def encode_corpus(documents: Iterable[Document], encoder: Encoder, *, keep_texts: bool = False) -> Corpus:
    """Return documents to predict for, or to evaluate on, as a corpus; the encoder is fitted.

    Two documents may have the same id here.
    """
    collector = DocumentCollector(keep_texts)
    X = encoder.transform(read_items(encoder, collector.collect(documents)))
    Y, names = collector.label_rows()
    return Corpus(X, Y, names, collector.numbered_ids(), collector.texts())


def collect_texts(documents: Iterable[Document]) -> tuple[DocumentCollector, Texts]:
    """Read all documents, and return what was collected of them, and their texts; DataError where there is no text."""
    collector = DocumentCollector(keep_texts=True)
    deque(read_items(TfidfFeatures(), collector.collect(documents)), maxlen=0)
    texts = collector.texts()
    if not collector.ids or texts is None:
        raise DataError("there is no document to learn from")
    return collector, texts


class DocumentCollector:
    """Passes documents on to an encoder, and keeps what the encoder does not need: labels, ids and texts."""

    def __init__(self, keep_texts: bool) -> None:
        self.ids: list[str | None] = []
        self._numbers: dict[str, int] = {}  # of label names, by first appearance
        self._labels, self._starts = array("i"), array("q", [0])
        self._content = SpillableArrays("the texts").new(np.uint8) if keep_texts else None
        self._ends = array("q", [0])

    def collect(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents as they come."""
        for document in documents:
            self.ids.append(document.id)
            numbers = {self._numbers.setdefault(name, len(self._numbers)) for name in document.labels}
            self._labels.extend(sorted(numbers))
            self._starts.append(len(self._labels))
            if self._content is not None:
                content = document.text.encode("utf-8", "surrogatepass")
                self._content.append(np.frombuffer(content, np.uint8))
                self._ends.append(self._ends[-1] + len(content))
            yield document

    def refuse_none(self) -> Iterator[Any]:
        """Yield nothing; DataError, before an encoder complains of it in its own words, if there was no document."""
        if not self.ids:
            raise DataError("there is no document to learn from")
        yield from ()

    def label_rows(self) -> tuple[csr_matrix, list[str]]:
        """Return the label rows (n, L), and the names of their columns, sorted."""
        names = sorted(self._numbers)
        column = np.empty(len(names), np.int32)
        for place, name in enumerate(names):
            column[self._numbers[name]] = place
        indices = column[np.array(self._labels, np.int32)] if len(names) else np.empty(0, np.int32)
        pieces = np.ones(len(indices), np.float32), indices, np.array(self._starts)
        Y = csr_matrix(pieces, shape=(len(self.ids), max(1, len(names))))
        Y.sort_indices()
        return Y, names or [""]

    def numbered_ids(self) -> list[str]:
        """Return each document's id, its number where it has none."""
        return [str(number) if name is None else name for number, name in enumerate(self.ids)]

    def unique_ids(self) -> list[str]:
        """Return each document's id, its number where it has none; DataError where two have the same."""
        ids = self.numbered_ids()
        if len(set(ids)) < len(ids):
            seen: dict[str, int] = {}
            for number, name in enumerate(ids):
                if name in seen:
                    raise DataError(
                        f"documents {seen[name] + 1} and {number + 1} have the same id {name!r}: give each its own"
                    )
                seen[name] = number
        return ids

    def texts(self) -> Texts | None:
        """Return the texts, if they were to be kept."""
        if self._content is None:
            return None
        return Texts.from_arrays(self._content.finish(), np.array(self._ends, np.int64))
