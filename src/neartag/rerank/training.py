"""How a reranker is decided on, with points that were held out: the cost of errors, and the fusion.

    make_trial → choose_cost → Decision.fit

Each takes values and returns one. `steps.py` calls them, with rankers that were trained without the held-out points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg.hybrid_rows import HybridRows, words_of
from neartag.linalg.rows import Rows, csr_arrays
from neartag.rerank.candidates import VECTOR_SIMILARITY_COLUMN, VECTOR_VOTE_COLUMN, Candidates, generate
from neartag.rerank.fusion import Fusion, fixed_subsample
from neartag.rerank.hard_negatives import BLOCK_ROWS
from neartag.rerank.label_centroids import LabelCentroids
from neartag.rerank.preparation import RerankOptions
from neartag.rerank.rankers import Rankers
from neartag.search.weights import Voters

# Candidates that a fusion is fitted to at most.
MAX_FUSION_CANDIDATES = 250_000
# Bytes at the peak of training, for each entry of the rows, for each candidate that a training point may have, and for
# each of those at work. A test holds them against what is asked for.
BYTES_PER_ENTRY, BYTES_PER_CANDIDATE, BYTES_AT_WORK = 40, 48, 40
# Where only blocks of points are in memory: bytes for each entry of theirs, and for each point, feature and label.
ENTRY_BYTES_AT_WORK, BYTES_PER_POINT, BYTES_PER_COLUMN = 4, 64, 64
# Of the codes of vectors beside the words there is a copy without the points held out; blocks are made float32.
BYTES_PER_VECTOR_NUMBER = 2
# Columns of the fusion's features: the votes, and the similarity to the centroid. Labels without a ranker are scored by
# the votes alone, without their frequency: a new label is rare for another reason than one that was rare in training.
VOTE_COLUMNS = [1, 2]
SIMILARITY_COLUMN, BEHIND_COLUMN = 3, 4


@dataclass(frozen=True)
class HeldOutVotes:
    """The points held out, and who votes on them; none of them votes."""

    points: np.ndarray  # (m,) row numbers
    embedding_voters: Voters
    feature_voters: Voters
    # As `feature_voters`, but found among neighbours by embedding, which is quicker; None: not tried.
    nearby_voters: Voters | None = None
    vector_voters: Voters | None = None  # by the vectors beside the words; None where there are none


@dataclass(frozen=True)
class HeldOutCandidates:
    """The candidates of points held out, with what the fusion was fitted to."""

    labels: np.ndarray  # (m, room), −1: none
    features: np.ndarray  # (candidates, 6 or 8), row after row
    correct: np.ndarray  # (candidates,)
    fitted: np.ndarray  # (candidates,) which of them the fusion was fitted to

    def answers(self, fusion: Fusion, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of the points held out and their probabilities (m, room), −1: none.

        Each by a fusion that was fitted to the other half of the points, for honest figures.
        """
        mask = self.labels >= 0
        rows = np.repeat(np.arange(len(self.labels)), mask.sum(axis=1))
        odds = np.empty(len(rows))
        for half in range(2):
            fit, asked = self.fitted & (rows % 2 != half), rows % 2 == half
            other = Fusion.fit(self.features[fit], self.correct[fit], threads, fusion)
            odds[asked] = other.log_odds(self.features[asked], threads)
        out = np.full(self.labels.shape, -1.0)
        out[mask] = 1 / (1 + np.exp(-odds))
        return self.labels, out


def bytes_needed(X: Rows, Y: csr_matrix, options: RerankOptions) -> int:
    """Return about how many bytes a reranker's training needs at its peak, beyond the rows themselves.

    These are rows without those held out, an index of the rows, hard negatives from two sources, and weights.
    """
    words, each, n = words_of(X), 2 * options.candidates_for(Y), X.shape[0]
    entries = BYTES_PER_ENTRY * int(words.nnz if sparse.issparse(words) else words.size)
    if isinstance(X, HybridRows):
        entries += BYTES_PER_VECTOR_NUMBER * int(X.vectors.size)
    return entries + each * (BYTES_PER_CANDIDATE * n + BYTES_AT_WORK * min(n, BLOCK_ROWS))


def bytes_needed_in_blocks(X: Rows, Y: csr_matrix, options: RerankOptions) -> int:
    """Return the same where large arrays are made in files, and only what is at work is in memory."""
    words, n = words_of(X), X.shape[0]
    entries = int(words.nnz if sparse.issparse(words) else words.size)
    block = min(n, BLOCK_ROWS)
    at_work = BYTES_AT_WORK * 2 * options.candidates_for(Y) + ENTRY_BYTES_AT_WORK * entries // max(1, n)
    return block * at_work + BYTES_PER_POINT * n + BYTES_PER_COLUMN * (words.shape[1] + Y.shape[1])


@dataclass(frozen=True)
class Decision:
    """What held-out points say of rankers that have not seen them."""

    fusion: Fusion
    vote_fusion: Fusion  # of the votes alone
    # Of right candidates, on average: the similarity, how far the margin is behind, and the similarity by vectors.
    defaults: tuple[float, float, float]
    held_out: HeldOutCandidates

    @classmethod
    def fit(cls, trial: Trial, ranked: Rankers, threads: int) -> Decision:
        """Return what the trial says of these rankers."""
        features, correct, fitted = trial.fusion_features(ranked, threads), trial.correct, trial.fitted
        fusion = Fusion.fit(features[fitted], correct[fitted], threads)
        vote_fusion = _fit_vote_fusion(features, correct, fitted, threads)
        right = features[correct]
        similarity, behind, vector_similarity = (
            float(right[:, each].mean()) if len(right) and each < features.shape[1] else 0.0
            for each in (SIMILARITY_COLUMN, BEHIND_COLUMN, VECTOR_SIMILARITY_COLUMN)
        )
        held_out = HeldOutCandidates(trial.candidates.labels, features, correct, fitted)
        return cls(fusion, vote_fusion, (similarity, behind, vector_similarity), held_out)


@dataclass
class Trial:
    """Points held out and their candidates, on which choices are tried."""

    rows: Rows  # unit rows (m, d)
    candidates: Candidates
    correct: np.ndarray  # which of the candidates are right, row after row
    fitted: np.ndarray  # which of them a fusion is fitted to
    frequency: np.ndarray  # (L,) points that have each label, without those held out

    def fusion_features(self, ranked: Rankers, threads: int) -> np.ndarray:
        """Return the fusion's features of all candidates, with what these rankers say of them."""
        labels = self.candidates.labels
        margins = ranked.choose_layout(self.rows, labels).margins(self.rows, labels, threads)
        return self.candidates.fusion_features(margins, ranked.known, self.frequency)


def make_trial(
    X: Rows,
    Y: csr_matrix,
    held: HeldOutVotes,
    centroids: LabelCentroids,
    size: int,
    options: RerankOptions,
    threads: int,
) -> tuple[Trial, bool]:
    """Return the trial of unit rows X (n, d) with labels Y (n, L), and whether its voters by features were nearby.

    The centroids are those of the points not held out; `size` candidates come from each source. Voters that were found
    among neighbours by embedding are taken where they bring nearly as many right candidates.
    """
    rows, truth, labels = X[held.points], Y[held.points], csr_arrays(Y)
    frequency = np.bincount(Y.indices, minlength=Y.shape[1]) - np.bincount(truth.indices, minlength=Y.shape[1])

    def trial_with(feature_voters: Voters) -> Trial:
        arguments = rows, labels, held.embedding_voters, feature_voters, centroids, size, threads
        candidates = generate(*arguments, vector_voters=held.vector_voters).sort_by_label()
        fitted = _choose_for_fusion(candidates, MAX_FUSION_CANDIDATES, options.seed)
        return Trial(rows, candidates, candidates.are_correct(truth), fitted, frequency)

    trial = trial_with(held.feature_voters)
    if held.nearby_voters is not None:
        quicker = trial_with(held.nearby_voters)
        if quicker.correct.sum() >= options.min_recall * trial.correct.sum():
            return quicker, True
    return trial, False


def choose_cost(trial: Trial, tried: np.ndarray, rankers: list[Rankers], threads: int) -> int | None:
    """Return whose rankers, trained at one cost each for the labels tried (L,), serve a fusion best.

    None where nothing can be told.
    """
    asked = trial.fitted & tried[trial.candidates.labels[trial.candidates.mask]]
    if not trial.correct[asked].any():
        return None
    losses, fusion = [], None
    for ranked in rankers:
        fusion = Fusion.fit(trial.fusion_features(ranked, threads)[asked], trial.correct[asked], threads, fusion)
        losses.append(fusion.loss)
    return int(np.argmin(losses))


def _fit_vote_fusion(features: np.ndarray, correct: np.ndarray, fitted: np.ndarray, threads: int) -> Fusion:
    """Return the fusion of the votes alone; a part of the candidates is enough for it."""
    few = np.flatnonzero(fitted)
    few = few[fixed_subsample(len(few), 4)]
    columns = VOTE_COLUMNS + ([VECTOR_VOTE_COLUMN] if features.shape[1] - 1 > VECTOR_VOTE_COLUMN else [])
    return Fusion.fit(np.ascontiguousarray(features[few][:, columns]), correct[few], threads)


def _choose_for_fusion(candidates: Candidates, most: int, seed: int | None) -> np.ndarray:
    """Return which candidates, row after row, to fit a fusion to: those of as many whole points as fit."""
    counts = candidates.mask.sum(axis=1)
    order = np.random.default_rng(seed).permutation(len(counts))
    taken = np.zeros(len(counts), bool)
    taken[order[np.cumsum(counts[order]) <= most]] = True
    taken[order[:1]] = True
    return np.repeat(taken, counts)
