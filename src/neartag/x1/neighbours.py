"""Ω: for each point the points whose label vectors are most like its own (section 2.1 of the paper)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from neartag import kernels
from neartag.errors import ParameterError
from neartag.rows import parts
from neartag.threads import run_ranges
from neartag.x1.parameters import SIMILARITIES


def label_neighbours(
    Y: csr_matrix, count: int, *, similarity: str = "cosine", threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and similarities (n, count) of the label rows most like each row, the row itself included.

    Exact; memory is proportional to n · count, because overlaps are gathered a row at a time. Rows that share no
    label are never neighbours: where fewer than `count` rows overlap, the rest is −1.
    """
    if similarity not in SIMILARITIES:
        raise ParameterError(f"label_similarity must be one of {SIMILARITIES}, not {similarity!r}")
    n = Y.shape[0]
    count = min(count, n)
    indptr, indices, _ = parts(Y)
    by_label = Y.T.tocsr()
    sizes = np.diff(indptr).astype(np.float32)
    scale = 1 / np.sqrt(np.maximum(sizes, 1)) if similarity == "cosine" else np.ones(n, np.float32)
    ids = np.empty((n, count), np.int32)
    values = np.empty((n, count), np.float32)
    label_points = np.diff(by_label.indptr)
    cost = np.concatenate([[0], np.cumsum(np.add.reduceat(np.append(label_points[indices], 0), indptr[:-1]) + 1)])
    run_ranges(
        kernels.label_neighbours,
        n,
        threads,
        indptr,
        indices,
        *parts(by_label)[:2],
        scale.astype(np.float32),
        count,
        ids,
        values,
        work=cost,
    )
    return ids, values


def neighbour_graph(Y: csr_matrix, count: int, *, similarity: str = "cosine", threads: int = 1) -> csr_matrix:
    """Return P_Ω(Y Yᵀ) (n, n) with Ω the pairs of which one is a nearest neighbour of the other.

    The paper's Ω need not be symmetric, its M must be; so the union Ω ∪ Ωᵀ is kept, and the graph is symmetric.
    """
    ids, values = label_neighbours(Y, count, similarity=similarity, threads=threads)
    n = Y.shape[0]
    found = ids >= 0
    indptr = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    directed = csr_matrix((values[found], ids[found], indptr), shape=(n, n))
    graph = directed.maximum(directed.T).tocsr()
    graph.sort_indices()
    return csr_matrix(graph)
