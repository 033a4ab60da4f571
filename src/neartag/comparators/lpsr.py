"""Label partitioning: points are parted, each part has a few labels, and only these are scored for a point.

Weston, Makadia, Yee, "Label partitioning for sublinear ranking", ICML 2013.

1. A base scorer of all labels is learned: naive Bayes, or a linear machine a label.
2. The points are parted by k-means.
3. Objective of the assignment: each part gets labels such that the scorer's best k are right most often: maximise over
   sets of `labels_per_partition` labels that occur in the part the number of pairs (t, y) of a point t and its label y
   with y in the set and fewer than k others of the set scored above it. As in the paper the set is relaxed to shares
   α_y from 0 to 1 of that sum, and the step "fewer than k" to a sigmoid:

       Σₜ Σ_y α_y · (1 − σ(s · (Σ_{i above y} αᵢ − k + ½)))

   climbed by projected gradients from equal shares on. Of the sets of largest
   shares on the way, and of the most frequent labels, the set with most pairs
   is taken.
4. A point goes to its `n_probe` nearest parts, and their labels are ranked by the base scorer.

Where this differs from the paper: each right label counts the same, as in precision at k; the gradient is of all
points of a part, not of one at a time; parts with very many points and labels are assigned from a sample. In the paper
points that the scorer ranks well weigh more in k-means; `weighted_rounds` does that: so many more rounds of k-means,
a point's weight the mean of 1 / rank of its labels among those of its part.

Cost: the base scorer's training; n · d̄ · parts a round of k-means; for the assignment the base scores of each point for
the labels that occur in its part, sorted, and gone through ROUNDS times. Prediction: the centroids' entries of the
point's features, then its features times the labels of its parts, whatever the number of all labels. Memory: the scorer
(naive Bayes: an entry a label and feature that occur together), d · parts of centroids, and a bounded number of scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators import naive_bayes, one_vs_all
from neartag.comparators.base import Comparator, Shape, from_table
from neartag.comparators.label_assignment import BLOCK_SCORES, assign, nearness_to_top, rankings
from neartag.comparators.label_scorer import LabelScorer, mass
from neartag.comparators.model import (
    BATCH_ROWS,
    BATCH_SCORES,
    Facts,
    ScoringModel,
    State,
    check_array,
    to_unit_interval,
)
from neartag.core.progress import Progress
from neartag.core.threads import run_pieces
from neartag.linalg import csr
from neartag.linalg.packing import require
from neartag.linalg.rows import Rows, normalise
from neartag.x1.kmeans import Partition, partition, route

# Points a part, and the labels assigned to it: a share of those that occur anywhere, but some at least.
POINTS_A_PART = 1000
LABEL_SHARE, FEWEST_LABELS = 0.1, 100
# Scores that a part's labels are assigned from, at most.
MOST_SCORES = 2**25
# What a point that the scorer ranks badly still weighs in k-means, where points have weights.
LEAST_WEIGHT = 0.05
# Weights of no larger size are dropped from linear machines.
KEEP_ABOVE = 0.01


def assign_all(
    rows: Rows,
    Y: csr_matrix,
    parts: Partition,
    scorer: LabelScorer,
    settings: dict[str, Any],
    threads: int,
    progress: Progress,
) -> csr_matrix:
    """Return the labels of each part as CSR of ones (parts, labels)."""
    budget = labels_of_a_part(settings["labels_per_partition"], Y.shape[1])
    found: list[np.ndarray] = [np.empty(0, np.int32)] * parts.n_clusters
    entropy: Any = np.random.SeedSequence(settings["random_state"]).entropy  # the seed, or a fresh one where it is None

    def some(start: int, stop: int) -> None:
        for part in range(start, stop):
            members = np.flatnonzero(parts.assignment == part)
            candidates = np.unique(Y[members].indices)
            if len(candidates) > budget:
                enough = max(1, MOST_SCORES // len(candidates))
                if len(members) > enough:
                    rng = np.random.default_rng([entropy, part])
                    members = np.sort(rng.choice(members, enough, replace=False))
                ranked = rankings(rows[members], Y[members], scorer, candidates)
                candidates = candidates[assign(ranked, budget, settings["at"])]
            found[part] = candidates.astype(np.int32)
            progress.advance()

    with progress.start(parts.n_clusters, "parts"):
        run_pieces(some, parts.n_clusters, threads, min_size=1)
    pointer = csr.pointer([len(labels) for labels in found])
    labels = np.concatenate(found)
    return csr_matrix((np.ones(len(labels), np.float32), labels, pointer), shape=(parts.n_clusters, Y.shape[1]))


def weights_of_points(rows: Rows, Y: csr_matrix, parts: Partition, scorer: LabelScorer, threads: int) -> np.ndarray:
    """Return how well the scorer ranks each point's labels among those of its part, LEAST_WEIGHT at least: (n,)."""
    weights = np.zeros(rows.shape[0])

    def some(start: int, stop: int) -> None:
        for part in range(start, stop):
            members = np.flatnonzero(parts.assignment == part)
            candidates = np.unique(Y[members].indices)
            height = max(1, MOST_SCORES // max(1, len(candidates)))
            for first in range(0, len(members) if len(candidates) else 0, height):
                block = members[first : first + height]
                weights[block] = nearness_to_top(rankings(rows[block], Y[block], scorer, candidates))

    run_pieces(some, parts.n_clusters, threads, min_size=1)
    return np.maximum(weights, LEAST_WEIGHT)


def weighted_k_means(unit: Rows, parts: Partition, weights: np.ndarray, rounds: int, threads: int) -> Partition:
    """Return the parts after so many more rounds in which each point has its weight; empty ones are dropped."""
    n = unit.shape[0]
    for _ in range(rounds):
        total = np.bincount(parts.assignment, weights, minlength=parts.n_clusters)
        share = (weights / total[parts.assignment]).astype(np.float32)
        member = csr_matrix((share, parts.assignment, np.arange(n + 1)), shape=(n, parts.n_clusters))
        centroids = unit.T @ member  # (d, parts)
        centroids = np.ascontiguousarray(centroids.toarray() if sparse.issparse(centroids) else centroids, np.float32)
        kept, fresh = np.unique(route(unit, centroids, 1, threads)[:, 0], return_inverse=True)
        parts = Partition(np.ascontiguousarray(centroids[:, kept]), fresh.reshape(-1).astype(np.int32))
    return parts


def labels_of_a_part(given: int | str, labels: int) -> int:
    """Return how many labels a part may have."""
    return max(FEWEST_LABELS, round(LABEL_SHARE * labels)) if given == "auto" else int(given)


def number_of_parts(given: int | str, points: int) -> int:
    """Return how many parts the points are cut into."""
    return max(1, round(points / POINTS_A_PART)) if given == "auto" else min(int(given), points)


@dataclass(repr=False)
class LPSRModel(ScoringModel):
    """The base scorer, the parts' centroids, and their labels."""

    kind = "lpsr"

    scorer: LabelScorer
    centroids: np.ndarray  # (d, parts)
    assigned: csr_matrix  # (parts, seen), ones

    @property
    def batch_rows(self) -> int:
        """Rows answered at once: only the labels of their parts are scored."""
        most = int(np.diff(self.assigned.indptr).max(initial=1)) * min(self.settings["n_probe"], self.assigned.shape[0])
        return max(1, min(BATCH_ROWS, BATCH_SCORES // max(1, most)))

    def scores(self, rows: Rows, threads: int) -> csr_matrix:
        """Return the base scores of the labels of each row's nearest parts, squashed: 0.5 is as likely as not."""
        m = rows.shape[0]
        features = without_constant(rows, self.n_features)
        near = route(normalise(features), self.centroids, self.settings["n_probe"], threads)  # (m, probes)
        visits = csr_matrix(
            (np.ones(near.size, np.float32), near.ravel(), np.arange(m + 1) * near.shape[1]),
            shape=(m, self.assigned.shape[0]),
        )
        found = csr_matrix(visits @ self.assigned)  # (m, seen), the labels of any of the parts
        found.sort_indices()
        if self.settings["scorer"] == "naive_bayes":
            raw = self.scorer.of_pattern(features, found, threads)
            # Evidence for a unit of features: the same order of a point's labels, and no sums too large to be told
            # apart once they are squashed.
            raw /= np.repeat(1 + np.abs(mass(features)), np.diff(found.indptr))
        else:
            raw = self.scorer.of_pattern(rows, found, threads)
        return csr_matrix((to_unit_interval(raw, 0), found.indices, found.indptr), shape=found.shape)

    def state(self) -> State:
        """Return the scorer, the centroids and the labels assigned."""
        base = self.scorer
        return {
            "scorer": {"table": base.table, "prior": base.prior, "slope": base.slope, "common": base.common},
            "parts": {"centroids": self.centroids, "assigned": self.assigned},
        }

    @classmethod
    def rebuilt(cls, facts: Facts, state: State) -> LPSRModel:
        """Return the model of a state."""
        width = facts.n_features if facts.settings["scorer"] == "naive_bayes" else facts.columns
        table = check_array(state, "scorer", "table", (facts.width, width))
        prior, slope = (check_array(state, "scorer", name, (facts.width,)) for name in ("prior", "slope"))
        scorer = LabelScorer(table, prior, slope, check_array(state, "scorer", "common", (width,)))
        centroids = state["parts"]["centroids"]
        require(isinstance(centroids, np.ndarray) and centroids.ndim == 2, "the centroids are no matrix")
        require(centroids.shape[1] > 0, "there are no parts")
        check_array(state, "parts", "centroids", (facts.n_features, centroids.shape[1]))
        assigned = check_array(state, "parts", "assigned", (centroids.shape[1], facts.width))
        require(sparse.issparse(table) and sparse.issparse(assigned), "the table or the parts' labels are not sparse")
        return cls(facts, scorer, centroids, assigned)


def without_constant(rows: Rows, n_features: int) -> Rows:
    """Return the rows without the constant feature, if they have one."""
    if rows.shape[1] == n_features:
        return rows
    return rows[:, :n_features] if sparse.issparse(rows) else np.ascontiguousarray(rows[:, :n_features])


def base_scorer(rows: Rows, Y: csr_matrix, facts: Facts, threads: int, progress: Progress) -> LabelScorer:
    """Return the scorer that the settings name, learned; of rows without the constant where it is naive Bayes."""
    settings = facts.settings
    if settings["scorer"] == "naive_bayes":
        return naive_bayes.learn(without_constant(rows, facts.n_features), Y, settings["smoothing"])
    machines = one_vs_all.learn(rows, Y, settings["C"], KEEP_ABOVE, threads, progress)
    zeros = np.zeros(Y.shape[1], np.float32)
    return LabelScorer(machines.weights, machines.offset, zeros, np.zeros(rows.shape[1], np.float32))


@from_table
class LPSRClassifier(Comparator):
    """A partition of the points, each part with a few labels chosen for precision, ranked by a base scorer."""

    method = "lpsr"
    prediction = ("n_probe", "threshold")

    def _train(self, rows: Rows, Y: csr_matrix, facts: Facts, threads: int, progress: Progress) -> LPSRModel:
        settings = facts.settings
        scorer = base_scorer(rows, Y, facts, threads, progress)
        features = without_constant(rows, facts.n_features)
        unit = normalise(features)
        count = number_of_parts(settings["partitions"], rows.shape[0])
        parts = partition(unit, count, seed=settings["random_state"], threads=threads)
        scored = features if settings["scorer"] == "naive_bayes" else rows
        if settings["weighted_rounds"] and parts.n_clusters > 1:
            weights = weights_of_points(scored, Y, parts, scorer, threads)
            parts = weighted_k_means(unit, parts, weights, settings["weighted_rounds"], threads)
        assigned = assign_all(scored, Y, parts, scorer, settings, threads, progress)
        return LPSRModel(facts, scorer, parts.centroids, assigned)

    def _memory(self, shape: Shape, settings: dict[str, Any], threads: int) -> int:
        parts = number_of_parts(settings["partitions"], shape.points)
        labels = labels_of_a_part(settings["labels_per_partition"], shape.labels)
        if settings["scorer"] == "naive_bayes":
            # Labels and features that occur together, as often as they do, or all of them.
            pairs = min(shape.ones * shape.entries // shape.points, shape.labels * shape.features)
            scorer = 48 * pairs
        else:
            scorer = one_vs_all.memory_of_machines(shape, threads)
        candidates = min(MOST_SCORES, shape.points * shape.labels)
        # Scores that are sorted, and ranks that are kept: in a list of blocks and then in one piece.
        assignment = threads * (40 * min(BLOCK_SCORES, shape.points * shape.labels) + 10 * candidates)
        return scorer + 16 * shape.entries + 12 * shape.features * parts + 8 * labels * parts + assignment
