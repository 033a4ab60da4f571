"""An inverted index finds the nearest training points by their features: a second kind of voter beside the paper's.

An embedding keeps what many labels have in common and blurs what is rare. A rare word that two points share is the
opposite. With a share of the vote, neighbours by features help wherever single words decide. Share 0 is the paper's
method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix

from neartag.core.threads import run_ranges, single_threaded_blas
from neartag.linalg import csr, large_csr
from neartag.linalg.hybrid_rows import words_of
from neartag.linalg.large_arrays import in_temporary_files
from neartag.linalg.rows import CSRArrays, Rows, column_counts, compact, csr_arrays, dense, transpose
from neartag.linalg.single_row import SingleRow, as_csr_arrays
from neartag.search import inverted_index_kernels as kernels
from neartag.search.exact import Neighbours, nearest

# The first look leaves out frequent features that together have at most this share of a row's length, where that saves
# work. So many rows for each neighbour wanted are then scored in full. Measured on EUR-Lex: an eighth of the work,
# 99.9% of the same neighbours, the same P@k. Where all features are alike (BibTeX), nothing is left out.
PRUNE, RESCORED_PER_NEIGHBOUR = 0.3, 4
# The share where votes only propose labels: half to a quarter of the work on texts, and the same figures.
PRUNE_LOOSELY = 0.6
# A search of all training points for each other's neighbours takes long when it reads more entries for a point.
MAX_ENTRIES_READ = 15_000


@dataclass
class FeatureIndex:
    """Training rows of unit length, ready to be searched: dense (n, d), or the lists of rows that have each feature."""

    postings: Rows  # CSR (d, n), or dense (n, d)
    known_rows: CSRArrays | None = None  # the rows themselves (n, d), where they are sparse and at hand

    @classmethod
    def from_rows(cls, rows: Rows) -> FeatureIndex:
        """Return the index of unit rows."""
        rows = compact(rows)  # of well-filled rows dense products are quicker than lists
        return cls(transpose(rows) if sparse.issparse(rows) else rows)

    @property
    def is_sparse(self) -> bool:
        """Whether rows are found by lists of the rows that have each feature."""
        return sparse.issparse(self.postings)

    @cached_property
    def _posting_arrays(self) -> CSRArrays:
        return csr_arrays(self.postings)

    @cached_property
    def _row_arrays(self) -> CSRArrays:
        """The rows themselves (n, d), where they are sparse."""
        if self.known_rows is not None:
            return self.known_rows
        postings = self.postings
        if postings.nnz <= np.iinfo(np.int32).max:  # a folder's pointers are int64, and row numbers would be so too
            pieces = postings.data, postings.indices, postings.indptr.astype(np.int32, copy=False)
            postings = large_csr.from_arrays(*pieces, postings.shape)
        with in_temporary_files(postings.data.nbytes + postings.indices.nbytes):
            return csr_arrays(transpose(postings))

    def row(self, point: int) -> csr_matrix:
        """Return a training row (1, d), where rows are sparse."""
        indptr, indices, data = self._row_arrays
        part = slice(int(indptr[point]), int(indptr[point + 1]))
        pieces = data[part], indices[part], np.array([0, part.stop - part.start])
        return csr_matrix(pieces, shape=(1, self.postings.shape[0]))

    def rows(self, points: np.ndarray) -> Rows:
        """Return some of the training rows (m, d)."""
        if not self.is_sparse:
            return self.postings[points]
        indptr, indices, data = self._row_arrays
        return csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, self.postings.shape[0]))[points]

    def find(
        self,
        X: Rows | SingleRow,
        count: int,
        threads: int = 1,
        prune: float = PRUNE,
        restrict_to: np.ndarray | None = None,
    ) -> Neighbours:
        """Return the training rows with the largest cosine to each row of X, and the cosines (m, count), best first.

        Frequent features with at most the share `prune` of a row's length may be left out of the first look.
        `restrict_to` lists training rows for each row (m, many), −1: none; then only these are looked at. A training
        row that shares nothing with a point is never found: −1 and −inf where there are fewer.
        """
        if self.is_sparse:
            return self._find_sparse(as_csr_arrays(X), count, threads, prune, restrict_to)
        queries = X.to_dense() if isinstance(X, SingleRow) else dense(words_of(X))
        with single_threaded_blas():
            if restrict_to is None:
                ids, cosines = nearest(queries, self.postings, count, threads)
            else:
                ids, cosines = _nearest_among(queries, self.postings, restrict_to, count)
        ids[cosines == 0], cosines[cosines == 0] = -1, -np.inf
        return ids, cosines

    def _find_sparse(
        self, queries: CSRArrays, count: int, threads: int, prune: float, restrict_to: np.ndarray | None
    ) -> Neighbours:
        m, (d, n) = len(queries[0]) - 1, self.postings.shape
        rows = self._row_arrays
        ids = np.empty((m, count), np.int32)
        cosines = np.empty((m, count), np.float32)

        def search_all(start: int, stop: int) -> None:
            scratch = np.zeros(n, np.float32), np.empty(n, np.int32), np.zeros(d, np.float32)
            arguments = queries, self._posting_arrays, rows, prune, RESCORED_PER_NEIGHBOUR * count, scratch
            kernels.sparse_top(*arguments, ids, cosines, start, stop)

        def search_some(start: int, stop: int) -> None:
            query = np.zeros(d, np.float32)
            kernels.restricted_top(queries, rows, restrict_to, query, ids, cosines, start, stop)

        run_ranges(search_all if restrict_to is None else search_some, m, threads, work=queries[0])
        return ids, cosines

    def work(self, X: Rows, count: int, prune: float) -> float:
        """Return how many entries a search of all points reads for a row of X, on average."""
        if self.is_sparse:
            return search_work(np.diff(self.postings.indptr), self.postings.shape[1], X, count, prune)
        # Nonzero numbers count, so that dense and sparse rows of the same numbers are treated alike.
        return search_work(column_counts(self.postings), len(self.postings), X, count, prune)

    def append(self, rows: Rows) -> FeatureIndex:
        """Return the index of these rows with new ones (m, d) after them."""
        if not self.is_sparse:
            return FeatureIndex(np.vstack([self.postings, dense(rows)]))
        (d, n), m = self.postings.shape, rows.shape[0]
        new = csr_matrix(csr_matrix(rows).T.tocsr())  # (d, m)
        old = csr_arrays(self.postings)
        pointer = old[0] + new.indptr
        pieces = np.empty(pointer[-1], np.float32), np.empty(pointer[-1], np.int32), pointer
        kernels.append_columns(old, csr_arrays(new), n, *pieces)
        return FeatureIndex(csr_matrix(pieces, shape=(d, n + m)))

    def keep(self, kept: np.ndarray) -> FeatureIndex:
        """Return the index of those rows that are kept (n,), numbered anew in their order."""
        if not self.is_sparse:
            return FeatureIndex(np.ascontiguousarray(self.postings[kept]))
        number = np.cumsum(kept, dtype=np.int32) - 1
        left = csr.keep_entries(self.postings, kept[self.postings.indices])
        pieces = left.data, number[left.indices], left.indptr
        return FeatureIndex(csr_matrix(pieces, shape=(self.postings.shape[0], int(kept.sum()))))


def merge_ids(lists: list[np.ndarray]) -> np.ndarray:
    """Return several lists of row numbers for each point (m, each) as one, without repeating any; −1: none."""
    if len(lists) == 1:
        return lists[0]
    rows = np.sort(np.hstack(lists), axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = -1
    return rows


def _nearest_among(queries: np.ndarray, points: np.ndarray, restrict_to: np.ndarray, count: int) -> Neighbours:
    """Return the same as `nearest`, of the points that are listed for each query."""
    ids = np.full((len(queries), count), -1, np.int32)
    products = np.full((len(queries), count), -np.inf, np.float32)
    for i, query in enumerate(queries):
        own = restrict_to[i][restrict_to[i] >= 0]
        product = points[own] @ query
        order = np.lexsort((own, -product))[:count]
        ids[i, : len(order)], products[i, : len(order)] = own[order], product[order]
    return ids, products


def search_work(lengths: np.ndarray, n: int, X: Rows, count: int, prune: float) -> float:
    """Return how many entries a search of n points reads for a row of X, on average, without an index of them.

    `lengths` (d,) tells how many of the points have each feature.
    """
    pointer = csr.pointer(lengths).astype(np.int64, copy=False)
    rescoring = RESCORED_PER_NEIGHBOUR * count * (int(pointer[-1]) // max(n, 1))
    return kernels.search_work(csr_arrays(csr_matrix(X)), pointer, prune, rescoring) / max(1, X.shape[0])
