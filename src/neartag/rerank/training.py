"""How a reranker is trained: candidates and hard negatives, the rankers' cost, the rankers, and the fusion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg.rows import Rows, csr_arrays
from neartag.rerank.candidates import Candidates, candidates_per_source, generate
from neartag.rerank.fusion import Fusion, fixed_subsample
from neartag.rerank.hard_negatives import BLOCK_ROWS, CachedNeighbours, NeighbourSearch, find_hard_negatives
from neartag.rerank.label_centroids import LabelCentroids
from neartag.rerank.rankers import Rankers, fit_rankers
from neartag.rerank.reranker import Reranker
from neartag.search.weights import Voters

# Costs of the rankers' errors that are tried. The first is used where none can be measured.
COSTS = (0.5, 1.0)
# The costs are tried on one of so many labels: with one of eight the choice changed on a held-out fifth of BibTeX.
LABELS_PER_TRIED = 4
# Up to so many points the rankers are trained again on all of them, those included that the choice was made on.
MAX_POINTS_TO_REFIT_RANKERS = 50_000
# Share of the right candidates that must be found where neighbours by features are not looked for everywhere.
MIN_RECALL = 0.97
# Steps that `fit_reranker` reports.
N_REPORTED_STEPS = 4
# Candidates that a fusion is fitted to at most.
MAX_FUSION_CANDIDATES = 250_000
# Bytes at the peak of training, for each entry of the rows, for each candidate that a training point may have, and for
# each of those at work. A test holds them against what is asked for.
BYTES_PER_ENTRY, BYTES_PER_CANDIDATE, BYTES_AT_WORK = 40, 45, 40
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


@dataclass(frozen=True)
class RerankOptions:
    """What a user may decide. None: it is chosen here."""

    size: int | None = None  # candidates from each of the three sources
    cost: float | None = None  # of the rankers' errors
    min_weight: float = 0.0  # smaller weights of rankers are dropped
    seed: int = 0
    min_recall: float = MIN_RECALL  # of the right candidates, for `nearby_voters` to be taken

    def candidates_for(self, Y: csr_matrix) -> int:
        """Return how many candidates each source brings, for labels like these."""
        return candidates_per_source(Y) if self.size is None else int(min(self.size, Y.shape[1]))


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
    features: np.ndarray  # (candidates, 6), row after row
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
    entries, each, n = int(X.nnz if sparse.issparse(X) else X.size), 2 * options.candidates_for(Y), X.shape[0]
    return BYTES_PER_ENTRY * entries + each * (BYTES_PER_CANDIDATE * n + BYTES_AT_WORK * min(n, BLOCK_ROWS))


def fit_reranker(
    X: Rows,
    Y: csr_matrix,
    held: HeldOutVotes,
    options: RerankOptions,
    threads: int,
    report: Callable[[int], None] = lambda steps: None,
    is_worth_it: Callable[[np.ndarray, np.ndarray], bool] | None = None,
) -> FittedReranker | None:
    """Return what reranks the votes on unit rows X (n, d) with labels Y (n, L), and what was chosen for it.

    The rankers are trained without the held-out points. The fusion is fitted to these, and the cost is chosen by how
    well it fits. On a small data set the rankers are then trained again on all points. `report` is called after each
    step. `is_worth_it` is asked, before that, with the answers for the held-out points: candidates and probabilities
    (m, room). Where it says no there is no reranker.
    """
    size = options.candidates_for(Y)
    # Held-out points may not be used yet, not even as neighbours of the others: their labels would be wrong candidates
    # just there, and the rankers would learn to refuse these labels to the very points that they are tried on.
    kept = np.ones(X.shape[0], bool)
    kept[held.points] = False
    neighbours = _cache_neighbours(X, options.seed, threads)
    of_others = None if neighbours is None else neighbours.keep(kept)
    others = _prepare(X[kept], Y[kept], of_others, size, options.seed, threads)
    trial, is_nearby = _make_trial(X, Y, held, others, size, options, threads)
    report(1)
    cost, ranked = _fit_trial_rankers(COSTS, others, trial, options, threads)
    report(1)
    features, correct, fitted = trial.fusion_features(ranked, threads), trial.correct, trial.fitted
    fusion = Fusion.fit(features[fitted], correct[fitted], threads)
    report(1)
    labels = trial.candidates.labels
    held_out = HeldOutCandidates(labels, features, correct, fitted)
    if is_worth_it is not None and not is_worth_it(*held_out.answers(fusion, threads)):
        return None
    vote_fusion = _fit_vote_fusion(features, correct, fitted, threads)
    right = features[correct]
    default_similarity, default_behind = (
        float(right[:, each].mean()) if len(right) else 0.0 for each in (SIMILARITY_COLUMN, BEHIND_COLUMN)
    )
    if neighbours is None:
        final = others
    else:
        del others  # first, to make room
        final = _prepare(X, Y, neighbours, size, options.seed, threads)
        ranked = final.fit_rankers(cost, options.min_weight, threads)
    report(1)
    ranked = ranked.choose_layout(trial.rows, labels)
    reranker = Reranker(size, final.centroids, ranked, fusion, vote_fusion, default_similarity, default_behind)
    return FittedReranker(reranker, size, float(cost), is_nearby, held_out)


def _cache_neighbours(X: Rows, seed: int, threads: int) -> CachedNeighbours | None:
    """Return the neighbours by features of all points, where these are so few that they are needed twice."""
    if X.shape[0] > MAX_POINTS_TO_REFIT_RANKERS:
        return None
    return NeighbourSearch.from_rows(X, seed).cache(threads)


@dataclass
class _RankerData:
    """What rankers are trained on."""

    X: Rows  # unit rows (n, d)
    Y: csr_matrix  # (n, L)
    centroids: LabelCentroids
    hard_negatives: csr_matrix  # (n, L)

    def fit_rankers(self, cost: float, min_weight: float, threads: int) -> Rankers:
        return fit_rankers(self.X, self.Y, self.hard_negatives, cost, min_weight, threads)

    def for_labels(self, chosen: np.ndarray) -> _RankerData:
        """Return the same with the labels that are chosen (L,); the others have no point."""
        kept = sparse.diags(chosen.astype(np.float32)).tocsr()
        Y, negatives = (csr_matrix(each @ kept) for each in (self.Y, self.hard_negatives))  # stored zeros go
        return replace(self, Y=Y, hard_negatives=negatives)


def _prepare(
    X: Rows, Y: csr_matrix, neighbours: CachedNeighbours | None, size: int, seed: int, threads: int
) -> _RankerData:
    """Return centroids and hard negatives of these points; `neighbours` where they are known."""
    centroids = LabelCentroids.from_rows(X, Y, threads)
    search = NeighbourSearch.from_rows(X, seed) if neighbours is None else neighbours
    return _RankerData(X, Y, centroids, find_hard_negatives(X, Y, centroids, size, search, threads))


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
    X: Rows, Y: csr_matrix, held: HeldOutVotes, others: _RankerData, size: int, options: RerankOptions, threads: int
) -> tuple[_Trial, bool]:
    """Return the trial, and whether its voters by features were found among neighbours by embedding.

    These are taken where they bring nearly as many right candidates.
    """
    rows, truth, labels = X[held.points], Y[held.points], csr_arrays(Y)
    frequency = np.bincount(others.Y.indices, minlength=others.Y.shape[1])

    def trial_with(feature_voters: Voters) -> _Trial:
        arguments = rows, labels, held.embedding_voters, feature_voters, others.centroids, size, threads
        candidates = generate(*arguments).sort_by_label()
        fitted = _choose_for_fusion(candidates, MAX_FUSION_CANDIDATES, options.seed)
        return _Trial(rows, candidates, candidates.are_correct(truth), fitted, frequency)

    trial = trial_with(held.feature_voters)
    if held.nearby_voters is not None:
        quicker = trial_with(held.nearby_voters)
        if quicker.correct.sum() >= options.min_recall * trial.correct.sum():
            return quicker, True
    return trial, False


def _fit_trial_rankers(
    costs: tuple[float, ...], data: _RankerData, trial: _Trial, options: RerankOptions, threads: int
) -> tuple[float, Rankers]:
    """Return the rankers of the points not held out, and their cost.

    It is the cost whose rankers, trained for a part of the labels, serve a fusion of their candidates best.
    """
    if options.cost is not None:
        return options.cost, data.fit_rankers(options.cost, options.min_weight, threads)
    tried = np.zeros(data.Y.shape[1], bool)
    tried[np.flatnonzero(trial.frequency)[::LABELS_PER_TRIED]] = True
    asked = trial.fitted & tried[trial.candidates.labels[trial.candidates.mask]]
    if not trial.correct[asked].any():
        return costs[0], data.fit_rankers(costs[0], options.min_weight, threads)
    some, rankers = data.for_labels(tried), []
    losses, fusion = [], None
    for cost in costs:
        rankers.append(some.fit_rankers(cost, options.min_weight, threads))
        fusion = Fusion.fit(trial.fusion_features(rankers[-1], threads)[asked], trial.correct[asked], threads, fusion)
        losses.append(fusion.loss)
    best = int(np.argmin(losses))
    others = data.for_labels(~tried).fit_rankers(costs[best], options.min_weight, threads)
    return costs[best], others.with_labels(rankers[best], tried)


def _fit_vote_fusion(features: np.ndarray, correct: np.ndarray, fitted: np.ndarray, threads: int) -> Fusion:
    """Return the fusion of the votes alone; a part of the candidates is enough for it."""
    few = np.flatnonzero(fitted)
    few = few[fixed_subsample(len(few), 4)]
    return Fusion.fit(np.ascontiguousarray(features[few][:, VOTE_COLUMNS]), correct[few], threads)


def _choose_for_fusion(candidates: Candidates, most: int, seed: int | None) -> np.ndarray:
    """Return which candidates, row after row, to fit a fusion to: those of as many whole points as fit."""
    counts = candidates.mask.sum(axis=1)
    order = np.random.default_rng(seed).permutation(len(counts))
    taken = np.zeros(len(counts), bool)
    taken[order[np.cumsum(counts[order]) <= most]] = True
    taken[order[:1]] = True
    return np.repeat(taken, counts)
