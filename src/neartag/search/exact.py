"""Exact nearest neighbours of dense points: every point is looked at, in tiles that fit the cache."""

from __future__ import annotations

import numpy as np

from neartag.core.threads import run_pieces
from neartag.linalg import topk_kernels as search_kernels

# Similarities held at once, by queries and by points: enough for an efficient matrix product, few enough for the cache.
QUERIES, POINTS = 256, 2048


def nearest(
    queries: np.ndarray, points: np.ndarray, count: int, threads: int = 1, *, offset: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return row numbers and inner products (m, count) of the points with the largest, less each point's `offset`.

    Of rows of unit length these are cosines. Best first, ties to the lower row number; −1 and −inf where there are
    fewer points.
    """
    m, n = queries.shape[0], points.shape[0]
    ids = np.empty((m, count), np.int32)
    cosines = np.empty((m, count), np.float32)

    def part(start: int, stop: int) -> None:
        for first in range(start, stop, QUERIES):
            rows = slice(first, min(first + QUERIES, stop))
            for begin in range(0, max(n, 1), POINTS):
                tile = slice(begin, begin + POINTS)
                similarity = queries[rows] @ points[tile].T  # (≤ QUERIES, ≤ POINTS)
                if offset is not None:
                    similarity -= offset[tile]
                search_kernels.row_top(similarity, begin, ids[rows], cosines[rows], 0, len(similarity))

    run_pieces(part, m, threads, min_size=QUERIES)
    return ids, cosines


def nearest_to_one(
    query: np.ndarray, points: np.ndarray, count: int, *, offset: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for one query (dim,), both (1, count), without the machinery of a batch."""
    products = np.empty((1, len(points)), np.float32)
    search_kernels.dense_times_vector(points, query, products[0], 0, len(points))
    if offset is not None:
        products -= offset
    ids, near = np.empty((1, count), np.int32), np.empty((1, count), np.float32)
    search_kernels.row_top(products, 0, ids, near, 0, 1)
    return ids, near
