"""The partition of many points, block by block (line 1 of Algorithm 1): k-means that many machines can do together.

    k-means of a sample ──> each block: the nearest, and their sums ──> means ──> each block again ──> the partition

These are the steps that `kmeans.partition` takes in one piece: rounds on a sample, then all points to the sample's
means, and once more to their own. Only sums are added up in another order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg.rows import Rows, dense, take_rows
from neartag.x1.kmeans import (
    MAX_FLAT_CLUSTERS,
    MIN_SAMPLE,
    SAMPLE_PER_CLUSTER,
    Options,
    Partition,
    assign,
    assign_in_groups,
    renumber,
    route,
    split_large,
    sum_members,
    truncate_centroids,
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


@dataclass
class Assigned:
    """The clusters of a block of points, and what their means are made of."""

    assignment: np.ndarray  # (m,) int32
    sums: csr_matrix  # (d, C) float64: of each cluster's rows
    sizes: np.ndarray  # (C,) int64


def sample_points(count: int) -> int:
    """Return how many points tell so many clusters."""
    return max(MIN_SAMPLE, SAMPLE_PER_CLUSTER * count)


def find_clusters(X: Rows, count: int, start: str, seed: int, sample: int, threads: int) -> Clusters:
    """Return the clusters of a sample of so many points."""
    random = np.random.default_rng(seed)
    some = take_rows(X, np.sort(random.choice(X.shape[0], sample, replace=False)))
    assignment = assign(some, count, Options(start, random, threads))
    return group_clusters(_add_up(some, assignment, int(assignment.max()) + 1), seed, threads)


def average_clusters(blocks: Iterable[Assigned], seed: int, threads: int) -> Clusters:
    """Return the clusters that the points of all blocks make; one that nobody chose is gone."""
    return group_clusters(_join(blocks), seed, threads)


def group_clusters(whole: Assigned, seed: int, threads: int, max_flat: int = MAX_FLAT_CLUSTERS) -> Clusters:
    """Return the means of clusters; many of them in groups, which k-means of the means makes."""
    means, count = _means(whole), int(np.count_nonzero(whole.sizes))
    owner = np.zeros(count, np.int32)
    if count > max_flat:
        options = Options("k-means++", np.random.default_rng((seed, GROUPS)), threads)
        owner = assign(csr_matrix(means.T), round(np.sqrt(count)), options)
    return Clusters(means, owner)


def assign_block(X: Rows, clusters: Clusters, threads: int) -> Assigned:
    """Return the nearest cluster of each point of a block (m, d)."""
    centroids, groups = clusters.centroids, int(clusters.owner.max()) + 1
    if groups == 1:
        nearest = route(X, dense(centroids), 1, threads)[:, 0]
    else:
        share = 1 / np.bincount(clusters.owner).astype(np.float32)
        member = csr_matrix((share[clusters.owner], clusters.owner, np.arange(len(clusters.owner) + 1)))  # (C, G)
        means = np.ascontiguousarray((centroids @ member).toarray(), np.float32)  # (d, G)
        near = route(X, means, 1, threads)[:, 0]
        nearest = assign_in_groups(X, near, means, clusters.owner, centroids, threads)
    return _add_up(X, nearest, centroids.shape[1])


def join_blocks(
    X: Rows,
    blocks: list[Assigned],
    max_size: int | None,
    centroid_entries: int | None,
    start: str,
    seed: int,
    threads: int,
) -> Partition:
    """Return the partition of all points (n, d), of which the blocks tell the clusters; large ones are split."""
    whole = _join(blocks)
    centroids = _means(whole)
    before = renumber(whole.assignment)
    options = Options(start, np.random.default_rng((seed, SPLITS)), threads)
    assignment = before if max_size is None else split_large(X, before, max_size, options)
    if centroid_entries is not None and centroid_entries < X.shape[1]:
        return truncate_centroids(X, assignment, centroid_entries, max_size, threads)
    count = int(assignment.max(initial=0)) + 1
    changed = np.unique(before[assignment != before])  # the clusters that were split
    if len(changed):
        of_split = np.isin(before, changed)
        rows = np.flatnonzero(of_split)
        fresh = _add_up(take_rows(X, rows), assignment[rows], count)
        kept = np.setdiff1d(np.arange(centroids.shape[1]), changed)
        parts = [centroids[:, kept], _means(fresh)]
        order = np.concatenate([kept, np.flatnonzero(fresh.sizes)])
        centroids = sparse.hstack(parts, format="csr")[:, np.argsort(order)]
    return Partition(np.ascontiguousarray(dense(centroids), np.float32), assignment)


def _add_up(X: Rows, assignment: np.ndarray, count: int) -> Assigned:
    sums = csr_matrix(sum_members(X, assignment, np.ones(len(assignment), np.float64), count))
    return Assigned(assignment.astype(np.int32, copy=False), sums, np.bincount(assignment, minlength=count))


def _join(blocks: Iterable[Assigned]) -> Assigned:
    first, *others = blocks
    sums, sizes = first.sums, first.sizes
    for block in others:
        sums, sizes = sums + block.sums, sizes + block.sizes
    return Assigned(np.concatenate([block.assignment for block in (first, *others)]), csr_matrix(sums), sizes)


def _means(whole: Assigned) -> csr_matrix:
    """Return the means (d, C) of the clusters that have points, in float32."""
    kept = np.flatnonzero(whole.sizes)
    share = sparse.diags_array(1 / whole.sizes[kept])
    return csr_matrix(whole.sums[:, kept] @ share).astype(np.float32)
