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

_MAX_WAITING = 2**20  # bytes of texts, and labels, before they go where they may be in a file


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
    """Passes documents on to an encoder, and keeps what the encoder does not need: labels, ids and texts.

    Labels and texts are in files where they would take too much memory; ids and the names of labels are in memory.
    """

    def __init__(self, keep_texts: bool) -> None:
        self.ids: list[str | None] = []
        self._numbers: dict[str, int] = {}  # of label names, by first appearance
        self._waiting_labels, self._waiting_content = array("i"), bytearray()
        arrays = SpillableArrays("the labels of the documents")
        self._labels, self._ones = arrays.new(np.int32), arrays.new(np.float32)
        self._ends = array("q", [0])  # of each document's labels
        self._content = SpillableArrays("the texts").new(np.uint8) if keep_texts else None
        self._text_ends = array("q", [0])

    def collect(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents as they come."""
        for document in documents:
            self.ids.append(document.id)
            numbers = {self._numbers.setdefault(name, len(self._numbers)) for name in document.labels}
            self._waiting_labels.extend(sorted(numbers))
            self._ends.append(self._ends[-1] + len(numbers))
            if self._content is not None:
                content = document.text.encode("utf-8", "surrogatepass")
                self._waiting_content += content
                self._text_ends.append(self._text_ends[-1] + len(content))
            if len(self._waiting_content) > _MAX_WAITING or len(self._waiting_labels) > _MAX_WAITING:
                self._flush()
            yield document

    def _flush(self) -> None:
        """Put what waits into the large arrays."""
        if self._waiting_labels:
            self._labels.append(np.array(self._waiting_labels, np.int32))
            self._ones.append(np.ones(len(self._waiting_labels), np.float32))
            self._waiting_labels = array("i")
        if self._content is not None and self._waiting_content:
            self._content.append(np.frombuffer(self._waiting_content, np.uint8))
            self._waiting_content = bytearray()

    def refuse_none(self) -> Iterator[Any]:
        """Yield nothing; DataError, before an encoder complains of it in its own words, if there was no document."""
        if not self.ids:
            raise DataError("there is no document to learn from")
        yield from ()

    def label_rows(self) -> tuple[csr_matrix, list[str]]:
        """Return the label rows (n, L), and the names of their columns, sorted.

        It can be called once: the rows take the place of what was kept.
        """
        self._flush()
        names = sorted(self._numbers)
        column = np.empty(len(names), np.int32)
        for place, name in enumerate(names):
            column[self._numbers[name]] = place
        indices = self._labels.finish()  # (nnz,), which are ours: numbered anew where they are
        for start in range(0, len(indices), _MAX_WAITING):
            part = indices[start : start + _MAX_WAITING]
            part[:] = column[part]
        pieces = self._ones.finish(), indices, np.array(self._ends)
        Y = csr_matrix(pieces, shape=(len(self.ids), max(1, len(names))))
        Y.sort_indices()
        return Y, names or [""]

    def numbered_ids(self) -> list[str]:
        """Return each document's id, its number where it has none."""
        return [str(number) if name is None else name for number, name in enumerate(self.ids)]

    def unique_ids(self) -> list[str]:
        """Return each document's id, its number where it has none; DataError where two have the same."""
        ids = self.numbered_ids()
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))  # a set of the ids would take ten times the memory
        hashes.sort()
        if (hashes[1:] == hashes[:-1]).any():
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
        self._flush()
        return Texts.from_arrays(self._content.finish(), np.array(self._text_ends, np.int64))
