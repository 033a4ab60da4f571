"""Which documents to label first: those that stand for many others of which little is known.

A document is covered as far as it is like a labelled one: by its largest cosine to any of them. To label a document
covers those like it. The choice is greedy (facility location), so that a document like one chosen before has little
left to cover: near-identical ones do not fill the list.
"""

from __future__ import annotations

import heapq

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.linalg import csr
from neartag.linalg.rows import Rows
from neartag.search.exact import Neighbours
from neartag.search.inverted_index import FeatureIndex

NEIGHBOURS = 50  # of each document: those further away are not alike enough to be learned of together


def similarity_graph(rows: Rows, threads: int = 1, neighbours: int = NEIGHBOURS) -> csr_matrix:
    """Return the cosines between unit rows (n, n), each row's with its nearest and with those that it is nearest to."""
    n = rows.shape[0]
    ids, cosines = FeatureIndex.from_rows(rows).find(rows, min(neighbours, n), threads)  # (n, neighbours)
    graph = csr.from_lists(ids, np.minimum(cosines, 1.0), n, (ids >= 0) & (cosines > 0))
    itself = sparse.identity(n, np.float32, format="csr")  # also of a row without features: it covers itself
    return csr_matrix(graph.maximum(graph.T).maximum(itself))


def nearest_known(rows: Rows, known: Rows, count: int, threads: int = 1) -> Neighbours:
    """Return the known unit rows nearest to each row, and their cosines (n, count); −1 and 0: none."""
    ids, cosines = FeatureIndex.from_rows(known).find(rows, count, threads)
    return ids, np.where(ids >= 0, np.clip(cosines, 0.0, 1.0), 0.0)


def choose_greedily(
    graph: csr_matrix, covered: np.ndarray, weights: np.ndarray, worth: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the n documents to label, the first first, and what each is worth when it is chosen.

    Parameters
    ----------
    graph : csr_matrix (m, m)
        How alike documents are.
    covered : ndarray (m,)
        How like a labelled document each is already.
    weights : ndarray (m,)
        How much there is to learn of each document, where another one is labelled.
    worth : ndarray (m,)
        What a document's own label is worth: a factor of what it covers.
    n : int
        At most so many; fewer where there are no more documents.
    """
    covered = covered.astype(np.float64)
    gains = weights[graph.indices] * np.maximum(graph.data - covered[graph.indices], 0.0)
    first = worth * np.bincount(csr.row_numbers(graph), weights=gains, minlength=graph.shape[0])
    heap = [(-value, place) for place, value in enumerate(first.tolist())]
    heapq.heapify(heap)
    chosen: list[int] = []
    values: list[float] = []
    while heap and len(chosen) < n:
        _, place = heapq.heappop(heap)
        own = slice(graph.indptr[place], graph.indptr[place + 1])
        others, alike = graph.indices[own], graph.data[own]
        covers = np.maximum(alike - covered[others], 0.0)
        value = float(worth[place] * (weights[others] @ covers))
        # What a document is worth only falls while others are chosen: one still ahead of the next one's old value wins.
        if heap and (-value, place) > heap[0]:
            heapq.heappush(heap, (-value, place))
            continue
        chosen.append(place)
        values.append(value)
        covered[others] += covers
    return np.array(chosen, np.int64), np.array(values)
