"""The parts of LPSR: how many there are, which labels each is assigned, and k-means in which points have weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.comparators.lpsr.label_assignment import assign, nearness_to_top, rank_labels
from neartag.comparators.lpsr.label_scorer import LabelScorer
from neartag.core.progress import Progress
from neartag.core.threads import run_pieces
from neartag.linalg import csr
from neartag.linalg.rows import Rows
from neartag.x1.centroids import Partition, route

# Points a part, and the labels assigned to it: a share of those that occur anywhere, but some at least.
POINTS_PER_PART = 1000
LABEL_SHARE, MIN_LABELS = 0.1, 100
# Scores that a part's labels are assigned from, at most.
MAX_SCORES = 2**25
# What a point that the scorer ranks badly still weighs in k-means, where points have weights.
MIN_WEIGHT = 0.05


def assign_labels(
    rows: Rows,
    Y: csr_matrix,
    parts: Partition,
    scorer: LabelScorer,
    settings: dict[str, Any],
    threads: int,
    progress: Progress,
    max_scores: int = MAX_SCORES,
) -> csr_matrix:
    """Return the labels of each part as CSR of ones (parts, labels)."""
    budget = labels_per_part(settings["labels_per_partition"], Y.shape[1])
    by_part: list[np.ndarray] = [np.empty(0, np.int32)] * parts.n_clusters
    entropy: Any = np.random.SeedSequence(settings["random_state"]).entropy  # the seed, or a fresh one where it is None

    def assign_to_parts(start: int, stop: int) -> None:
        for part in range(start, stop):
            members = np.flatnonzero(parts.assignment == part)
            candidates = np.unique(Y[members].indices)
            if len(candidates) > budget:
                enough = max(1, max_scores // len(candidates))
                if len(members) > enough:
                    rng = np.random.default_rng([entropy, part])
                    members = np.sort(rng.choice(members, enough, replace=False))
                ranked = rank_labels(rows[members], Y[members], scorer, candidates)
                candidates = candidates[assign(ranked, budget, settings["at"])]
            by_part[part] = candidates.astype(np.int32)
            progress.advance()

    with progress.start(parts.n_clusters, "parts"):
        run_pieces(assign_to_parts, parts.n_clusters, threads, min_size=1)
    pointer = csr.pointer([len(labels) for labels in by_part])
    labels = np.concatenate(by_part)
    return csr_matrix((np.ones(len(labels), np.float32), labels, pointer), shape=(parts.n_clusters, Y.shape[1]))


def weigh_points(
    rows: Rows, Y: csr_matrix, parts: Partition, scorer: LabelScorer, threads: int, max_scores: int = MAX_SCORES
) -> np.ndarray:
    """Return how well the scorer ranks each point's labels among those of its part, MIN_WEIGHT at least: (n,)."""
    weights = np.zeros(rows.shape[0])

    def weigh_parts(start: int, stop: int) -> None:
        for part in range(start, stop):
            members = np.flatnonzero(parts.assignment == part)
            candidates = np.unique(Y[members].indices)
            height = max(1, max_scores // max(1, len(candidates)))
            for first in range(0, len(members) if len(candidates) else 0, height):
                block = members[first : first + height]
                weights[block] = nearness_to_top(rank_labels(rows[block], Y[block], scorer, candidates))

    run_pieces(weigh_parts, parts.n_clusters, threads, min_size=1)
    return np.maximum(weights, MIN_WEIGHT)


def reweigh_partition(unit: Rows, parts: Partition, weights: np.ndarray, rounds: int, threads: int) -> Partition:
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


def labels_per_part(given: int | str, labels: int) -> int:
    """Return how many labels a part may have."""
    return max(MIN_LABELS, round(LABEL_SHARE * labels)) if given == "auto" else int(given)


def count_parts(given: int | str, points: int) -> int:
    """Return how many parts the points are cut into."""
    return max(1, round(points / POINTS_PER_PART)) if given == "auto" else min(int(given), points)
