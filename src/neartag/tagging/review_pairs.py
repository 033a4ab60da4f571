"""What speaks for a label of a document, as seen without that document: the features of pairs of document and label.

The document itself never votes: it is taken out of its neighbours, of its label's centroid, and of the counts of labels
that occur together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg import csr
from neartag.linalg.rows import Rows, csr_arrays
from neartag.linalg.single_row import as_csr_arrays
from neartag.search.exact import Neighbours
from neartag.search.inverted_index import FeatureIndex
from neartag.tagging import review_kernels

# Two votes: of the few nearest documents, and of many, which count by the square of their cosine.
FEW, MANY = 10, 100
# What is added to shares and probabilities before the logarithm is taken.
_LEAST_FEW, _LEAST_MANY, _LEAST_PROBABILITY = 0.01, 0.001, 0.001
_PAIRS_AT_ONCE = 2**18  # whose documents' other labels are all held
_GROUPS = 5  # of documents: how well a label is foreseen is told by the other groups
_PRIOR_DOCUMENTS = 2.0  # that smooth how often two labels occur together, and what the answers say of a label


@dataclass(frozen=True)
class PairFeatures:
    """What pairs of document and label are judged by."""

    rows: Rows  # (n, d) unit rows
    Y: csr_matrix  # (n, L)
    near: Neighbours  # of each document the nearest others (n, MANY), best first, and their cosines; −1: none
    few: csr_matrix  # (n, L) shares of the votes of the FEW nearest others
    many: csr_matrix  # (n, L) of the MANY nearest
    answers: csr_matrix | None  # (n, L) probabilities by a model that did not know the document; None: not asked

    @classmethod
    def prepare(
        cls, rows: Rows, Y: csr_matrix, answers: csr_matrix | None, asked: np.ndarray, threads: int = 1
    ) -> PairFeatures:
        """Return what pairs are judged by, of the documents whose numbers are asked for, among labelled unit rows."""
        near = nearest_others(rows, asked, MANY, threads)
        return cls(rows, Y, near, vote_of_others(near, Y, FEW, 1.0), vote_of_others(near, Y, MANY, 2.0), answers)

    def of_pairs(self, documents: np.ndarray, labels: np.ndarray, *, with_size: bool = False) -> np.ndarray:
        """Return the features of pairs (m, J), float32; how often the label occurs in other documents is the last.

        With `with_size`, one of them is how many other labels the document has.
        """
        own = entries(self.Y, documents, labels)
        counts = np.bincount(self.Y.indices, minlength=self.Y.shape[1])[labels] - own  # (m,) in other documents
        columns = [
            np.log(entries(self.few, documents, labels) + _LEAST_FEW),
            np.log(entries(self.many, documents, labels) + _LEAST_MANY),
            centroid_cosines(self.rows, self.Y, documents, labels),
            *label_lifts(self.Y, documents, labels),
        ]
        if with_size:
            columns.append(np.diff(self.Y.indptr)[documents] - own)
        if self.answers is not None:
            of_label = self._foreseen[documents % _GROUPS, labels]
            columns += [_log_probabilities(self.answers, documents, labels), of_label, self._expected_labels[documents]]
        columns.append(np.log(counts + 1.0))
        return np.stack(columns, axis=1).astype(np.float32)

    @cached_property
    def _foreseen(self) -> np.ndarray:
        """How well the answers foresee each label where it was given, by the documents of the other groups (groups, L).

        A document's own group is left out, given or not. Without its own label alone, a label that nothing speaks for
        would be told from random ones by what it does not add.
        """
        assert self.answers is not None
        documents, labels = csr.row_numbers(self.Y), self.Y.indices.astype(np.int64)
        answered = _log_probabilities(self.answers, documents, labels)
        cells, shape = (documents % _GROUPS) * self.Y.shape[1] + labels, (_GROUPS, self.Y.shape[1])
        sums = np.bincount(cells, weights=answered, minlength=_GROUPS * shape[1]).reshape(shape)
        counts = np.bincount(cells, minlength=_GROUPS * shape[1]).reshape(shape)
        sums, counts = sums.sum(axis=0) - sums, counts.sum(axis=0) - counts  # of the other groups
        usual = sums.sum(axis=1, keepdims=True) / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        return np.asarray((sums + _PRIOR_DOCUMENTS * usual) / (counts + _PRIOR_DOCUMENTS))

    @cached_property
    def _expected_labels(self) -> np.ndarray:
        """How many labels the answers expect of each document (n,), in logarithms."""
        assert self.answers is not None
        return np.log(np.asarray(self.answers.sum(axis=1), np.float64).ravel() + _LEAST_FEW)


def _log_probabilities(answers: csr_matrix, documents: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.log(entries(answers, documents, labels) + _LEAST_PROBABILITY)


def entries(matrix: csr_matrix, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the matrix at these places (m,), in float64."""
    if not len(rows):
        return np.empty(0)
    return np.asarray(matrix[rows, columns], np.float64).ravel()


def nearest_others(rows: Rows, asked: np.ndarray, count: int, threads: int = 1) -> Neighbours:
    """Return the nearest other rows of those asked for, and their cosines (n, count); −1 and 0: none, or not asked."""
    n = rows.shape[0]
    found, cosines = FeatureIndex.from_rows(rows).find(rows[asked], min(count + 1, n), threads)
    gone = (found < 0) | (found == asked[:, None])
    order = np.argsort(gone, axis=1, kind="stable")[:, :count]  # the others first, best first as before
    found, cosines = np.where(gone, -1, found), np.where(gone, 0.0, np.clip(cosines, 0.0, 1.0))
    ids = np.full((n, order.shape[1]), -1, np.int32)
    near = np.zeros((n, order.shape[1]), np.float32)
    ids[asked], near[asked] = np.take_along_axis(found, order, axis=1), np.take_along_axis(cosines, order, axis=1)
    return ids, near


def vote_of_others(near: Neighbours, Y: csr_matrix, count: int, power: float) -> csr_matrix:
    """Return the labels' shares of the votes (n, L), where the first neighbours vote by a power of the cosine."""
    ids, weights = near[0][:, :count], near[1][:, :count].astype(np.float64) ** power
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return csr_matrix(csr.from_lists(ids, weights, Y.shape[0], (ids >= 0) & (weights > 0)) @ Y)


def centroid_cosines(rows: Rows, Y: csr_matrix, documents: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the cosine of each document to the mean of the label's other documents (m,); 0 where there is none."""
    order = np.argsort(labels, kind="stable")
    pointer = np.searchsorted(labels[order], np.arange(Y.shape[1] + 1))
    found, out = np.empty(len(documents)), np.empty(len(documents))
    arrays, members = as_csr_arrays(rows), csr_arrays(csr_matrix(Y.T.tocsr()))
    review_kernels.centroid_cosines(arrays, members, rows.shape[1], pointer, documents[order], found)
    out[order] = found
    return out


def label_lifts(Y: csr_matrix, documents: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how much oftener the label stands beside the document's other labels than it occurs by itself.

    Mean and largest over these labels, in logarithms (m,) each; counted in other documents; 0 without other labels.
    """
    counts = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.float64)
    together = csr_matrix(Y.T @ Y)  # (L, L)
    mean, largest = np.empty((2, len(documents)))
    for first in range(0, len(documents), _PAIRS_AT_ONCE):
        part = slice(first, first + _PAIRS_AT_ONCE)
        mean[part], largest[part] = _lifts_of_some(Y, counts, together, documents[part], labels[part])
    return mean, largest


def _lifts_of_some(
    Y: csr_matrix, counts: np.ndarray, together: csr_matrix, documents: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    own = entries(Y, documents, labels)
    chance = (counts[labels] - own + 1.0) / Y.shape[0]
    sizes = np.diff(Y.indptr)[documents]
    pair = np.repeat(np.arange(len(documents)), sizes)
    starts = csr.pointer(sizes)[:-1]
    other = Y.indices[np.repeat(Y.indptr[documents] - starts, sizes) + np.arange(len(pair))]
    kept = other != labels[pair]
    pair, other = pair[kept], other[kept]
    both = entries(together, other, labels[pair]) - own[pair]
    beside = (both + _PRIOR_DOCUMENTS * chance[pair]) / (counts[other] - 1 + _PRIOR_DOCUMENTS)
    lifts = np.log(beside / chance[pair])
    sums = np.bincount(pair, weights=lifts, minlength=len(documents))
    mean = sums / np.maximum(np.bincount(pair, minlength=len(documents)), 1)
    largest = np.full(len(documents), -np.inf)
    np.maximum.at(largest, pair, lifts)
    return mean, np.where(np.isfinite(largest), largest, 0.0)
