"""Exact nearest neighbours of dense points: every point is looked at, in tiles that fit the cache."""

from __future__ import annotations

import numpy as np

from neartag.core.threads import run_pieces
from neartag.linalg import product_kernels
from neartag.search import topk_kernels

# Similarities held at once, by queries and by points: enough for an efficient matrix product, few enough for the cache.
QUERY_TILE, POINT_TILE = 256, 2048

Neighbours = tuple[np.ndarray, np.ndarray]  # row numbers, −1: none, and similarities, −inf: none, (m, count) each


def nearest(
    queries: np.ndarray,
    points: np.ndarray,
    count: int,
    threads: int = 1,
    *,
    offset: np.ndarray | None = None,
    tile: tuple[int, int] = (QUERY_TILE, POINT_TILE),
) -> Neighbours:
    """Return row numbers and inner products (m, count) of the points with the largest, less each point's `offset`.

    Of rows of unit length these are cosines. Best first, ties to the lower row number; −1 and −inf where there are
    fewer points.
    """
    m, n = queries.shape[0], points.shape[0]
    ids = np.empty((m, count), np.int32)
    products = np.empty((m, count), np.float32)
    height, width = tile

    def search_rows(start: int, stop: int) -> None:
        for first in range(start, stop, height):
            rows = slice(first, min(first + height, stop))
            for begin in range(0, max(n, 1), width):
                columns = slice(begin, begin + width)
                similarity = queries[rows] @ points[columns].T  # (≤ height, ≤ width)
                if offset is not None:
                    similarity -= offset[columns]
                topk_kernels.row_top(similarity, begin, ids[rows], products[rows], 0, len(similarity))

    run_pieces(search_rows, m, threads, min_size=height)
    return ids, products


def nearest_to_one(
    query: np.ndarray, points: np.ndarray, count: int, *, offset: np.ndarray | None = None
) -> Neighbours:
    """Return the same for one query (dim,), both (1, count), without the machinery of a batch."""
    similarity = np.empty((1, len(points)), np.float32)
    product_kernels.dense_times_vector(points, query, similarity[0], 0, len(points))
    if offset is not None:
        similarity -= offset
    ids, products = np.empty((1, count), np.int32), np.empty((1, count), np.float32)
    topk_kernels.row_top(similarity, 0, ids, products, 0, 1)
    return ids, products
