"""The partition of many points, block by block (line 1 of Algorithm 1): k-means that many machines can do together.

    k-means of a sample ──> each block: the nearest ──> means of all ──> each block again ──> the partition

These are the steps that `kmeans.partition` takes in one piece. Only many clusters are found otherwise: points look for
groups of clusters, not for groups of points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from neartag.linalg.rows import Rows, dense, take_rows
from neartag.x1.centroids import Partition, find_centroids, route, sparse_centroids, truncate_centroids
from neartag.x1.kmeans import (
    MAX_FLAT_CLUSTERS,
    MIN_SAMPLE,
    SAMPLE_PER_CLUSTER,
    Options,
    assign,
    assign_in_groups,
    renumber,
    split_large,
)

# Points of a block: up to so many are divided in one piece.
BLOCK_POINTS = 2**18
# What the seeds of a learner's k-means are told apart by: of the groups of clusters, and of those that are split.
GROUPS, SPLITS = 1, 2


@dataclass
class Clusters:
    """Clusters that points look for: of many, each belongs to a group, and points look for a group first."""

    centroids: csr_matrix  # (d, C)
    owner: np.ndarray  # (C,) the group of each cluster; all 0 where there are few


def sample_points(count: int) -> int:
    """Return how many points tell so many clusters."""
    return max(MIN_SAMPLE, SAMPLE_PER_CLUSTER * count)


def find_clusters(X: Rows, count: int, start: str, seed: int, sample: int, threads: int) -> Clusters:
    """Return the clusters of a sample of so many points."""
    random = np.random.default_rng(seed)
    some = take_rows(X, np.sort(random.choice(X.shape[0], sample, replace=False)))
    return average_clusters(some, assign(some, count, Options(start, random, threads)), seed, threads)


def average_clusters(
    X: Rows, assignment: np.ndarray, seed: int, threads: int, max_flat: int = MAX_FLAT_CLUSTERS
) -> Clusters:
    """Return the clusters that an assignment (n,) of all points makes; one that nobody chose is gone.

    Many of them are in groups, which k-means of their means makes.
    """
    chosen = renumber(assignment)
    count = int(chosen.max()) + 1
    means, owner = csr_matrix(sparse_centroids(X, chosen, count)), np.zeros(count, np.int32)  # (d, C)
    if count > max_flat:
        options = Options("k-means++", np.random.default_rng((seed, GROUPS)), threads)
        owner = assign(csr_matrix(means.T), round(np.sqrt(count)), options)
    return Clusters(means, owner)


def assign_block(X: Rows, clusters: Clusters, threads: int) -> np.ndarray:
    """Return the nearest cluster of each point of a block (m,)."""
    centroids, groups = clusters.centroids, int(clusters.owner.max()) + 1
    if groups == 1:
        return route(X, dense(centroids), 1, threads)[:, 0]
    share = 1 / np.bincount(clusters.owner).astype(np.float32)
    member = csr_matrix((share[clusters.owner], clusters.owner, np.arange(len(clusters.owner) + 1)))  # (C, G)
    means = np.ascontiguousarray((centroids @ member).toarray(), np.float32)  # (d, G)
    near = route(X, means, 1, threads)[:, 0]
    return assign_in_groups(X, near, means, clusters.owner, centroids, threads)


def join_blocks(
    X: Rows,
    assignment: np.ndarray,
    max_size: int | None,
    centroid_entries: int | None,
    start: str,
    seed: int,
    threads: int,
) -> Partition:
    """Return the partition of all points (n, d), of which the blocks told the clusters (n,); large ones are split."""
    assignment = renumber(assignment)
    if max_size is not None:
        options = Options(start, np.random.default_rng((seed, SPLITS)), threads)
        assignment = split_large(X, assignment, max_size, options)
    if centroid_entries is not None and centroid_entries < X.shape[1]:
        return truncate_centroids(X, assignment, centroid_entries, max_size, threads)
    return Partition(find_centroids(X, assignment, int(assignment.max(initial=0)) + 1), assignment)
