"""Why a label was given: the documents that voted for it, their shares, their own labels, and the words in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.calibrate import Calibration
from neartag.rows import as_rows, normalise
from neartag.stored import StoredModel


class Word(NamedTuple):
    """A word, or what else is a feature, that a text and a document share, and its part of their cosine."""

    word: str
    weight: float


class Voter(NamedTuple):
    """A document that voted."""

    id: str
    share: float  # of all votes on the text
    labels: list[str]
    words: list[Word]  # the weightiest first
    text: str | None


class Reason(NamedTuple):
    """A label and who voted for it, the strongest first."""

    label: str
    score: float
    share: float
    voters: list[Voter]


def votes(model: Any, X: Any, k: int) -> list[tuple[list[tuple[int, float]], dict[int, float]]]:
    """Return for each row its k best labels with their shares, and every voter's row number with its share.

    The shares of those voters that have a label add up to the label's.
    """
    labels, shares = model.predict_topk(X, k)
    neighbours, weights = model.neighbours(X)
    found = []
    for row in range(len(labels)):
        share_of: dict[int, float] = {}
        for point, share in zip(neighbours[row].tolist(), weights[row].tolist(), strict=True):
            if point >= 0:  # several learners may find the same point
                share_of[point] = share_of.get(point, 0.0) + share
        best = [
            (label, share)
            for label, share in zip(labels[row].tolist(), shares[row].tolist(), strict=True)
            if label >= 0
        ]
        found.append((best, dict(sorted(share_of.items(), key=lambda voter: (-voter[1], voter[0])))))
    return found


def labels_of(model: Any, point: int) -> list[int]:
    """Return the labels of a training point."""
    return model.Y.indices[model.Y.indptr[point] : model.Y.indptr[point + 1]].tolist()


def reasons(
    stored: StoredModel, calibration: Calibration | None, text: Any, X: Any, k: int, voters: int, words: int
) -> list[Reason]:
    """Return the k best labels of a text, whose feature row is X, each with its strongest voters."""
    ((best, share_of),) = votes(stored.model, X, k)
    names = stored.label_names or []
    shared = _SharedWords(stored, text, X, words)
    described: dict[int, Voter] = {}
    found = []
    for label, share in best:
        own = [point for point in share_of if label in labels_of(stored.model, point)][:voters]
        for point in own:
            if point not in described:
                described[point] = _voter(stored, point, share_of[point], shared)
        score = share if calibration is None else float(calibration(np.array(share)))
        found.append(Reason(names[label], score, share, [described[point] for point in own]))
    return found


def _voter(stored: StoredModel, point: int, share: float, shared: _SharedWords) -> Voter:
    names = stored.label_names or []
    name = str(point) if stored.point_names is None else stored.point_names[point]
    labels = [names[label] for label in labels_of(stored.model, point)]
    return Voter(name, share, labels, shared.with_point(point), None if stored.texts is None else stored.texts[point])


class _SharedWords:
    """Words that a text and documents have in common."""

    def __init__(self, stored: StoredModel, text: Any, X: Any, most: int) -> None:
        self._stored, self._most = stored, most
        self._row: csr_matrix | None = None
        if most and sparse.issparse(X) and hasattr(stored.features, "terms_of"):
            self._row = normalise(as_rows(X))
            self._words: dict[int, str] = {}
            for word, column in stored.features.terms_of(text):
                if column >= 0:
                    self._words.setdefault(column, word)

    def with_point(self, point: int) -> list[Word]:
        """Return the words shared with a training point, the weightiest first."""
        other = None if self._row is None else self._row_of(point)
        if other is None or self._row is None:
            return []
        common = self._row.multiply(other).tocoo()
        order = np.argsort(-common.data, kind="stable")[: self._most]
        return [Word(self._words.get(int(common.col[at]), "?"), float(common.data[at])) for at in order]

    def _row_of(self, point: int) -> csr_matrix | None:
        """Return a document's feature row: as it is kept to be voted with, or made of its text again."""
        index = self._stored.model.index
        if index is not None and sparse.issparse(index.postings):
            return index.row(point)
        if self._stored.texts is not None:
            return normalise(as_rows(self._stored.features.transform([self._stored.texts[point]])))
        return None
