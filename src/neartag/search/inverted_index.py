"""A voter beside the paper's: the nearest training points by the features themselves.

An embedding keeps what many labels have in common and blurs what is rare; a single shared rare word is the opposite.
Given a share of the vote, neighbours by raw features help wherever words are sharp. Share 0 is the paper's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from neartag.core.threads import run_ranges, single_threaded_blas
from neartag.linalg import csr
from neartag.linalg.rows import Rows, compact, csr_arrays, dense, transpose
from neartag.search import inverted_index_kernels as list_kernels
from neartag.search.exact import nearest

# Sharpness of this voter's weights: cosines of raw text rows are low, so a milder slope than the embedding's serves.
SHARPNESS = 10.0
# Frequent features that together have at most this share of a row's length are left out of the first look, where that
# saves work, and so many rows for each one wanted are then scored in full. Measured on EUR-Lex: an eighth of the work,
# 99.9% of the same neighbours, the same P@k; where features are alike (BibTeX) nothing is saved and all is looked at.
PRUNE, CANDIDATES = 0.3, 4
# Where neighbours by features are looked for among those by embedding only, so many of these for each one wanted.
AMONG = 2
# That is tried, where votes only propose, when a search everywhere would look at more entries than this for a point.
MOST_WORK = 15_000
# The share where votes only propose: half to a quarter of the work on texts, and the same figures.
PRUNE_LOOSELY = 0.6


@dataclass
class FeatureIndex:
    """Training rows of unit length, ready to be searched: dense (n, d), or the lists of rows that have each feature."""

    postings: Rows  # CSR (d, n), or dense (n, d)

    @classmethod
    def of(cls, rows: Rows) -> FeatureIndex:
        """Return the index of unit rows."""
        rows = compact(rows)  # of well-filled rows dense products are quicker than lists
        return cls(transpose(rows) if sparse.issparse(rows) else rows)

    @cached_property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The postings and, turned back, the rows themselves, as the kernel takes them."""
        return *csr_arrays(self.postings), *csr_arrays(transpose(self.postings))

    def row(self, point: int) -> sparse.csr_matrix:
        """Return a training row (1, d), where rows are sparse."""
        indptr, indices, data = self.arrays[3:]
        part = slice(int(indptr[point]), int(indptr[point + 1]))
        pieces = data[part], indices[part], np.array([0, part.stop - part.start])
        return sparse.csr_matrix(pieces, shape=(1, self.postings.shape[0]))

    def rows(self, points: np.ndarray) -> Rows:
        """Return some of the training rows (m, d)."""
        if not sparse.issparse(self.postings):
            return self.postings[points]
        indptr, indices, data = self.arrays[3:]
        shape = len(indptr) - 1, self.postings.shape[0]
        return sparse.csr_matrix((data, indices, indptr), shape=shape)[points]

    def find(
        self, X: Rows, count: int, threads: int, skip: float = PRUNE, listed: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the training rows with the largest cosine to each row of X, and the cosines (m, count), best first.

        Frequent features with at most the share `skip` of a row's length may be left out of the first look. Given lists
        of training rows (m, many), −1: none, only those listed for a row are looked at. Who shares nothing with a point
        is never found: −1 and −inf where there are fewer.
        """
        if sparse.issparse(self.postings):
            queries = csr_arrays(X if sparse.issparse(X) else sparse.csr_matrix(X))
            return self.find_sparse(queries, count, threads, skip, listed)
        with single_threaded_blas():
            if listed is None:
                ids, cosines = nearest(dense(X), self.postings, count, threads)
            else:
                ids, cosines = _among(dense(X), self.postings, listed, count)
        ids[cosines == 0], cosines[cosines == 0] = -1, -np.inf
        return ids, cosines

    def find_sparse(
        self,
        queries: tuple[np.ndarray, np.ndarray, np.ndarray],
        count: int,
        threads: int,
        skip: float = PRUNE,
        listed: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for the three arrays of a CSR matrix."""
        m, (d, n) = len(queries[0]) - 1, self.postings.shape
        ids = np.empty((m, count), np.int32)
        cosines = np.empty((m, count), np.float32)

        def everywhere(start: int, stop: int) -> None:
            scratch = np.zeros(n, np.float32), np.empty(n, np.int32), np.zeros(d, np.float32)
            arguments = *queries, *self.arrays, skip, CANDIDATES * count, *scratch
            list_kernels.sparse_top(*arguments, ids, cosines, start, stop)

        def among(start: int, stop: int) -> None:
            arguments = *queries, *self.arrays[3:], listed, np.zeros(d, np.float32)
            list_kernels.listed_top(*arguments, ids, cosines, start, stop)

        run_ranges(everywhere if listed is None else among, m, threads, work=queries[0])
        return ids, cosines

    def find_one(
        self,
        point: tuple[np.ndarray, np.ndarray, np.ndarray],
        count: int,
        skip: float = PRUNE,
        listed: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for one row of unit length, (1, count)."""
        if sparse.issparse(self.postings):
            return self.find_sparse(point, count, 1, skip, listed)
        row = np.zeros((1, self.postings.shape[1]), np.float32)
        row[0, point[1]] = point[2]
        return self.find(row, count, 1, skip, listed)

    def work(self, X: Rows, count: int, skip: float) -> float:
        """Return how many entries a search everywhere looks at for a row of X, on average."""
        if sparse.issparse(self.postings):
            pointer, n = self.postings.indptr.astype(np.int64, copy=False), self.postings.shape[1]
        else:  # counted alike, so that dense and sparse rows of the same numbers are treated alike
            pointer, n = csr.pointer(np.count_nonzero(self.postings, axis=0)), len(self.postings)
        rescoring = CANDIDATES * count * (int(pointer[-1]) // max(n, 1))
        queries = csr_arrays(sparse.csr_matrix(X))
        return list_kernels.search_work(*queries, pointer, skip, rescoring) / max(1, X.shape[0])


def merge_ids(lists: list[np.ndarray]) -> np.ndarray:
    """Return several lists of row numbers for each point (m, each) as one; of those that are there twice, one is −1."""
    if len(lists) == 1:
        return lists[0]
    rows = np.sort(np.hstack(lists), axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = -1
    return rows


def _among(queries: np.ndarray, points: np.ndarray, listed: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the same as `nearest`, of the points that are listed for each query."""
    ids = np.full((len(queries), count), -1, np.int32)
    products = np.full((len(queries), count), -np.inf, np.float32)
    for i, query in enumerate(queries):
        own = listed[i][listed[i] >= 0]
        found = points[own] @ query
        order = np.lexsort((own, -found))[:count]
        ids[i, : len(order)], products[i, : len(order)] = own[order], found[order]
    return ids, products
