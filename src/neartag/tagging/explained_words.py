"""What the words of a text count for: what it shares with documents, and what rankers weigh.

Features may be pairs of words, or runs of characters. What they count for is added up on the words that hold them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg.hybrid_rows import words_of
from neartag.linalg.rows import as_rows, normalise
from neartag.storage.bundle import StoredModel

# A word that counts for less than this share of the weightiest word says nothing: it is not shown.
MIN_SHARE_OF_WEIGHTIEST = 0.05
# Words may share runs of characters by chance. A word is shown as shared with a document only if this part of its own
# weight is in features that the document has too; a document that has the word itself has all of it, or nearly all.
MIN_SHARED_PART = 0.2
MIN_RANKER_WEIGHT = 0.005  # what would be printed as 0.00


class Word(NamedTuple):
    """A word, or what else is a feature, and what it counts for.

    Shared with a document: its part of their cosine. Weighed by a ranker: its part of the ranker's sum, below 0 where
    it speaks against the label.
    """

    word: str
    weight: float


def names_words(features: Any) -> bool:
    """Return whether an encoder can tell which words its columns stand for."""
    return hasattr(features, "word_parts") or hasattr(features, "terms_of")


def word_encoder(features: Any) -> Any:
    """Return the encoder of words: the words' part of an encoder that also makes vectors, else the encoder itself."""
    return getattr(features, "words_", features)


class ColumnHolders:
    """The words of a text that hold its columns."""

    def __init__(self, features: Any, text: Any) -> None:
        if hasattr(features, "word_parts"):
            found = features.word_parts(text)
        else:  # an encoder whose terms all stand for themselves
            terms = {column: term for term, column in reversed(features.terms_of(text)) if column >= 0}
            found = [(term, column, 1.0) for column, term in terms.items()]
        found.sort(key=lambda part: part[1])
        numbers: dict[str, int] = {}
        self._word = np.array([numbers.setdefault(word, len(numbers)) for word, _, _ in found], np.intp)
        self._column = np.array([column for _, column, _ in found], np.intp)  # rising
        self._part = np.array([part for _, _, part in found])
        self.words = list(numbers)

    def add_up(self, columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return what each word counts for (n_words,), given what columns count for; other columns are left out."""
        order = np.argsort(columns, kind="stable")
        columns, weights = np.asarray(columns)[order], np.asarray(weights, float)[order]
        if not len(columns) or not len(self._column):
            return np.zeros(len(self.words))
        place = np.minimum(np.searchsorted(columns, self._column), len(columns) - 1)
        own = np.where(columns[place] == self._column, weights[place], 0.0) * self._part
        return np.bincount(self._word, weights=own, minlength=len(self.words))

    def shared_weights(self, row: csr_matrix, other: csr_matrix) -> np.ndarray:
        """Return each word's part of the product of the text's row (1, d) and another; 0 where it is chance."""
        common = row.multiply(other).tocoo()
        own = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        shared = self.add_up(common.col, np.array([own[column] ** 2 for column in common.col.tolist()]))
        whole = self.add_up(row.indices, row.data.astype(float) ** 2)
        return np.where(shared >= MIN_SHARED_PART * whole, self.add_up(common.col, common.data), 0.0)


def telling_words(words: list[str], weights: np.ndarray, most: int, min_share: float, least: float = 0.0) -> list[Word]:
    """Return the words that say something, the weightiest first, be it for or against; at most so many."""
    sizes = np.abs(weights)
    limit = max(least, min_share * sizes.max(initial=0.0))
    order = np.argsort(-sizes, kind="stable")
    return [Word(words[at], float(weights[at])) for at in order[:most] if sizes[at] >= limit and sizes[at] > 0]


class TextWords:
    """The words of a text, by what they count for: those shared with documents, and those that rankers weigh."""

    def __init__(
        self,
        stored: StoredModel,
        text: Any,
        X: Any,
        most: int,
        min_share: float = MIN_SHARE_OF_WEIGHTIEST,
        min_weight: float = MIN_RANKER_WEIGHT,
    ) -> None:
        self._stored, self._most, self._min_share, self._min_weight = stored, most, min_share, min_weight
        self._row: csr_matrix | None = None
        X = words_of(X)
        if most and sparse.issparse(X) and names_words(stored.features):
            self._row = normalise(as_rows(X))
            self._holders = ColumnHolders(stored.features, text)

    def shared_words(self, point: int) -> list[Word]:
        """Return the words shared with a training point, the weightiest first."""
        other = None if self._row is None else self._row_of(point)
        if other is None or self._row is None:
            return []
        weights = self._holders.shared_weights(self._row, other)
        return telling_words(self._holders.words, weights, self._most, self._min_share)

    def contributions(self, label: int) -> list[Word]:
        """Return the words that a label's ranker weighs, the weightiest first, be it for or against the label."""
        reranker = getattr(self._stored.model, "reranker", None)
        if self._row is None or reranker is None:
            return []
        weights = self._holders.add_up(*reranker.contributions(self._row, label))
        return telling_words(self._holders.words, weights, self._most, self._min_share, self._min_weight)

    def _row_of(self, point: int) -> csr_matrix | None:
        """Return a document's feature row: as it is kept to be voted with, or made of its text again."""
        index = self._stored.model.index
        if index is not None and index.is_sparse:
            return words_of(index.row(point))
        if self._stored.texts is not None:
            words = word_encoder(self._stored.features).transform([self._stored.texts[point]])
            return normalise(as_rows(words))
        return None


def words_in_document(features: Any, X: Any, document: str, most: int) -> dict[str, float]:
    """Return the words of a document that a text, whose row is X, shares with it, and their parts of the cosine.

    They may be others than the text's own, as "cakes" for "cake" where both have the same stem or runs of characters.
    """
    holders = ColumnHolders(features, document)
    row = word_encoder(features).transform([document])
    weights = holders.shared_weights(csr_matrix(row), csr_matrix(words_of(X)))
    return dict(telling_words(holders.words, weights, most, MIN_SHARE_OF_WEIGHTIEST))


def known_words(features: Any, X: Any, text: str) -> dict[str, float]:
    """Return the words of a text that hold columns of its row X, each with the length of its part of the row."""
    row = csr_matrix(words_of(X))
    holders = ColumnHolders(features, text)
    lengths = np.sqrt(holders.add_up(row.indices, row.data.astype(float) ** 2))
    return {word: float(length) for word, length in zip(holders.words, lengths, strict=True) if length > 0}
