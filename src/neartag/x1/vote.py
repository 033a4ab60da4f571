"""The vote: nearest embedded points, their weights, and the labels that they have (Algorithm 2 of the paper)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from neartag import search_kernels, vote_kernels
from neartag.errors import ParameterError
from neartag.rows import parts
from neartag.threads import run_pieces, run_ranges
from neartag.x1.parameters import WEIGHTS

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

    run_pieces(part, m, threads, least=QUERIES)
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


def voter_weights(cosines: np.ndarray, kind: str = "similarity", sharpness: float = 20.0) -> np.ndarray:
    """Return each voter's share (m, count) in float64, rows summing to 1; −inf marks a missing voter, with share 0.

    "similarity": exp(sharpness · (cos − 1)); "uniform": one voter, one vote, as in the paper.
    """
    if kind not in WEIGHTS:
        raise ParameterError(f"vote_weight must be one of {WEIGHTS}, not {kind!r}")
    out = np.empty(cosines.shape)
    vote_kernels.shares(cosines, sharpness if kind == "similarity" else 0.0, out, 0, len(out))
    return out


def vote(
    Y: csr_matrix, voters: np.ndarray, weights: np.ndarray, frequency: np.ndarray, k: int, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k labels with the largest summed weight (m, k), and those sums.

    Ties go to the more frequent label, then to the lower id; −1 with score 0 where fewer than k labels have votes.
    """
    m = voters.shape[0]
    labels = np.empty((m, k), np.int32)
    scores = np.empty((m, k), np.float64)
    indptr, indices, _ = parts(Y)
    arguments = (
        indptr,
        indices,
        np.ascontiguousarray(voters, np.int32),
        np.ascontiguousarray(weights, np.float64),
        np.ascontiguousarray(frequency, np.int64),
    )

    def part(start: int, stop: int) -> None:
        scratch = np.zeros(Y.shape[1]), np.empty(Y.shape[1], np.int32)
        vote_kernels.vote_top(*arguments, *scratch, labels, scores, start, stop)

    run_ranges(part, m, threads)
    return labels, scores
