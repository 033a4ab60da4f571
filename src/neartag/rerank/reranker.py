"""Refinement: X1 retrieves, sparse linear rankers decide.

Candidates of a point are the best labels by the vote of its neighbours in the embedding, by that of its neighbours by
features, and by the labels' mean feature vectors. A ranker a label, trained against the points where that label was a
wrong candidate, tells them apart; a mixture, fitted on held-out points, weighs what ranker, votes and means say. The
result is a probability. What votes cannot see, a single word that decides, the rankers do; what has too few points for
a ranker, the votes do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.threads import run_ranges
from neartag.linalg.rows import Rows
from neartag.rerank import candidate_kernels, candidates, rankers
from neartag.rerank import fusion_kernels as mixture_kernels
from neartag.rerank.candidates import (
    SIMILARITY,
    VOTE,
    Candidates,
    NeighbourSearch,
    Voters,
    candidates_per_source,
    hard_negatives,
)
from neartag.rerank.fusion import Mixture, fixed_subsample
from neartag.rerank.label_centroids import Means
from neartag.rerank.rankers import Rankers

# Costs of the rankers' errors that are tried, and what is taken where nothing can be told.
COSTS = (0.5, 1.0)
# They are tried on every so many-th of the labels that occur.
PART_TRIED = 4
# Up to so many points the rankers are trained again on all of them, those included that the choice was made on.
SMALL = 50_000
# Share of the right candidates that must be found where neighbours by features are not looked for everywhere.
NEARLY = 0.97
# Steps that `learn` reports.
STEPS = 4
# Candidates that a mixture is fitted to at most.
MOST_CANDIDATES = 250_000
# Of the mixture's parts: what neighbours say. Not how frequent a label is: one that has just come is rare for another
# reason than one that was rare in training.
VOTES = [1, 2]


@dataclass
class Refinement:
    """What decides among candidates."""

    size: int  # candidates from each of the three at most
    means: Means
    rankers: Rankers
    mixture: Mixture  # of margin, votes, mean and frequency
    unranked: Mixture  # of the votes alone, for labels that have neither ranker nor mean
    usual: float  # what the mean says of right candidates on average, for labels that have a ranker but no mean
    later: Rankers | None = None  # of labels that came after training

    def candidates(
        self, X: Rows, Y: csr_matrix, near: Voters, alike: Voters, frequency: np.ndarray, threads: int
    ) -> Candidates:
        """Return the candidates of unit rows X, by those who vote on them and their labels Y."""
        found = candidates.generate(X, Y, near, alike, self.means, self.size, threads)
        found.labels[frequency[found.labels] == 0] = -1  # their points were all forgotten; −1 stays −1
        return found

    def scores(self, X: Rows, found: Candidates, frequency: np.ndarray, threads: int) -> np.ndarray:
        """Return the probability of each candidate (m, room), −1 where there is none."""
        labels = found.labels
        margins = self.rankers.margins(X, labels, threads)
        ranked = None if self._has_all else self.rankers.has(labels)
        if self.later is not None:
            new = self.later.has(labels)
            margins = np.where(new, self.later.margins(X, labels, threads), margins)
            ranked = self.rankers.has(labels) | new
        out = np.empty(labels.shape)
        arguments = labels, found.parts, margins, frequency, self._without_mean, self.usual, VOTE, SIMILARITY
        run_ranges(mixture_kernels.probabilities, len(labels), threads, *arguments, *self.mixture.folded, out)
        if ranked is not None:
            others = (labels >= 0) & ~ranked
            if others.any():
                votes = np.log(found.parts[others][:, :2] + np.float32(VOTE))
                out[others] = 1 / (1 + np.exp(-self.unranked.log_odds(votes, threads)))
        return out

    @cached_property
    def _has_all(self) -> bool:
        """Whether every label has a ranker."""
        return len(self.rankers.known) == len(self.means.lengths) and bool(self.rankers.known.all())

    @cached_property
    def _without_mean(self) -> np.ndarray:
        """Which labels have come since the means were made, (L,)."""
        return (self.means.lengths == 0) & (self.later is not None)

    def widened(self, labels: int) -> Refinement:
        """Return the refinement for more labels, which have neither mean nor ranker yet."""
        return self if labels <= len(self.means.lengths) else replace(self, means=self.means.widened(labels))


def best(
    labels: np.ndarray, scores: np.ndarray, frequency: np.ndarray, k: int, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best of each row's candidates (m, k), and their scores; ties as in a vote."""
    found, probabilities = np.empty((len(labels), k), np.int32), np.empty((len(labels), k))
    arguments = labels, scores, frequency, found, probabilities
    run_ranges(candidate_kernels.best_candidates, len(labels), threads, *arguments)
    return found, probabilities


class Learned(NamedTuple):
    """A refinement, the settings that were chosen, and the points that they were chosen on."""

    refinement: Refinement
    settings: dict[str, Any]
    held: tuple[
        np.ndarray, ...
    ]  # their candidates (m, room), the mixture's parts, which are right, which were fitted to

    def answers(self, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of the points held out and their probabilities (m, room), −1: none.

        Each by a mixture that was fitted to the other half of the points, for honest figures.
        """
        labels, described, right, some = self.held
        rows = np.repeat(np.arange(len(labels)), (labels >= 0).sum(axis=1))
        odds = np.empty(len(rows))
        for half in range(2):
            fit, asked = some & (rows % 2 != half), rows % 2 == half
            other = Mixture.fit(described[fit], right[fit], threads, self.refinement.mixture)
            odds[asked] = other.log_odds(described[asked], threads)
        out = np.full(labels.shape, -1.0)
        out[labels >= 0] = 1 / (1 + np.exp(-odds))
        return labels, out


def learn(
    X: Rows,
    Y: csr_matrix,
    held: np.ndarray,
    near: Voters,
    alike: Voters,
    listed: Voters | None,
    settings: dict[str, Any],
    threads: int,
    report: Callable[[int], None] = lambda steps: None,
) -> Learned:
    """Return what refines the votes on unit rows X (n, d) with labels Y (n, L), by settings that it chooses.

    `held` are the points held out: `near` and `alike` vote on them without them. The rankers are trained without them,
    the mixture fitted to them, the cost chosen by how well that fits, and of a small set the rankers are then trained
    again on all points. `listed` vote by features as `alike` do, but were found among neighbours by embedding, which is
    quicker: they are taken where they bring nearly as many right candidates.
    """
    given = settings["refine_candidates"]
    size = candidates_per_source(Y) if given == "auto" else int(min(given, Y.shape[1]))
    seed, least = settings["random_state"] or 0, settings["refine_least"]
    rest = np.ones(X.shape[0], bool)
    rest[held] = False
    # No label of the points held out may be used yet, not even as neighbours of the others: their labels would be wrong
    # candidates just there, and the rankers would learn to refuse them to the very points that they are tried on.
    others, theirs = X[rest], Y[rest]
    means = Means.of(others, theirs, threads)
    lists = NeighbourSearch.of(X, seed).listed(threads) if X.shape[0] <= SMALL else None  # found once, for both times
    neighbours = NeighbourSearch.of(others, seed) if lists is None else lists.among(rest)
    wrong = hard_negatives(others, theirs, means, size, neighbours, threads)
    trial = _Trial.of(
        X[held], Y[held], theirs, candidates.generate(X[held], Y, near, alike, means, size, threads), seed
    )
    chosen: dict[str, Any] = {"refine_candidates": size}
    if listed is not None:
        quicker = candidates.generate(X[held], Y, near, listed, means, size, threads)
        again = _Trial.of(X[held], Y[held], theirs, quicker, seed)
        if again.right.sum() >= NEARLY * trial.right.sum():
            trial, chosen["feature_search"] = again, "near"
    report(1)
    cost = settings["refine_cost"]
    if cost == "auto":
        cost = _best_cost(COSTS, others, theirs, wrong, trial, least, threads)
    report(1)
    ranked = rankers.train(others, theirs, wrong, cost, least, threads)
    described, right, some = trial.described(ranked, threads), trial.right, trial.some
    mixture = Mixture.fit(described[some], right[some], threads)
    report(1)
    few = np.flatnonzero(some)
    few = few[fixed_subsample(len(few), 4)]  # enough for functions of the votes alone
    unranked = Mixture.fit(np.ascontiguousarray(described[few][:, VOTES]), right[few], threads)
    usual = float(described[right, 3].mean()) if right.any() else 0.0
    if lists is not None:
        means = Means.of(X, Y, threads)
        ranked = rankers.train(X, Y, hard_negatives(X, Y, means, size, lists, threads), cost, least, threads)
    report(1)
    labels = trial.found.labels
    refinement = Refinement(size, means, ranked.arranged(trial.rows, labels), mixture, unranked, usual)
    return Learned(refinement, {**chosen, "refine_cost": float(cost)}, (labels, described, right, some))


@dataclass
class _Trial:
    """Points held out and their candidates, on which choices are tried."""

    rows: Rows  # unit rows (m, d)
    found: Candidates
    right: np.ndarray  # which of the candidates are right, row after row
    some: np.ndarray  # which of them a mixture is fitted to
    frequency: np.ndarray  # (L,) points that have each label, without those held out

    @classmethod
    def of(cls, rows: Rows, Y: csr_matrix, others: csr_matrix, found: Candidates, seed: int) -> _Trial:
        """Return the trial on rows with labels Y (m, L), where the other points have the labels `others`."""
        found, frequency = found.ordered(), np.bincount(others.indices, minlength=others.shape[1])
        return cls(rows, found, found.right(Y), _some(found, MOST_CANDIDATES, seed), frequency)

    def described(self, machines: Rankers, threads: int) -> np.ndarray:
        """Return the mixture's parts of all candidates, with what these rankers say of them."""
        machines = machines.arranged(self.rows, self.found.labels)
        return self.found.described(machines.margins(self.rows, self.found.labels, threads), self.frequency)


def _best_cost(
    costs: tuple[float, ...], X: Rows, Y: csr_matrix, wrong: csr_matrix, trial: _Trial, least: float, threads: int
) -> float:
    """Return the cost whose rankers, trained for a part of the labels, serve a mixture of their candidates best."""
    tried = np.zeros(Y.shape[1], bool)
    tried[np.flatnonzero(trial.frequency)[::PART_TRIED]] = True
    looked_at = trial.some & tried[trial.found.labels[trial.found.there]]
    if not trial.right[looked_at].any():
        return costs[0]
    kept = sparse.diags(tried.astype(np.float32)).tocsr()
    Y, wrong = csr_matrix(Y @ kept), csr_matrix(wrong @ kept)  # stored zeros go in the product
    losses, mixture = [], None
    for cost in costs:
        described = trial.described(rankers.train(X, Y, wrong, cost, least, threads), threads)[looked_at]
        mixture = Mixture.fit(described, trial.right[looked_at], threads, mixture)
        losses.append(mixture.loss)
    return costs[int(np.argmin(losses))]


def _some(found: Candidates, most: int, seed: int | None) -> np.ndarray:
    """Return which candidates, row after row, to fit a mixture to: those of as many whole points as fit."""
    counts = found.there.sum(axis=1)
    order = np.random.default_rng(seed).permutation(len(counts))
    taken = np.zeros(len(counts), bool)
    taken[order[np.cumsum(counts[order]) <= most]] = True
    taken[order[:1]] = True
    return np.repeat(taken, counts)
