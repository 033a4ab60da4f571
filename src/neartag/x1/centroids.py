"""The centroids of a partition, and the way to the nearest of them.

Training points and new points follow one rule: the nearest centroid, that is the largest x·c − ‖c‖²/2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.threads import run_ranges
from neartag.linalg.coded_rows import float_blocks
from neartag.linalg.hybrid_rows import HybridRows
from neartag.linalg.products import matmul
from neartag.linalg.rows import Rows, row_block
from neartag.linalg.single_row import SingleRow
from neartag.search import topk_kernels

# Rows scored against the centroids at once, so that the scores stay in cache and never form an n × C array.
BLOCK_ROWS = 8192


@dataclass
class Partition:
    """Clusters of the points: their centroids, and the cluster of each training point."""

    centroids: Rows  # (d, C), a column a cluster; CSR where truncated
    assignment: np.ndarray  # (n,) int32

    @property
    def n_clusters(self) -> int:
        """Number of clusters, none of them empty."""
        return int(self.centroids.shape[1])


def route(
    X: Rows | SingleRow,
    centroids: Rows,
    probes: int = 1,
    threads: int = 1,
    *,
    offset: np.ndarray | None = None,
    block_rows: int = BLOCK_ROWS,
) -> np.ndarray:
    """Return for each row its `probes` nearest clusters (n, probes), nearest first.

    `offset` are the centroids' `half_squares`, where they are known.
    """
    n, count = X.shape[0], centroids.shape[1]
    probes = min(probes, count)
    if count == 1:
        return np.zeros((n, 1), np.int32)
    offset = half_squares(centroids) if offset is None else offset
    if isinstance(X, SingleRow):
        return np.argsort(offset - X.matmul(centroids), kind="stable")[None, :probes]
    nearest = np.empty((n, probes), np.int32)
    score = np.empty((min(n, block_rows), probes), np.float32)
    for first in range(0, n, block_rows):
        block = row_block(X, first, min(first + block_rows, n))
        scores = matmul(block, centroids, threads) - offset  # (block, C)
        rows = scores.shape[0]
        run_ranges(topk_kernels.row_top, rows, threads, scores, 0, nearest[first : first + rows], score[:rows])
    return nearest


def find_centroids(X: Rows, assignment: np.ndarray, count: int) -> np.ndarray:
    """Centroids (d, C) of an assignment; an empty cluster's is zero."""
    means = sparse_centroids(X, assignment, count)
    return np.ascontiguousarray(means.toarray() if sparse.issparse(means) else means, np.float32)


def sparse_centroids(X: Rows, assignment: np.ndarray, count: int) -> Rows:
    """The same, sparse where X is; of hybrid rows dense."""
    n = X.shape[0]
    sizes = np.bincount(assignment, minlength=count)
    share = (1 / np.maximum(sizes, 1)).astype(np.float32)
    member = csr_matrix((share[assignment], assignment, np.arange(n + 1)), shape=(n, count))  # (n, C)
    if isinstance(X, HybridRows):
        means = np.zeros((X.dim, count), np.float32)
        for block, vectors in float_blocks(X.vectors):
            means += np.float32(X.vector_weight) * (vectors.T @ member[block])
        return np.vstack([(X.words.T @ member).toarray(), means])  # (d + e, C)
    return X.T @ member  # (d, C)


def truncate_centroids(X: Rows, assignment: np.ndarray, entries: int, max_size: int | None, threads: int) -> Partition:
    """Truncate the centroids, and let the points follow: trained and new ones must be routed by the same centroids.

    Where that would overfill a cluster the points keep the place they had.
    """
    centroids = _keep_largest_entries(find_centroids(X, assignment, int(assignment.max(initial=0)) + 1), entries)
    moved = route(X, centroids, 1, threads)[:, 0]
    if max_size is not None and np.bincount(moved).max() > max_size:
        return Partition(centroids, assignment)
    left, moved = np.unique(moved, return_inverse=True)  # clusters that nobody follows are dropped
    return Partition(csr_matrix(centroids[:, left]), moved.reshape(-1).astype(np.int32))


def _keep_largest_entries(centroids: np.ndarray, entries: int) -> csr_matrix:
    """Keep the `entries` largest of each column, as CSR (d, C)."""
    if entries >= centroids.shape[0]:
        return csr_matrix(centroids)
    kept = np.argpartition(np.abs(centroids), -entries, axis=0)[-entries:]  # (entries, C)
    small = np.zeros_like(centroids)
    np.put_along_axis(small, kept, np.take_along_axis(centroids, kept, axis=0), axis=0)
    return csr_matrix(small)


def half_squares(centroids: Rows) -> np.ndarray:
    """Return ‖c‖²/2 of each centroid (C,), what its product with a point is less by."""
    squares = centroids.multiply(centroids) if sparse.issparse(centroids) else centroids * centroids
    return (np.asarray(squares.sum(axis=0)).ravel() / 2).astype(np.float32)
