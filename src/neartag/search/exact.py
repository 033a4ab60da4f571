"""Exact nearest neighbours of dense points: every point is looked at, in tiles that fit the cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neartag.core.threads import run_pieces, run_ranges
from neartag.linalg import product_kernels
from neartag.search import settling_kernels, topk_kernels

# Similarities held at once, by queries and by points: enough for an efficient matrix product, few enough for the cache.
QUERY_TILE, POINT_TILE = 256, 2048
# Neighbours looked for beyond those wanted, so that rounding does not decide who is among them.
SLACK = 8
ROUNDING = 2.0**-22  # of sums of float32, for each term: the search's and what is compared with it
NO_OFFSET = np.empty(0, np.float32)

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


def nearest_settled(
    queries: np.ndarray, points: np.ndarray, count: int, threads: int = 1, *, offset: np.ndarray | None = None
) -> Neighbours:
    """Return the same, to the last bit whatever queries are asked for together: see `settle`."""
    if len(queries) == 1:
        found = nearest_to_one(queries[0], points, count + SLACK, offset=offset)
    else:
        found = nearest(queries, points, count + SLACK, threads, offset=offset)
    return settle(queries, points, found, count, threads, offset=offset)


def settle(
    queries: np.ndarray,
    points: np.ndarray,
    found: Neighbours,
    count: int,
    threads: int = 1,
    *,
    offset: np.ndarray | None = None,
    pool: Callable[[int], np.ndarray] | None = None,
) -> Neighbours:
    """Return the first `count` of what a search found, by products that do not depend on how it was made.

    BLAS adds up in an order that depends on how many queries there are, a kernel for one query in another one. The
    last digits differ, and with them who is at the edge, and which labels become candidates. So a search looks for
    SLACK more than are wanted; their products are computed again, and where rounding may have left someone out, those
    of all points. `pool` tells which these are, in rising order, where a search looks at a part of them.
    """
    ids, values = found
    own_offset = NO_OFFSET if offset is None else offset
    largest = float(own_offset.max(initial=0.0)) if offset is not None else 0.5
    slope, base = ROUNDING * points.shape[1] * np.sqrt(2 * max(largest, 0.0)), ROUNDING * largest
    best, near = np.empty((len(ids), count), np.int32), np.empty((len(ids), count), np.float32)
    unsure = np.zeros(len(ids), bool)
    arguments = queries, points, own_offset, ids, values, float(slope), float(base), best, near, unsure
    run_ranges(settling_kernels.settle, len(ids), threads, *arguments)
    for row in np.flatnonzero(unsure).tolist():
        places = None if pool is None else pool(row)
        some = points if places is None else points[places]
        of_some = own_offset if places is None or offset is None else offset[places]
        products = np.empty((1, len(some)), np.float32)
        settling_kernels.similarities(queries[row], some, of_some, products)
        topk_kernels.row_top(products, 0, best[row : row + 1], near[row : row + 1], 0, 1)
        if places is not None:
            best[row] = np.where(best[row] >= 0, places[best[row]], -1)
    return best, near
