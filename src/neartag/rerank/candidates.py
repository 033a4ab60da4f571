"""Candidates of a point: labels that its voters by embedding, those by features, or the labels' centroids speak for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from neartag.core.threads import run_pieces, run_ranges
from neartag.linalg import csr
from neartag.linalg.hybrid_rows import vectors_of
from neartag.linalg.rows import CSRArrays, Rows, csr_arrays
from neartag.linalg.single_row import SingleRow, as_csr_arrays
from neartag.rerank import candidate_kernels
from neartag.rerank.fusion_kernels import NO_SIMILARITY, NO_VOTE
from neartag.rerank.label_centroids import LabelCentroids
from neartag.search.weights import Voters

# Candidates from each of the three sources: so many for each label that a point has on average, within
# these limits. More than the upper one changed nothing on held-out fifths of Delicious, where a point has 19 labels.
CANDIDATES_PER_LABEL, MIN_CANDIDATES_PER_SOURCE, MAX_CANDIDATES_PER_SOURCE = 6, 20, 76
# Points of one piece of work at least.
MIN_PIECE = 256
_ALL_ALLOWED = np.empty(0, bool)
# Columns of the fusion's features that there are with vectors only.
VECTOR_VOTE_COLUMN, VECTOR_SIMILARITY_COLUMN = 5, 6
_NO_VECTORS = (np.empty((0, 0), np.int32), np.empty((0, 0))), np.empty((0, 0), np.int32)


@dataclass
class Candidates:
    """Labels that some points may have, and what speaks for each."""

    labels: np.ndarray  # (m, room) int32, in no order, −1 where there is none
    # (m, room, 3) float32: votes by embedding and by features, cosine to the label's centroid; where there are vectors
    # beside the words (m, room, 5): the vote by vectors, and their cosine to the mean of the label's, too.
    evidence: np.ndarray

    @property
    def mask(self) -> np.ndarray:
        """Where there is a candidate (m, room)."""
        return self.labels >= 0

    def sort_by_label(self) -> Candidates:
        """Return the same, each row in the order of its labels: sums then do not depend on how they were found."""
        order = np.argsort(np.where(self.mask, self.labels, np.iinfo(np.int32).max), axis=1, kind="stable")
        labels = np.take_along_axis(self.labels, order, axis=1)
        return Candidates(labels, np.take_along_axis(self.evidence, order[..., None], axis=1))

    def fusion_features(self, margins: np.ndarray, ranked: np.ndarray, frequency: np.ndarray) -> np.ndarray:
        """Return what the fusion is fitted to, row after row (candidates, 6), or 8 where there are vectors.

        Margin, both votes, similarity, how far the margin is behind the largest of its point, vote and similarity by
        vectors where there are such, and frequency. `ranked` (L,) says which labels have a ranker: only their margins
        are compared.
        """
        mask = self.mask
        compared = mask & ranked[self.labels]
        largest = np.where(compared, margins, -np.inf).max(axis=1, initial=-np.inf)
        behind = np.where(compared, margins - largest[:, None], 0)
        has_vectors = self.evidence.shape[2] > 3
        out = np.empty((int(np.count_nonzero(mask)), 8 if has_vectors else 6), np.float32)
        evidence = self.evidence[mask]
        out[:, 0] = margins[mask]
        out[:, 1:3] = np.log(evidence[:, :2] + NO_VOTE)
        out[:, 3] = np.log(np.maximum(evidence[:, 2], 0) + NO_SIMILARITY)
        out[:, 4] = behind[mask]
        if has_vectors:
            out[:, VECTOR_VOTE_COLUMN] = np.log(evidence[:, 3] + NO_VOTE)
            out[:, VECTOR_SIMILARITY_COLUMN] = np.log(np.maximum(evidence[:, 4], 0) + NO_SIMILARITY)
        out[:, -1] = np.log1p(frequency[self.labels[mask]])
        return out

    def are_correct(self, Y: csr_matrix) -> np.ndarray:
        """Return which candidates are among their points' labels Y (m, L), row after row."""
        correct = np.empty(self.labels.shape, bool)
        candidate_kernels.mark_correct(self.labels, csr_arrays(Y), correct, 0, len(self.labels))
        return correct[self.mask]

    def negatives(self, correct: np.ndarray, n_labels: int) -> csr_matrix:
        """Return where a candidate is wrong (m, L), given which ones are correct, row after row."""
        mask = self.mask
        kept = mask.copy()
        kept[mask] = ~correct
        return csr.from_lists(self.labels, None, n_labels, kept)


def candidates_per_source(Y: csr_matrix) -> int:
    """Return how many candidates to take from each of the three, for labels like these."""
    return candidates_per_average(Y.nnz / max(1, Y.shape[0]), Y.shape[1])


def candidates_per_average(average: float, labels: int) -> int:
    """Return the same for so many labels, of which a point has so many on average."""
    wanted = min(max(MIN_CANDIDATES_PER_SOURCE, round(CANDIDATES_PER_LABEL * average)), MAX_CANDIDATES_PER_SOURCE)
    return int(min(labels, wanted))


def generate(
    X: Rows | SingleRow,
    labels: CSRArrays,
    embedding_voters: Voters,
    feature_voters: Voters,
    centroids: LabelCentroids,
    size: int,
    threads: int,
    own: csr_matrix | None = None,
    vector_voters: Voters | None = None,
) -> Candidates:
    """Return the candidates of unit rows X: `size` at most by each of the three.

    Where rows have vectors beside their words, `vector_voters` and the labels' mean vectors bring as many each.

    Both kinds of voters vote for their `labels`: the arrays of a matrix (n, L). `own` are the points' own labels where
    they were counted into the centroids, to be left out of them again.
    """
    m, vectors = X.shape[0], vectors_of(X)
    sources, beside = 3, _NO_VECTORS
    if vectors is not None and vector_voters is not None and centroids.vectors is not None:
        sources, beside = 5, (vector_voters, centroids.vectors.find(vectors, size, threads)[0])
    room = min(sources * size, len(centroids.lengths))
    out_labels, out_evidence = np.empty((m, room), np.int32), np.empty((m, room, sources), np.float32)
    left_out = _no_labels(m) if own is None else csr_arrays(own)
    arguments = as_csr_arrays(X), labels, embedding_voters, feature_voters, centroids.arrays, left_out, beside, size

    def generate_rows(start: int, stop: int) -> None:
        candidate_kernels.candidates(*arguments, out_labels, out_evidence, start, stop)

    run_pieces(generate_rows, m, threads, min_size=MIN_PIECE)
    if vectors is not None and centroids.vectors is not None and sources == 5:
        out_evidence[..., 4] = centroids.vectors.rows.products(vectors, out_labels, threads)
    return Candidates(out_labels, out_evidence)


def _no_labels(m: int) -> CSRArrays:
    return np.zeros(m + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)


def best_candidates(
    labels: np.ndarray,
    scores: np.ndarray,
    frequency: np.ndarray,
    k: int,
    threads: int,
    allowed: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best of each row's candidates (m, k), and their scores; ties and `allowed` (L,) as in a vote."""
    best, best_scores = np.empty((len(labels), k), np.int32), np.empty((len(labels), k))
    arguments = labels, scores, frequency, _ALL_ALLOWED if allowed is None else allowed, best, best_scores
    run_ranges(candidate_kernels.best_candidates, len(labels), threads, *arguments)
    return best, best_scores
