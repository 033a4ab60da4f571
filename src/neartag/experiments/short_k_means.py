"""k-means of a few rounds, as the authors' program has it; a point goes to the nearest mean, or by inner products.

Algorithm 1 says k-means and no more. neartag's plain k-means goes on until no point moves, and takes the nearest mean,
the largest x·c − ‖c‖²/2, which favours short means: those of large and mixed clusters. By products there is no such
favour. After a few rounds clusters still depend on the points that they were begun from.
"""

from __future__ import annotations

import numpy as np

from neartag.linalg.rows import Rows, dense, normalise
from neartag.x1.centroids import Partition, find_centroids, route
from neartag.x1.kmeans import renumber

ROUNDS = 7  # of the authors' program
# Means are made so much shorter that ‖c‖²/2 has no part in which one is the nearest: who routes later takes that.
SHRINK = np.float32(1e-4)


def partition_in_rounds(X: Rows, count: int, seed: int, threads: int, *, by_products: bool) -> Partition:
    """Return the clusters of rows, from points drawn at random."""
    X, scale = normalise(X), SHRINK if by_products else np.float32(1)
    starts = np.random.default_rng(seed).choice(X.shape[0], min(count, X.shape[0]), replace=False)
    centroids = np.ascontiguousarray(dense(X[np.sort(starts)]).T)  # (d, C)
    for _ in range(ROUNDS):
        assignment = renumber(route(X, scale * centroids, 1, threads)[:, 0])
        centroids = find_centroids(X, assignment, int(assignment.max()) + 1)
    return Partition(scale * centroids, assignment)
