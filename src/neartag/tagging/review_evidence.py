"""The evidence of a review: the documents nearest to one, each with its labels and the words that both share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.errors import ModelError
from neartag.linalg.hybrid_rows import words_of
from neartag.linalg.rows import Rows, as_rows, normalise
from neartag.storage.bundle import StoredModel
from neartag.tagging.explained_words import (
    MIN_SHARE_OF_WEIGHTIEST,
    ColumnHolders,
    Word,
    names_words,
    telling_words,
    word_encoder,
)

SHOWN = 3  # documents of the evidence
SHOWN_WORDS = 5  # of each


class NearDocument(NamedTuple):
    """A labelled document near another one."""

    id: str
    similarity: float  # the cosine of their features
    labels: list[str]
    words: list[Word]  # that both share, the weightiest first
    text: str | None


@dataclass(frozen=True)
class ReviewedCorpus:
    """Labelled documents, as a review looks at them."""

    rows: Rows  # (n, d) unit rows
    Y: csr_matrix  # (n, L)
    label_names: list[str]
    ids: Sequence[str]
    texts: Sequence[str] | None
    features: Any  # the encoder that made the rows

    @classmethod
    def of(cls, stored: StoredModel) -> ReviewedCorpus:
        """Return a model's documents; ModelError where it has kept too little of them."""
        model = stored.model
        n, index = int(model.n_points), getattr(model, "index", None)
        if index is not None:
            rows = words_of(index.rows(np.arange(n)))
            if names_words(stored.features):  # the index keeps well-filled rows of a few words as dense ones
                rows = csr_matrix(rows)
        elif stored.texts is not None and stored.features.accepts == "text":
            rows = normalise(as_rows(word_encoder(stored.features).transform(list(stored.texts))))
        else:
            raise ModelError("the model has kept neither the texts nor the features of its documents to review them by")
        if not hasattr(model, "Y"):
            raise ModelError(
                f"a model of kind {model.kind!r} does not keep the labels of its documents: review needs X1"
            )
        ids = stored.point_names or [str(row) for row in range(n)]
        return cls(rows, model.Y, stored.label_names or [], ids, stored.texts, stored.features)

    def has_label(self, document: int, label: int) -> bool:
        """Say whether a document has a label."""
        return label in self.Y.indices[self.Y.indptr[document] : self.Y.indptr[document + 1]]

    def labels_of(self, document: int) -> list[str]:
        """Return the names of a document's labels."""
        own = self.Y.indices[self.Y.indptr[document] : self.Y.indptr[document + 1]]
        return [self.label_names[label] for label in own]


def near_documents(
    corpus: ReviewedCorpus, text: Any, row: Rows, near: Iterable[tuple[int, float]]
) -> list[NearDocument]:
    """Return documents of the corpus, by numbers and cosines, as evidence for a text whose unit row is (1, d)."""
    tells = sparse.issparse(row) and isinstance(text, str) and names_words(corpus.features)
    holders = ColumnHolders(corpus.features, text) if tells else None
    listed = []
    for document, similarity in near:
        words: list[Word] = []
        if holders is not None:
            weights = holders.shared_weights(csr_matrix(row), csr_matrix(corpus.rows[document]))
            words = telling_words(holders.words, weights, SHOWN_WORDS, MIN_SHARE_OF_WEIGHTIEST)
        other = None if corpus.texts is None else corpus.texts[document]
        name, labels = corpus.ids[document], corpus.labels_of(document)
        listed.append(NearDocument(name, round(float(similarity), 4), labels, words, other))
    return listed
