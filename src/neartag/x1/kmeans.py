"""Partition the points by k-means of their unit feature rows (line 1 of Algorithm 1, section 2.2 of the paper).

Plain k-means costs n · C a round, which with C = n/100000 grows as n². Many clusters are therefore found in two stages:
√C coarse groups first, then each group's share of the clusters. At last each point goes to the nearest of the clusters
of its own group and of the groups next to it. That costs n · √C a round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.errors import ParameterError
from neartag.linalg.coded_rows import CodedRows, float_blocks
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, dense, row_block, take_rows
from neartag.x1.centroids import Partition, find_centroids, route, sparse_centroids, truncate_centroids
from neartag.x1.parameters import STARTS

# The original program stops after 7 rounds; beyond some 20 the assignment of text hardly changes any more.
MAX_ROUNDS = 20
# Plain k-means goes on until no point moves; this bound only guards against points that stand between two clusters.
MAX_PLAIN_ROUNDS = 300
# k-means has settled when no more than this share of the points changes cluster.
SETTLED_SHARE = 1e-3
# Clusters found in one stage; more are found in two.
MAX_FLAT_CLUSTERS = 32
# Neighbouring groups whose clusters a point may move to in the end.
NEIGHBOUR_GROUPS = 3
# Points that rounds of k-means look at: so many for each cluster, and at least so many. All points follow in the end.
SAMPLE_PER_CLUSTER, MIN_SAMPLE = 2000, 20_000
# Points among which k-means++ draws its starts: so many for each start, and at least so many.
POOL_PER_START, MIN_POOL = 100, 5000
# A split that leaves more than this share of the points together has told nothing apart.
MAX_SHARE_TOGETHER = 0.95
# Rows squared at once.
SQUARED_ROWS = 1024


def partition(
    X: Rows,
    n_clusters: int,
    *,
    max_size: int | None = None,
    start: str = "k-means++",
    plain: bool = False,
    centroid_entries: int | None = None,
    seed: int = 0,
    threads: int = 1,
    max_flat: int = MAX_FLAT_CLUSTERS,
    sample_per_cluster: int = SAMPLE_PER_CLUSTER,
    min_sample: int = MIN_SAMPLE,
) -> Partition:
    """Return a k-means partition of unit rows in which no cluster has more than `max_size` points.

    A cluster that is too large is split again by k-means, and by row order where its points are all alike.
    `plain`: Lloyd's rounds over all points until nobody moves, in one stage. `centroid_entries` keeps only so many of
    the largest entries of each centroid.
    """
    if start not in STARTS:
        raise ParameterError(f"cluster_start must be one of {STARTS}, not {start!r}")
    options = Options(start, np.random.default_rng(seed), threads, max_flat, sample_per_cluster, min_sample)
    if plain:
        options = replace(options, max_flat=n_clusters, min_sample=X.shape[0], rounds=MAX_PLAIN_ROUNDS)
    assignment = assign(X, min(n_clusters, X.shape[0]), options)
    if max_size is not None:
        assignment = split_large(X, assignment, max_size, options)
    if centroid_entries is None or centroid_entries >= X.shape[1]:
        return Partition(find_centroids(X, assignment, int(assignment.max(initial=0)) + 1), assignment)
    return truncate_centroids(X, assignment, centroid_entries, max_size, threads)


@dataclass(frozen=True)
class Options:
    """How k-means is done, in all stages."""

    start: str
    rng: np.random.Generator
    threads: int
    max_flat: int = MAX_FLAT_CLUSTERS
    sample_per_cluster: int = SAMPLE_PER_CLUSTER
    min_sample: int = MIN_SAMPLE
    rounds: int = MAX_ROUNDS  # of Lloyd's, at most

    @property
    def settled_share(self) -> float:
        """Share of the points that may still move when the rounds end."""
        return 0.0 if self.rounds > MAX_ROUNDS else SETTLED_SHARE


def assign(X: Rows, count: int, options: Options) -> np.ndarray:
    """Return the cluster of each point (n,), of about so many, numbered without gaps."""
    return (_k_means if count <= options.max_flat else _two_stage_k_means)(X, count, options)


def _k_means(X: Rows, count: int, options: Options) -> np.ndarray:
    """Lloyd's rounds, of many points on a sample; returns the assignment of all, clusters numbered without gaps."""
    n = X.shape[0]
    if count <= 1:
        return np.zeros(n, np.int32)
    enough = max(options.min_sample, options.sample_per_cluster * count)
    if n > 2 * enough:
        sample = take_rows(X, np.sort(options.rng.choice(n, enough, replace=False)))
        centroids, _ = _lloyd(sample, _choose_starts(sample, count, options), options)
        # Once to the sample's means, once to their own.
        _, assignment = _lloyd(X, centroids, replace(options, rounds=2))
    else:
        _, assignment = _lloyd(X, _choose_starts(X, count, options), options)
    return renumber(assignment)


def _lloyd(X: Rows, centroids: np.ndarray, options: Options) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroids (d, C) and the assignment (n,) after the options' rounds, fewer once it has settled."""
    n, count = X.shape[0], centroids.shape[1]
    assignment = np.full(n, -1, np.int32)
    for _ in range(options.rounds):
        fresh = route(X, centroids, 1, options.threads)[:, 0]
        changed = np.count_nonzero(fresh != assignment)
        assignment = fresh
        if changed <= options.settled_share * n:
            break
        centroids = find_centroids(X, assignment, count)
    return centroids, assignment


def _choose_starts(X: Rows, count: int, options: Options) -> np.ndarray:
    """Return the first centroids (d, ≤ count): some of the points."""
    n, rng = X.shape[0], options.rng
    enough = max(MIN_POOL, POOL_PER_START * count)
    pool = np.arange(n) if n <= enough else np.sort(rng.choice(n, enough, replace=False))
    if options.start == "k-means++":
        chosen = pool[_draw_far_apart(X if n <= enough else X[pool], count, rng)]
    else:
        chosen = rng.choice(n, count, replace=False)
    picked = X[np.sort(chosen)]
    return np.ascontiguousarray(dense(picked).T)


def _two_stage_k_means(X: Rows, count: int, options: Options) -> np.ndarray:
    """Groups of clusters first, then the clusters of each group; returns the assignment, numbered without gaps."""
    n, threads = X.shape[0], options.threads
    groups = _k_means(X, round(np.sqrt(count)), options)
    n_groups = int(groups.max()) + 1
    if n_groups == 1:  # the points cannot be told apart, or hardly
        return _k_means(X, count, options)
    members = [np.flatnonzero(groups == group) for group in range(n_groups)]
    assignment = np.empty(n, np.int32)
    owner: list[int] = []  # the group of each cluster
    for group, rows in enumerate(members):
        share = max(1, round(count * len(rows) / n))
        # Where nearly all points fell into one group, as short rows do, groups hardly divide them: more clusters are
        # made in one stage then, so that this ends.
        together = len(rows) > MAX_SHARE_TOGETHER * n
        own = replace(options, max_flat=2 * options.max_flat) if together else options
        inside = assign(take_rows(X, rows), share, own)
        assignment[rows] = len(owner) + inside
        owner += [group] * (int(inside.max()) + 1)
    means = find_centroids(X, groups, n_groups)  # (d, groups)
    centroids = sparse_centroids(X, assignment, len(owner))  # (d, C), sparse by column where X is sparse
    centroids = centroids if sparse.issparse(centroids) else csr_matrix(centroids)
    return renumber(assign_in_groups(X, groups, means, np.array(owner), centroids, threads))


def assign_in_groups(
    X: Rows, groups: np.ndarray, means: np.ndarray, owner: np.ndarray, centroids: csr_matrix, threads: int
) -> np.ndarray:
    """Return for each point (n,) the nearest of the clusters (d, C) of its group and of the groups next to it.

    `groups` (n,) is the group of each point, `means` (d, G) are their centroids, `owner` (C,) is that of each cluster.
    """
    count = NEIGHBOUR_GROUPS + 1  # each group itself, and those next to it
    near = route(np.ascontiguousarray(means.T), means, count, threads)
    assignment = np.empty(X.shape[0], np.int32)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        candidates = np.flatnonzero(np.isin(owner, near[group]))
        some = np.ascontiguousarray(centroids[:, candidates].toarray())
        assignment[rows] = candidates[route(take_rows(X, rows), some, 1, threads)[:, 0]]
    return assignment


def renumber(assignment: np.ndarray) -> np.ndarray:
    """Return the assignment with clusters numbered without gaps."""
    return np.unique(assignment, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _draw_far_apart(X: Rows, count: int, rng: np.random.Generator) -> np.ndarray:
    """k-means++: each next start is drawn in proportion to its squared distance from those so far.

    Of a few such draws the one that leaves the smallest sum of distances is taken, as the authors of k-means++ advise.
    """
    n = X.shape[0]
    draws = 2 + int(np.log(count))
    squares = _row_squares(X)

    def distances(rows: np.ndarray) -> np.ndarray:  # (n, len(rows)), squared
        starts = dense(X[rows]).T  # (d, len(rows))
        products = matmul(X, starts) if isinstance(X, HybridRows) else X @ starts
        return np.maximum(squares[:, None] + squares[rows] - 2 * products, 0)

    chosen = [int(rng.integers(n))]
    nearest = distances(np.array(chosen))[:, 0]
    while len(chosen) < count:
        total = nearest.sum(dtype=np.float64)
        if total <= 0:  # fewer distinct rows than starts
            break
        drawn = np.searchsorted(np.cumsum(nearest, dtype=np.float64), rng.random(draws) * total)
        drawn = np.minimum(drawn, n - 1)
        left = np.minimum(nearest[:, None], distances(drawn))  # (n, draws)
        best = int(left.sum(axis=0, dtype=np.float64).argmin())
        chosen.append(int(drawn[best]))
        nearest = left[:, best]
    return np.unique(chosen)


def _row_squares(X: Rows) -> np.ndarray:
    """Return the squared length of each row (n,), in float32."""
    if isinstance(X, HybridRows):
        return _row_squares(X.words) + np.float32(X.vector_weight**2) * _row_squares(X.vectors)
    if isinstance(X, CodedRows):
        return np.concatenate([_row_squares(own) for _, own in float_blocks(X)])
    if not sparse.issparse(X):
        return (X * X).sum(axis=1)
    # A few rows at a time: their squares are a matrix as large as they are.
    bounds = [*range(0, X.shape[0], SQUARED_ROWS), X.shape[0]]
    blocks = (row_block(X, first, last) for first, last in pairwise(bounds))
    return np.concatenate([np.asarray(block.multiply(block).sum(axis=1)).ravel() for block in blocks])


def split_large(X: Rows, assignment: np.ndarray, max_size: int, options: Options) -> np.ndarray:
    """Split clusters until none exceeds `max_size`."""
    assignment = assignment.copy()
    sizes = np.bincount(assignment)
    count = len(sizes)
    waiting = [int(cluster) for cluster in np.flatnonzero(sizes > max_size)]
    while waiting:
        cluster = waiting.pop()
        members = np.flatnonzero(assignment == cluster)
        pieces = -(-len(members) // max_size)
        inside = assign(take_rows(X, members), pieces, options)
        if np.bincount(inside).max() > MAX_SHARE_TOGETHER * len(members):
            # All alike, or all but a few: no centroids tell them apart, so their order does.
            inside = (np.arange(len(members)) * pieces // len(members)).astype(np.int32)
        fresh = np.bincount(inside)
        numbers = np.array([cluster, *range(count, count + len(fresh) - 1)], np.int32)
        assignment[members] = numbers[inside]
        count += len(fresh) - 1
        waiting += [int(numbers[piece]) for piece in np.flatnonzero(fresh > max_size)]
    return assignment
