"""How a reranker is trained, once rankers are prepared and votes known: the cost, the rankers, and the fusion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.threads import run_both
from neartag.linalg.hybrid_rows import HybridRows, words_of
from neartag.linalg.rows import Rows, csr_arrays
from neartag.rerank.candidates import VECTOR_SIMILARITY_COLUMN, VECTOR_VOTE_COLUMN, Candidates, generate
from neartag.rerank.fusion import Fusion, fixed_subsample
from neartag.rerank.hard_negatives import BLOCK_ROWS
from neartag.rerank.preparation import Preparation, RankerData, RerankOptions
from neartag.rerank.rankers import Rankers
from neartag.rerank.reranker import Reranker
from neartag.search.weights import Voters

# Steps that `fit_reranker` reports.
N_REPORTED_STEPS = 4
# Candidates that a fusion is fitted to at most.
MAX_FUSION_CANDIDATES = 250_000
# Bytes at the peak of training, for each entry of the rows, for each candidate that a training point may have, and for
# each of those at work. A test holds them against what is asked for.
BYTES_PER_ENTRY, BYTES_PER_CANDIDATE, BYTES_AT_WORK = 40, 45, 40
# Of vectors beside the words there is a copy without the points held out, and one coded.
BYTES_PER_VECTOR_NUMBER = 6
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
class FittedReranker:
    """A reranker, what was chosen for it, and the held-out points that the choice was made on."""

    reranker: Reranker
    size: int
    cost: float
    is_nearby: bool  # whether voters by features are looked for only among neighbours by embedding
    held_out: HeldOutCandidates

    def held_out_answers(self, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of the points held out and their probabilities (m, room), −1: none.

        Each by a fusion that was fitted to the other half of the points, for honest figures.
        """
        return self.held_out.answers(self.reranker.fusion, threads)


@dataclass(frozen=True)
class HeldOutCandidates:
    """The candidates of points held out, with what the fusion was fitted to."""

    labels: np.ndarray  # (m, room), −1: none
    features: np.ndarray  # (candidates, 6 or 8), row after row
    correct: np.ndarray  # (candidates,)
    fitted: np.ndarray  # (candidates,) which of them the fusion was fitted to

    def answers(self, fusion: Fusion, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates and their probabilities (m, room), as `FittedReranker.held_out_answers` does."""
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
    """Return about how many bytes `fit_reranker` needs at its peak, beyond the rows themselves.

    These are rows without those held out, an index of the rows, hard negatives from two sources, and weights.
    """
    words, each, n = words_of(X), 2 * options.candidates_for(Y), X.shape[0]
    entries = BYTES_PER_ENTRY * int(words.nnz if sparse.issparse(words) else words.size)
    if isinstance(X, HybridRows):
        entries += BYTES_PER_VECTOR_NUMBER * int(X.vectors.size)
    return entries + each * (BYTES_PER_CANDIDATE * n + BYTES_AT_WORK * min(n, BLOCK_ROWS))


def fit_reranker(
    X: Rows,
    Y: csr_matrix,
    held: HeldOutVotes,
    prepared: Preparation,
    options: RerankOptions,
    threads: int,
    report: Callable[[int], None] = lambda steps: None,
    is_worth_it: Callable[[np.ndarray, np.ndarray], bool] | None = None,
    *,
    side_by_side: bool = False,
) -> FittedReranker | None:
    """Return what reranks the votes on unit rows X (n, d) with labels Y (n, L), and what was chosen for it.

    The rankers are trained without the held-out points. The fusion is fitted to these, and the cost is chosen by how
    well it fits. On a small data set the rankers are then trained again on all points; `side_by_side` both at once,
    which takes more memory. `report` is called after each step. `is_worth_it` is asked, before that, with the answers
    for the held-out points: candidates and probabilities (m, room). Where it says no there is no reranker.
    """
    trial, is_nearby = _make_trial(X, Y, held, prepared, options, threads)
    report(1)
    cost, tried = _choose_cost(prepared, trial, threads)
    report(1)

    def decide() -> _Decision | None:
        decision = _Decision.fit(trial, _rankers_of_others(prepared, cost, tried, options, threads), threads)
        report(1)
        if is_worth_it is None or is_worth_it(*decision.held_out.answers(decision.fusion, threads)):
            return decision
        return None

    def refit() -> tuple[RankerData, Rankers]:
        assert prepared.neighbours is not None
        final = RankerData.from_rows(X, Y, prepared.neighbours, prepared.size, threads)
        return final, final.fit_rankers(cost, options.min_weight, threads)

    is_refitted = prepared.neighbours is not None
    if is_refitted and is_worth_it is None:
        decision, (final, ranked) = run_both(decide, refit, side_by_side)
    else:
        decision, final = decide(), prepared.others
        if decision is None:
            return None
        final, ranked = refit() if is_refitted else (final, decision.ranked)
    assert decision is not None
    report(1)
    ranked = ranked.choose_layout(trial.rows, trial.candidates.labels)
    fusions = decision.fusion, decision.vote_fusion
    reranker = Reranker(prepared.size, final.centroids, ranked, *fusions, *decision.defaults)
    return FittedReranker(reranker, prepared.size, float(cost), is_nearby, decision.held_out)


@dataclass(frozen=True)
class _Decision:
    """What held-out points say of rankers that have not seen them."""

    ranked: Rankers
    fusion: Fusion
    vote_fusion: Fusion  # of the votes alone
    # Of right candidates, on average: the similarity, how far the margin is behind, and the similarity by vectors.
    defaults: tuple[float, float, float]
    held_out: HeldOutCandidates

    @classmethod
    def fit(cls, trial: _Trial, ranked: Rankers, threads: int) -> _Decision:
        features, correct, fitted = trial.fusion_features(ranked, threads), trial.correct, trial.fitted
        fusion = Fusion.fit(features[fitted], correct[fitted], threads)
        vote_fusion = _fit_vote_fusion(features, correct, fitted, threads)
        right = features[correct]
        similarity, behind, vector_similarity = (
            float(right[:, each].mean()) if len(right) and each < features.shape[1] else 0.0
            for each in (SIMILARITY_COLUMN, BEHIND_COLUMN, VECTOR_SIMILARITY_COLUMN)
        )
        held_out = HeldOutCandidates(trial.candidates.labels, features, correct, fitted)
        return cls(ranked, fusion, vote_fusion, (similarity, behind, vector_similarity), held_out)


@dataclass
class _Trial:
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


def _make_trial(
    X: Rows, Y: csr_matrix, held: HeldOutVotes, prepared: Preparation, options: RerankOptions, threads: int
) -> tuple[_Trial, bool]:
    """Return the trial, and whether its voters by features were found among neighbours by embedding.

    These are taken where they bring nearly as many right candidates.
    """
    rows, truth, labels, others = X[held.points], Y[held.points], csr_arrays(Y), prepared.others
    frequency = np.bincount(others.Y.indices, minlength=others.Y.shape[1])

    def trial_with(feature_voters: Voters) -> _Trial:
        arguments = rows, labels, held.embedding_voters, feature_voters, others.centroids, prepared.size, threads
        candidates = generate(*arguments, vector_voters=held.vector_voters).sort_by_label()
        fitted = _choose_for_fusion(candidates, MAX_FUSION_CANDIDATES, options.seed)
        return _Trial(rows, candidates, candidates.are_correct(truth), fitted, frequency)

    trial = trial_with(held.feature_voters)
    if held.nearby_voters is not None:
        quicker = trial_with(held.nearby_voters)
        if quicker.correct.sum() >= options.min_recall * trial.correct.sum():
            return quicker, True
    return trial, False


def _choose_cost(prepared: Preparation, trial: _Trial, threads: int) -> tuple[float, Rankers | None]:
    """Return the cost whose rankers, trained for a part of the labels, serve a fusion of their candidates best.

    And these rankers; None where nothing could be told.
    """
    asked = trial.fitted & prepared.tried[trial.candidates.labels[trial.candidates.mask]]
    if not trial.correct[asked].any():
        return prepared.costs[0], None
    losses, fusion = [], None
    for ranked in prepared.rankers:
        fusion = Fusion.fit(trial.fusion_features(ranked, threads)[asked], trial.correct[asked], threads, fusion)
        losses.append(fusion.loss)
    best = int(np.argmin(losses))
    return prepared.costs[best], prepared.rankers[best]


def _rankers_of_others(
    prepared: Preparation, cost: float, tried: Rankers | None, options: RerankOptions, threads: int
) -> Rankers:
    """Return the rankers of the points not held out; those of the labels tried are known."""
    if tried is None:
        return prepared.others.fit_rankers(cost, options.min_weight, threads)
    rest = prepared.others.for_labels(~prepared.tried).fit_rankers(cost, options.min_weight, threads)
    return rest.with_labels(tried, prepared.tried)


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
