"""Documents as they come in, turned into what training takes: feature rows, label rows, ids and texts, in one pass."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.errors import DataError
from neartag.data.documents import Document
from neartag.data.mapped import SpillableArrays
from neartag.storage.texts import Texts


@dataclass
class Corpus:
    """Labelled documents, ready to be trained on."""

    X: Any  # (n, d)
    Y: csr_matrix  # (n, L)
    label_names: list[str]  # sorted
    ids: list[str]  # of documents to learn from
    texts: Texts | None


def build_corpus(documents: Iterable[Document], features: Any, *, keep_texts: bool = True, fit: bool = True) -> Corpus:
    """Return the documents as a corpus, each read once and not kept as text; with `fit`, features are fitted to them.

    Features of texts get the texts, features of vectors the vectors. A document without an id gets its number. Texts
    that would take too much memory are kept in a file.
    """
    passed = _Passed(keep_texts)
    source = passed.vectors(documents) if features.kind == "vectors" else passed.texts(documents)
    X = features.fit_transform(source) if fit else features.transform(source)
    if fit and not passed.ids:
        raise DataError("there is no document to learn from")
    Y, names = passed.labels()
    return Corpus(X, Y, names, passed.unique_ids() if fit else [], passed.kept_texts())


class _Passed:
    """Takes down what features do not need of the documents that pass."""

    def __init__(self, keep_texts: bool) -> None:
        self.ids: list[str | None] = []
        self._numbers: dict[str, int] = {}  # of label names, by first appearance
        self._labels, self._starts = array("i"), array("q", [0])
        self._arrays = SpillableArrays("the texts")
        self._content = self._arrays.new(np.uint8) if keep_texts else None
        self._ends = array("q", [0])

    def texts(self, documents: Iterable[Document]) -> Iterator[str]:
        """Yield the documents' texts."""
        for document in documents:
            self._note(document)
            yield document.text

    def vectors(self, documents: Iterable[Document]) -> Iterator[np.ndarray]:
        """Yield the documents' vectors."""
        for number, document in enumerate(documents):
            if document.vector is None:
                place = document.place or f"document {number}"
                raise DataError(f"{place}: it has no vector, and the model is to learn from vectors: give each one")
            self._note(document)
            yield document.vector

    def _note(self, document: Document) -> None:
        self.ids.append(document.id)
        found = {self._numbers.setdefault(name, len(self._numbers)) for name in document.labels}
        self._labels.extend(sorted(found))
        self._starts.append(len(self._labels))
        if self._content is not None:
            content = document.text.encode("utf-8", "surrogatepass")
            self._content.append(np.frombuffer(content, np.uint8))
            self._ends.append(self._ends[-1] + len(content))

    def labels(self) -> tuple[csr_matrix, list[str]]:
        """Return the label rows, columns in the order of the sorted names, and these."""
        names = sorted(self._numbers)
        column = np.empty(len(names), np.int32)
        for place, name in enumerate(names):
            column[self._numbers[name]] = place
        indices = column[np.array(self._labels, np.int32)] if len(names) else np.empty(0, np.int32)
        pieces = np.ones(len(indices), np.float32), indices, np.array(self._starts)
        Y = csr_matrix(pieces, shape=(len(self.ids), max(1, len(names))))
        Y.sort_indices()
        return Y, names or [""]

    def unique_ids(self) -> list[str]:
        """Return each document's id, its number where it has none; DataError where two have the same."""
        ids = [str(number) if name is None else name for number, name in enumerate(self.ids)]
        if len(set(ids)) < len(ids):
            seen: dict[str, int] = {}
            for number, name in enumerate(ids):
                if name in seen:
                    raise DataError(
                        f"documents {seen[name] + 1} and {number + 1} have the same id {name!r}: give each its own"
                    )
                seen[name] = number
        return ids

    def kept_texts(self) -> Texts | None:
        """Return the texts, if they were to be kept."""
        if self._content is None:
            return None
        return Texts.from_arrays(self._content.finish(), np.array(self._ends, np.int64))
